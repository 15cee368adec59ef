import {
  concatMap,
  filter,
  firstValueFrom,
  map,
  Observable,
  Subject,
  takeUntil,
  tap,
  type ObservableInput,
} from 'rxjs';
import type { AudioChunk } from '../../audio/types.ts';
import { VoiceError, type VoiceErrorOptions } from '../../core/errors.ts';
import type { PlaybackEvent } from '../../core/roles.ts';
import { nativeVoiceSpeaks$ } from '../../playback/native-voice.ts';
import { fromInput } from '../../stream/bridge.ts';
import { splitText } from '../../text/split-text.ts';
import { NativeSpeaker, NativeTexts, PlayQueue, type NativePiece } from './native-speaker.ts';
import type { NativeTTSConfig } from './native-tts-config.ts';
import { cancelNativeSpeech } from './native-utterance.ts';
import { chooseNativeVoice, nativeVoiceNamed, nativeVoices, nativeVoicesKnown$ } from './native-voices.ts';
import { SynthesisOutputs, type SynthesisOutputsOptions } from './synthesis-outputs.ts';
import type { UtteranceEvent } from './utterance.ts';
import { spreadWords } from './words/spread-words.ts';

/** What a {@link NativePlayer} uses of its provider. */
export interface NativePlayerHost {
  readonly outputs: SynthesisOutputsOptions;
  readonly config: () => NativeTTSConfig;
  /** Longest utterance, in characters. */
  readonly maxTextLength: number;
  /** Plays one chunk. */
  readonly play$: (chunk: AudioChunk) => Observable<unknown>;
  /** Publishes an event of a play. */
  readonly playback: (event: PlaybackEvent) => void;
  /** Creates an error of the provider. */
  readonly error: (message: string, options: Omit<VoiceErrorOptions, 'provider'>) => VoiceError;
}

/** Speaks with the browser's voices. Loaded during `initialize()`. */
export class NativePlayer {
  readonly #host: NativePlayerHost;
  readonly #outputs: SynthesisOutputs;
  readonly #texts: NativeTexts = new NativeTexts();
  readonly #queue: PlayQueue;
  readonly #stopped$ = new Subject<void>();
  #speaker: NativeSpeaker | undefined;
  #lastPositionMs = 0;

  constructor(host: NativePlayerHost) {
    this.#host = host;
    this.#outputs = new SynthesisOutputs(host.outputs);
    this.#queue = new PlayQueue(host.play$, (cause) => host.outputs.report(VoiceError.from(cause)));
  }

  /** Position of the current (or the last) play, in milliseconds. */
  get positionMs(): number {
    return this.#speaker?.positionMs ?? this.#lastPositionMs;
  }

  /** Silences what a previous page says, and waits for the list of voices. */
  async start(): Promise<void> {
    const { voiceName, voicesTimeoutMs = 2_000, scheduler } = this.#host.config();
    // Speech of a previous page would continue.
    this.silence();
    await firstValueFrom(nativeVoicesKnown$(voicesTimeoutMs, scheduler), { defaultValue: undefined });
    // Voices that load later are found when they speak.
    if (voiceName === undefined || nativeVoices().length === 0 || nativeVoiceNamed(voiceName)) return;
    const { provider, report } = this.#host.outputs;
    const message = `${provider}: the browser has no voice "${voiceName}"; getAvailableVoices() lists its voices`;
    report(this.#host.error(message, { code: 'not_found', recoverable: true }));
  }

  /** Ends whatever the browser says. */
  silence(): void {
    cancelNativeSpeech(this.#host.config().scheduler);
  }

  /** Chunks that represent a text. Subscribe once. */
  speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    const utteranceId = this.#outputs.nextId();
    let endMs = 0;
    return fromInput(typeof text$ === 'string' ? [text$] : text$).pipe(
      concatMap((text) => splitText(text, this.#host.maxTextLength)),
      concatMap((text): UtteranceEvent[] => {
        const { data, metadata, durationMs } = this.#texts.chunkFor(text, this.#host.config().rate ?? 1);
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
  }

  /** Speaks the output of `speak()`; rejects other audio. Cold: unsubscribing silences it. */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return new Observable((subscriber) => {
      if (this.#speaker) {
        const message = 'already playing: unsubscribe or stop() first';
        throw this.#host.error(message, { code: 'not_ready', recoverable: true });
      }
      const { voiceName, voiceLang, rate = 1, pitch = 0, scheduler } = this.#host.config();
      const speaker = new NativeSpeaker({
        // Chosen for each utterance: some voices load late.
        choose: () => chooseNativeVoice(voiceName, voiceLang),
        emit: (event) => {
          this.#host.playback(event);
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

  /** Plays a chunk after those before it. */
  enqueue(chunk: AudioChunk): void {
    this.#pieceOf(chunk);
    this.#queue.add(chunk);
  }

  /** Resolves when everything enqueued was played or dropped. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  stop(): void {
    this.#queue.clear();
    this.#stopped$.next();
  }

  command(type: 'pause' | 'resume'): void {
    this.#speaker?.command(type);
  }

  #pieceOf(chunk: AudioChunk): NativePiece {
    const piece = this.#texts.of(chunk);
    if (piece) return piece;
    const { provider } = this.#host.outputs;
    throw this.#host.error(`${provider} plays only its own text: add an output such as BrowserAudioOutput`, {
      code: 'unsupported_format',
    });
  }
}
