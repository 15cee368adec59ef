import {
  concat,
  concatMap,
  defer,
  delay,
  EMPTY,
  from,
  ignoreElements,
  isObservable,
  Observable,
  of,
  Subject,
  type Subscription,
  takeUntil,
  tap,
  timer,
  type ObservableInput,
  type SchedulerLike,
} from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../audio/types.ts';
import type { GenerateOptions, LLMEvent, Message } from '../core/messages.ts';
import type {
  LLMProvider,
  ProviderRole,
  ProviderType,
  SpeechEvent,
  SpokenWord,
  STTProvider,
  TranscriptionResult,
  TTSProvider,
} from '../core/roles.ts';
import { PacedOutput } from '../playback/paced-output.ts';
import { Playout } from '../playback/playout.ts';
import { merge } from '../stream/merge.ts';
import { Fake, type FakeConfig } from './fake.ts';
import { textAudioFormat, textToAudio } from './text-audio.ts';

/** A speech-to-text service whose results the test provides. */
export class FakeSTT extends Fake implements STTProvider {
  override readonly name = 'FakeSTT';
  override readonly roles: readonly ProviderRole[] = ['stt'];
  readonly #transcripts$ = new Subject<TranscriptionResult>();
  readonly #speech$ = new Subject<SpeechEvent>();
  readonly accepts: readonly AudioFormat[] = [{ encoding: 'linear16' }];
  readonly reportsSpeechEnd: boolean = true;
  /** Audio sent to it. */
  readonly sent: AudioChunk[] = [];
  /** How many times `finalize()` was called. */
  finalizations: number = 0;

  constructor(config: FakeConfig = {}) {
    super(config);
  }

  get transcripts$(): Observable<TranscriptionResult> {
    return this.handOut('transcripts$', this.#transcripts$);
  }

  get speech$(): Observable<SpeechEvent> {
    return this.handOut('speech$', this.#speech$);
  }

  /** Emits a result. */
  hearWords(result: TranscriptionResult): void {
    this.#transcripts$.next(result);
  }

  /** Starts or ends a voice; `positionMs` is where in the audio, if it tells. */
  hearVoice(type: SpeechEvent['type'], positionMs?: number): void {
    this.#speech$.next({ type, ...(positionMs === undefined ? {} : { positionMs }) });
  }

  configureAudio(_metadata: AudioMetadata): void {
    return;
  }

  connect(): Promise<void> {
    return Promise.resolve();
  }

  disconnect(): Promise<void> {
    return Promise.resolve();
  }

  sendAudio(chunk: AudioChunk): void {
    this.sent.push(chunk);
  }

  finalize(): void {
    this.finalizations++;
  }

  transcribe(audio$: ObservableInput<AudioChunk>): Observable<TranscriptionResult> {
    const sent$ = from(audio$).pipe(
      tap((chunk) => {
        this.sendAudio(chunk);
      }),
      ignoreElements(),
    );
    const done$ = new Subject<true>();
    return merge(
      this.transcripts$.pipe(takeUntil(done$)),
      concat(
        sent$,
        defer(() => {
          done$.next(true);
          return EMPTY;
        }),
      ),
    );
  }

  /** A minimal result: `interim('a b')`, `final('a b')`, `preflight('a b')`. */
  static result(text: string, kind: 'interim' | 'final' | 'preflight', utteranceId?: string): TranscriptionResult {
    const isFinal = kind === 'final';
    const base = { text, isFinal, utteranceComplete: isFinal, isPreflight: kind === 'preflight' };
    return utteranceId === undefined ? base : { ...base, utteranceId };
  }
}

/** Configuration of {@link FakeLLM}. */
export interface FakeLLMConfig extends FakeConfig {
  /** The answer to a request: text (one token per word), events, or a stream of them. Default: echoes the user. */
  answer?(
    messages: readonly Message[],
    request: number,
    scheduler: SchedulerLike,
  ): string | readonly LLMEvent[] | Observable<LLMEvent>;
  /** Time to the first token, in milliseconds. Default: 100. */
  readonly firstTokenMs?: number;
  /** Time between tokens, in milliseconds. Default: 10. */
  readonly tokenMs?: number;
}

/** A request to a {@link FakeLLM}. */
export interface FakeRequest {
  readonly messages: readonly Message[];
  readonly options: GenerateOptions;
  /** How it ended; `running` until then. */
  outcome: 'running' | 'completed' | 'aborted';
}

/** A language model that answers by rule, with configurable timing. */
export class FakeLLM extends Fake<FakeLLMConfig> implements LLMProvider {
  override readonly name = 'FakeLLM';
  override readonly roles: readonly ProviderRole[] = ['llm'];
  readonly #tokens$ = new Subject<string>();
  readonly requests: FakeRequest[] = [];

  constructor(config: FakeLLMConfig = {}) {
    super(config);
  }

  get tokens$(): Observable<string> {
    return this.handOut('tokens$', this.#tokens$);
  }

  generate(messages: readonly Message[], options: GenerateOptions = {}): Observable<LLMEvent> {
    return new Observable((subscriber) => {
      const request: FakeRequest = { messages, options, outcome: 'running' };
      const count = this.requests.push(request);
      const reply$ = this.config.answer?.(messages, count, this.scheduler) ?? `You said ${lastUserText(messages)}.`;
      const events$ = isObservable(reply$) ? reply$ : this.#inTime(reply$);
      this.endWithDispose(subscriber);
      subscriber.add(() => {
        if (request.outcome === 'running') request.outcome = 'aborted';
      });
      subscriber.add(
        events$
          .pipe(
            tap({
              next: (event) => {
                if (event.type === 'token') this.#tokens$.next(event.text);
              },
              complete: () => {
                request.outcome = 'completed';
              },
            }),
          )
          .subscribe(subscriber),
      );
    });
  }

  #inTime(answer: string | readonly LLMEvent[]): Observable<LLMEvent> {
    const { firstTokenMs = 100, tokenMs = 10 } = this.config;
    const events = typeof answer === 'string' ? tokensOf(answer) : answer;
    return from(events).pipe(
      concatMap((event, index) => of(event).pipe(delay(index === 0 ? firstTokenMs : tokenMs, this.scheduler))),
    );
  }
}

/** Text as the events of a generation: one token per word. */
export function tokensOf(text: string): LLMEvent[] {
  const tokens = text.match(/(?<!\s)\s*\S+(?:\s+$)?/g) ?? [];
  return [...tokens.map((token): LLMEvent => ({ type: 'token', text: token })), { type: 'done', finishReason: 'stop' }];
}

function lastUserText(messages: readonly Message[]): string {
  return messages.findLast(({ role }) => role === 'user')?.content ?? 'nothing';
}

/** Configuration of {@link FakeTTS}. */
export interface FakeTTSConfig extends FakeConfig {
  /** Time from a piece of text to its audio, in milliseconds. Default: 50. */
  readonly latencyMs?: number;
  /** Length of a character's audio, in milliseconds. Default: 50. */
  readonly msPerCharacter?: number;
  /** Whether it emits word timings. Default: true. */
  readonly words?: boolean;
}

let utterances = 0;

/** A TTS whose audio can be decoded to text (`audioToText`). */
export class FakeTTS extends Fake<FakeTTSConfig> implements TTSProvider {
  override readonly name = 'FakeTTS';
  override readonly roles: readonly ProviderRole[] = ['tts'];
  readonly #audio$ = new Subject<AudioChunk>();
  readonly #metadata$ = new Subject<AudioMetadata>();
  readonly #words$ = new Subject<SpokenWord>();
  /** The pieces it was given. */
  readonly pieces: string[] = [];
  /** Utterances that were unsubscribed before their end. */
  cancelled: number = 0;

  constructor(config: FakeTTSConfig = {}) {
    super(config);
  }

  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#audio$);
  }

  get metadata$(): Observable<AudioMetadata> {
    return this.handOut('metadata$', this.#metadata$);
  }

  get words$(): Observable<SpokenWord> {
    return this.handOut('words$', this.#words$);
  }

  getMetadata(): AudioMetadata {
    return textAudioFormat;
  }

  speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    const { latencyMs = 50 } = this.config;
    return new Observable((subscriber) => {
      const utteranceId = `fake-${++utterances}`;
      let spokenMs = 0;
      let done = false;
      this.endWithDispose(subscriber);
      subscriber.add(() => {
        if (!done) this.cancelled++;
      });
      subscriber.add(
        from(text$)
          .pipe(
            tap((text) => this.pieces.push(text)),
            concatMap((text) => timer(latencyMs, this.scheduler).pipe(concatMap(() => of(text)))),
          )
          .subscribe({
            next: (text) => {
              const chunk = this.#chunk(text, utteranceId);
              if (spokenMs === 0) this.#metadata$.next(textAudioFormat);
              this.#audio$.next(chunk);
              if (this.config.words ?? true) this.#tellWords(text, spokenMs, utteranceId);
              spokenMs += text.length * this.#msPerCharacter;
              subscriber.next(chunk);
            },
            error: subscriber.error.bind(subscriber),
            complete: () => {
              done = true;
              subscriber.complete();
            },
          }),
      );
    });
  }

  get #msPerCharacter(): number {
    return this.config.msPerCharacter ?? 50;
  }

  #chunk(text: string, utteranceId: string): AudioChunk {
    return { data: textToAudio(text, this.#msPerCharacter), metadata: textAudioFormat, utteranceId };
  }

  #tellWords(text: string, fromMs: number, utteranceId: string): void {
    for (const { 0: word, index } of text.matchAll(/\S+/g)) {
      const startMs = fromMs + index * this.#msPerCharacter;
      this.#words$.next({ text: word, startMs, endMs: startMs + word.length * this.#msPerCharacter, utteranceId });
    }
  }
}

/** Configuration of {@link FakeOutput}. */
export interface FakeOutputConfig extends FakeConfig {
  /** False: everything is heard at once. Default: true. */
  readonly realtime?: boolean;
}

/** An output that plays on the scheduler's clock and keeps what was heard. */
export class FakeOutput extends PacedOutput<FakeOutputConfig> {
  override readonly name = 'FakeOutput';
  override readonly roles: readonly ProviderRole[] = ['output'];
  override readonly type: ProviderType = 'rest';
  override readonly accepts: readonly AudioFormat[] = [{ encoding: 'linear16' }];
  protected override readonly playout: Playout;
  /** What was heard, in order. */
  readonly heard: AudioChunk[] = [];
  #recording: Subscription;

  constructor(config: FakeOutputConfig = {}) {
    super(config);
    this.playout = new Playout({ write: () => undefined, clear: () => undefined }, config);
    this.#recording = this.#record();
  }

  /** It plays right after construction: no initialization needed. */
  protected override assertReady(method: string): void {
    if (this.#recording.closed) super.assertReady(method);
  }

  protected override isAttached(): boolean {
    return !this.#recording.closed;
  }

  /** Volumes that were set. The audio is unchanged, since its samples are its text. */
  readonly volumes: number[] = [];

  protected override onInitialize(): void {
    if (this.#recording.closed) this.#recording = this.#record();
  }

  protected override onDispose(): void {
    this.playout.stop();
    this.#recording.unsubscribe();
  }

  #record(): Subscription {
    return this.playout.heard$.pipe(tap((chunk) => this.heard.push(chunk))).subscribe();
  }

  override setVolume(volume: number): void {
    this.volumes.push(volume);
  }
}
