import { from, NEVER, Observable, Subject, type ObservableInput } from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../audio/types.ts';
import type { InputProvider, OutputProvider, PlaybackEvent, ProviderRole, SpokenWord } from '../core/roles.ts';
import type { STTProvider, TTSProvider } from '../core/roles.ts';
import { Ready } from './ready.ts';

/** A millisecond of silence stands for each piece of a text. */
const format: AudioMetadata = { encoding: 'linear16', sampleRate: 8_000, channels: 1, bitDepth: 16 };
const bytesPerMs = 16;

/**
 * No microphone and no speech-to-text: the user types, and the application calls `send()`. Fills the roles `input` and
 * `stt`.
 *
 * @example
 * ```ts
 * import { NuLLM, Pipeline, TextInput, TextOutput } from 'rxvoice';
 *
 * const chat = new Pipeline({ providers: [new TextInput(), new NuLLM({ proxyUrl: '/voice/groq', model: 'openai/gpt-oss-20b' }), new TextOutput()] });
 * chat.on('llm.token', ({ delta }) => document.body.append(delta));
 * await chat.start();
 * chat.send('Hello!');
 * ```
 */
export class TextInput extends Ready implements InputProvider, STTProvider {
  readonly name = 'TextInput';
  readonly roles: readonly ProviderRole[] = ['input', 'stt'];
  readonly accepts: readonly AudioFormat[] = [{ encoding: 'linear16' }];
  /** Never emits, like the other streams. */
  readonly audio$: Observable<never> = NEVER;
  readonly transcripts$: Observable<never> = NEVER;
  readonly speech$: Observable<never> = NEVER;

  getMetadata(): AudioMetadata {
    return format;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  connect(): Promise<void> {
    return Promise.resolve();
  }

  disconnect(): Promise<void> {
    return Promise.resolve();
  }

  pause(): void {}

  resume(): void {}

  configureAudio(): void {}

  sendAudio(): void {}

  transcribe(): Observable<never> {
    return NEVER;
  }
}

/**
 * A silent voice: answers are read, and count as heard as they arrive. For a single answer of a pipeline that otherwise
 * speaks, as in `send(text, { answer: { tts: new TextVoice() } })`, or for one of its agents.
 */
export class TextVoice extends Ready implements TTSProvider {
  readonly name: string = 'TextVoice';
  readonly roles: readonly ProviderRole[] = ['tts'];
  readonly delivers = 'text';
  readonly #audio$ = new Subject<AudioChunk>();
  readonly #metadata$ = new Subject<AudioMetadata>();
  readonly #words$ = new Subject<SpokenWord>();
  #utterances = 0;

  /** A millisecond of silence for each piece. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#audio$);
  }

  /** The format of `audio$`. Hot. */
  get metadata$(): Observable<AudioMetadata> {
    return this.handOut('metadata$', this.#metadata$);
  }

  /** Each piece of the text. Hot. */
  get words$(): Observable<SpokenWord> {
    return this.handOut('words$', this.#words$);
  }

  getMetadata(): AudioMetadata {
    return format;
  }

  speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    return new Observable((subscriber) => {
      const utteranceId = `text-${(this.#utterances += 1)}`;
      let pieces = 0;
      this.#metadata$.next(format);
      return from(text$).subscribe({
        next: (text) => {
          this.#words$.next({ text, startMs: pieces, endMs: pieces + 1, utteranceId });
          pieces += 1;
          const chunk: AudioChunk = { data: new Uint8Array(bytesPerMs), metadata: format, utteranceId };
          this.#audio$.next(chunk);
          subscriber.next(chunk);
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      });
    });
  }
}

/**
 * No text-to-speech and no speaker: the user reads the answers, from `llm.token` events. Text counts as heard as it
 * arrives, so that an interrupted answer is remembered as far as it was shown. Fills the roles `tts` and `output`.
 */
export class TextOutput extends TextVoice implements OutputProvider {
  override readonly name = 'TextOutput';
  override readonly roles: readonly ProviderRole[] = ['tts', 'output'];
  readonly accepts: readonly AudioFormat[] = [{ encoding: 'linear16', sampleRates: [format.sampleRate] }];
  readonly #playback$ = new Subject<PlaybackEvent>();
  #positionMs = 0;

  /** The events of every `play()`. Hot. */
  get playback$(): Observable<PlaybackEvent> {
    return this.handOut('playback$', this.#playback$);
  }

  get positionMs(): number {
    return this.#positionMs;
  }

  /** Everything is shown at once. */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return new Observable((subscriber) => {
      let hasStarted = false;
      const tell = (type: 'started' | 'finished', positionMs: number): void => {
        this.#playback$.next({ type, positionMs });
        subscriber.next({ type, positionMs });
      };
      this.#positionMs = 0;
      return from(audio$).subscribe({
        next: ({ data }) => {
          this.#positionMs += data.byteLength / bytesPerMs;
          if (!hasStarted) tell('started', 0);
          hasStarted = true;
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => {
          tell('finished', this.#positionMs);
          subscriber.complete();
        },
      });
    });
  }

  enqueue({ data }: AudioChunk): void {
    this.#playback$.next({ type: 'started', positionMs: 0 });
    this.#positionMs = data.byteLength / bytesPerMs;
    this.#playback$.next({ type: 'finished', positionMs: this.#positionMs });
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  stop(): void {}

  pause(): void {}

  resume(): void {}
}
