import { durationMs, frameBytes, isPcmLike } from '../audio/formats.ts';
import { int16View } from '../audio/samples.ts';
import { createTranscoder, type Transcoder } from '../audio/transcoder.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';

type Samples = Int16Array<ArrayBuffer>;

/** How late captured audio may come and still be placed where it belongs, in milliseconds. */
const patienceMs = 1_000;
/** Captured audio is missing, or came twice, beyond this, in milliseconds: less is made up for slowly. */
const gapMs = 60;
/** What the clocks of a microphone and of the recording may differ before anything is done, in milliseconds. */
const slackMs = 2;
/** How much faster or slower audio then is: nobody hears it. */
const stretchBy = 1 / 500;
/** The agent's audio follows what came before if its time differs by less, in milliseconds. */
const joinMs = 5;
/** Samples up to this are silence. */
const quiet = 32;

/** One channel of a recording: samples at their places, and silence between them. */
export class Track {
  #pieces: { readonly start: number; readonly samples: Samples }[] = [];
  /** What was taken, in samples from the beginning. */
  #taken = 0;
  /** Where the next samples follow. */
  end: number = 0;

  /** Adds samples, at a place or where the last ones end; never before them. */
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

  /** Forgets what was not taken; the next samples come at a place or later. */
  restart(at: number): void {
    this.#pieces = [];
    this.end = Math.max(this.#taken, at);
  }
}

/** Captured audio that waits for its place. */
interface Captured {
  readonly samples: Samples;
  /** How much was captured up to its end, in milliseconds. */
  readonly endMs: number;
  readonly arrivedMs: number;
}

/**
 * Places captured audio by when it came. What is late because something was busy comes in a burst, and belongs where it
 * would have been: so the place is known a second later. Where none comes to make up for the wait, audio is missing.
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

  /** Takes audio that came at a time of the recording, in milliseconds. */
  push(data: Uint8Array<ArrayBuffer>, arrivedMs: number, isAudible: boolean): void {
    const samples = int16View(this.#transcoder.push(data).slice());
    if (!isAudible) samples.fill(0);
    this.#capturedMs += (samples.length / this.#rate) * 1_000;
    this.#waiting.push({ samples, endMs: this.#capturedMs, arrivedMs });
  }

  /** Places what came before a time; what comes at the end has nothing to wait for. */
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

  /** Forgets what was not taken; what follows was captured at a time of the recording or later. */
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
      // What was captured before the recording began is not its business.
      track.put(samples.slice(Math.min(samples.length, Math.max(0, -late))), Math.max(at, track.end));
      this.#isFirst = false;
    } else if (late > gap) track.put(samples, at);
    else if (late < -gap && samples.every((sample) => Math.abs(sample) <= quiet)) return;
    else if (Math.abs(late) > (slackMs * this.#rate) / 1_000) track.put(stretched(samples, Math.sign(late)));
    else track.put(samples);
  }
}

/** A little more or less of the same. */
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

/** What sounds without a gap, in one format. */
interface Run {
  readonly format: AudioMetadata;
  readonly transcoder: Transcoder;
  /** When its last sample ended, in milliseconds. */
  readonly endMs: number;
}

/** Places what the output has played by when it sounded. */
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
    const run = this.#join(metadata, startMs);
    const at = run ? undefined : Math.round((Math.max(startMs, this.#sinceMs) * this.#to.sampleRate) / 1_000);
    const { transcoder } = run ?? { transcoder: createTranscoder(metadata, this.#to) };
    this.track.put(int16View(transcoder.push(heard).slice()), at);
    this.#run = { format: metadata, transcoder, endMs: startMs + durationMs(data.length, metadata) };
  }

  /** Ends what has not gone on until a time. */
  settle(nowMs: number): void {
    if (this.#run && this.#run.endMs < nowMs) this.#end();
  }

  /** Forgets what was not taken, and takes nothing from before a time of the recording. */
  restart(ms: number): void {
    this.#run = undefined;
    this.#sinceMs = ms;
    this.track.restart(Math.ceil((ms * this.#to.sampleRate) / 1_000));
  }

  #join(format: AudioMetadata, startMs: number): Run | undefined {
    if (this.#run?.format === format && Math.abs(startMs - this.#run.endMs) < joinMs) return this.#run;
    this.#end();
    return undefined;
  }

  /** What the resampler still holds. */
  #end(): void {
    if (this.#run) this.track.put(int16View(this.#run.transcoder.flush().slice()));
    this.#run = undefined;
  }
}
