import { defer, EMPTY, lastValueFrom, Subject, type Observable, type ObservableInput } from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem, type RulesOf } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { Provider } from '../../core/provider.ts';
import type {
  OutputProvider,
  PlaybackEvent,
  ProviderRole,
  ProviderType,
  SpokenWord,
  TTSProvider,
} from '../../core/roles.ts';
import { nativeFormat } from '../../playback/native-voice.ts';
import type { NativePlayer, NativePlayerHost } from './native-player.ts';
import type { NativeTTSConfig } from './native-tts-config.ts';
import type { SynthesisStreams } from './synthesis-outputs.ts';

const rules: RulesOf<NativeTTSConfig> = {
  scheduler: {},
  voiceName: { type: 'text' },
  voiceLang: { type: 'text' },
  rate: { min: 0.1, max: 10 },
  pitch: { min: -20, max: 20 },
  voicesTimeoutMs: { min: 0 },
};

/**
 * NativeTTS: the browser's own voices (W3C Web Speech API, https://webaudio.github.io/web-speech-api/). No address and
 * no credential; local voices work offline.
 *
 * The browser plays them itself, so this is also the pipeline's output, and delivers no audio: only silence that
 * represents the text.
 */
export class NativeTTS extends Provider<NativeTTSConfig> implements TTSProvider, OutputProvider {
  override readonly name = 'NativeTTS' as const;
  override readonly roles: readonly ProviderRole[] = ['tts', 'output'];
  override readonly type: ProviderType = 'rest';
  /** Only its own chunks. */
  readonly accepts: readonly AudioFormat[] = [{ encoding: 'linear16', sampleRates: [8_000] }];
  /** Longest utterance in characters: some voices stop after 15 s. */
  readonly maxTextLength = 180;
  /** The system's voices read numbers and signs out themselves. */
  readonly normalizesText = true;

  /** Receives the chunks; set by {@link NativeTTS.onAudio}. */
  protected audioCallback: ((chunk: AudioChunk) => void) | undefined = undefined;
  /** Receives their format; set by {@link NativeTTS.onMetadata}. */
  protected metadataCallback: ((metadata: AudioMetadata) => void) | undefined = undefined;

  readonly #streams: SynthesisStreams = { audio$: new Subject(), metadata$: new Subject(), words$: new Subject() };
  readonly #playback$ = new Subject<PlaybackEvent>();
  /** What speaks: from `initialize()` on. */
  #player: NativePlayer | undefined;
  #buffer = '';

  constructor(config: NativeTTSConfig = {}, logger?: Logger) {
    super(config, logger);
  }

  /** Chunks that represent the text to be spoken. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#streams.audio$);
  }

  /** Their format. Hot. */
  get metadata$(): Observable<AudioMetadata> {
    return this.handOut('metadata$', this.#streams.metadata$);
  }

  /** When each word sounds, on the clock of `positionMs`. Hot. */
  get words$(): Observable<SpokenWord> {
    return this.handOut('words$', this.#streams.words$);
  }

  /** The events of every `play()`. Hot. */
  get playback$(): Observable<PlaybackEvent> {
    return this.handOut('playback$', this.#playback$);
  }

  /** Position of the current (or the last) `play()`, based on the words reported by the browser. */
  get positionMs(): number {
    return this.#player?.positionMs ?? 0;
  }

  getMetadata(): AudioMetadata {
    return nativeFormat;
  }

  /** A shallow copy of the configuration, new each time. */
  getConfig(): NativeTTSConfig {
    return { ...this.config };
  }

  /** Sets the callback for the chunks of `audio$`, replacing any earlier one. */
  onAudio(callback: ((chunk: AudioChunk) => void) | undefined): void {
    this.audioCallback = callback;
  }

  /** Sets the callback for the format of each utterance, replacing any earlier one. */
  onMetadata(callback: ((metadata: AudioMetadata) => void) | undefined): void {
    this.metadataCallback = callback;
  }

  /** Whether a chunk is not empty. */
  isAudioReady(chunk: AudioChunk): boolean {
    return chunk.data.byteLength > 0;
  }

  /** The browser's voices, as far as loaded. */
  getAvailableVoices(): readonly SpeechSynthesisVoice[] {
    return globalThis.speechSynthesis.getVoices();
  }

  /** Lets the browser speak later: call it in the handler of a click, a tap or a key. */
  unlock(): void {
    const utterance = new SpeechSynthesisUtterance('');
    utterance.volume = 0;
    globalThis.speechSynthesis.speak(utterance);
  }

  /** Chunks that represent the text, for {@link NativeTTS.play}. Cold; nothing is audible yet. */
  speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    return defer(() => {
      this.assertReady('speak');
      // `initialize()` has set it.
      return this.#player?.speak(text$) ?? EMPTY;
    });
  }

  /** Speaks the output of {@link NativeTTS.speak}; rejects other audio. Cold: unsubscribing silences it. */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return defer(() => {
      this.assertReady('play');
      return this.#player?.play(audio$) ?? EMPTY;
    });
  }

  enqueue(chunk: AudioChunk): void {
    this.assertReady('enqueue');
    this.#player?.enqueue(chunk);
  }

  async flush(): Promise<void> {
    await this.#player?.idle();
  }

  /** Silences playback at once; drops what was not spoken. */
  stop(): void {
    this.#player?.stop();
  }

  /** Silences playback until `resume()`; the browser may finish the word. */
  pause(): void {
    this.#player?.command('pause');
  }

  /** Continues where it was; on Android, on Linux and with remote voices, from the start of the word. */
  resume(): void {
    this.#player?.command('resume');
  }

  /** Adds text for {@link NativeTTS.finalize} to speak. */
  processChunk(text: string): void {
    this.#buffer += text;
  }

  /** Speaks all text since the last call; resolves when it was spoken. */
  async finalize(): Promise<void> {
    const text = this.#buffer;
    this.#buffer = '';
    if (text.trim()) await this.synthesize(text);
  }

  /** Drops the text of {@link NativeTTS.processChunk}, and silences playback. */
  cancel(): void {
    this.#buffer = '';
    this.stop();
  }

  /** Speaks a text; resolves when it was spoken, with an empty Blob: the browser provides no audio. */
  async synthesize(text: string): Promise<Blob> {
    await lastValueFrom(this.play(this.speak([text])), { defaultValue: undefined });
    return new Blob([]);
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, rules);
  }

  protected override async onInitialize(): Promise<void> {
    if (!('speechSynthesis' in globalThis && 'SpeechSynthesisUtterance' in globalThis)) {
      const message = `${this.name} needs a browser with speech synthesis: elsewhere use AlphaTTS`;
      throw this.error(message, { code: 'configuration' });
    }
    this.assertConfig();
    const { NativePlayer } = await new OnDemand(this.name, () => import('./native-player.ts')).load();
    this.#player ??= new NativePlayer(this.#host());
    await this.#player.start();
  }

  protected override onDispose(): void {
    this.cancel();
    if ('speechSynthesis' in globalThis) this.#player?.silence();
  }

  #host(): NativePlayerHost {
    return {
      outputs: {
        provider: this.name,
        streams: this.#streams,
        callbacks: () => ({ onAudio: this.audioCallback, onMetadata: this.metadataCallback }),
        report: (error) => this.report(error),
      },
      config: () => this.config,
      maxTextLength: this.maxTextLength,
      play$: (chunk) => this.play([chunk]),
      playback: (event) => this.#playback$.next(event),
      error: (message, options) => this.error(message, options),
    };
  }
}
