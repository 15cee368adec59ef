/** A node's sound, as it leaves the node. */
export interface Recording {
  /** What was recorded since the recording began, or since it was last taken. */
  take(): Float32Array<ArrayBuffer>;
  /** Resolves when this many more milliseconds are recorded. */
  more(ms: number): Promise<void>;
  /** Resolves when a sample passes a level. */
  louderThan(level: number): Promise<void>;
}

/**
 * Resolves when a context's own clock has come so many milliseconds further. A busy machine holds sound up, and the
 * page's timers run on: what waits for sound asks the sound.
 */
export function played(context: BaseAudioContext, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const mark = new ConstantSourceNode(context, { offset: 0 });
    const from = context.currentTime;
    mark.connect(context.destination);
    mark.onended = () => resolve();
    mark.start(from);
    mark.stop(from + ms / 1000);
  });
}

/** Records a node of a context that has the library's worklets; anything else may be connected to the recorder too. */
export function record(node: AudioNode, frameLength = 480): Recording & { readonly recorder: AudioNode } {
  const { context } = node;
  const recorder = new AudioWorkletNode(context, 'rxvoice-capture', {
    channelCount: 1,
    channelCountMode: 'explicit',
    processorOptions: { frameLength },
  });
  const frames: Float32Array<ArrayBuffer>[] = [];
  const listeners = new Set<(frame: Float32Array) => void>();
  recorder.port.onmessage = ({ data }) => {
    const frame = data as Float32Array<ArrayBuffer>;
    frames.push(frame);
    for (const listener of [...listeners]) listener(frame);
  };
  node.connect(recorder).connect(context.destination);
  const until = (isIt: (frame: Float32Array) => boolean): Promise<void> =>
    new Promise((resolve) => {
      const listener = (frame: Float32Array): void => {
        if (!isIt(frame)) return;
        listeners.delete(listener);
        resolve();
      };
      listeners.add(listener);
    });
  return {
    recorder,
    take: () => Float32Array.from(frames.splice(0).flatMap((frame) => [...frame])),
    more: (ms) => {
      let left = (ms * context.sampleRate) / 1000;
      return until(({ length }) => (left -= length) <= 0);
    },
    louderThan: (level) => until((frame) => frame.some((sample) => sample > level)),
  };
}

const rows = [697, 770, 852, 941];
const columns = [1209, 1336, 1477, 1633];
const keys = '123A456B789C*0#D';
const toneMs = 160;
const pauseMs = 120;

/**
 * Keys of a telephone as mono samples. A browser that plays a call conceals what came too late, and stretches or shortens
 * the rest to have its reserve again: that damages a tone of the modem's 25 ms, but takes none of these away.
 */
export function dial(number: string, rate: number): Float32Array<ArrayBuffer> {
  const length = (ms: number): number => Math.round((ms / 1000) * rate);
  const samples = new Float32Array(number.length * length(toneMs + pauseMs));
  [...number].forEach((key, index) => {
    const at = keys.indexOf(key);
    const frequencies = [rows[at >> 2] ?? 0, columns[at & 3] ?? 0];
    for (let n = 0; n < length(toneMs); n++) {
      const edge = Math.min(1, n / length(5), (length(toneMs) - n) / length(5));
      const value = frequencies.reduce((sum, hz) => sum + Math.sin((2 * Math.PI * hz * n) / rate), 0);
      samples[index * length(toneMs + pauseMs) + n] = 0.3 * edge * value;
    }
  });
  return samples;
}

/** The keys that sound in mono samples, each for at least 50 ms; one that goes on, or comes again, counts once. */
export function dialled(samples: Float32Array, rate: number): string {
  const hop = Math.round(rate / 100);
  const window = 3 * hop;
  const powerOf = (part: Float32Array, hz: number): number => {
    let [real, imaginary] = [0, 0];
    part.forEach((sample, n) => {
      real += sample * Math.cos((2 * Math.PI * hz * n) / rate);
      imaginary += sample * Math.sin((2 * Math.PI * hz * n) / rate);
    });
    return (2 * (real ** 2 + imaginary ** 2)) / part.length;
  };
  const keyAt = (at: number): string => {
    const part = samples.subarray(at, at + window);
    const energy = part.reduce((sum, sample) => sum + sample ** 2, 0);
    const [rowPowers, columnPowers] = [rows, columns].map((tones) => tones.map((hz) => powerOf(part, hz)));
    const [row, column] = [Math.max(...(rowPowers ?? [])), Math.max(...(columnPowers ?? []))];
    const isKey = energy > part.length * 1e-4 && row + column > 0.6 * energy && Math.min(row, column) > 0.1 * energy;
    return isKey ? (keys[(rowPowers?.indexOf(row) ?? 0) * 4 + (columnPowers?.indexOf(column) ?? 0)] ?? '') : '';
  };
  let number = '';
  let run = '';
  for (let at = 0; at + window <= samples.length; at += hop) {
    const key = keyAt(at);
    run = key !== '' && run.startsWith(key) ? run + key : key;
    if (run.length === 3 && !number.endsWith(key)) number += key;
  }
  return number;
}
