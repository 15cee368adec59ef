import {
  defer,
  EMPTY,
  exhaustMap,
  from,
  ignoreElements,
  of,
  repeat,
  Subject,
  tap,
  type Observable,
  type ObservableInput,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs';
import { keepRetrying } from '../stream/keep-retrying.ts';
import { merge } from '../stream/merge.ts';
import type { Retry } from '../stream/retry-backoff.ts';
import type { CallEvent, EventsDropped, SealedEvent } from './call-sink.ts';

/** Limits of an {@link outbox}. */
export interface OutboxOptions {
  /** Most events, and most characters of their JSON. */
  readonly maxEvents: number;
  readonly maxCharacters: number;
  /** Prefix of the events' ids. */
  readonly id: string;
  readonly scheduler: SchedulerLike;
  /** Called with the error of each failed attempt. */
  readonly onFailure: (cause: unknown) => void;
}

/** Most events in one delivery, and the longest JSON of an event: brokers refuse more than a megabyte. */
const maxBatch = 100;
const maxBodyCharacters = 200_000;

/** Longest wait between two attempts, in milliseconds. */
const maxRetryMs = 2_000;

/**
 * Delivers events in order and in batches, retrying each until it succeeds. Events that arrive meanwhile wait; beyond
 * the limits, the oldest are dropped and an `events.dropped` takes their place. Emits nothing; completes when the
 * source has completed and everything is delivered.
 */
export function outbox(
  deliver$: (events: readonly SealedEvent[]) => ObservableInput<unknown>,
  options: OutboxOptions,
): OperatorFunction<CallEvent, never> {
  return (source$) =>
    defer(() => {
      const { scheduler, onFailure } = options;
      const waiting = new WaitingEvents(options);
      const wake$ = new Subject<void>();
      const sendNext$ = (): Observable<unknown> => {
        const batch = waiting.take();
        if (batch.length === 0) return EMPTY;
        const retries = { maxMs: maxRetryMs, onRetry: ({ error }: Retry) => onFailure(error), scheduler };
        return defer(() => from(deliver$(batch))).pipe(keepRetrying(retries));
      };
      const sent$ = wake$.pipe(
        exhaustMap(() => defer(sendNext$).pipe(repeat({ delay: () => (waiting.isEmpty ? EMPTY : of(true)) }))),
      );
      const filled$ = source$.pipe(
        tap({
          next: (event) => {
            waiting.add(event);
            wake$.next();
          },
          complete: () => wake$.complete(),
        }),
      );
      return merge(sent$, filled$).pipe(ignoreElements());
    });
}

/** Events waiting to be sent, without those being sent. */
class WaitingEvents {
  readonly #options: OutboxOptions;
  readonly #sealed: (SealedEvent & { readonly at: number })[] = [];
  #characters = 0;
  #seq = 0;
  /** What was dropped since the last batch; goes before what is waiting. */
  #dropped: (EventsDropped & { readonly seq: number }) | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#sealed.length === 0 && !this.#dropped;
  }

  add(event: CallEvent): void {
    const sealed = { ...this.#seal((this.#seq += 1), event), at: event.at };
    // It would block all others.
    if (sealed.body.length > maxBodyCharacters) {
      const { type, at } = event;
      this.add({ type: 'events.dropped', at, count: 1, types: { [type]: 1 } });
      return;
    }
    this.#sealed.push(sealed);
    this.#characters += sealed.body.length;
    const { maxEvents, maxCharacters } = this.#options;
    while (this.#sealed.length > maxEvents || (this.#characters > maxCharacters && this.#sealed.length > 1)) {
      this.#drop();
    }
  }

  /** The next to be sent. */
  take(): readonly SealedEvent[] {
    const batch: SealedEvent[] = this.#sealed.splice(0, maxBatch);
    for (const { body } of batch) this.#characters -= body.length;
    if (this.#dropped) {
      const { seq, ...event } = this.#dropped;
      batch.unshift(this.#seal(seq, event));
      this.#dropped = undefined;
    }
    return batch;
  }

  #seal(seq: number, event: CallEvent): SealedEvent {
    return { id: `${this.#options.id}:${seq}`, seq, type: event.type, body: JSON.stringify({ seq, event }) };
  }

  #drop(): void {
    const oldest = this.#sealed.shift();
    if (!oldest) return;
    this.#characters -= oldest.body.length;
    const { seq, type, at } = oldest;
    const { count = 0, types = {}, at: since = at } = this.#dropped ?? {};
    this.#dropped = {
      ...{ type: 'events.dropped', at: since, seq, count: count + 1 },
      types: { ...types, [type]: (types[type] ?? 0) + 1 },
    };
  }
}
