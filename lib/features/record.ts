import {
  asyncScheduler,
  catchError,
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
} from 'rxjs';
import { isPcmLike } from '../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { wavHeader } from '../audio/wav-header.ts';
import { VoiceError } from '../core/errors.ts';
import { OnDemand } from '../core/on-demand.ts';
import type { InputProvider } from '../core/roles.ts';
import type { VoiceEventType } from '../conversation/events.ts';
import { insideOf } from '../pipeline/inside.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { fromInput } from '../stream/bridge.ts';
import { merge } from '../stream/merge.ts';
import { Recorder, type RecordedPart, type SilencedSpan } from './recorder.ts';

/** Options of {@link record}. */
export interface RecordOptions {
  /**
   * Whether the caller agrees: `true`; a promise or a stream that tells so, now or later; or a function that asks for it,
   * called when the conversation begins. Before `true`, nothing is recorded or kept for it. After `false`, there is silence
   * until `true`, and what was not written yet is dropped. Its errors are the recording's. No default.
   */
  readonly consent: boolean | ObservableInput<boolean> | (() => boolean | ObservableInput<boolean>);
  /** Hz. Default: the input's. */
  readonly sampleRate?: number;
  /**
   * How far behind the call the recording is written, in milliseconds: so far back `redact()` can reach. From 2,000 to
   * 300,000; costs 64 bytes a millisecond at 16 kHz. Default: 2,000.
   */
  readonly holdMs?: number;
  /**
   * The events that stand beside it. Default: `turn.started`, `.committed`, `.ended`, `transcript.final`, `speech.started`,
   * `.ended`, `bargeIn.confirmed`, `agent.handoff`, `dtmf.digit`, `call.ended`.
   */
  readonly events?: readonly VoiceEventType[];
}

/** A recording of a conversation. Begins with the first subscription, ends with the conversation, or with the last one. */
export interface CallRecording {
  /**
   * A WAV file while it is being recorded: its header, then 16-bit samples, on the left the caller, on the right the agent.
   * Its header names no length, as a stream's; {@link CallRecording.header} does. Empty without consent.
   */
  readonly wav$: Observable<Uint8Array<ArrayBuffer>>;
  /**
   * Events beside it, each a line of JSON: `ms` is the time in the recording. `recording.started` has its wall-clock time,
   * `at`. Subscribe in the same tick as to `wav$`.
   */
  readonly lines$: Observable<string>;
  /** `wav$` for whatever takes a web stream, such as a file or an upload. Errors when its reader is 16 MiB behind. */
  readable(): ReadableStream<Uint8Array<ArrayBuffer>>;
  /** The header for what was recorded so far, 44 bytes: written over the first ones, it tells players the length. */
  header(): Uint8Array<ArrayBuffer>;
  /**
   * Silences a span, and takes what was said from its events. Reaches back as far as `holdMs`.
   *
   * @param span - Default: both speakers, from now on.
   * @returns Ends a span without an end.
   */
  redact(span?: SilencedSpan): () => void;
}

/** What is written at once, in milliseconds. */
const writeMs = 200;
/** Most of it that a web stream's reader may have left, in bytes. */
const maxUnread = 16 * 1024 * 1024;

const usualEvents: readonly VoiceEventType[] = [
  ...(['turn.started', 'turn.committed', 'turn.ended', 'transcript.final', 'speech.started', 'speech.ended'] as const),
  ...(['bargeIn.confirmed', 'agent.handoff', 'dtmf.digit', 'call.ended'] as const),
];

/**
 * Records a conversation: on the left what the caller said, on the right what the agent was heard to say, cut where it was
 * interrupted, both on one clock. Muted is silent, and so is the caller between two presses of push-to-talk. Nothing is
 * recorded without consent.
 *
 * The output tells what was heard: phones, meetings, `PageSocket`, `NullOutput`.
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
  const { scheduler = asyncScheduler } = insideOf(pipeline).options;
  const { input, heard$ } = endsOf(pipeline);
  const { holdMs = 2_000, events = usualEvents, sampleRate = input.getMetadata().sampleRate } = options;
  if (!(holdMs >= 2_000 && holdMs <= 300_000)) throw refused(`holdMs must be from 2,000 to 300,000, not ${holdMs}`);
  const format: AudioMetadata = { encoding: 'linear16', sampleRate, channels: 2, bitDepth: 16 };
  const spans: (SilencedSpan & { readonly from: number; to: number })[] = [];
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
    const agent$ = heard$.pipe(
      untilBroken(),
      tap((chunk) => current.play(chunk)),
    );
    const event$ = pipeline.events$.pipe(
      filter(({ type }) => events.includes(type)),
      tap((event) => current.note(event)),
    );
    const audible$ = audibleOf(pipeline).pipe(tap((isAudible) => (current.isAudible = isAudible)));
    const written$ = interval(writeMs, scheduler).pipe(concatMap(() => current.write(scheduler.now())));
    const heardAll$ = merge<unknown[]>(audible$, agreed$, caller$, agent$, event$).pipe(ignoreElements());
    const closed$ = pipeline.events$.pipe(filter(({ type }) => type === 'session.closed'));
    const ended$ = defer(() => from(current.end(scheduler.now())));
    return concat(merge(heardAll$, written$).pipe(takeUntil(closed$)), ended$);
  });
  const part$: Observable<RecordedPart> = pipeline.state$.pipe(
    filter(({ type }) => type === 'session.ready'),
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
      const span = { from: since, to, ...(speaker ? { speaker } : {}) };
      spans.push(span);
      return () => {
        span.to = Math.min(span.to, scheduler.now());
      };
    },
  };
}

/** The ends of a pipeline; the output must tell what was heard. */
function endsOf(pipeline: Pipeline): { readonly input: InputProvider; readonly heard$: Observable<AudioChunk> } {
  const { input, output } = insideOf(pipeline).assigned;
  const { heard$ } = output as { readonly heard$?: Observable<AudioChunk> };
  if (!heard$ || input instanceof OnDemand) {
    throw refused(`${output.name} does not report what was heard: phones, meetings, PageSocket and NullOutput do`);
  }
  const { encoding } = input.getMetadata();
  if (!isPcmLike(encoding)) {
    throw new VoiceError(`record: ${input.name} captures ${encoding}: have it capture linear16`, {
      code: 'unsupported_format',
    });
  }
  return { input, heard$ };
}

/** Consent as it is given and withdrawn. */
export function consentOf({ consent }: Pick<RecordOptions, 'consent'>): Observable<boolean> {
  return defer(() => {
    const given$ = typeof consent === 'function' ? (consent as () => boolean | ObservableInput<boolean>)() : consent;
    // From JavaScript anything may come: only `true` is consent.
    return concat(typeof given$ === 'object' ? fromInput(given$) : of(given$), NEVER);
  }).pipe(map((given) => (given as unknown) === true));
}

/** Whether the caller may be recorded: not muted, and with push-to-talk between its press and its release. */
export function audibleOf(pipeline: Pipeline): Observable<boolean> {
  const isManual = (): boolean => {
    const { turnTaking, endpointing } = insideOf(pipeline).options;
    return turnTaking?.strategy === 'manual' || (typeof endpointing === 'function' && endpointing.isManual === true);
  };
  const muted$ = pipeline.input$.pipe(
    concatMap((event) => (event.type === 'input.muted' ? [event.muted] : [])),
    startWith(false),
  );
  const pressed$ = insideOf(pipeline).commands$.pipe(
    filter(({ type }) => type === 'begin' || type === 'commit' || type === 'cancel'),
    map(({ type }) => type === 'begin'),
    startWith(false),
  );
  return muted$.pipe(switchMap((isMuted) => pressed$.pipe(map((isPressed) => !isMuted && (isPressed || !isManual())))));
}

/** The pipeline reports what is wrong with its providers. */
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
