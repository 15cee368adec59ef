type Samples = Int16Array<ArrayBuffer>;

/** Audio, or a mark in it, that has its time. */
interface Due {
  readonly at: number;
  readonly samples?: Samples;
  readonly mark?: string;
  readonly source?: AudioBufferSourceNode;
}

/** A telephone's receiver: plays what comes, and knows what of it was heard. */
export class Receiver {
  readonly #context: AudioContext;
  readonly #due: Due[] = [];
  readonly #heard: (samples: Samples) => void;
  readonly #passed: (mark: string) => void;
  readonly #clock: ReturnType<typeof setInterval>;
  #endsAt = 0;

  constructor(sampleRate: number, heard: (samples: Samples) => void, passed: (mark: string) => void) {
    this.#context = new AudioContext({ sampleRate });
    this.#heard = heard;
    this.#passed = passed;
    this.#clock = setInterval(() => this.#tell(), 20);
  }

  /** Whether something sounds or is about to. */
  get isSounding(): boolean {
    return this.#due.length > 0;
  }

  play(samples: Samples): void {
    const buffer = this.#context.createBuffer(1, samples.length, this.#context.sampleRate);
    buffer.copyToChannel(
      Float32Array.from(samples, (sample) => sample / 32_768),
      0,
    );
    const source = new AudioBufferSourceNode(this.#context, { buffer });
    source.connect(this.#context.destination);
    const startsAt = Math.max(this.#endsAt, this.#context.currentTime + 0.06);
    source.start(startsAt);
    this.#endsAt = startsAt + buffer.duration;
    this.#due.push({ at: this.#endsAt, samples, source });
  }

  /** Tells when all that was played before was heard. */
  mark(mark: string): void {
    this.#due.push({ at: this.#endsAt, mark });
    this.#tell();
  }

  /** Falls silent; gives the marks that were not reached. */
  clear(): string[] {
    this.#tell();
    const dropped = this.#due.splice(0);
    for (const { source } of dropped) source?.stop();
    this.#endsAt = 0;
    return dropped.flatMap(({ mark }) => mark ?? []);
  }

  close(): void {
    clearInterval(this.#clock);
    this.clear();
    void this.#context.close();
  }

  #tell(): void {
    while (this.#due[0] && this.#due[0].at <= this.#context.currentTime) {
      const { samples, mark } = this.#due.shift() ?? {};
      if (samples) this.#heard(samples);
      if (mark !== undefined) this.#passed(mark);
    }
  }
}
