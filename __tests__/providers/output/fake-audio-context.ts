import { createContext, runInContext } from 'node:vm';
import { workletSource } from '../../../lib/playback/worklets.ts';

const quantum = 128;

interface Processor {
  process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean;
}
type ProcessorClass = new (options: object) => Processor;

class FakePort {
  onmessage: ((event: { data: unknown }) => void) | null = null;
  other: FakePort | undefined;
  postMessage(data: unknown): void {
    this.other?.onmessage?.({ data });
  }
  close(): void {
    this.onmessage = null;
  }
}

class FakeNode {
  readonly gain = { value: 1, setTargetAtTime: (value: number): void => void (this.gain.value = value) };
  connect(node: object): object {
    return node;
  }
  disconnect(): void {}
}

/** An audio context that renders when it is told to, with the library's own worklets. */
export class FakeAudioContext extends EventTarget {
  static all: FakeAudioContext[] = [];
  /** When the worklets of a context are there. */
  static loaded: Promise<void> = Promise.resolve();
  readonly sampleRate = 48_000;
  readonly destination = new FakeNode();
  readonly audioWorklet = {
    addModule: (): Promise<void> => {
      runInContext(workletSource, this.#scope);
      return FakeAudioContext.loaded;
    },
  };
  readonly baseLatency = 0.01;
  outputLatency = 0;
  state: AudioContextState = 'running';
  resumed = 0;
  /** What came out of the playback worklet. */
  readonly heard: number[] = [];
  /** Whether the clock stands still although the state says otherwise. */
  frozen = false;
  /** What its decoder makes of a file. */
  decodeAudioData = (): Promise<unknown> => Promise.reject(new Error('the file is damaged'));
  readonly #classes = new Map<string, ProcessorClass>();
  readonly #processors: Processor[] = [];
  #frame = 0;
  readonly #scope = createContext({
    sampleRate: this.sampleRate,
    currentFrame: 0,
    Float32Array,
    AudioWorkletProcessor: class {
      readonly port = nextPort;
    },
    registerProcessor: (name: string, processor: ProcessorClass) => this.#classes.set(name, processor),
  });

  constructor() {
    super();
    FakeAudioContext.all.push(this);
  }

  get currentTime(): number {
    return this.#frame / this.sampleRate;
  }

  getOutputTimestamp(): { contextTime: number } {
    return { contextTime: 0 };
  }

  resume(): Promise<void> {
    this.resumed++;
    return Promise.resolve();
  }

  suspend(): Promise<void> {
    this.become('suspended');
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.become('closed');
    return Promise.resolve();
  }

  /** Changes its state, as the browser does. */
  become(state: AudioContextState): void {
    this.state = state;
    this.dispatchEvent(new Event('statechange'));
  }

  create(name: string, options: object): FakePort {
    const Processor = this.#classes.get(name);
    if (!Processor) throw new Error(`no processor ${name}`);
    const [page, worklet] = [new FakePort(), new FakePort()];
    page.other = worklet;
    worklet.other = page;
    nextPort = worklet;
    this.#processors.push(new Processor(options));
    return page;
  }

  /** Lets audio time pass. */
  render(ms: number): void {
    const end = this.#frame + Math.round((ms * this.sampleRate) / 1000);
    while (!this.frozen && this.state === 'running' && this.#frame + quantum <= end) {
      Object.assign(this.#scope, { currentFrame: this.#frame });
      const output = [new Float32Array(quantum), new Float32Array(quantum)];
      for (const processor of this.#processors) processor.process([], [output]);
      this.#frame += quantum;
      this.heard.push(...(output[0] ?? []));
    }
  }
}

let nextPort: FakePort | undefined;

class FakeWorkletNode extends FakeNode {
  readonly port: FakePort;
  constructor(context: FakeAudioContext, name: string, options: object) {
    super();
    this.port = context.create(name, options);
  }
}

const names = { AudioContext: FakeAudioContext, AudioWorkletNode: FakeWorkletNode, GainNode: FakeNode };

/** Makes this process look like a page with Web Audio, until undone. */
export function installWebAudio(): () => void {
  FakeAudioContext.all = [];
  FakeAudioContext.loaded = Promise.resolve();
  Object.assign(globalThis, names);
  return () => {
    for (const name of Object.keys(names)) Reflect.deleteProperty(globalThis, name);
  };
}
