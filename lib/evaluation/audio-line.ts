import {
  asyncScheduler,
  concat,
  concatMap,
  defer,
  from,
  interval,
  type Observable,
  type ObservableInput,
  type SchedulerLike,
  Subscription,
  tap,
} from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import type { InputProvider } from '../core/roles.ts';
import { fromInput } from '../stream/bridge.ts';
import type { Phrase } from './manner.ts';
import { randomOf } from './random.ts';
import type { CallerLine } from './scenario.ts';
import { bySpeech } from './by-speech.ts';

const frameMs = 20;

/** What a {@link AudioLine} needs of the pipeline's input: a `BufferInput`. */
export interface CallerInput extends Pick<InputProvider, 'getMetadata'> {
  /** Captures samples. */
  push(audio: Uint8Array<ArrayBuffer>): void;
  /** Plays a recording as a microphone would deliver it; resolves when it has sounded. */
  play(audio$: ObservableInput<AudioChunk>, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;
}

/** Options of an {@link AudioLine}. */
export interface AudioLineOptions {
  /** The pipeline's input: a `BufferInput`, linear16. */
  readonly input: CallerInput;
  /** The pipeline's output: a `NullOutput`, or another one that tells what was heard. */
  readonly output?: { readonly heard$: Observable<AudioChunk> };
  /** The caller's voice: `(text) => tts.speak([text])`, or recordings. The first chunk needs metadata. */
  voice(this: void, text: string): ObservableInput<AudioChunk>;
  /** Reads what the caller has heard of one thing that was said. Default: nobody reads it. */
  readonly reads?: (audio: readonly AudioChunk[]) => string | Promise<string>;
  /** How loud noises are, 0 to 1. Default: 0.3. */
  readonly noiseLevel?: number;
  /** Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** A line with sound, in real time: a frame goes out every 20 ms, silence unless something is said. */
export class AudioLine implements CallerLine {
  readonly #options: AudioLineOptions;
  readonly #scheduler: SchedulerLike;
  readonly #heard: AudioChunk[] = [];
  readonly #line = new Subscription();
  readonly #random = randomOf(1);
  #isSpeaking = false;
  #noisyUntil = 0;
  /** What reads; absent where nobody can. */
  readonly received?: NonNullable<CallerLine['received']>;

  constructor(options: AudioLineOptions) {
    this.#options = options;
    this.#scheduler = options.scheduler ?? asyncScheduler;
    const { output, reads } = options;
    // From now on: a greeting may sound before anybody picks up.
    this.#line.add(output?.heard$.pipe(tap((chunk) => this.#heard.push(chunk))).subscribe());
    if (!output || !reads) return;
    this.received = async (endedAt) => {
      const texts: string[] = [];
      for (const audio of bySpeech(this.#heard, endedAt)) texts.push(await reads(audio));
      return texts.join(' ');
    };
  }

  open(): void {
    const { input } = this.#options;
    const startedAt = this.#scheduler.now();
    let sent = 0;
    const microphone$ = interval(frameMs / 2, this.#scheduler).pipe(
      tap(() => {
        const due = Math.floor((this.#scheduler.now() - startedAt) / frameMs);
        // While a voice plays, its frames are all there are.
        for (; sent < due; sent++) if (!this.#isSpeaking) input.push(this.#frame());
      }),
    );
    this.#line.add(microphone$.subscribe());
  }

  async speak(phrases: readonly Phrase[], { signal }: { readonly signal: AbortSignal }): Promise<void> {
    const audio$ = from(phrases).pipe(concatMap((phrase) => this.#phrase(phrase)));
    this.#isSpeaking = true;
    try {
      await this.#options.input.play(audio$, { signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#isSpeaking = false;
    }
  }

  noise(ms: number, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    this.#noisyUntil = this.#scheduler.now() + ms;
    return new Promise((resolve) => {
      const noise = this.#scheduler.schedule(() => resolve(), ms);
      const onAbort = (): void => {
        noise.unsubscribe();
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  close(): void {
    this.#line.unsubscribe();
  }

  #phrase({ text, pauseMs }: Phrase): Observable<AudioChunk> {
    let metadata: AudioMetadata | undefined;
    const word$ = fromInput(this.#options.voice(text)).pipe(
      tap((chunk) => {
        metadata ??= chunk.metadata;
      }),
    );
    const pause$ = defer(() => silence(pauseMs, metadata));
    return concat(word$, pause$);
  }

  #frame(): Uint8Array<ArrayBuffer> {
    const { sampleRate, channels } = this.#options.input.getMetadata();
    const samples = new Int16Array(((sampleRate * frameMs) / 1_000) * channels);
    if (this.#scheduler.now() < this.#noisyUntil) {
      const level = 32_767 * (this.#options.noiseLevel ?? 0.3);
      samples.forEach((_, index) => (samples[index] = (this.#random() * 2 - 1) * level));
    }
    return new Uint8Array(samples.buffer);
  }
}

/** Nothing, in the format of what came before. */
function silence(ms: number, metadata: AudioMetadata | undefined): AudioChunk[] {
  if (ms === 0 || metadata?.encoding !== 'linear16') return [];
  return [{ data: new Uint8Array(Math.round((ms * metadata.sampleRate) / 1_000) * metadata.channels * 2), metadata }];
}
