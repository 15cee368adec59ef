import { catchError, EMPTY, map, Observable, Subject, Subscription, tap, type ObservableInput } from 'rxjs';
import { frameBytes, isPcmLike } from '../audio/formats.ts';
import { PcmCarry } from '../audio/pcm-carry.ts';
import { decodeSamples, encodeSamples, toFloat32 } from '../audio/samples.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../audio/types.ts';
import type { OutputProvider, PlaybackEvent } from '../core/roles.ts';
import { fromInput } from '../stream/bridge.ts';
import type { Loop } from './background-loop.ts';

/** The background sounds. */
export interface Mix {
  readonly ambience: Loop | undefined;
  readonly thinking: Loop | undefined;
  /** Volumes, from 0 to 1. */
  readonly volume: number;
  readonly ducked: number;
}

/** How far ahead background is given to the output, and in which portions, in milliseconds. */
const leadMs = 300;
const pieceMs = 100;
/** Duration of a fade, in seconds. */
const rampSeconds = 0.25;

/**
 * Mixes a background into what an output plays, and plays it alone in between. Speech and background alone are separate
 * plays, so the output's report of what was heard stays exact.
 */
export class MixedOutput {
  readonly #output: OutputProvider;
  readonly #playback$ = new Subject<PlaybackEvent>();
  /** The events of speech. Hot. */
  readonly playback$: Observable<PlaybackEvent> = this.#playback$.asObservable();
  #mix: Mix | undefined;
  #isSpeaking = false;
  /** How much was heard of the speech that ended, in milliseconds. */
  #spokenMs = 0;
  /** The background alone, while it plays. */
  #alone: Subscription | undefined;
  /** Positions of the loops, in seconds, and their volumes. */
  #at = 0;
  #gain = 0;

  constructor(output: OutputProvider) {
    this.#output = output;
  }

  /** Samples only. */
  get accepts(): readonly AudioFormat[] {
    return this.#output.accepts
      .filter(({ encoding }) => isPcmLike(encoding))
      .map(({ containers: _, ...format }) => format);
  }

  get positionMs(): number {
    return this.#isSpeaking ? this.#output.positionMs : this.#spokenMs;
  }

  get tailMs(): number {
    return this.#isSpeaking ? (this.#output.tailMs ?? 0) : 0;
  }

  /** Sets the background from now on. */
  sound(mix: Mix | undefined): void {
    this.#mix = mix;
    if (!mix?.ambience && !mix?.thinking) this.#rest();
    else if (!this.#isSpeaking) this.#begin();
  }

  /** Plays speech, with the background under it. */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return new Observable((subscriber) => {
      this.#rest();
      this.#isSpeaking = true;
      this.#spokenMs = 0;
      const from = this.#at;
      let format: AudioMetadata | undefined;
      let carry: PcmCarry | undefined;
      const mix = (chunk: AudioChunk): AudioChunk => {
        const { metadata = format } = chunk;
        if (metadata !== format && metadata && isPcmLike(metadata.encoding)) carry = new PcmCarry(frameBytes(metadata));
        format = metadata;
        if (!format || !carry) return chunk;
        return { ...chunk, data: this.#under(carry.push(chunk.data), format) };
      };
      const mixed$ = fromInput(audio$).pipe(map(mix));
      // Teardown order matters: first the output is released, then the background takes it.
      const playing = new Subscription();
      subscriber.add(() => {
        const heardMs = this.#output.positionMs;
        playing.unsubscribe();
        this.#isSpeaking = false;
        this.#spokenMs = heardMs;
        this.#at = from + heardMs / 1_000;
        if (this.#mix) this.sound(this.#mix);
      });
      playing.add(
        this.#output.play(mixed$).subscribe({
          next: (event) => {
            this.#playback$.next(event);
            subscriber.next(event);
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => subscriber.complete(),
        }),
      );
    });
  }

  /** Stays silent until the next speech, or `sound()`. */
  stop(): void {
    this.#mix = undefined;
    this.#rest();
    this.#output.stop();
  }

  /** Leaves the output to what the application itself plays. */
  enqueue(chunk: AudioChunk): void {
    this.#rest();
    this.#output.enqueue(chunk);
  }

  /** The background never ends, so nothing waits for it. */
  async flush(): Promise<void> {
    if (this.#alone) return;
    await this.#output.flush();
    if (this.#mix && !this.#isSpeaking) this.sound(this.#mix);
  }

  /** The background alone. */
  #begin(): void {
    if (this.#alone) return;
    const format = formatOf(this.accepts);
    const piece$ = new Subject<AudioChunk>();
    const from = this.#at;
    let fedMs = 0;
    const fill = (heardMs: number): void => {
      for (; fedMs < heardMs + leadMs; fedMs += pieceMs) piece$.next(this.#piece(format));
    };
    const alone = new Subscription();
    this.#alone = alone;
    const heard$ = this.#output.play(piece$).pipe(
      tap(({ positionMs }) => fill(positionMs)),
      // An output that cannot play has no background; it reports the problem when it has to speak.
      catchError(() => EMPTY),
    );
    alone.add(() => (this.#at = from + this.#output.positionMs / 1_000));
    alone.add(heard$.subscribe());
    fill(0);
  }

  #rest(): void {
    this.#alone?.unsubscribe();
    this.#alone = undefined;
  }

  #piece(format: AudioMetadata): AudioChunk {
    const samples = new Float32Array(Math.round((format.sampleRate * pieceMs) / 1_000));
    this.#add(samples, format, 1);
    return { data: encodeSamples(samples, format.encoding), metadata: format };
  }

  /** Speech with the background under it. */
  #under(speech: Uint8Array<ArrayBuffer>, format: AudioMetadata): Uint8Array<ArrayBuffer> {
    if (!this.#mix) return speech;
    const mixed = toFloat32(decodeSamples(speech, format.encoding)).slice();
    this.#add(mixed, format, this.#mix.ducked);
    return encodeSamples(mixed, format.encoding);
  }

  /** Mixes the background into samples, from its current position. */
  #add(samples: Float32Array<ArrayBuffer>, { sampleRate, channels }: AudioMetadata, share: number): void {
    const { ambience, thinking, volume = 0 } = this.#mix ?? {};
    const step = 1 / (rampSeconds * sampleRate);
    const frames = samples.length / channels;
    for (let frame = 0; frame < frames; frame += 1) {
      const at = this.#at + frame / sampleRate;
      this.#gain += Math.max(-step, Math.min(step, share * volume - this.#gain));
      const ambient = (ambience?.sample(at, sampleRate) ?? 0) * this.#gain;
      // While the agent speaks, it is not thinking.
      const sound = ambient + (this.#isSpeaking ? 0 : (thinking?.sample(at, sampleRate) ?? 0) * volume);
      for (let index = frame * channels; index < (frame + 1) * channels; index += 1) {
        samples[index] = Math.max(-1, Math.min(1, (samples[index] ?? 0) + sound));
      }
    }
    this.#at += frames / sampleRate;
  }
}

/** The output's preferred format, for background that no speech sets one for. */
function formatOf([first]: readonly AudioFormat[]): AudioMetadata {
  const { encoding = 'linear16', sampleRates: [sampleRate = 16_000] = [] } = first ?? {};
  return { encoding, sampleRate, channels: 1 };
}
