import {
  asyncScheduler,
  concatMap,
  defer,
  EMPTY,
  filter,
  from,
  fromEvent,
  finalize,
  firstValueFrom,
  interval,
  lastValueFrom,
  map,
  merge,
  Observable,
  race,
  Subject,
  Subscription,
  takeUntil,
  tap,
  timer,
  type ObservableInput,
  type SchedulerLike,
} from 'rxjs';
import { silence } from '../../audio/formats.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { nativeVoiceSpeaks$ } from '../../browser/native-voice.ts';
import { fromInput } from '../../core/bridge.ts';
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
import { NativeSpeaker, type NativePiece } from './native-speaker.ts';
import { cancelNativeSpeech } from './native-utterance.ts';
import { splitText } from './split-text.ts';

/** Configuration of {@link NativeTTS}. */
export interface NativeTTSConfig {
  /** Name of the voice, or a part of it. Default: the browser's choice. */
  readonly voiceName?: string;
  /** BCP 47: language of the voice where no name fits, and of the text. Default: the voice's, else the browser's. */
  readonly voiceLang?: string;
  /** Speed, 0.1 to 10; 1 is the voice's own. Default: 1. */
  readonly rate?: number;
  /** Semitones, -20 to 20. Default: 0. */
  readonly pitch?: number;
  /** Longest wait of `initialize()` for the browser's list of voices, in milliseconds. Default: 2,000. */
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

/** How often the list of voices is asked for, in milliseconds: some browsers do not tell when it is there. */
const pollMs = 250;

/** Stands for text on its way from the voice to itself as output; as long as the text may take, and silent. */
const format: AudioMetadata = { encoding: 'linear16', sampleRate: 8_000, channels: 1, bitDepth: 16 };

/** Milliseconds of a character, no faster than voices speak: of an alphabet's, and of one that is a syllable or more. */
const msPerCharacter = 85;
const msPerSyllable = 260;
const syllables = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/g;

/**
 * NativeTTS: the browser's own voices (W3C Web Speech API, https://webaudio.github.io/web-speech-api/). No address and no
 * credential; local voices work offline.
 *
 * The browser plays them itself: it is the pipeline's output too, and gives no audio. What it gives in its place is
 * silence that stands for the text.
 */
export class NativeTTS extends Provider<NativeTTSConfig> implements TTSProvider, OutputProvider {
  override readonly name = 'NativeTTS' as const;
  override readonly roles: readonly ProviderRole[] = ['tts', 'output'];
  override readonly type: ProviderType = 'rest';
  /** Only its own. */
  readonly accepts: readonly AudioFormat[] = [{ encoding: 'linear16', sampleRates: [8_000] }];
  /** Longest utterance in characters: some voices break off after 15 s. */
  readonly maxTextLength = 180;

  /** Receives the chunks that stand for text; set by {@link NativeTTS.onAudio}. */
  protected audioCallback: ((chunk: AudioChunk) => void) | undefined = undefined;
  /** Receives their format; set by {@link NativeTTS.onMetadata}. */
  protected metadataCallback: ((metadata: AudioMetadata) => void) | undefined = undefined;

  readonly #audio$ = new Subject<AudioChunk>();
  readonly #metadata$ = new Subject<AudioMetadata>();
  readonly #words$ = new Subject<SpokenWord>();
  readonly #playback$ = new Subject<PlaybackEvent>();
  /** The text of each chunk that is on its way. */
  readonly #pieces = new WeakMap<Uint8Array, NativePiece>();
  #utterances = 0;
  #speaker: NativeSpeaker | undefined;
  #lastPositionMs = 0;
  #queue$: Subject<AudioChunk> | undefined;
  #queueWork = Subscription.EMPTY;
  #waiting = 0;
  readonly #idle$ = new Subject<void>();
  readonly #stopped$ = new Subject<void>();
  #buffer = '';

  constructor(config: NativeTTSConfig = {}, logger?: Logger) {
    super(config, logger);
  }

  /** Chunks that stand for the text that is to be spoken. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.#audio$.asObservable();
  }

  /** Their format. Hot. */
  get metadata$(): Observable<AudioMetadata> {
    return this.#metadata$.asObservable();
  }

  /** When each word sounds, on the clock of `positionMs`. Hot. */
  get words$(): Observable<SpokenWord> {
    return this.#words$.asObservable();
  }

  /** The events of every `play()`. Hot. */
  get playback$(): Observable<PlaybackEvent> {
    return this.#playback$.asObservable();
  }

  /** How far the current (else the last) `play()` has come, by the words that the browser has told of. */
  get positionMs(): number {
    return this.#speaker?.positionMs ?? this.#lastPositionMs;
  }

  getMetadata(): AudioMetadata {
    return format;
  }

  /** A shallow copy of the configuration, new each time. */
  getConfig(): NativeTTSConfig {
    return { ...this.config };
  }

  /** Sets what receives the chunks of `audio$`, in place of what did before. */
  onAudio(callback: ((chunk: AudioChunk) => void) | undefined): void {
    this.audioCallback = callback;
  }

  /** Sets what receives the format of each utterance, in place of what did before. */
  onMetadata(callback: ((metadata: AudioMetadata) => void) | undefined): void {
    this.metadataCallback = callback;
  }

  /** Whether a chunk holds anything. */
  isAudioReady(chunk: AudioChunk): boolean {
    return chunk.data.byteLength > 0;
  }

  /** The browser's voices, as far as it has loaded them. */
  getAvailableVoices(): readonly SpeechSynthesisVoice[] {
    return globalThis.speechSynthesis.getVoices();
  }

  /** Lets the browser speak later: call it in the handler of a click, a tap or a key. */
  unlock(): void {
    const utterance = new SpeechSynthesisUtterance('');
    utterance.volume = 0;
    globalThis.speechSynthesis.speak(utterance);
  }

  /** Chunks that stand for the text, for {@link NativeTTS.play}. Cold; nothing sounds yet. */
  speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    return defer(() => {
      this.assertReady('speak');
      const utteranceId = `NativeTTS-${++this.#utterances}`;
      let atMs = 0;
      return fromInput(typeof text$ === 'string' ? [text$] : text$).pipe(
        concatMap((text) => splitText(text, this.maxTextLength)),
        map((text) => {
          const durationMs = this.#durationOf(text);
          const chunk = { data: silence(format, durationMs), metadata: format, utteranceId };
          this.#pieces.set(chunk.data, { text, durationMs });
          this.#publish(chunk, text, atMs, durationMs);
          atMs += durationMs;
          return chunk;
        }),
      );
    });
  }

  /** Speaks what {@link NativeTTS.speak} gave; other audio is refused. Cold: unsubscribing silences it. */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return new Observable((subscriber) => {
      this.assertReady('play');
      if (this.#speaker) {
        throw this.error('Something is playing already: unsubscribe from it, or stop() it, first', {
          code: 'not_ready',
          recoverable: true,
        });
      }
      const { rate = 1, pitch = 0, scheduler } = this.config;
      const speaker = new NativeSpeaker({
        choose: () => this.#choose(),
        emit: (event) => {
          this.#playback$.next(event);
          subscriber.next(event);
        },
        ...{ rate, pitch: 1 + pitch / 20, scheduler },
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
              if (!wasStopped) speaker.finish();
              subscriber.complete();
            },
          }),
      );
    });
  }

  enqueue(chunk: AudioChunk): void {
    this.assertReady('enqueue');
    this.#pieceOf(chunk);
    if (!this.#queue$) this.#openQueue();
    this.#waiting++;
    this.#queue$?.next(chunk);
  }

  async flush(): Promise<void> {
    if (this.#waiting > 0) await firstValueFrom(this.#idle$, { defaultValue: undefined });
  }

  /** Silence, at once; drops what was not spoken. */
  stop(): void {
    this.#queueWork.unsubscribe();
    this.#queue$ = undefined;
    this.#stopped$.next();
    this.#settle();
  }

  /** Silence until `resume()`; the browser may finish the word. */
  pause(): void {
    this.#speaker?.pause();
  }

  /** Speaks on: where it was, on Android from the beginning of the word. */
  resume(): void {
    this.#speaker?.resume();
  }

  /** Adds text to what {@link NativeTTS.finalize} speaks. */
  processChunk(text: string): void {
    this.#buffer += text;
  }

  /** Speaks all text since the last call; resolves when it was spoken. */
  async finalize(): Promise<void> {
    const text = this.#buffer;
    this.#buffer = '';
    if (text.trim()) await this.synthesize(text);
  }

  /** Forgets the text of {@link NativeTTS.processChunk}, and silences what speaks. */
  cancel(): void {
    this.#buffer = '';
    this.stop();
  }

  /** Speaks a text; resolves when it was spoken, with an empty Blob: the browser gives no audio. */
  async synthesize(text: string): Promise<Blob> {
    await lastValueFrom(this.play(this.speak([text])), { defaultValue: undefined });
    return new Blob([]);
  }

  protected override async onInitialize(): Promise<void> {
    if (!('speechSynthesis' in globalThis && 'SpeechSynthesisUtterance' in globalThis)) {
      const message = `${this.name} needs a browser with speech synthesis: elsewhere use AlphaTTS`;
      throw this.error(message, { code: 'configuration' });
    }
    const problem = configProblem(this.config, rules);
    if (problem) throw this.error(`${this.name}: ${problem}`, { code: 'configuration' });
    // What an earlier page left behind goes on speaking.
    cancelNativeSpeech(this.config.scheduler);
    await firstValueFrom(this.#voices$(), { defaultValue: undefined });
    const { voiceName } = this.config;
    if (voiceName === undefined || this.#named(voiceName)) return;
    const message = `${this.name}: the browser has no voice "${voiceName}"; getAvailableVoices() lists those it has`;
    this.report(this.error(message, { code: 'not_found', recoverable: true }));
  }

  protected override onDispose(): void {
    this.cancel();
    if ('speechSynthesis' in globalThis) cancelNativeSpeech(this.config.scheduler);
  }

  #openQueue(): void {
    const queue$ = new Subject<AudioChunk>();
    this.#queue$ = queue$;
    // One play a stretch, so that each has its own positions.
    this.#queueWork = queue$
      .pipe(concatMap((chunk) => this.play([chunk]).pipe(finalize(() => this.#settle(1)))))
      .subscribe({
        error: (cause: unknown) => {
          this.report(VoiceError.from(cause));
          this.stop();
        },
      });
  }

  #settle(count: number = this.#waiting): void {
    this.#waiting = Math.max(0, this.#waiting - count);
    if (this.#waiting === 0) this.#idle$.next();
  }

  #pieceOf(chunk: AudioChunk): NativePiece {
    const piece = this.#pieces.get(chunk.data);
    if (piece) return piece;
    throw this.error(`${this.name} plays no audio but its own text: add an output such as BrowserAudioOutput`, {
      code: 'unsupported_format',
    });
  }

  #durationOf(text: string): number {
    const { rate = 1 } = this.config;
    const long = text.match(syllables)?.length ?? 0;
    return Math.ceil((long * msPerSyllable + (text.length - long) * msPerCharacter) / rate);
  }

  #publish(chunk: AudioChunk & { readonly utteranceId: string }, text: string, atMs: number, durationMs: number): void {
    if (atMs === 0) {
      this.#metadata$.next(format);
      this.metadataCallback?.(format);
    }
    this.#audio$.next(chunk);
    this.audioCallback?.(chunk);
    for (const { 0: word, index } of text.matchAll(/\S+/g)) {
      const timeOf = (at: number): number => atMs + (at / text.length) * durationMs;
      const [startMs, endMs] = [timeOf(index), timeOf(index + word.length)];
      this.#words$.next({ text: word, startMs, endMs, estimated: true, utteranceId: chunk.utteranceId });
    }
  }

  /** Chosen anew for each utterance: some voices come late. */
  #choose(): { readonly voice: SpeechSynthesisVoice | undefined; readonly lang: string | undefined } {
    const { voiceName, voiceLang } = this.config;
    const named = voiceName === undefined ? undefined : this.#named(voiceName);
    const voice = named ?? (voiceLang === undefined ? undefined : this.#speaking(voiceLang));
    return { voice, lang: voice ? bcp47(voice.lang) : voiceLang };
  }

  #named(name: string): SpeechSynthesisVoice | undefined {
    const voices = this.getAvailableVoices();
    const wanted = name.toLowerCase();
    return (
      voices.find((voice) => voice.name === name) ?? voices.find((voice) => voice.name.toLowerCase().includes(wanted))
    );
  }

  #speaking(language: string): SpeechSynthesisVoice | undefined {
    const wanted = language.toLowerCase();
    const voices = this.getAvailableVoices().filter(({ lang }) => bcp47(lang).toLowerCase().startsWith(wanted));
    return voices.find((voice) => voice.default) ?? voices[0];
  }

  /** Emits when the browser has voices, or the wait is over. */
  #voices$(): Observable<unknown> {
    const { voicesTimeoutMs = 2_000, scheduler = asyncScheduler } = this.config;
    const { speechSynthesis } = globalThis;
    const changes$ = 'addEventListener' in speechSynthesis ? fromEvent(speechSynthesis, 'voiceschanged') : EMPTY;
    const looks$ = merge(from([0]), changes$, interval(pollMs, scheduler));
    return race(looks$.pipe(filter(() => this.getAvailableVoices().length > 0)), timer(voicesTimeoutMs, scheduler));
  }
}

/** Some Android voices say `en_US`. */
function bcp47(lang: string): string {
  return lang.replaceAll('_', '-');
}
