import {
  asyncScheduler,
  catchError,
  concat,
  defer,
  distinctUntilChanged,
  EMPTY,
  exhaustMap,
  finalize,
  firstValueFrom,
  from,
  ignoreElements,
  interval,
  map,
  mergeMap,
  of,
  repeat,
  scan,
  startWith,
  Subject,
  switchMap,
  takeUntil,
  tap,
  throttleTime,
  type MonoTypeOperatorFunction,
  type Observable,
  type ObservableInput,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { publicStream } from '../core/application-code.ts';
import { VoiceError } from '../core/errors.ts';
import { eventStreams, type EventStream } from '../conversation/event-streams.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import { transcode } from '../operators/transcode.ts';
import { reportBroken } from '../pipeline/inside.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { keepRetrying } from '../stream/keep-retrying.ts';
import { merge } from '../stream/merge.ts';
import { patientTimer } from '../stream/patient-timer.ts';
import { carryOut } from './call-commands.ts';
import type { CallCommand, CallEvent, CallSide, CallSink, ListedCall } from './call-sink.ts';
import { outbox } from './outbox.ts';
import { publicEvent } from './share-pipeline.ts';

/** A stream of events that {@link publish} can publish: all but the audio. */
export type PublishedStream = Exclude<EventStream, 'audio$'>;

/** Options of {@link publish}. */
export interface PublishOptions {
  /** Letters, digits, `-` and `_`, at most 100; unique among all machines. Default: a random UUID. */
  readonly callId?: string;
  /** Further facts for the live list, such as the machine and the platform. Default: none. */
  readonly details?: Readonly<Record<string, string>>;
  /**
   * The streams whose events are published. `tools$` and `history$` contain arguments and results of tools. Default:
   * all but `captions$`.
   */
  readonly streams?: readonly PublishedStream[];
  /** The commands to accept. Default: all. */
  readonly commands?: readonly CallCommand['type'][];
  /** Ends the call. Default: the pipeline's `stop()`. */
  readonly hangUp?: () => unknown;
  /** Transfers the call. Default: `transfer` is refused. */
  readonly transfer?: (to: string) => unknown;
  /** The audio for listening in: a phone's `audio$` and `heard$`. Default: none. */
  readonly audio?: Readonly<Partial<Record<CallSide, Observable<AudioChunk>>>>;
  /** Most events kept while the broker is away, at least 1; the oldest are dropped. Default: 2,000. */
  readonly maxWaiting?: number;
  /** How long after the call delivery of the last events is retried, in milliseconds. Default: 30,000. */
  readonly lingerMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** A published call. */
export interface Publication {
  readonly callId: string;
  /**
   * Failures that are being retried: the broker is away, or refuses. What its subscribers throw is an `error` event of
   * the pipeline. Hot; completes at the end.
   */
  readonly problems$: Observable<VoiceError>;
  /** Resolves when the call is over and its events are delivered or given up. Never rejects. */
  readonly done: Promise<void>;
  /** Stops publishing, as the end of the pipeline does. */
  stop(): Promise<void>;
}

/** The audio for listening in. */
const listenIn: AudioMetadata = { encoding: 'linear16', sampleRate: 16_000, channels: 1, bitDepth: 16 };

const usualStreams = (Object.keys(eventStreams) as EventStream[]).filter(
  (name): name is PublishedStream => name !== 'audio$' && name !== 'captions$',
);
const allCommands: readonly CallCommand['type'][] = ['say', 'send', 'interrupt', 'hangUp', 'transfer', 'update'];

/** Most characters of waiting events, and of the last words shown on the list. */
const maxWaitingCharacters = 2_000_000;
const maxSaidCharacters = 200;

/** Shortest time between two updates of a call on the list, in milliseconds. */
const listEveryMs = 500;
/** How subscriptions to commands and listeners are retried. Times in milliseconds. */
const asksAgain = { initialMs: 1_000, maxMs: 1_000, jitter: 'none' } as const;

/**
 * Publishes a call, so that it can be watched and controlled from other machines: its events in order, an entry on the
 * live list, commands to it, and its audio while anyone is listening. The call never waits for the broker: undelivered
 * events wait in memory, and are delivered later or counted in an `events.dropped`. Secret keys (`collectDigits`)
 * appear in no event and no audio.
 *
 * @example
 * ```ts
 * import { Pipeline, publish, type AnyProvider, type CallSink, type PhoneStreamA } from 'rxvoice';
 *
 * declare const phone: PhoneStreamA;
 * declare const services: AnyProvider[];
 * declare const sink: CallSink;
 *
 * const pipeline = new Pipeline({ providers: [phone, ...services] });
 * publish(pipeline, sink, {
 *   details: { machine: 'voice-3' },
 *   hangUp: () => phone.hangUp(),
 *   audio: { caller: phone.audio$, agent: phone.heard$ },
 * });
 * await pipeline.start();
 * ```
 *
 * @throws VoiceError `configuration` when an option cannot work.
 */
export function publish(pipeline: Pipeline, sink: CallSink, options: PublishOptions = {}): Publication {
  const { callId = crypto.randomUUID(), maxWaiting = 2_000, lingerMs = 30_000, scheduler = asyncScheduler } = options;
  if (!/^[\w-]{1,100}$/.test(callId))
    throw refused(`callId may contain only letters, digits, - and _, not "${callId}"`);
  if (!Number.isSafeInteger(maxWaiting) || maxWaiting < 1)
    throw refused(`maxWaiting must be at least 1, not ${maxWaiting}`);
  const streams = options.streams ?? usualStreams;

  const problems$ = new Subject<VoiceError>();
  const onFailure = (cause: unknown): void =>
    problems$.next(VoiceError.from(cause, { code: 'connection', recoverable: true }));
  const stops$ = new Subject<void>();
  const events$ = merge(...streams.map((name): Observable<VoiceEvent> => pipeline[name])).pipe(
    map((event) => publicEvent(event) as CallEvent),
    takeUntil(stops$),
  );
  const over$ = concat(pipeline.events$.pipe(ignoreElements(), takeUntil(stops$)), of(true));
  const delivered$ = events$.pipe(
    outbox((events) => sink.deliver(callId, events), {
      ...{ maxEvents: maxWaiting, maxCharacters: maxWaitingCharacters, id: crypto.randomUUID(), scheduler, onFailure },
    }),
  );
  /** Whatever the broker missed is repeated, or no longer true. */
  const tried$ = (told$: () => ObservableInput<unknown>): Observable<never> =>
    defer(told$).pipe(
      ignoreElements(),
      catchError((cause: unknown) => {
        onFailure(cause);
        return EMPTY;
      }),
    );
  const again = <T>(): MonoTypeOperatorFunction<T> =>
    keepRetrying({ ...asksAgain, onRetry: ({ error }) => onFailure(error), scheduler });

  const states$ = listing$(pipeline, callId, options, streams, scheduler).pipe(
    throttleTime(listEveryMs, scheduler, { leading: true, trailing: true }),
    switchMap((call) =>
      interval(sink.expiryMs / 3, scheduler).pipe(
        map(() => call),
        startWith(call),
      ),
    ),
    takeUntil(over$),
  );
  const listed$ = states$.pipe(latestOnly((call) => tried$(() => sink.list(call))));
  const commanded = { pipeline, commands: options.commands ?? allCommands, transfer: options.transfer };
  const hangUp = options.hangUp ?? (() => pipeline.stop());
  const commands$ = defer(() => sink.commands(callId)).pipe(
    mergeMap(async (request) => request.reply(await carryOut(request.body, { ...commanded, hangUp }))),
    again(),
    takeUntil(over$),
  );
  const audio$ = defer(() => sink.listeners(callId)).pipe(
    distinctUntilChanged(),
    switchMap((isHeard) => (isHeard ? samplesOf$(options.audio ?? {}) : EMPTY)),
    tap(({ side, data }) => sink.sendAudio(callId, side, data)),
    again(),
    takeUntil(over$),
  );
  const gone$ = over$.pipe(switchMap(() => patientTimer(lingerMs, scheduler)));
  const work$ = merge(
    delivered$,
    concat(
      listed$,
      tried$(() => sink.unlist(callId)),
    ),
    commands$,
    audio$,
  ).pipe(
    ignoreElements(),
    takeUntil(gone$),
    finalize(() => problems$.complete()),
  );
  const done = firstValueFrom(work$, { defaultValue: undefined });
  return {
    ...{ callId, done },
    problems$: publicStream(problems$, (cause) => reportBroken(pipeline, 'publish: a subscriber of problems$', cause)),
    stop: () => {
      stops$.next();
      return done;
    },
  };
}

/** The call's entry on the live list, as it changes. */
function listing$(
  pipeline: Pipeline,
  callId: string,
  { details = {} }: PublishOptions,
  streams: readonly PublishedStream[],
  scheduler: SchedulerLike,
): Observable<ListedCall> {
  const start: ListedCall = {
    ...{ callId, startedAt: scheduler.now(), agent: pipeline.agentState, user: 'silent', turns: 0, errors: 0, details },
  };
  const said = (by: 'user' | 'agent', text: string): Pick<ListedCall, 'said'> => {
    const stream = by === 'user' ? 'transcripts$' : 'speech$';
    return streams.includes(stream) && text ? { said: { by, text: text.slice(0, maxSaidCharacters) } } : {};
  };
  const follow = (call: ListedCall, event: VoiceEvent): ListedCall => {
    switch (event.type) {
      case 'agent.state':
        return { ...call, agent: event.state };
      case 'user.state':
        return { ...call, user: event.state };
      case 'turn.started':
        return { ...call, turns: call.turns + 1 };
      case 'error':
        return { ...call, errors: call.errors + 1 };
      case 'transcript.final':
        return { ...call, ...said('user', event.text) };
      case 'speech.ended':
        return { ...call, ...said('agent', event.heardText) };
      default:
        return call;
    }
  };
  return pipeline.events$.pipe(scan(follow, start), startWith(start), distinctUntilChanged());
}

function samplesOf$(
  sides: NonNullable<PublishOptions['audio']>,
): Observable<{ readonly side: CallSide; readonly data: Uint8Array<ArrayBuffer> }> {
  const heard = (['caller', 'agent'] as const).map((side) =>
    from(sides[side] ?? EMPTY).pipe(
      transcode(listenIn),
      map(({ data }) => ({ side, data })),
    ),
  );
  return merge(...heard);
}

/** Processes the latest value, one at a time: of those that arrive meanwhile, only the last is kept. */
function latestOnly<T>(project$: (value: T) => Observable<never>): OperatorFunction<T, never> {
  return (source$) =>
    defer(() => {
      const waiting: T[] = [];
      const doNext$ = defer(() => {
        const [value] = waiting.splice(0);
        return value === undefined ? EMPTY : project$(value);
      }).pipe(repeat({ delay: () => (waiting.length === 0 ? EMPTY : of(true)) }));
      return source$.pipe(
        tap((value) => waiting.splice(0, 1, value)),
        exhaustMap(() => doNext$),
      );
    });
}

function refused(problem: string): VoiceError {
  return new VoiceError(`publish: ${problem}`, { code: 'configuration' });
}
