import { defer, filter, NEVER, noop, Observable, type SchedulerLike, type Subscriber } from 'rxjs';
import { describeFormat, describeFormats } from '../../audio/described.ts';
import { negotiateFormat, type Negotiation } from '../../audio/negotiate.ts';
import { createTranscoder, type Transcoder } from '../../audio/transcoder.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import type { ConnectionEvent, SpeechEvent, STTProvider, TranscriptionResult } from '../../core/roles.ts';
import { feed } from '../../stream/feed.ts';
import { Alarm } from '../../stream/patient-timer.ts';
import type { AudioBacklog, EncodedBacklog } from './audio-backlog.ts';

type Frames = readonly Uint8Array<ArrayBuffer>[];

/** What {@link lineTo} needs. */
export interface LineOptions {
  readonly stt: STTProvider;
  /** The format of the audio. */
  readonly format: AudioMetadata;
  /** The audio that no service has made final. */
  readonly backlog: () => AudioBacklog | EncodedBacklog | undefined;
  /** Longest time without a connection, in milliseconds. */
  readonly connectMs: number;
  readonly scheduler: SchedulerLike;
  readonly onResult: (result: TranscriptionResult) => void;
  readonly onSpeech: (event: SpeechEvent) => void;
  readonly onConnection: (event: ConnectionEvent) => void;
}

/** A connected service. */
export interface Line {
  readonly stt: STTProvider;
  send(frames: Frames): void;
  /** Lets the service finish; what it still says is heard. */
  leave(): Promise<void>;
}

/**
 * The format in which a service gets the audio.
 *
 * @throws VoiceError `unsupported_format` when it accepts none that the audio can be converted to.
 */
export function formatFor({ name, accepts }: STTProvider, format: AudioMetadata): Negotiation {
  const settled = negotiateFormat(format, accepts);
  if (settled) return settled;
  const message = `${name} does not support ${describeFormat(format)}, only ${describeFormats(accepts)}`;
  throw new VoiceError(message, { code: 'unsupported_format', provider: name });
}

/**
 * One service's session: connects, and emits the line as soon as it is open, with all that is not final already sent.
 * Fails when the service is without a connection for too long, or for good. Unsubscribing disconnects it; times count
 * from the start of all audio.
 */
export function lineTo(options: LineOptions): Observable<Line> {
  return new Observable((subscriber) => new Session(options, subscriber).begin());
}

/** A session of one service; the line that it emits is itself. */
class Session implements Line {
  readonly stt: STTProvider;
  readonly #options: LineOptions;
  readonly #subscriber: Subscriber<Line>;
  readonly #target: AudioMetadata;
  readonly #transcoder: Transcoder | undefined;
  readonly #alarm: Alarm;
  /** A provider of the application may be async. */
  readonly #sendChunk = (chunk: AudioChunk): unknown => this.stt.sendAudio(chunk);
  /** What the service's streams replay when they are subscribed to is of an earlier session. */
  #phase: 'subscribing' | 'opening' | 'up' | 'down' = 'subscribing';
  #isLeft = false;
  #startMs = 0;

  constructor(options: LineOptions, subscriber: Subscriber<Line>) {
    const { stt, format, connectMs, scheduler } = options;
    const { target, passthrough } = formatFor(stt, format);
    this.stt = stt;
    this.#options = options;
    this.#subscriber = subscriber;
    this.#target = target;
    this.#transcoder = passthrough ? undefined : createTranscoder(format, target);
    this.#alarm = new Alarm(scheduler, () => this.#fail(`no connection within ${connectMs} ms`));
  }

  /** Connects, and listens to the service. */
  begin(): void {
    const { stt } = this;
    const { onResult, onSpeech } = this.#options;
    stt.configureAudio(this.#target);
    this.#subscriber.add(this.#alarm);
    this.#subscriber.add(() => {
      this.leave().catch(noop);
    });
    // A service that gives up makes its words final; the next one hears all of that audio again.
    const heard$ = stt.transcripts$.pipe(filter(() => this.#phase === 'up'));
    this.#listen(heard$, (result) => onResult(shifted(result, this.#startMs)));
    this.#listen(stt.speech$.pipe(filter(() => this.#isOpen)), onSpeech);
    this.#listen(stt.connection$ ?? NEVER, (event) => this.#follow(event));
    // A service that doesn't report its connection at least reports its end.
    const fatal$ = stt.connection$ ? NEVER : (stt.errors$ ?? NEVER).pipe(filter(({ recoverable }) => !recoverable));
    this.#listen(fatal$, (error) => this.#subscriber.error(error));
    this.#phase = 'opening';
    this.#awaitConnection();
    this.#listen(
      defer(async () => stt.connect()),
      () => this.#open(),
    );
  }

  send(frames: Frames): void {
    try {
      for (const frame of frames) this.#sendFrame(frame);
    } catch (error) {
      this.#subscriber.error(error);
    }
  }

  async leave(): Promise<void> {
    if (this.#isLeft) return;
    this.#isLeft = true;
    await this.stt.disconnect();
  }

  get #isOpen(): boolean {
    return this.#phase === 'up' || this.#phase === 'down';
  }

  /** The service is connected: it gets everything that is not final. */
  #open(): void {
    const { backlog } = this.#options;
    this.#goUp();
    this.#startMs = backlog()?.startMs ?? 0;
    this.send(backlog()?.from(this.#startMs) ?? []);
    if (!this.#subscriber.closed) this.#subscriber.next(this);
  }

  #follow(event: ConnectionEvent): void {
    if (this.#phase === 'subscribing') return;
    if (event.type === 'lost') this.#subscriber.error(event.error);
    if (!this.#isOpen) return;
    if (event.type === 'closed' && !this.#isLeft) this.#fail('the connection was closed');
    if (event.type === 'reconnecting') this.#goDown();
    if (event.type === 'connected') this.#goUp();
    if (event.type === 'reconnecting' || event.type === 'connected') this.#options.onConnection(event);
  }

  #goUp(): void {
    this.#phase = 'up';
    this.#alarm.set(Infinity);
  }

  #goDown(): void {
    if (this.#phase === 'down') return;
    this.#phase = 'down';
    this.#awaitConnection();
  }

  #awaitConnection(): void {
    const { scheduler, connectMs } = this.#options;
    this.#alarm.set(scheduler.now() + connectMs);
  }

  #sendFrame(frame: Uint8Array<ArrayBuffer>): void {
    const data = this.#transcoder ? this.#transcoder.push(frame) : frame;
    if (data.length === 0) return;
    const sent = this.#sendChunk({ data, metadata: this.#target });
    if (sent instanceof Promise) sent.catch((error: unknown) => this.#subscriber.error(error));
  }

  #listen<T>(source$: Observable<T>, next: (value: T) => void): void {
    feed(source$, this.#subscriber, { next, complete: noop });
  }

  #fail(problem: string): void {
    const { name } = this.stt;
    const error = new VoiceError(`${name}: ${problem}`, { code: 'connection', recoverable: true, provider: name });
    this.#subscriber.error(error);
  }
}

/** Shifts a result's times to count from the start of all audio. */
function shifted(result: TranscriptionResult, byMs: number): TranscriptionResult {
  const words = result.metadata?.words;
  if (byMs === 0 || !words) return result;
  const moved = words.map((word) => ({
    ...word,
    ...(word.startMs === undefined ? {} : { startMs: word.startMs + byMs }),
    ...(word.endMs === undefined ? {} : { endMs: word.endMs + byMs }),
  }));
  return { ...result, metadata: { ...result.metadata, words: moved } };
}
