import { EMPTY, from, type Observable, type SchedulerLike, Subscription, switchMap } from 'rxjs';
import { OnDemand } from '../core/on-demand.ts';
import type { OutputProvider } from '../core/roles.ts';
import type { Emit } from '../conversation/event-bus.ts';
import type { AudioLevel, LevelSource } from '../playback/audio-levels.ts';
import type { MicrophonePermission } from '../playback/microphone-permission.ts';
import type { ErrorOrigin } from './provider-events.ts';
import type { Roles } from './roles.ts';

/** Most often that a loss is told, in milliseconds. */
const overflowEveryMs = 1_000;

/** What the events of input and output are published with. */
export interface InputOutputContext {
  readonly emit: Emit;
  readonly scheduler: SchedulerLike;
  /** Whether anybody listens to an event by name. */
  readonly wants$: (type: 'input.level' | 'output.level') => Observable<boolean>;
  readonly onError: (cause: unknown, origin: ErrorOrigin) => void;
}

/** Publishes the levels of input and output, the permission of the microphone, and what the queues of audio lose. */
export function publishInputOutput({ input, output, listener }: Roles, context: InputOutputContext): Subscription {
  const { emit, scheduler, wants$, onError } = context;
  const ofInput = { role: 'input', provider: input.name } as const;
  const ofOutput = { role: 'output', provider: output.name } as const;
  const work = new Subscription();
  const follow = <T>(values$: Observable<T>, origin: ErrorOrigin, next: (value: T) => void): void => {
    work.add(values$.subscribe({ next, error: (cause: unknown) => onError(cause, origin) }));
  };
  const levels$ = (type: 'input.level' | 'output.level', source: LevelSource): Observable<AudioLevel> =>
    levelsWhile(wants$(type), source, scheduler);
  follow(levels$('input.level', input), ofInput, (level) => emit('input.level', level, ofInput));
  if (hasAudioNode(output)) {
    follow(levels$('output.level', output), ofOutput, (level) => emit('output.level', level, ofOutput));
  }
  const { permission$ = EMPTY } = input as MicrophoneLike;
  follow(permission$, ofInput, (permission) => {
    if (permission !== 'unknown') emit('input.permission', { permission }, ofInput);
  });
  for (const provider of new Set([input, listener])) {
    const [role = 'input'] = provider.roles;
    const origin = { role, provider: provider.name };
    const sum = new SumOfSeconds(scheduler, (lostMs) => emit('input.overflow', { lostMs }, origin));
    const { droppedMs$ = EMPTY } = provider;
    follow(droppedMs$, origin, (lostMs) => sum.add(lostMs));
    work.add(() => sum.end());
  }
  return work;
}

/** The levels of a source while they are wanted; their code is not loaded otherwise. */
function levelsWhile(
  isWanted$: Observable<boolean>,
  source: LevelSource,
  scheduler: SchedulerLike,
): Observable<AudioLevel> {
  const code = new OnDemand('Pipeline', () => import('../playback/audio-levels.ts'));
  return isWanted$.pipe(
    switchMap((isWanted) =>
      isWanted ? from(code.load()).pipe(switchMap((loaded) => loaded.audioLevels(source, { scheduler }))) : EMPTY,
    ),
  );
}

/** Tells the sum of the losses of each second that has any, and of the rest at the end. Losses are rare. */
class SumOfSeconds {
  readonly #scheduler: SchedulerLike;
  readonly #tell: (sum: number) => void;
  #sum = 0;
  #second: Subscription | undefined;

  constructor(scheduler: SchedulerLike, tell: (sum: number) => void) {
    this.#scheduler = scheduler;
    this.#tell = tell;
  }

  add(value: number): void {
    this.#sum += value;
    if (!this.#second) this.#begin();
  }

  end(): void {
    this.#second?.unsubscribe();
    this.#settle();
  }

  #begin(): void {
    this.#second = this.#scheduler.schedule(() => {
      this.#second = undefined;
      if (this.#sum <= 0) return;
      this.#begin();
      this.#settle();
    }, overflowEveryMs);
  }

  #settle(): void {
    const sum = this.#sum;
    this.#sum = 0;
    if (sum > 0) this.#tell(sum);
  }
}

/** An output of the browser, whose audio can be measured. */
function hasAudioNode(
  output: OutputProvider,
): output is OutputProvider & { readonly audioNode: AudioNode | undefined } {
  return 'audioNode' in output;
}

/** What an input may have that needs the user's permission. */
type MicrophoneLike = Partial<{ readonly permission$: Observable<MicrophonePermission> }>;
