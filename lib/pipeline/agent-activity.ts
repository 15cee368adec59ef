import {
  distinctUntilChanged,
  filter,
  map,
  merge,
  pairwise,
  startWith,
  take,
  type BehaviorSubject,
  type Observable,
} from 'rxjs';
import type { AgentState } from './events.ts';
import type { Speaking } from './speech.ts';
import type { Turn } from './turn.ts';

/** What the agent is doing: nothing, preparing to speak, or speaking. */
export type AgentStatus = 'free' | 'thinking' | 'speaking';

/** Follows what the agent is saying and answering. */
export class AgentActivity {
  readonly #speaking$: BehaviorSubject<Speaking | undefined>;
  readonly #answering$: BehaviorSubject<Turn | undefined>;

  /** @param speaking$ - What the agent says. @param answering$ - The turn that it answers. */
  constructor(speaking$: BehaviorSubject<Speaking | undefined>, answering$: BehaviorSubject<Turn | undefined>) {
    this.#speaking$ = speaking$;
    this.#answering$ = answering$;
  }

  get speaking(): Speaking | undefined {
    return this.#speaking$.value;
  }

  get answering(): Turn | undefined {
    return this.#answering$.value;
  }

  get status(): AgentStatus {
    if (this.speaking?.audible) return 'speaking';
    return this.speaking || this.answering ? 'thinking' : 'free';
  }

  /** Whether the agent has the floor; the present value first. */
  get busy$(): Observable<boolean> {
    return this.#moved$.pipe(
      map(() => this.status !== 'free'),
      distinctUntilChanged(),
    );
  }

  /** Each change of the agent's state: what it was, and what it is. */
  get changes$(): Observable<[AgentState, AgentState]> {
    return this.#moved$.pipe(
      map((): AgentState => (this.status === 'free' ? 'listening' : this.status)),
      startWith<AgentState>('idle'),
      distinctUntilChanged(),
      pairwise(),
    );
  }

  /** Emits once, as soon as the agent is free. */
  get whenFree$(): Observable<unknown> {
    return this.busy$.pipe(
      filter((busy) => !busy),
      take(1),
    );
  }

  /** The turn and the speech that have the floor, for events about them. */
  get envelope(): { readonly turnId?: string; readonly speechId?: string } {
    const request = this.speaking?.request;
    const turnId = request?.turnId ?? this.answering?.id;
    return { ...(turnId === undefined ? {} : { turnId }), ...(request ? { speechId: request.id } : {}) };
  }

  /** Emits at once, and when the status may be another one. */
  get #moved$(): Observable<unknown> {
    return merge(this.#speaking$, this.#answering$);
  }
}
