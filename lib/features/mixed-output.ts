import { catchError, EMPTY, map, Observable, Subject, Subscription, tap, type ObservableInput } from 'rxjs';
import { frameBytes, isPcmLike } from '../audio/formats.ts';
import { PcmCarry } from '../audio/pcm-carry.ts';
import { decodeSamples, encodeSamples, toFloat32 } from '../audio/samples.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../audio/types.ts';
import type { OutputProvider, PlaybackEvent } from '../core/roles.ts';
import { fromInput } from '../stream/bridge.ts';
import { eachEffect, type Step } from '../stream/fold.ts';
import type { Loop } from './background-loop.ts';

/** The background sounds. */
export interface Mix {
  readonly ambience: Loop | undefined;
  readonly thinking: Loop | undefined;
  /** Volumes, from 0 to 1. */
  readonly volume: number;
  readonly ducked: number;
}

/** Positions of the loops, in seconds, and the ambience's volume, which fades. */
export interface LoopPosition {
  readonly at: number;
  readonly gain: number;
}

/** The state of an output that mixes. */
export interface Mixing {
  readonly mix: Mix | undefined;
  /** What plays. */
  readonly plays: 'nothing' | 'background' | 'speech';
  /** Where the loops were when that began, in seconds, and where they are at the end of what it was given. */
  readonly from: number;
  readonly loops: LoopPosition;
  /** How much was heard of the speech that ended, in milliseconds. */
  readonly spokenMs: number;
}

/** What happens to the background's own play. */
export type MixingEffect = 'begin' | 'end';

type MixingStep = Step<Mixing, MixingEffect>;

/** The state without a background. */
export const unmixed: Mixing = {
  mix: undefined,
  plays: 'nothing',
  from: 0,
  loops: { at: 0, gain: 0 },
  spokenMs: 0,
};

/**
 * The background from now on: it plays where nothing else does. Pure, as the other transitions.
 *
 * @param heardMs - How much the output has played of what plays, in milliseconds.
 */
export function withMix(before: Mixing, mix: Mix | undefined, heardMs: number): MixingStep {
  const mixing = { ...before, mix };
  if (!mix?.ambience && !mix?.thinking) return rest(mixing, heardMs);
  return mixing.plays === 'nothing' ? [{ ...mixing, plays: 'background', from: mixing.loops.at }, 'begin'] : [mixing];
}

/** A speech begins. */
export function speech(mixing: Mixing, heardMs: number): MixingStep {
  const [idle, ...effects] = rest(mixing, heardMs);
  return [{ ...idle, plays: 'speech', from: idle.loops.at, spokenMs: 0 }, ...effects];
}

/** A speech has left the output. */
export function spoken(mixing: Mixing, heardMs: number): MixingStep {
  return withMix({ ...leave(mixing, heardMs), spokenMs: heardMs }, mixing.mix, heardMs);
}

/** The background leaves the output, until the next speech or background. */
export function rest(mixing: Mixing, heardMs: number): MixingStep {
  return mixing.plays === 'background' ? [leave(mixing, heardMs), 'end'] : [mixing];
}

/** What was given and not heard is played again. */
function leave(mixing: Mixing, heardMs: number): Mixing {
  return { ...mixing, plays: 'nothing', loops: { ...mixing.loops, at: mixing.from + heardMs / 1_000 } };
}

/** How far ahead background is given to the output, and in which portions, in milliseconds. */
const leadMs = 300;
const pieceMs = 100;
/** Duration of a fade, in seconds. */
const rampSeconds = 0.25;

/** Mixes the background into samples, from its current position; returns the one after them. */
export function mixInto(
  samples: Float32Array<ArrayBuffer>,
  { mix, plays, loops }: Mixing,
  { sampleRate, channels }: AudioMetadata,
): LoopPosition {
  const { ambience, thinking, volume = 0, ducked = 0 } = mix ?? {};
  const isSpeech = plays === 'speech';
  const target = isSpeech ? ducked * volume : volume;
  const step = 1 / (rampSeconds * sampleRate);
  const frames = samples.length / channels;
  let { gain } = loops;
  for (let frame = 0; frame < frames; frame += 1) {
    const at = loops.at + frame / sampleRate;
    gain += Math.max(-step, Math.min(step, target - gain));
    const ambient = (ambience?.sample(at, sampleRate) ?? 0) * gain;
    // While the agent speaks, it is not thinking.
    const sound = ambient + (isSpeech ? 0 : (thinking?.sample(at, sampleRate) ?? 0) * volume);
    for (let index = frame * channels; index < (frame + 1) * channels; index += 1) {
      samples[index] = Math.max(-1, Math.min(1, (samples[index] ?? 0) + sound));
    }
  }
  return { at: loops.at + frames / sampleRate, gain };
}

/**
 * Mixes a background into what an output plays, and plays it alone in between. Speech and background alone are separate
 * plays, so the output's report of what was heard stays exact.
 */
export class MixedOutput {
  readonly #output: OutputProvider;
  readonly #playback$ = new Subject<PlaybackEvent>();
  /** The events of speech. Hot. */
  readonly playback$: Observable<PlaybackEvent> = this.#playback$.asObservable();
  #mixing: Mixing = unmixed;
  /** The background alone, while it plays. */
  #alone: Subscription = Subscription.EMPTY;

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
    return this.#mixing.plays === 'speech' ? this.#output.positionMs : this.#mixing.spokenMs;
  }

  get tailMs(): number {
    return this.#mixing.plays === 'speech' ? (this.#output.tailMs ?? 0) : 0;
  }

  /** Sets the background from now on. */
  sound(mix: Mix | undefined): void {
    this.#take(withMix(this.#mixing, mix, this.#output.positionMs));
  }

  /** Plays speech, with the background under it. */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return new Observable((subscriber) => {
      this.#take(speech(this.#mixing, this.#output.positionMs));
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
        this.#take(spoken(this.#mixing, heardMs));
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
    this.sound(undefined);
    this.#output.stop();
  }

  /** Leaves the output to what the application itself plays. */
  enqueue(chunk: AudioChunk): void {
    this.#take(rest(this.#mixing, this.#output.positionMs));
    this.#output.enqueue(chunk);
  }

  /** The background never ends, so nothing waits for it. */
  async flush(): Promise<void> {
    if (this.#mixing.plays === 'background') return;
    await this.#output.flush();
    this.sound(this.#mixing.mix);
  }

  #take(step: MixingStep): void {
    this.#mixing = step[0];
    eachEffect(step, (effect) => (effect === 'begin' ? this.#begin() : this.#alone.unsubscribe()));
  }

  /** The background alone. */
  #begin(): void {
    const format = formatOf(this.accepts);
    const piece$ = new Subject<AudioChunk>();
    let fedMs = 0;
    const fill = (heardMs: number): void => {
      for (; fedMs < heardMs + leadMs; fedMs += pieceMs) piece$.next(this.#piece(format));
    };
    const heard$ = this.#output.play(piece$).pipe(
      tap(({ positionMs }) => fill(positionMs)),
      // An output that cannot play has no background; it reports the problem when it has to speak.
      catchError(() => EMPTY),
    );
    const alone = new Subscription();
    this.#alone = alone;
    alone.add(heard$.subscribe());
    fill(0);
  }

  #piece(format: AudioMetadata): AudioChunk {
    const samples = new Float32Array(Math.round((format.sampleRate * pieceMs) / 1_000));
    return { data: this.#mixed(samples, format), metadata: format };
  }

  /** Speech with the background under it. */
  #under(speech: Uint8Array<ArrayBuffer>, format: AudioMetadata): Uint8Array<ArrayBuffer> {
    if (!this.#mixing.mix) return speech;
    return this.#mixed(toFloat32(decodeSamples(speech, format.encoding)).slice(), format);
  }

  #mixed(samples: Float32Array<ArrayBuffer>, format: AudioMetadata): Uint8Array<ArrayBuffer> {
    this.#mixing = { ...this.#mixing, loops: mixInto(samples, this.#mixing, format) };
    return encodeSamples(samples, format.encoding);
  }
}

/** The output's preferred format, for background that no speech sets one for. */
function formatOf([first]: readonly AudioFormat[]): AudioMetadata {
  const { encoding = 'linear16', sampleRates: [sampleRate = 16_000] = [] } = first ?? {};
  return { encoding, sampleRate, channels: 1 };
}
