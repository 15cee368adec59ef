/** A node's sound, as it leaves the node. */
export interface Recording {
  /** What was recorded since the recording began, or since it was last taken. */
  take(): Float32Array<ArrayBuffer>;
  /** Resolves when all that sounds from now on for so many milliseconds is recorded: it reaches a busy page late. */
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
  const begunAt = context.currentTime;
  let recorded = 0;
  const listeners = new Set<(frame: Float32Array) => void>();
  recorder.port.onmessage = ({ data }) => {
    const frame = data as Float32Array<ArrayBuffer>;
    frames.push(frame);
    recorded += frame.length;
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
      const end = (context.currentTime - begunAt + ms / 1000) * context.sampleRate;
      return until(() => recorded >= end);
    },
    louderThan: (level) => until((frame) => frame.some((sample) => sample > level)),
  };
}

/** Resolves when all these contexts are closed. */
export async function closed(...contexts: BaseAudioContext[]): Promise<void> {
  for (const context of contexts) {
    while (context.state !== 'closed') {
      await new Promise((resolve) => context.addEventListener('statechange', resolve, { once: true }));
    }
  }
}

export { dial, dialled } from '../../../samples/sandbox/keys.ts';
