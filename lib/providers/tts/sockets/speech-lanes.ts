import { defer, finalize, timer, type Observable, type SchedulerLike, type Subscription } from 'rxjs';
import type { SpeechLane } from './speech-lane.ts';
import type { SynthesisEvent } from '../utterance.ts';

/** How long a lane that was opened because two utterances came at once waits for another such moment. */
const spareMs = 30_000;

/** What {@link SpeechLanes} needs to know. */
export interface SpeechLanesOptions {
  readonly open: () => SpeechLane;
  /** Told of each lane that has ended. */
  readonly closed: (lane: SpeechLane) => void;
  readonly scheduler: SchedulerLike;
}

/** The lanes of one provider: the first one is kept, utterances at the same time get one each. */
export class SpeechLanes {
  readonly #options: SpeechLanesOptions;
  readonly #lanes: SpeechLane[] = [];
  readonly #spares = new Map<SpeechLane, Subscription>();

  constructor(options: SpeechLanesOptions) {
    this.#options = options;
  }

  /** Opens the first lane's connection if there is none. */
  warm(): void {
    (this.#lanes[0] ?? this.#add()).warm();
  }

  /** Speaks an utterance on a free lane. */
  speak(text$: Observable<string>): Observable<SynthesisEvent> {
    return defer(() => {
      const lane = this.#lanes.find(({ isBusy }) => !isBusy) ?? this.#add();
      this.#spares.get(lane)?.unsubscribe();
      return lane.speak(text$).pipe(finalize(() => this.#settle(lane)));
    });
  }

  /** Uses none of the present lanes for another utterance; those that speak end after it. */
  retire(): void {
    for (const lane of this.#lanes.splice(0)) if (!lane.isBusy) void this.#close(lane);
  }

  /** Ends all lanes gracefully. */
  async close(): Promise<void> {
    await Promise.all(this.#lanes.splice(0).map((lane) => this.#close(lane)));
  }

  #add(): SpeechLane {
    const lane = this.#options.open();
    this.#lanes.push(lane);
    return lane;
  }

  /** A lane has become free. */
  #settle(lane: SpeechLane): void {
    const index = this.#lanes.indexOf(lane);
    if (index < 0) void this.#close(lane);
    if (index <= 0) return;
    const spare = timer(spareMs, this.#options.scheduler).subscribe({
      next: () => {
        this.#lanes.splice(this.#lanes.indexOf(lane), 1);
        void this.#close(lane);
      },
      error: () => undefined,
    });
    this.#spares.set(lane, spare);
  }

  async #close(lane: SpeechLane): Promise<void> {
    this.#spares.get(lane)?.unsubscribe();
    this.#spares.delete(lane);
    await lane.close();
    this.#options.closed(lane);
  }
}
