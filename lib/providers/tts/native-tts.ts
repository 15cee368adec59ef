import {
  concatMap,
  defer,
  filter,
  firstValueFrom,
  lastValueFrom,
  map,
  Observable,
  Subject,
  takeUntil,
  tap,
  type ObservableInput,
  type SchedulerLike,
} from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { nativeVoiceSpeaks$ } from '../../playback/native-voice.ts';
import { fromInput } from '../../stream/bridge.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { VoiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { Provider } from '../../core/provider.ts';
import type {
  OutputProvider,
  PlaybackEvent,
  ProviderRole,
  ProviderType,
  SpokenWord,
  TTSProvider,
} from '../../core/roles.ts';
import { nativeFormat, NativeSpeaker, NativeTexts, PlayQueue, type NativePiece } from './native-speaker.ts';
import { cancelNativeSpeech } from './native-utterance.ts';
import { chooseNativeVoice, nativeVoiceNamed, nativeVoices, nativeVoicesKnown$ } from './native-voices.ts';
import { splitText } from '../../text/split-text.ts';
import { isAudible, SynthesisOutputs } from './synthesis-outputs.ts';
import type { UtteranceEvent } from './utterance.ts';
import { spreadWords } from './words/spread-words.ts';

/** Configuration of {@link NativeTTS}. */
export interface NativeTTSConfig {
  /** Name of the voice, or part of it. Default: the browser's choice. */
  readonly voiceName?: string;
  /** BCP 47: language of the voice if no name matches, and of the text. Default: the voice's, else the browser's. */
  readonly voiceLang?: string;
  /** Speed, 0.1 to 10; 1 is the voice's own. Default: 1. */
  readonly rate?: number;
  /** Semitones, -20 to 20. Default: 0. */
  readonly pitch?: number;
  /** Longest wait in `initialize()` for the browser's list of voices, in milliseconds. Default: 2,000. */
  readonly voicesTimeoutMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

const rules: Readonly<Record<string, ConfigRule>> = {
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

  readonly #outputs: SynthesisOutputs = new SynthesisOutputs({
    provider: this.name,
    callbacks: () => ({ onAudio: this.audioCallback, onMetadata: this.metadataCallback }),
    report: (error) => this.report(error),
  });
  readonly #playback$ = new Subject<PlaybackEvent>();
  readonly #texts: NativeTexts = new NativeTexts();
  #speaker: NativeSpeaker | undefined;
  #lastPositionMs = 0;
  readonly #queue: PlayQueue = new PlayQueue(
    (chunk) => this.play([chunk]),
    (cause) => this.report(VoiceError.from(cause)),
  );
  readonly #stopped$ = new Subject<void>();
  #buffer = '';

  constructor(config: NativeTTSConfig = {}, logger?: Logger) {
    super(config, logger);
  }

  /** Chunks that represent the text to be spoken. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#outputs.audio$);
  }

  /** Their format. Hot. */
  get metadata$(): Observable<AudioMetadata> {
    return this.handOut('metadata$', this.#outputs.metadata$);
  }

  /** When each word sounds, on the clock of `positionMs`. Hot. */
  get words$(): Observable<SpokenWord> {
    return this.handOut('words$', this.#outputs.words$);
  }

  /** The events of every `play()`. Hot. */
  get playback$(): Observable<PlaybackEvent> {
    return this.handOut('playback$', this.#playback$);
  }

  /** Position of the current (or the last) `play()`, based on the words reported by the browser. */
  get positionMs(): number {
    return this.#speaker?.positionMs ?? this.#lastPositionMs;
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
    return isAudible(chunk);
  }

  /** The browser's voices, as far as loaded. */
  getAvailableVoices(): readonly SpeechSynthesisVoice[] {
    return nativeVoices();
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
      const utteranceId = this.#outputs.nextId();
      let endMs = 0;
      return fromInput(typeof text$ === 'string' ? [text$] : text$).pipe(
        concatMap((text) => splitText(text, this.maxTextLength)),
        concatMap((text): UtteranceEvent[] => {
          const { data, metadata, durationMs } = this.#texts.chunkFor(text, this.config.rate ?? 1);
          const startMs = endMs;
          endMs += durationMs;
          const words = spreadWords(text, startMs, endMs).map((word) => ({ ...word, estimated: true, utteranceId }));
          return [
            { type: 'chunk', chunk: { data, utteranceId, ...(startMs === 0 && { metadata }) } },
            ...words.map((word) => ({ type: 'word' as const, word })),
          ];
        }),
        tap((event) => this.#outputs.publish(event)),
        filter((event) => event.type === 'chunk'),
        map(({ chunk }) => chunk),
      );
    });
  }

  /** Speaks the output of {@link NativeTTS.speak}; rejects other audio. Cold: unsubscribing silences it. */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return new Observable((subscriber) => {
      this.assertReady('play');
      if (this.#speaker) {
        throw this.error('already playing: unsubscribe or stop() first', { code: 'not_ready', recoverable: true });
      }
      const { voiceName, voiceLang, rate = 1, pitch = 0, scheduler } = this.config;
      const speaker = new NativeSpeaker({
        // Chosen for each utterance: some voices load late.
        choose: () => chooseNativeVoice(voiceName, voiceLang),
        emit: (event) => {
          this.#playback$.next(event);
          subscriber.next(event);
        },
        rate,
        pitch: 1 + pitch / 20,
        scheduler,
      });
      this.#speaker = speaker;
      let wasStopped = false;
      subscriber.add(() => {
        this.#lastPositionMs = speaker.positionMs;
        if (this.#speaker === speaker) this.#speaker = undefined;
        nativeVoiceSpeaks$.next(false);
      });
      const stopped$ = this.#stopped$.pipe(tap(() => (wasStopped = true)));
      subscriber.add(
        fromInput(audio$)
          .pipe(
            map((chunk) => this.#pieceOf(chunk)),
            tap(() => nativeVoiceSpeaks$.next(true)),
            concatMap((piece) => speaker.say(piece)),
            takeUntil(stopped$),
          )
          .subscribe({
            error: (error: unknown) => subscriber.error(error),
            complete: () => {
              if (!wasStopped) speaker.command('finish');
              subscriber.complete();
            },
          }),
      );
    });
  }

  enqueue(chunk: AudioChunk): void {
    this.assertReady('enqueue');
    this.#pieceOf(chunk);
    this.#queue.add(chunk);
  }

  async flush(): Promise<void> {
    await this.#queue.idle();
  }

  /** Silences playback at once; drops what was not spoken. */
  stop(): void {
    this.#queue.clear();
    this.#stopped$.next();
  }

  /** Silences playback until `resume()`; the browser may finish the word. */
  pause(): void {
    this.#speaker?.command('pause');
  }

  /** Continues where it was; on Android, on Linux and with remote voices, from the start of the word. */
  resume(): void {
    this.#speaker?.command('resume');
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
    // Speech of a previous page would continue.
    cancelNativeSpeech(this.config.scheduler);
    const { voiceName, voicesTimeoutMs = 2_000 } = this.config;
    await firstValueFrom(nativeVoicesKnown$(voicesTimeoutMs, this.config.scheduler), { defaultValue: undefined });
    // Voices that load later are found when they speak.
    if (voiceName === undefined || nativeVoices().length === 0 || nativeVoiceNamed(voiceName)) return;
    const message = `${this.name}: the browser has no voice "${voiceName}"; getAvailableVoices() lists its voices`;
    this.report(this.error(message, { code: 'not_found', recoverable: true }));
  }

  protected override onDispose(): void {
    this.cancel();
    if ('speechSynthesis' in globalThis) cancelNativeSpeech(this.config.scheduler);
  }

  #pieceOf(chunk: AudioChunk): NativePiece {
    const piece = this.#texts.of(chunk);
    if (piece) return piece;
    throw this.error(`${this.name} plays only its own text: add an output such as BrowserAudioOutput`, {
      code: 'unsupported_format',
    });
  }
}
