import { captureProcessor, playbackProcessor } from './processors.ts';

/**
 * The AudioWorklets' program, in plain JavaScript. Pages whose Content-Security-Policy forbids `blob:` scripts serve it
 * from their own origin, as the package's file `rxvoice/worklets.js`, and set its address as `workletUrl`.
 */
export const workletSource: string = `
/** Posts its input, mono, in frames of equal length. */
class Capture extends AudioWorkletProcessor {
  constructor({ processorOptions }) {
    super();
    this.frame = new Float32Array(processorOptions.frameLength);
    this.filled = 0;
    this.open = true;
    this.port.onmessage = () => {
      this.open = false;
    };
  }

  process([[samples] = []]) {
    for (let at = 0; samples && at < samples.length; ) {
      const part = samples.subarray(at, at + this.frame.length - this.filled);
      this.frame.set(part, this.filled);
      this.filled += part.length;
      at += part.length;
      if (this.filled < this.frame.length) continue;
      const { length } = this.frame;
      this.port.postMessage(this.frame, [this.frame.buffer]);
      this.frame = new Float32Array(length);
      this.filled = 0;
    }
    return this.open;
  }
}

/** Plays one stream of frames at a time, and tells which frame of it sounds at which frame of the context. */
class Playback extends AudioWorkletProcessor {
  constructor() {
    super();
    this.commands = [];
    this.play = 0;
    this.queue = [];
    this.queued = 0;
    this.offset = 0;
    this.played = 0;
    this.paused = false;
    this.sounding = false;
    this.returning = false;
    this.ending = false;
    this.open = true;
    this.port.onmessage = ({ data }) => this.commands.push(data);
  }

  // Commands take effect with the next quantum, so that their place in the stream is exact.
  process(_inputs, [output]) {
    for (const { type, ...command } of this.commands.splice(0)) this[type](command, output);
    if (this.play && !this.paused) this.run(output);
    if (this.play && currentFrame % 1024 === 0) this.tell('tick', currentFrame + output[0].length);
    return this.open;
  }

  begin({ play, from, paused }, output) {
    this.cut({}, output);
    this.play = play;
    this.played = from;
    this.paused = paused;
  }

  push({ play, channels }) {
    if (play !== this.play) return;
    this.queue.push(channels);
    this.queued += channels[0].length;
    this.ending = false;
  }

  /** No more is expected: the rest plays, however little it is. */
  end({ play }) {
    this.ending = play === this.play;
  }

  pause(_command, output) {
    this.fade(output);
    this.paused = true;
  }

  resume() {
    this.returning = this.paused;
    this.paused = false;
  }

  cut(_command, output) {
    this.fade(output);
    this.play = 0;
    this.queue = [];
    this.queued = 0;
    this.offset = 0;
    this.returning = false;
    this.ending = false;
  }

  close() {
    this.open = false;
  }

  /** Falls silent within this quantum, without a click. */
  fade(output) {
    if (this.sounding) this.rest(currentFrame + this.read(output, 1, 0));
  }

  run(output) {
    // Small pieces may arrive unevenly: a little audio is kept in reserve.
    if (!this.sounding && !this.ending && this.queued < sampleRate * 0.04) return;
    const from = this.played;
    const length = this.read(output, this.returning ? 0 : 1, 1);
    if (length > 0) this.returning = false;
    if (length > 0 && !this.sounding) {
      this.sounding = true;
      this.tell('run', currentFrame, from);
    }
    if (length < output[0].length && this.sounding) this.rest(currentFrame + length);
  }

  rest(at) {
    this.sounding = false;
    this.tell('rest', at);
  }

  /** Adds frames to the output, with a gain that goes from one value to another over the quantum. */
  read(output, gainFrom, gainTo) {
    const wanted = output[0].length;
    const step = (gainTo - gainFrom) / wanted;
    let done = 0;
    while (done < wanted && this.queue.length > 0) {
      const [channels] = this.queue;
      const length = Math.min(wanted - done, channels[0].length - this.offset);
      output.forEach((target, index) => {
        const samples = channels[index] ?? channels[0];
        for (let at = 0; at < length; at++) {
          target[done + at] += samples[this.offset + at] * (gainFrom + step * (done + at + 1));
        }
      });
      done += length;
      this.offset += length;
      if (this.offset < channels[0].length) continue;
      this.queue.shift();
      this.offset = 0;
    }
    this.played += done;
    this.queued -= done;
    return done;
  }

  tell(type, at, played = this.played) {
    this.port.postMessage({ type, play: this.play, at, played });
  }
}

registerProcessor('${captureProcessor}', Capture);
registerProcessor('${playbackProcessor}', Playback);
`;
