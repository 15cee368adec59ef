import { BehaviorSubject, type Observable } from 'rxjs';
import type { VoiceEvent } from 'rxvoice';
import { Timeline } from '../../marbles/timeline.ts';

/** How much is kept: half an hour of talk with its audio. */
const halfAnHour = { events: 120_000, audioBytes: 160_000_000 } as const;
/** How much is left when the oldest go. */
const keep = 0.75;

/** What has happened, as far back as memory allows, and its timeline. */
export class EventLog {
  readonly #timeline$ = new BehaviorSubject(new Timeline());
  readonly #limits: { readonly events: number; readonly audioBytes: number };
  #audioBytes = 0;

  /** @param limits - Most that is kept. Default: about half an hour of talk with its audio. */
  constructor(limits: { readonly events: number; readonly audioBytes: number } = halfAnHour) {
    this.#limits = limits;
  }

  /** The timeline: the same object while events are added, another one after {@link clear}. Hot, the latest first. */
  get timeline$(): Observable<Timeline> {
    return this.#timeline$.asObservable();
  }

  get timeline(): Timeline {
    return this.#timeline$.value;
  }

  get events(): VoiceEvent[] {
    return this.timeline.rows.map(({ event }) => event);
  }

  push(event: VoiceEvent): void {
    this.timeline.push(event);
    this.#audioBytes += audioBytes(event);
    if (this.timeline.rows.length > this.#limits.events || this.#audioBytes > this.#limits.audioBytes) this.#trim();
  }

  /**
   * Begins anew, with what is given.
   *
   * @param turnsBefore - How many turns there were before that.
   */
  clear(events: readonly VoiceEvent[] = [], turnsBefore = 0): void {
    this.#audioBytes = events.reduce((sum, event) => sum + audioBytes(event), 0);
    this.#timeline$.next(new Timeline(events, turnsBefore));
  }

  #trim(): void {
    const { events } = this;
    const kept = events.slice(Math.floor(events.length * (1 - keep)));
    const last = this.timeline.turns.at(-1)?.number ?? 0;
    this.clear(kept, last - kept.filter(({ type }) => type === 'turn.started').length);
  }
}

function audioBytes(event: VoiceEvent): number {
  return event.type === 'audio.input' || event.type === 'audio.chunk' ? event.chunk.data.length : 0;
}
