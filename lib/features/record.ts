import {
  asyncScheduler,
  catchError,
  combineLatest,
  concat,
  concatMap,
  defer,
  distinctUntilChanged,
  EMPTY,
  filter,
  from,
  ignoreElements,
  interval,
  map,
  NEVER,
  of,
  share,
  startWith,
  switchMap,
  take,
  takeUntil,
  tap,
  type MonoTypeOperatorFunction,
  type Observable,
  type ObservableInput,
  type SchedulerLike,
} from 'rxjs';
import { isPcmLike } from '../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { wavHeader } from '../audio/wav-header.ts';
import { VoiceError } from '../core/errors.ts';
import { assertKnownKeys } from '../core/known-keys.ts';
import { OnDemand } from '../core/on-demand.ts';
import type { InputProvider } from '../core/roles.ts';
import type { VoiceEventType } from '../conversation/events.ts';
import { isPushToTalk } from '../conversation/turn-taking/is-push-to-talk.ts';
import { insideOf } from '../pipeline/inside.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { fromInput } from '../stream/bridge.ts';
import { merge } from '../stream/merge.ts';
import { hasNode, heardThrough } from './heard-node.ts';
import { Recorder, type RecordedPart, type SilencedSpan } from './recorder.ts';
import type { Span } from './silencer.ts';

/** Options of {@link record}. */
export interface RecordOptions {
  /**
   * Whether the caller agrees: `true`; a promise or a stream that says so, now or later; or a function that asks,
   * called when the conversation begins. Nothing is recorded or buffered before `true`. After `false`, the recording is
   * silent until `true`, and unwritten audio is dropped. Its errors fail the recording. Required.
   */
  readonly consent: boolean | ObservableInput<boolean> | (() => boolean | ObservableInput<boolean>);
  /** Hz. Default: the input's. */
  readonly sampleRate?: number;
  /**
   * How far writing lags behind the call, in milliseconds, and thus how far back `redact()` can reach. From 2,000 to
   * 300,000; takes 64 bytes per millisecond at 16 kHz. Default: 2,000.
   */
  readonly holdMs?: number;
  /**
   * The events to write beside it. Default: `turn.started`, `.committed`, `.ended`, `transcript.final`,
   * `speech.started`, `.ended`, `bargeIn.confirmed`, `agent.handoff`, `dtmf.digit`, `call.ended`.
   */
  readonly events?: readonly VoiceEventType[];
}

/**
 * A recording of a conversation. Starts with the first subscription, and ends with the conversation or the last
 * subscription.
 */
export interface CallRecording {
  /**
   * A WAV file as it is recorded: the header, then 16-bit samples, caller on the left, agent on the right. The header
   * states no length; {@link CallRecording.header} does. Empty without consent.
   */
  readonly wav$: Observable<Uint8Array<ArrayBuffer>>;
  /**
   * The events beside it, each a line of JSON: `ms` is the time in the recording. `recording.started` has the
   * wall-clock time, `at`. Subscribe in the same tick as to `wav$`.
   */
  readonly lines$: Observable<string>;
  /** `wav$` as a web stream, for a file or an upload. Errors when its reader falls 16 MiB behind. */
  readable(): ReadableStream<Uint8Array<ArrayBuffer>>;
  /** A header for what was recorded so far, 44 bytes: write it over the original one to tell players the length. */
  header(): Uint8Array<ArrayBuffer>;
  /**
   * Silences a span, and removes what was said in it from the events: the contents of those whose turn or speech
   * overlaps it. Reaches back as far as `holdMs`.
   *
   * @param span - Default: both speakers, from now on.
   * @returns A function that ends an open span. The end of the session ends it, too.
   */
  redact(span?: SilencedSpan): () => void;
}

/** How much is written at once, in milliseconds. */
const writeMs = 200;
/** How far a web stream's reader may fall behind, in bytes. */
const maxUnread = 16 * 1024 * 1024;

const usualEvents: readonly VoiceEventType[] = [
  ...(['turn.started', 'turn.committed', 'turn.ended', 'transcript.final', 'speech.started', 'speech.ended'] as const),
  ...(['bargeIn.confirmed', 'agent.handoff', 'dtmf.digit', 'call.ended'] as const),
];

/**
 * Records a conversation in stereo: on the left what the caller said, on the right what was heard of the agent, cut
 * where it was interrupted, both on one clock. The caller is silent while muted, and with push-to-talk while not
 * pressing. Nothing is recorded without consent.
 *
 * Needs an output that reports what was heard (phones, meetings, `PageSocket`, `NullOutput`) or plays through an
 * `audioNode` (`BrowserAudioOutput`, `WebRTCOutput`). {@link webmOpus} makes the file smaller in browsers.
 *
 * @example
 * ```ts
 * import { record, type Pipeline } from 'rxvoice';
 *
 * declare const pipeline: Pipeline;
 * declare const file: { write(data: string | Uint8Array): void };
 * declare const events: { write(data: string | Uint8Array): void };
 *
 * const recording = record(pipeline, { consent: true });
 * recording.wav$.subscribe((bytes) => file.write(bytes));
 * recording.lines$.subscribe((line) => events.write(line));
 * await pipeline.start();
 * ```
 *
 * @throws VoiceError `configuration` when an option cannot work, or the output cannot tell what was heard;
 * `unsupported_format` for compressed input.
 */
export function record(pipeline: Pipeline, options: RecordOptions): CallRecording {
  assertKnownKeys('record', options, { consent: true, sampleRate: true, holdMs: true, events: true });
  const { scheduler = asyncScheduler } = insideOf(pipeline).options;
  const { input, heard$ } = endsOf(pipeline, scheduler);
  const { holdMs = 2_000, events = usualEvents, sampleRate = input.getMetadata().sampleRate } = options;
  if (!(holdMs >= 2_000 && holdMs <= 300_000)) throw refused(`holdMs must be from 2,000 to 300,000, not ${holdMs}`);
  const format: AudioMetadata = { encoding: 'linear16', sampleRate, channels: 2, bitDepth: 16 };
  const spans: Span[] = [];
  let recorder: Recorder | undefined;

  const session$ = defer(() => {
    const current = new Recorder({ from: input.getMetadata(), format, holdMs, spans });
    recorder = current;
    const agreed$ = consentOf(options).pipe(
      distinctUntilChanged(),
      tap((isGiven) => (isGiven ? current.begin(scheduler.now()) : current.pause(scheduler.now()))),
    );
    const caller$ = input.audio$.pipe(
      untilBroken(),
      tap(({ data }) => current.hear(data, scheduler.now())),
    );
    const agent$ = heard$.pipe(tap((chunk) => current.play(chunk, scheduler.now())));
    const event$ = pipeline.events$.pipe(
      tap((event) => current.note(event, scheduler.now(), events.includes(event.type))),
    );
    const audible$ = audibleOf(pipeline).pipe(tap((isAudible) => (current.isAudible = isAudible)));
    const written$ = interval(writeMs, scheduler).pipe(concatMap(() => current.write(scheduler.now())));
    const heardAll$ = merge<unknown[]>(audible$, agreed$, caller$, agent$, event$).pipe(ignoreElements());
    const closed$ = pipeline.events$.pipe(filter(({ type }) => type === 'session.closed'));
    const ended$ = defer(() => from(current.end(scheduler.now())));
    return concat(merge(heardAll$, written$).pipe(takeUntil(closed$)), ended$);
  });
  const part$: Observable<RecordedPart> = pipeline.state$.pipe(
    // Both may be heard before all services are connected, which `session.ready` tells.
    filter((event) => event.type === 'agent.state' && event.state !== 'idle'),
    take(1),
    switchMap(() => session$),
    share(),
  );
  const wav$ = part$.pipe(concatMap(({ bytes }) => (bytes ? [bytes] : [])));
  return {
    wav$,
    lines$: part$.pipe(concatMap(({ line }) => (line === undefined ? [] : [line]))),
    readable: () => readableOf(wav$),
    header: () => wavHeader(format, recorder?.writtenBytes ?? 0),
    redact: ({ from: since = scheduler.now(), to = Infinity, speaker } = {}) => {
      recorder?.follow(scheduler.now());
      const span = { from: since, to, ...(speaker ? { speaker } : {}) };
      spans.push(span);
      const end = (): void => {
        forget?.();
        recorder?.follow(scheduler.now());
        span.to = Math.min(span.to, scheduler.now());
      };
      // Also while nobody reads the recording: the next session is another call.
      const forget = to === Infinity ? pipeline.on('session.closed', end) : undefined;
      return end;
    },
  };
}

/** A pipeline's input, and what is heard of its output. */
function endsOf(
  pipeline: Pipeline,
  scheduler: SchedulerLike,
): { readonly input: InputProvider; readonly heard$: Observable<AudioChunk> } {
  const { input, output } = insideOf(pipeline).assigned;
  if (input instanceof OnDemand || output instanceof OnDemand) {
    throw refused('it needs to know both ends: list MicrophoneInput and BrowserAudioOutput among the providers');
  }
  const { heard$: told$ } = output as { readonly heard$?: Observable<AudioChunk> };
  const heard$ = told$?.pipe(untilBroken()) ?? (hasNode(output) ? heardThrough(output, scheduler) : undefined);
  if (!heard$) {
    const others = 'phones, meetings, PageSocket, NullOutput and the outputs of browsers do';
    throw refused(`${output.name} does not report what was heard: ${others}`);
  }
  const { encoding } = input.getMetadata();
  if (!isPcmLike(encoding)) {
    throw new VoiceError(`record: ${input.name} captures ${encoding}: have it capture linear16`, {
      code: 'unsupported_format',
    });
  }
  return { input, heard$ };
}

/** Consent, as given and withdrawn. */
function consentOf({ consent }: Pick<RecordOptions, 'consent'>): Observable<boolean> {
  return defer(() => {
    const given$ = typeof consent === 'function' ? (consent as () => boolean | ObservableInput<boolean>)() : consent;
    // JavaScript may pass anything: only `true` is consent.
    return concat(typeof given$ === 'object' ? fromInput(given$) : of(given$), NEVER);
  }).pipe(map((given) => (given as unknown) === true));
}

/** Whether the caller may be recorded: not muted, and with push-to-talk, only while pressed. */
function audibleOf(pipeline: Pipeline): Observable<boolean> {
  const isManual = (): boolean => isPushToTalk(insideOf(pipeline).options);
  const muted$ = pipeline.input$.pipe(
    concatMap((event) => (event.type === 'input.muted' ? [event.muted] : [])),
    startWith(false),
  );
  const pressed$ = insideOf(pipeline).commands$.pipe(
    filter(({ type }) => type === 'begin' || type === 'commit' || type === 'cancel'),
    map(({ type }) => type === 'begin'),
    startWith(false),
  );
  // A press lasts through a mute.
  return combineLatest([muted$, pressed$]).pipe(map(([isMuted, isPressed]) => !isMuted && (isPressed || !isManual())));
}

/** The pipeline reports its providers' errors. */
function untilBroken<T>(): MonoTypeOperatorFunction<T> {
  return catchError(() => EMPTY);
}

function readableOf(bytes$: Observable<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let end = (): void => undefined;
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start: (controller) => {
        const reading = bytes$.subscribe({
          next: (bytes) => {
            controller.enqueue(bytes);
            if ((controller.desiredSize ?? 0) > 0) return;
            controller.error(new VoiceError('record: the reader is too slow', { code: 'overflow' }));
            reading.unsubscribe();
          },
          error: (error: unknown) => controller.error(error),
          complete: () => controller.close(),
        });
        end = () => reading.unsubscribe();
      },
      cancel: () => end(),
    },
    { highWaterMark: maxUnread, size: ({ length }) => length },
  );
}

function refused(problem: string): VoiceError {
  return new VoiceError(`record: ${problem}`, { code: 'configuration' });
}
