/** What is heard of a call. */
export type Side = 'caller' | 'agent';

/** What is told of it. */
export interface ListeningEvents {
  /** How loud a side is, from 0 to 1. */
  readonly level: (side: Side, level: number) => void;
  readonly ended: () => void;
}

/** Where a side is heard, and until when it has something to say, in seconds. */
interface Ear {
  readonly side: Side;
  readonly panner: StereoPannerNode;
  until: number;
}

const sampleRate = 16_000;

/** So much is held back, in seconds: what comes later than that is a gap. */
const leadSeconds = 0.15;

/** Listens in to a call: the caller on the left, the agent on the right. */
export class Listening {
  readonly #events: ListeningEvents;
  readonly #audio = new AudioContext({ sampleRate });
  readonly #abort = new AbortController();
  readonly #sides: readonly Ear[] = (['caller', 'agent'] as const).map((side) => {
    const panner = new StereoPannerNode(this.#audio, { pan: side === 'caller' ? -0.7 : 0.7 });
    panner.connect(this.#audio.destination);
    return { side, panner, until: 0 };
  });
  #isOver = false;

  constructor(callId: string, events: ListeningEvents) {
    this.#events = events;
    this.#hear(callId).then(
      () => this.stop(),
      () => this.stop(),
    );
  }

  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#abort.abort();
    void this.#audio.close();
    this.#events.ended();
  }

  async #hear(callId: string): Promise<void> {
    const response = await fetch(`/audio?call=${encodeURIComponent(callId)}`, { signal: this.#abort.signal });
    const reader = response.body?.getReader();
    let waiting = new Uint8Array(0);
    for (let read = await reader?.read(); read?.value; read = await reader?.read()) {
      const { value } = read;
      const bytes = new Uint8Array(waiting.length + value.length);
      bytes.set(waiting);
      bytes.set(value, waiting.length);
      waiting = this.#play(bytes);
    }
  }

  /** Plays the frames that are whole; returns what is left. */
  #play(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const view = new DataView(bytes.buffer);
    let at = 0;
    while (at + 4 <= bytes.length) {
      const length = view.getUint16(at + 2, true);
      if (at + 4 + length > bytes.length) break;
      const side = this.#sides[view.getUint8(at)];
      if (side && length > 1) this.#sound(side, new DataView(bytes.buffer, at + 4, length));
      at += 4 + length;
    }
    return bytes.slice(at);
  }

  #sound(side: Ear, samples: DataView): void {
    const buffer = this.#audio.createBuffer(1, samples.byteLength >> 1, sampleRate);
    const channel = buffer.getChannelData(0);
    let sum = 0;
    for (let index = 0; index < channel.length; index++) {
      const sample = samples.getInt16(2 * index, true) / 32_768;
      channel[index] = sample;
      sum += sample * sample;
    }
    this.#events.level(side.side, Math.min(1, 2 * Math.sqrt(sum / channel.length)));
    const now = this.#audio.currentTime;
    if (side.until < now) side.until = now + leadSeconds;
    const source = new AudioBufferSourceNode(this.#audio, { buffer });
    source.connect(side.panner);
    source.start(side.until);
    side.until += buffer.duration;
  }
}
