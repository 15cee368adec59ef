import { sameFormat } from '../audio/described.ts';
import { durationMs, frameBytes, isPcmLike } from '../audio/formats.ts';
import { int16View } from '../audio/samples.ts';
import { createTranscoder, type Transcoder } from '../audio/transcoder.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';

type Samples = Int16Array<ArrayBuffer>;

/** How late captured audio may arrive and still be placed where it belongs, in milliseconds. */
const patienceMs = 1_000;
/**
 * A deviation beyond this, in milliseconds, means that captured audio is missing or came twice; smaller ones are
 * corrected gradually.
 */
const gapMs = 60;
/** How far the clocks of a microphone and of the recording may drift apart before correction, in milliseconds. */
const slackMs = 2;
/** How much audio is then sped up or slowed down: inaudible. */
const stretchBy = 1 / 500;
/** The agent's audio continues without a gap if it is late by less than this, in milliseconds. */
const joinMs = 5;
/** The same for audio that is early: it comes from a clock that runs fast. */
const overlapMs = 500;
/** Samples up to this magnitude are silence. */
const quiet = 32;

/** One channel of a recording: samples at their positions, and silence between them. */
export class Track {
  #pieces: { readonly start: number; readonly samples: Samples }[] = [];
  /** Samples taken from the beginning so far. */
  #taken = 0;
  /** Where the next samples go. */
  end: number = 0;

  /** Adds samples, at a position or after the last ones; never before them. */
  put(samples: Samples, at: number = this.end): void {
    const start = Math.max(at, this.end);
    if (samples.length > 0) this.#pieces.push({ start, samples });
    this.end = start + samples.length;
  }

  /** The next samples. */
  take(length: number): Samples {
    const taken = new Int16Array(length);
    const to = this.#taken + length;
    for (const { start, samples } of this.#pieces) {
      if (start >= to) break;
      const skipped = Math.max(0, this.#taken - start);
      taken.set(samples.subarray(skipped, to - start), start + skipped - this.#taken);
    }
    this.#pieces = this.#pieces.filter(({ start, samples }) => start + samples.length > to);
    this.#taken = to;
    this.end = Math.max(this.end, to);
    return taken;
  }

  /** Drops what was not taken; the next samples come at a position or later. */
  restart(at: number): void {
    this.#pieces = [];
    this.end = Math.max(this.#taken, at);
  }
}

/** Captured audio waiting to be placed. */
interface Captured {
  readonly samples: Samples;
  /** Total captured up to its end, in milliseconds. */
  readonly endMs: number;
  readonly arrivedMs: number;
}

/**
 * Places captured audio by its arrival. Audio delayed by a busy process arrives in a burst and belongs where it would
 * have been, so positions are known only a second later. If no burst follows a pause, audio is missing.
 */
export class CallerTrack {
  readonly track: Track = new Track();
  readonly #rate: number;
  readonly #transcoder: Transcoder;
  #waiting: Captured[] = [];
  #capturedMs = 0;
  #isFirst = true;

  constructor(from: AudioMetadata, to: AudioMetadata) {
    this.#rate = to.sampleRate;
    this.#transcoder = createTranscoder(from, to);
  }

  /** Takes audio that arrived at a time of the recording, in milliseconds. */
  push(data: Uint8Array<ArrayBuffer>, arrivedMs: number, isAudible: boolean): void {
    const samples = int16View(this.#transcoder.push(data).slice());
    if (!isAudible) samples.fill(0);
    this.#capturedMs += (samples.length / this.#rate) * 1_000;
    this.#waiting.push({ samples, endMs: this.#capturedMs, arrivedMs });
  }

  /** Places what arrived before a time; at the end there is nothing to wait for. */
  settle(nowMs: number, isEnd: boolean = false): void {
    const due = this.#waiting.findIndex(({ arrivedMs }) => !isEnd && arrivedMs > nowMs - patienceMs);
    const count = due < 0 ? this.#waiting.length : due;
    let offsetMs = Infinity;
    const offsets = this.#waiting
      .toReversed()
      .map(({ endMs, arrivedMs }) => (offsetMs = Math.min(offsetMs, arrivedMs - endMs - this.#transcoder.latencyMs)))
      .reverse();
    for (const [index, { samples, endMs }] of this.#waiting.splice(0, count).entries()) {
      const end = Math.round(((endMs + (offsets[index] ?? 0)) * this.#rate) / 1_000);
      this.#place(samples, end - samples.length);
    }
  }

  /** Drops what was not taken; what follows was captured at a time of the recording or later. */
  restart(ms: number): void {
    this.#waiting = [];
    this.#isFirst = true;
    this.#transcoder.reset();
    this.track.restart(Math.ceil((ms * this.#rate) / 1_000));
  }

  #place(samples: Samples, at: number): void {
    const { track } = this;
    const late = at - track.end;
    const gap = (gapMs * this.#rate) / 1_000;
    if (this.#isFirst) {
      // Audio captured before the recording started is not part of it.
      track.put(samples.slice(Math.min(samples.length, Math.max(0, -late))), Math.max(at, track.end));
      this.#isFirst = false;
    } else if (late > gap) track.put(samples, at);
    else if (late < -gap && samples.every((sample) => Math.abs(sample) <= quiet)) return;
    else if (Math.abs(late) > (slackMs * this.#rate) / 1_000) track.put(stretched(samples, Math.sign(late)));
    else track.put(samples);
  }
}

/** Stretches or shortens samples slightly. */
function stretched(samples: Samples, direction: number): Samples {
  const length = samples.length + direction * Math.max(1, Math.round(samples.length * stretchBy));
  if (samples.length < 2 || length < 2) return samples;
  const step = (samples.length - 1) / (length - 1);
  return Int16Array.from({ length }, (_, index) => {
    const at = Math.floor(index * step);
    const before = samples[at] ?? 0;
    const after = samples[at + 1] ?? before;
    return Math.round(before + (after - before) * (index * step - at));
  });
}

/** Audio without a gap, in one format. */
interface Run {
  readonly format: AudioMetadata;
  readonly transcoder: Transcoder;
  /** Where its last sample ends in the recording, in milliseconds. */
  readonly endMs: number;
}

/**
 * Places what the output played by when it sounded. Sound that goes on for long, as an ambience does, is sped up or slowed
 * down a little to stay at its time: a speaker's clock is not the recording's.
 */
export class AgentTrack {
  readonly track: Track = new Track();
  readonly #to: AudioMetadata;
  #run: Run | undefined;
  #sinceMs = 0;

  constructor(to: AudioMetadata) {
    this.#to = to;
  }

  /** Takes audio that began to sound at a time of the recording, in milliseconds. */
  push({ data, metadata }: AudioChunk, startMs: number): void {
    if (!metadata || !isPcmLike(metadata.encoding)) return;
    const early = Math.max(0, Math.ceil(((this.#sinceMs - startMs) * metadata.sampleRate) / 1_000));
    const heard = data.slice(early * frameBytes(metadata));
    if (heard.length === 0) return;
    const { sampleRate } = this.#to;
    const run = this.#join(metadata, startMs);
    const { transcoder } = run ?? { transcoder: createTranscoder(metadata, this.#to) };
    const samples = int16View(transcoder.push(heard).slice());
    const from = Math.max(Math.round((Math.max(startMs, this.#sinceMs) * sampleRate) / 1_000), this.track.end);
    const lateMs = run ? startMs - run.endMs : 0;
    const placed = Math.abs(lateMs) > slackMs ? stretched(samples, Math.sign(lateMs)) : samples;
    this.track.put(placed, run ? undefined : from);
    const beginMs = run?.endMs ?? (from * 1_000) / sampleRate;
    const addedMs = ((placed.length - samples.length) * 1_000) / sampleRate;
    this.#run = { format: metadata, transcoder, endMs: beginMs + durationMs(heard.length, metadata) + addedMs };
  }

  /** Ends audio that has not continued by a time. */
  settle(nowMs: number): void {
    if (this.#run && this.#run.endMs < nowMs) this.#end();
  }

  /** Drops what was not taken, and ignores anything before a time of the recording. */
  restart(ms: number): void {
    this.#run = undefined;
    this.#sinceMs = ms;
    this.track.restart(Math.ceil((ms * this.#to.sampleRate) / 1_000));
  }

  #join(format: AudioMetadata, startMs: number): Run | undefined {
    const lateMs = startMs - (this.#run?.endMs ?? -Infinity);
    const isSame = this.#run !== undefined && sameFormat(this.#run.format, format);
    if (isSame && lateMs < joinMs && lateMs > -overlapMs) return this.#run;
    this.#end();
    return undefined;
  }

  /** What the resampler still holds. */
  #end(): void {
    if (this.#run) this.track.put(int16View(this.#run.transcoder.flush().slice()));
    this.#run = undefined;
  }
}
