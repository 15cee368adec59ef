import { interval, Subscription } from 'rxjs';
import type { AudioChunk, BufferInput } from 'rxvoice';
import { createTranscoder, int16Bytes, int16View } from 'rxvoice/audio';
import { encodeText, noise, silence } from '../../sandbox/modem.ts';

/** The caller's line: what it carries, and how it is cut. */
export const callerFormat = { sampleRate: 16_000, encoding: 'linear16', channels: 1 } as const;
const { sampleRate } = callerFormat;
const frameMs = 20;
const frameSamples = (sampleRate * frameMs) / 1000;
const quietFrame = int16Bytes(silence(frameMs, sampleRate));
/** Most that waits to be said, in frames: a minute. */
const maxFrames = 60_000 / frameMs;

/**
 * A person in the sandbox's voice: an open line that carries silence, and what is to be said in real time. So a whole
 * conversation works without a microphone.
 */
export class Caller {
  readonly #input: BufferInput;
  readonly #now: () => number;
  readonly #frames: Uint8Array<ArrayBuffer>[] = [];
  #line = new Subscription();
  #sent = 0;

  constructor(input: BufferInput, now: () => number = () => performance.now()) {
    this.#input = input;
    this.#now = now;
  }

  connect(): void {
    const connectedAt = this.#now();
    this.#sent = 0;
    this.#line.unsubscribe();
    // A page in the background is woken once a second: what is due is sent, however late.
    this.#line = interval(frameMs).subscribe(() => {
      const due = Math.floor((this.#now() - connectedAt) / frameMs);
      for (; this.#sent < due; this.#sent++) this.#input.push(this.#frames.shift() ?? quietFrame);
    });
  }

  hangUp(): void {
    this.#line.unsubscribe();
    this.#frames.length = 0;
  }

  /**
   * Says a text, after what is still to be said.
   *
   * @returns How long it is until it has been said, in milliseconds.
   */
  say(text: string): number {
    this.#queue(encodeText(text, sampleRate));
    return this.#frames.length * frameMs;
  }

  /** Coughs twice: a noise that is no speech, long enough to be taken for a voice at first, on a busy machine too. */
  cough(): void {
    for (const gapMs of [0, 80]) {
      this.#queue(silence(gapMs, sampleRate));
      this.#queue(noise(400, sampleRate));
    }
  }

  /** Says nothing for so many milliseconds, before what is said next. */
  pause(ms: number): void {
    this.#queue(silence(ms, sampleRate));
  }

  /** Hears the beginning of what the agent says, as a microphone in the same room does: quieter. */
  echo(chunks: readonly AudioChunk[], ms: number): void {
    const [from = callerFormat] = chunks.flatMap(({ metadata }) => metadata ?? []);
    const transcoder = createTranscoder(from, callerFormat);
    const samples = chunks.flatMap(({ data }) => Array.from(int16View(transcoder.push(data))));
    this.#queue(Int16Array.from(samples.slice(0, (sampleRate * ms) / 1000), (sample) => sample / 3));
  }

  #queue(samples: Int16Array<ArrayBuffer>): void {
    for (let at = 0; at < samples.length && this.#frames.length < maxFrames; at += frameSamples) {
      const frame = new Int16Array(frameSamples);
      frame.set(samples.subarray(at, at + frameSamples));
      this.#frames.push(int16Bytes(frame));
    }
  }
}
