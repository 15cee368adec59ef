import { durationMs, type PcmFormat } from '../../audio/formats.ts';
import { decodeSamples, type Samples } from '../../audio/samples.ts';

/** Silence that was not sent. */
export interface LeftOut {
  readonly leftOutMs: number;
}

/** The last `paddedMs` of what was sent are silence that is not part of the audio. */
export interface Padded {
  readonly paddedMs: number;
}

/** Audio, a message to send after it, or what was left out between them or added. */
export type FeedItem = Uint8Array<ArrayBuffer> | string | LeftOut | Padded;

/** Silence after which any service ends an utterance, in milliseconds. */
const defaultEndingMs = 3_000;

/** Silence kept before whatever follows it, in milliseconds: words begin softly. */
const leadMs = 1_000;

/** Levels below this one count as equal to it: -70 dBFS. */
const leastLevel = 0.0003;

/** The loudest noise that may be a pause: -30 dBFS. */
const loudestNoise = 0.03;

/** How much louder than its quietest frame a pause's loudest may be: 3 dB. Speech rises and falls by far more. */
const steadiness = 1.4;

/** Levels of a frame: of its samples, and of the steps between them, in which hum and rumble hide no voice. */
type Levels = readonly [samples: number, steps: number];

/** Steady audio so far. */
interface Pause {
  readonly ms: number;
  readonly quietest: Levels;
  readonly loudest: Levels;
}

/** Before any audio that could be a pause. */
const noPause: Pause = { ms: 0, quietest: [Infinity, Infinity], loudest: [0, 0] };

/**
 * Shortens the pauses in queued audio: a service that accepts audio at little more than real time then catches up while
 * nobody speaks. What remains of a pause is the silence that ends an utterance, and a second before whatever follows.
 *
 * A pause is audio that stays the same: silence, or the steady noise of a line or a room. A voice under that noise
 * changes it, which ends the pause. Audio that is neither steady nor below -70 dBFS is sent whole.
 */
export class Pauses {
  readonly #format: PcmFormat;
  readonly #endingMs: number;
  #pause: Pause;

  /** @param endingMs - Silence after which the service ends an utterance. */
  constructor(format: PcmFormat, endingMs: number = defaultEndingMs) {
    this.#format = format;
    this.#endingMs = endingMs;
    // A connection that starts with a pause has no utterance to end.
    this.#pause = { ...noPause, ms: endingMs };
  }

  /** Adds an item to the end of a queue, and takes out silence that is not needed any more. */
  add(queue: FeedItem[], item: FeedItem): void {
    queue.push(item);
    this.#pause = item instanceof Uint8Array && item.length > 0 ? this.#extended(item) : noPause;
    if (this.#pause.ms > this.#endingMs + leadMs) this.#shorten(queue);
  }

  /** Audio was not queued, and nobody knows what was in it. */
  passed(): void {
    this.#pause = noPause;
  }

  #extended(frame: Uint8Array<ArrayBuffer>): Pause {
    const { encoding, channels } = this.#format;
    const levels = levelsOf(decodeSamples(frame, encoding), channels);
    if (levels[0] > loudestNoise) return noPause;
    const ms = this.#msOf(frame);
    const { quietest, loudest } = this.#pause;
    const next: Pause = {
      ms: this.#pause.ms + ms,
      quietest: [Math.min(quietest[0], levels[0]), Math.min(quietest[1], levels[1])],
      loudest: [Math.max(loudest[0], levels[0]), Math.max(loudest[1], levels[1])],
    };
    const isSteady = next.loudest.every((level, index) => level <= steadiness * (next.quietest[index] ?? 0));
    return isSteady ? next : { ms, quietest: levels, loudest: levels };
  }

  /** Takes out the frame before the last second, unless it is needed to end an utterance. */
  #shorten(queue: FeedItem[]): void {
    let [at, laterMs] = [queue.length, 0];
    while (laterMs < leadMs) {
      const later = queue[--at];
      if (!(later instanceof Uint8Array)) return;
      laterMs += this.#msOf(later);
    }
    const [before, frame] = [queue[at - 2], queue[at - 1]];
    if (!(frame instanceof Uint8Array)) return;
    const ms = this.#msOf(frame);
    if (this.#pause.ms - laterMs - ms < this.#endingMs) return;
    if (isLeftOut(before)) queue.splice(at - 2, 2, { leftOutMs: before.leftOutMs + ms });
    else queue.splice(at - 1, 1, { leftOutMs: ms });
  }

  #msOf(frame: Uint8Array<ArrayBuffer>): number {
    return durationMs(frame.length, this.#format);
  }
}

function isLeftOut(item: FeedItem | undefined): item is LeftOut {
  return typeof item === 'object' && 'leftOutMs' in item;
}

/** The levels of samples, and of the steps from each to the next of its channel, 0 to 1 of full scale. */
function levelsOf(samples: Samples, channels: number): Levels {
  let [energy, stepEnergy] = [0, 0];
  for (let at = 0; at < samples.length; at++) {
    const sample = samples[at] ?? 0;
    const step = at < channels ? 0 : sample - (samples[at - channels] ?? 0);
    energy += sample * sample;
    stepEnergy += step * step;
  }
  const scale = samples instanceof Int16Array ? 32_768 : 1;
  const levelOf = (sum: number): number => Math.max(leastLevel, Math.sqrt(sum / samples.length) / scale);
  return [levelOf(energy), levelOf(stepEnergy)];
}
