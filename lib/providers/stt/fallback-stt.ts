import {
  BehaviorSubject,
  catchError,
  connect,
  defer,
  filter,
  finalize,
  firstValueFrom,
  ignoreElements,
  map,
  NEVER,
  type Observable,
  type ObservableInput,
  of,
  ReplaySubject,
  startWith,
  Subject,
  Subscription,
  switchMap,
  tap,
} from 'rxjs';
import { firstOf } from '../../audio/described.ts';
import { isPcmLike } from '../../audio/formats.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import type { ConnectionEvent, SpeechEvent, STTProvider, TranscriptionResult } from '../../core/roles.ts';
import { fromInput } from '../../stream/bridge.ts';
import { merge } from '../../stream/merge.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import { allFailed, type ChainFailures, FallbackProvider } from '../fallback-provider.ts';
import { AudioBacklog, EncodedBacklog } from './audio-backlog.ts';
import { formatFor, type Line, lineTo } from './fallback-line.ts';

/** Most audio kept while no service is connected, in milliseconds. */
const waitingMs = 60_000;
/** Most non-final audio that the next service hears again, in milliseconds. */
const replayMs = 30_000;
/** Longest frame of audio, in milliseconds. */
const frameMs = 100;
/** How long a connection must last, in milliseconds, until its service may be tried again after the next failure. */
const healthyMs = 10_000;
/** Most chunks of a recording that another service may have to hear again: half an hour of 20 ms each. */
const maxChunks = 90_000;

/** From `connect()` to `disconnect()`, or to the loss of all services. */
interface Session {
  readonly opened$: ReplaySubject<void>;
  readonly work: Subscription;
}

/** What was heard of the user's utterance. */
export interface Hearing {
  /** Whether it is going on, and whether some of its words are known. */
  readonly isOpen: boolean;
  readonly hasWords: boolean;
  /** Whether the application waits for a final. */
  readonly isFinalizing: boolean;
}

/** Before the first voice. */
export const silent: Hearing = { isOpen: false, hasWords: false, isFinalizing: false };

/** Speech-to-text services combined by `fallback()`. */
export class FallbackSTT extends FallbackProvider<STTProvider> implements STTProvider {
  override readonly roles = ['stt'] as const;
  readonly #transcripts$ = new Subject<TranscriptionResult>();
  readonly #speech$ = new Subject<SpeechEvent>();
  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  /** Ends the current line, and starts one to the service in use. */
  readonly #change$ = new Subject<void>();
  readonly #hearing$ = new BehaviorSubject(silent);
  #session: Session | undefined;
  #line: Line | undefined;
  #lines = 0;
  #format: AudioMetadata | undefined;
  /** The audio since the end of the last utterance. */
  #backlog: AudioBacklog | EncodedBacklog | undefined;
  #isOverflowing = false;

  /** Formats that `sendAudio` accepts, best first: those of the first service. */
  get accepts(): readonly AudioFormat[] {
    return this.members[0].accepts;
  }

  /** Whether all services report the end of speech. */
  get reportsSpeechEnd(): boolean {
    return this.members.every(({ reportsSpeechEnd = false }) => reportsSpeechEnd);
  }

  /** Silence after which the first service ends an utterance, in milliseconds. */
  get pauseMs(): number | undefined {
    return this.members[0].pauseMs;
  }

  /** Asks the service in use for the final result of what was sent so far. Absent when none of them can be asked. */
  get finalize(): (() => void) | undefined {
    return this.members.some((member) => member.finalize) ? (): void => this.#finalize() : undefined;
  }

  /** Results of the service in use. Hot. */
  get transcripts$(): Observable<TranscriptionResult> {
    return this.handOut('transcripts$', this.#transcripts$);
  }

  /** The speaker's voice, as the service in use hears it. Hot. */
  get speech$(): Observable<SpeechEvent> {
    return this.handOut('speech$', this.#speech$);
  }

  /** `lost` when none of the services can be reached; `fallback` at each switch. Hot; replays the latest event. */
  override get connection$(): Observable<ConnectionEvent> {
    return this.handOut('connection$', this.#connection$);
  }

  /**
   * Sets the format that `sendAudio` will be given. Default: that of the first chunk, else the first in `accepts`.
   *
   * @throws VoiceError `unsupported_format` when one of the services can be given neither it nor a conversion of it.
   */
  configureAudio(metadata: AudioMetadata): void {
    for (const member of this.members) formatFor(member, metadata);
    this.#format = metadata;
  }

  /**
   * Opens a session with the service in use, or with the next one that can be reached. Concurrent calls share it.
   *
   * @throws VoiceError when none of them can.
   */
  connect(): Promise<void> {
    this.assertReady('connect');
    this.#session ??= this.#begin();
    return firstValueFrom(this.#session.opened$, { defaultValue: undefined });
  }

  /** Lets the service in use finish, and waits for its last results. */
  async disconnect(): Promise<void> {
    const session = this.#session;
    this.unwatchFirst();
    try {
      await this.#line?.leave();
    } finally {
      if (session) this.#end(session, { type: 'closed' });
      this.#forget();
    }
  }

  /** Sends audio; keeps up to 60 s while no service is connected. */
  sendAudio({ data, metadata }: AudioChunk): void {
    if (metadata && !this.#format) this.configureAudio(metadata);
    this.#backlog ??= isPcmLike(this.#audioFormat.encoding)
      ? new AudioBacklog(this.#audioFormat, frameMs)
      : new EncodedBacklog();
    const frames = this.#backlog.push(data);
    const droppedMs = this.#backlog.trim(this.#line ? replayMs : waitingMs);
    const isTooMuch = droppedMs > 0 && !this.#line;
    if (isTooMuch) this.dropped(droppedMs);
    if (isTooMuch && !this.#isOverflowing) {
      const message = `${this.name}: more than ${waitingMs / 1000} s of audio queued for a connection: the oldest is dropped`;
      this.report(this.error(message, { code: 'overflow', recoverable: true }));
    }
    this.#isOverflowing = isTooMuch;
    this.#line?.send(frames);
  }

  /** Asks for the final result of what was sent so far; a service that takes over is asked as well. */
  #finalize(): void {
    this.#hearing$.next({ ...this.#hearing$.value, isFinalizing: true });
    this.#line?.stt.finalize?.();
  }

  /** Transcribes one stream of audio, with the next service from its start when one fails before its first result. Cold. */
  transcribe(audio$: ObservableInput<AudioChunk>): Observable<TranscriptionResult> {
    return defer(() => {
      this.assertReady('transcribe');
      return fromInput(audio$).pipe(
        connect((chunk$) => this.ask((stt) => stt.transcribe(chunk$)), {
          connector: () => new ReplaySubject<AudioChunk>(maxChunks),
        }),
      );
    });
  }

  /** Connects the first service, and waits for the end of the user's utterance. */
  protected override probe(first: STTProvider): Observable<unknown> {
    return defer(() => {
      let isTaken = false;
      first.configureAudio(formatFor(first, this.#audioFormat).target);
      const isQuiet$ = this.#hearing$.pipe(filter(({ isOpen }) => !isOpen));
      const lost$ = (first.connection$ ?? NEVER).pipe(
        filter(({ type }) => type === 'reconnecting' || type === 'lost' || type === 'closed'),
        map((): never => {
          throw this.error(`${first.name} is lost again`, { code: 'connection', recoverable: true });
        }),
      );
      return defer(async () => first.connect()).pipe(
        stallTimeout({ firstMs: this.#connectMs, scheduler: this.scheduler, idleMs: () => undefined }),
        switchMap(() => merge(lost$, isQuiet$)),
        tap(() => {
          isTaken = true;
        }),
        finalize(() => {
          if (!isTaken) void first.disconnect().catch(() => undefined);
        }),
      );
    });
  }

  /** Only tried while connected. */
  protected override needed$(): Observable<unknown> {
    return of(true);
  }

  protected override onProbed(): void {
    super.onProbed();
    this.#change$.next();
  }

  protected override onSwitch(event: ConnectionEvent): void {
    this.#connection$.next(event);
  }

  protected override async onDispose(): Promise<void> {
    const session = this.#session;
    if (session) this.#end(session, { type: 'closed' });
    this.#forget();
    await super.onDispose();
  }

  get #connectMs(): number {
    return this.config.connectMs ?? 5_000;
  }

  get #audioFormat(): AudioMetadata {
    return this.#format ?? firstOf(this.accepts);
  }

  #begin(): Session {
    const session: Session = { opened$: new ReplaySubject(1), work: new Subscription() };
    this.#session = session;
    this.#connection$.next({ type: 'connecting' });
    this.watchFirst();
    const lines$ = this.#change$.pipe(
      startWith(undefined),
      switchMap(() => this.#lineOf(new Map())),
    );
    session.work.add(
      lines$.subscribe({
        next: (line) => this.#onOpen(line, session),
        error: (cause: unknown) => {
          const error = VoiceError.from(cause);
          this.#end(session, { type: 'lost', error }, error);
        },
      }),
    );
    return session;
  }

  /** The line of the service in use; of the next one when that fails. */
  #lineOf(failures: ChainFailures): Observable<Line> {
    return defer(() => {
      const index = this.current;
      const place = this.#lines++;
      return lineTo({
        stt: this.inUse,
        format: this.#audioFormat,
        backlog: () => this.#backlog,
        connectMs: this.#connectMs,
        scheduler: this.scheduler,
        onResult: (result) => this.#hear(result, place),
        onSpeech: (event) => this.#hearVoice(event),
        onConnection: (event) => this.#connection$.next(event),
      }).pipe(
        // A connection that lasts restores trust.
        switchMap((line) => {
          const healthy$ = patientTimer(healthyMs, this.scheduler).pipe(tap(() => failures.clear()));
          return merge(of(line), healthy$.pipe(ignoreElements()));
        }),
        finalize(() => {
          this.#line = undefined;
        }),
        catchError((error: unknown) => {
          this.#line = undefined;
          if (this.failed(index, error, failures) === undefined) throw allFailed(failures);
          this.#connection$.next({ type: 'connecting' });
          return this.#lineOf(failures);
        }),
      );
    });
  }

  #onOpen(line: Line, { opened$ }: Session): void {
    this.#line = line;
    this.#isOverflowing = false;
    if (this.#hearing$.value.isFinalizing) line.stt.finalize?.();
    this.#connection$.next({ type: 'connected' });
    opened$.next();
  }

  #hear(result: TranscriptionResult, place: number): void {
    // The application may ask again, or another service take over, as soon as it hears of this result.
    this.#hearing$.next(afterFinal(this.#hearing$.value, result));
    if (result.utteranceComplete) {
      const endMs = result.metadata?.words?.at(-1)?.endMs;
      this.#backlog?.release(endMs ?? this.#backlog.endMs);
    }
    this.#transcripts$.next(inPlace(result, place));
    this.#hearing$.next(afterResult(this.#hearing$.value, result));
  }

  #hearVoice(event: SpeechEvent): void {
    this.#speech$.next(event);
    this.#hearing$.next(afterVoice(this.#hearing$.value, event));
  }

  #end(session: Session, event: ConnectionEvent, error?: VoiceError): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    this.#line = undefined;
    this.unwatchFirst();
    session.work.unsubscribe();
    this.#connection$.next(event);
    session.opened$.error(error ?? this.error(`${this.name}: the connection was closed`, { code: 'aborted' }));
  }

  /** Other audio follows. */
  #forget(): void {
    this.#backlog = undefined;
    this.#hearing$.next(silent);
  }
}

/** A final is what the application was waiting for. */
function afterFinal(hearing: Hearing, { isFinal }: TranscriptionResult): Hearing {
  return isFinal ? { ...hearing, isFinalizing: false } : hearing;
}

/** Only the end of the utterance ends one whose words are known. */
export function afterResult(hearing: Hearing, { text, utteranceComplete }: TranscriptionResult): Hearing {
  if (utteranceComplete) return { ...hearing, isOpen: false, hasWords: false };
  const hasWords = hearing.hasWords || text.trim() !== '';
  return { ...hearing, isOpen: hearing.isOpen || hasWords, hasWords };
}

/** A voice without words is over when it ends. */
export function afterVoice(hearing: Hearing, { type }: SpeechEvent): Hearing {
  return { ...hearing, isOpen: type !== 'ended' || hearing.hasWords };
}

/** A result with an id of its own: two services may use one id for different utterances. */
function inPlace(result: TranscriptionResult, place: number): TranscriptionResult {
  const { utteranceId } = result;
  return utteranceId === undefined || place === 0 ? result : { ...result, utteranceId: `${place}.${utteranceId}` };
}
