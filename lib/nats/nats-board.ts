import { DeliverPolicy, jetstream, jetstreamManager, type Consumer } from '@nats-io/jetstream';
import { Kvm, type KV } from '@nats-io/kv';
import {
  asyncScheduler,
  defer,
  distinctUntilChanged,
  EMPTY,
  firstValueFrom,
  from,
  ignoreElements,
  map,
  mergeMap,
  of,
  shareReplay,
  startWith,
  switchMap,
  tap,
  throwError,
  timer,
  type MonoTypeOperatorFunction,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { messageOf, VoiceError } from '../core/errors.ts';
import { asNumber, asObject, asString } from '../core/guard.ts';
import { parseJsonObject } from '../core/parse-json.ts';
import type { CallCommand, CallEvent, CallSide, CommandReply } from '../features/call-sink.ts';
import { fromAsync } from '../stream/bridge.ts';
import { keepRetrying } from '../stream/keep-retrying.ts';
import { merge } from '../stream/merge.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import { NatsLink, type NatsClient, type NatsConnection } from './link.ts';
import { watchedCalls, type BoardCall, type Note } from './watched-calls.ts';
import { assertPrefix, isCallId, listenEveryMs, subjectsOf } from './subjects.ts';

/** Options of {@link natsBoard}. */
export interface NatsBoardOptions {
  /** As for `natsSink()`. Default: `rxvoice`. */
  readonly prefix?: string;
  /** How long a lost call is still shown, in milliseconds. Default: 60,000. */
  readonly showLostMs?: number;
  /** Longest wait for the acknowledgement of a command, in milliseconds. Default: 5,000. */
  readonly commandMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** An event of a call. */
export interface BoardEvent {
  readonly callId: string;
  /** Its number in the call, from 1; an event that arrives twice has the same number. */
  readonly seq: number;
  readonly event: CallEvent;
}

/** All calls on all machines. */
export interface CallBoard {
  /** Whether the broker can be reached. While it cannot, no call is lost. Replays the latest. */
  readonly connected$: Observable<boolean>;
  /** The calls, in the order in which they began, whenever something of them changes. Replays the latest. */
  readonly calls$: Observable<readonly BoardCall[]>;
  /**
   * Events as they happen. Cold; continues after the broker was away. Errors with `configuration` for a `callId` that
   * is none.
   *
   * @param options - `callId`: of this call alone. `since`: `start` includes stored events. Default: all calls, from
   * now on.
   */
  events(options?: { readonly callId?: string; readonly since?: 'start' | 'now' }): Observable<BoardEvent>;
  /** Listens in on a call. Cold: audio is sent only while subscribed to. */
  audio(callId: string): Observable<{ readonly side: CallSide; readonly chunk: AudioChunk }>;
  /** Sends a command to a call. Never rejects. */
  command(callId: string, command: CallCommand): Promise<CommandReply>;
}

/** The format of the audio. */
const metadata: AudioMetadata = { encoding: 'linear16', sampleRate: 16_000, channels: 1, bitDepth: 16 };

/** How refused requests are retried. Times in milliseconds. */
const asksAgain = { initialMs: 1_000, maxMs: 1_000, jitter: 'none' } as const;

/**
 * All calls published to NATS with `publish()`, from anywhere: the live list, their events, their audio, and commands
 * to them.
 *
 * @example
 * ```ts
 * import { connect } from '@nats-io/transport-node';
 * import { natsBoard } from 'rxvoice/nats';
 *
 * const board = natsBoard(connect({ servers: '127.0.0.1:4222', maxReconnectAttempts: -1, waitOnFirstConnect: true }));
 * board.calls$.subscribe((calls) => console.table(calls.map(({ callId, state, agent }) => ({ callId, state, agent }))));
 * ```
 *
 * @param connection - Yours; it is not closed here.
 * @throws VoiceError `configuration` when an option cannot work.
 */
export function natsBoard(
  connection: NatsConnection | PromiseLike<NatsConnection>,
  options: NatsBoardOptions = {},
): CallBoard {
  const { prefix = 'rxvoice', showLostMs = 60_000, commandMs = 5_000, scheduler = asyncScheduler } = options;
  assertPrefix('natsBoard', prefix);
  const subjects = subjectsOf(prefix);
  const link = new NatsLink(connection);
  const again = <T>(): MonoTypeOperatorFunction<T> => keepRetrying({ ...asksAgain, scheduler });

  const notes$ = link.up$.pipe(
    switchMap((nats): Observable<Note> => {
      if (!nats) return of({ type: 'down' });
      const watched$ = defer(() => openBucket(nats, subjects.bucket)).pipe(
        switchMap(({ bucket, expiryMs }) =>
          fromAsync(() => bucket.watch()).pipe(
            map((entry): Note => ({ type: 'entry', entry })),
            startWith({ type: 'up', expiryMs } as const),
          ),
        ),
        again(),
      );
      return watched$;
    }),
  );
  const calls$ = watchedCalls(notes$, showLostMs, scheduler).pipe(shareReplay({ bufferSize: 1, refCount: true }));

  const eventsOf$ = (callId: string, since: 'start' | 'now'): Observable<BoardEvent> =>
    defer(() =>
      new EventReader({ stream: subjects.stream, filter: subjects.events(callId, '>'), since, again }).read(link),
    );
  const audioOf$ = (callId: string): ReturnType<CallBoard['audio']> => {
    const asks$ = timer(0, listenEveryMs, scheduler).pipe(
      tap(() => link.up?.publish(subjects.listen(callId))),
      ignoreElements(),
    );
    const heard$ = link.messages(subjects.audio(callId, '*')).pipe(
      map(({ subject, data }) => ({
        side: subject.endsWith('.caller') ? ('caller' as const) : ('agent' as const),
        chunk: { data: new Uint8Array(data), metadata },
      })),
    );
    return merge(heard$, asks$, link.up$.pipe(ignoreElements()));
  };

  const board: CallBoard = {
    connected$: link.up$.pipe(
      map((nats) => nats !== undefined),
      startWith(false),
      distinctUntilChanged(),
    ),
    calls$,
    events: ({ callId, since = 'now' } = {}) =>
      callId === undefined || isCallId(callId) ? eventsOf$(callId ?? '*', since) : unknown(callId),
    audio: (callId) => (isCallId(callId) ? audioOf$(callId) : unknown(callId)),
    command: async (callId, command) => {
      if (!isCallId(callId)) return refused(noSuchCall);
      return firstValueFrom(
        defer(() => from(Promise.resolve(connection))).pipe(
          stallTimeout({ firstMs: commandMs, scheduler, error: () => new Error(noBroker) }),
          switchMap((nats) => nats.request(subjects.commands(callId), JSON.stringify(command), { timeout: commandMs })),
          map(({ data }) => readReply(data)),
        ),
        { defaultValue: refused('the connection is closed') },
      ).catch((cause: unknown) => refused(problemOf(cause)));
    },
  };
  return board;
}

/** What one subscriber reads, and from where. */
interface EventReaderOptions {
  readonly stream: string;
  /** The subjects of the events. */
  readonly filter: string;
  readonly since: 'start' | 'now';
  /** Retries what the broker refuses. */
  readonly again: () => MonoTypeOperatorFunction<BoardEvent>;
}

/** Reads events for one subscriber, and continues where it stopped after the broker was away. */
class EventReader {
  readonly #options: EventReaderOptions;
  /** The stream's number of the next message to read; undefined before the first answer when reading from now on. */
  #next: number | undefined;

  constructor(options: EventReaderOptions) {
    this.#options = options;
    this.#next = options.since === 'start' ? 1 : undefined;
  }

  read(link: NatsLink): Observable<BoardEvent> {
    // The client's own consumer is long silent after the broker was away.
    return link.up$.pipe(switchMap((nats) => (nats ? this.#consume(nats) : EMPTY)));
  }

  #consume(nats: NatsClient): Observable<BoardEvent> {
    return defer(() => this.#openConsumer(nats)).pipe(
      switchMap((consumer) => fromAsync(() => consumer.consume())),
      tap(({ seq }) => (this.#next = seq + 1)),
      mergeMap(({ subject, data }) => readEvent(subject, data)),
      this.#options.again(),
    );
  }

  async #openConsumer(nats: NatsClient): Promise<Consumer> {
    const { stream, filter } = this.#options;
    const next = await nextOf(nats, stream, this.#next);
    this.#next = next;
    return jetstream(nats).consumers.get(stream, {
      filter_subjects: filter,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: next,
    });
  }
}

async function openBucket(nats: NatsClient, name: string): Promise<{ readonly bucket: KV; readonly expiryMs: number }> {
  const bucket = await new Kvm(nats).open(name);
  const { ttl } = await bucket.status();
  return { bucket, expiryMs: ttl > 0 ? ttl : Infinity };
}

/** Where to go on in a stream that was read up to before `next`, or not yet. */
async function nextOf(nats: NatsClient, name: string, next: number | undefined): Promise<number> {
  const { streams } = await jetstreamManager(nats, { checkAPI: false });
  const { last_seq: last } = (await streams.info(name)).state;
  if (next === undefined) return last + 1;
  // One that was lost with its broker, and created again, counts from 1.
  return next > last + 1 ? 1 : next;
}

function readEvent(subject: string, data: Uint8Array): Observable<BoardEvent> {
  const message = parseJsonObject(data);
  const [, , callId] = subject.split('.');
  const event = asObject(message?.['event']);
  const seq = asNumber(message?.['seq']);
  const isEvent = typeof event?.['type'] === 'string' && typeof event['at'] === 'number';
  return callId && isEvent && seq !== undefined ? of({ callId, seq, event: event as unknown as CallEvent }) : EMPTY;
}

function readReply(data: Uint8Array): CommandReply {
  const message = parseJsonObject(data);
  if (message?.['ok'] === true) return { ok: true };
  return { ok: false, message: asString(message?.['message']) ?? 'the answer could not be read' };
}

function refused(message: string): CommandReply {
  return { ok: false, message };
}

const noBroker = 'the broker cannot be reached';
const noSuchCall = 'there is no such call, or its machine is gone';

/** What is no call's id, such as one from an address, must not name several. */
function unknown(callId: unknown): Observable<never> {
  const message = `natsBoard: "${String(callId)}" is no call's id`;
  return throwError(() => new VoiceError(message, { code: 'configuration' }));
}

/** The outcome of a command that was not acknowledged. */
function problemOf(cause: unknown): string {
  const problem = messageOf(cause);
  if (problem.startsWith('no responders')) return noSuchCall;
  return problem === 'timeout' ? 'the call has not answered in time' : problem;
}
