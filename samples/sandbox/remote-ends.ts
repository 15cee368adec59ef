import { firstValueFrom, filter, merge, Subject, type Observable, type Subscription } from 'rxjs';
import { BufferInput, NullOutput, type AudioChunk } from 'rxvoice';
import { int16Bytes, int16View } from 'rxvoice/audio';
import type { RemoteSpeaker } from 'rxvoice/remote';
import { decodeSamples, encodeText } from './modem.ts';

const sampleRate = 16_000;
const frameSamples = 320;
const frameMs = 20;

/** Somebody's microphone without a page: silence unless something is said, a frame every 20 ms from `start()` on. */
export class TalkerInput extends BufferInput {
  #words: Int16Array<ArrayBuffer> = new Int16Array(0);
  #clock: ReturnType<typeof setInterval> | undefined;

  constructor() {
    super({ sampleRate });
  }

  /** Says something, after what is being said. */
  say(text: string): void {
    const words = encodeText(text, sampleRate);
    const all = new Int16Array(this.#words.length + words.length);
    all.set(this.#words);
    all.set(words, this.#words.length);
    this.#words = all;
  }

  override async start(): Promise<void> {
    await super.start();
    const startedAt = performance.now();
    let sent = 0;
    this.#clock ??= setInterval(() => {
      const due = Math.floor((performance.now() - startedAt) / frameMs);
      for (; sent < due; sent++) this.#sendFrame();
    }, frameMs / 2);
  }

  protected override onDispose(): void {
    clearInterval(this.#clock);
    this.#clock = undefined;
    super.onDispose();
  }

  #sendFrame(): void {
    const frame = new Int16Array(frameSamples);
    frame.set(this.#words.subarray(0, frameSamples));
    this.#words = this.#words.subarray(frameSamples);
    this.push(int16Bytes(frame));
  }
}

/** A page's speaker without a page, that keeps what was heard. */
export class ListenerSpeaker implements RemoteSpeaker {
  readonly #output = new NullOutput();
  readonly #over$ = new Subject<void>();
  readonly moved$: Observable<unknown> = merge(this.#output.playback$, this.#over$);
  readonly #recorded: AudioChunk[] = [];
  readonly #recorder: Subscription;
  #waiting: (() => void)[] | undefined = [];
  #rate = 24_000;
  #from = 0;
  #total = 0;
  #isOver = false;
  #play = 0;

  constructor() {
    this.#recorder = this.#output.heard$.subscribe((chunk) => this.#recorded.push(chunk));
  }

  async open(rate: number): Promise<void> {
    this.#rate = rate;
    await this.#output.initialize();
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const work of waiting) work();
  }

  get heard(): number {
    if (this.#isOver) return this.#total;
    return this.#from + Math.floor((this.#output.positionMs * this.#rate) / 1000);
  }

  readonly tailMs = 0;

  begin(from: number, paused: boolean): void {
    this.#when(() => {
      this.stop();
      [this.#from, this.#total] = [from, from];
      if (paused) this.#output.pause();
    });
  }

  push(samples: Int16Array<ArrayBuffer>): void {
    this.#when(() => {
      this.#isOver = false;
      this.#total += samples.length;
      const metadata = { encoding: 'linear16', sampleRate: this.#rate, channels: 1 } as const;
      this.#output.enqueue({ data: int16Bytes(samples), metadata });
    });
  }

  end(): void {
    this.#when(() => {
      const play = this.#play;
      void this.#output.flush().then(() => {
        if (play !== this.#play) return;
        this.#isOver = true;
        this.#over$.next();
      });
    });
  }

  pause(): void {
    this.#when(() => this.#output.pause());
  }

  resume(): void {
    this.#when(() => this.#output.resume());
  }

  stop(): void {
    this.#when(() => {
      this.#play += 1;
      this.#isOver = false;
      this.#output.stop();
    });
  }

  setVolume(volume: number): void {
    this.#when(() => this.#output.setVolume(volume));
  }

  close(): void {
    this.#recorder.unsubscribe();
    void this.#output.dispose();
  }

  /** What was heard so far, in milliseconds. */
  get heardMs(): number {
    const samples = this.#recorded.reduce((sum, { data }) => sum + data.length / 2, 0);
    return (samples / this.#rate) * 1000;
  }

  /** What was heard so far, read from the samples. */
  text(): string {
    const samples = Int16Array.from(this.#recorded.flatMap(({ data }) => [...int16View(data)]));
    return decodeSamples(samples, this.#rate).text.replace(/\s+/g, ' ').trim();
  }

  /** Resolves when so much was heard, in milliseconds. */
  async hears(ms: number): Promise<void> {
    await firstValueFrom(this.#output.heard$.pipe(filter(() => this.heardMs >= ms)));
  }

  #when(work: () => void): void {
    if (this.#waiting) this.#waiting.push(work);
    else work();
  }
}
