import { filter, firstValueFrom, scan, Subscription, timer } from 'rxjs';
import { AlphaFlux, AlphaTTS, BufferInput, NullOutput, NuLLM, Pipeline } from 'rxvoice';
import { int16Bytes, int16View } from 'rxvoice/audio';
import type { AudioChunk, PipelineOptions, VoiceEvent } from 'rxvoice';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples, encodeText } from '../../../samples/sandbox/modem.ts';

const frameMs = 20;
const sampleRate = 16_000;
const frameSamples = (frameMs * sampleRate) / 1000;

/** Many turns a minute: the sandbox is told as much. */
export const limits = { charactersPerMinute: 1e6, flushesPerMinute: 1e6 };

/** A caller on a pipeline over the sandbox: real sockets, real audio, real time. */
export class TestCaller implements AsyncDisposable {
  readonly events: VoiceEvent[] = [];
  readonly heard: AudioChunk[] = [];
  readonly pipeline: Pipeline;
  readonly #input = new BufferInput({ sampleRate });
  readonly #output = new NullOutput();
  readonly #line = new Subscription();
  #words: Int16Array<ArrayBuffer> = new Int16Array(0);

  /** @param services - Default: AlphaFlux, NuLLM and AlphaTTS. */
  constructor(sandbox: Sandbox, options: Partial<PipelineOptions> = {}, services?: PipelineOptions['providers']) {
    const credential = { apiKey: 'sandbox-key' };
    const alpha = { ...credential, endpoint: sandbox.endpoints.alpha };
    const usual = (): PipelineOptions['providers'] => [
      new AlphaFlux({ ...alpha, options: { eotThreshold: 0.6, eagerEotThreshold: 0.3 } }),
      new NuLLM({ ...credential, endpoint: sandbox.endpoints.nu, model: 'openai/gpt-oss-20b' }),
      new AlphaTTS({ ...alpha, limits }),
    ];
    this.pipeline = new Pipeline({
      providers: [this.#input, ...(services ?? usual()), this.#output],
      ...options,
    });
  }

  /** Picks up: from now on a frame goes out every 20 ms, silence unless something is said. */
  async connect(): Promise<void> {
    this.#line.add(this.pipeline.events$.subscribe((event) => this.events.push(event)));
    this.#line.add(this.#output.heard$.subscribe((chunk) => this.heard.push(chunk)));
    await this.pipeline.start();
    const startedAt = performance.now();
    let sent = 0;
    const clock$ = timer(0, frameMs);
    this.#line.add(
      clock$.subscribe(() => {
        const due = Math.floor((performance.now() - startedAt) / frameMs);
        for (; sent < due; sent++) this.#sendFrame();
      }),
    );
  }

  /** Says something, after what is being said. */
  say(text: string): void {
    const words = encodeText(text, sampleRate);
    const all = new Int16Array(this.#words.length + words.length);
    all.set(this.#words);
    all.set(words, this.#words.length);
    this.#words = all;
  }

  /** Resolves when so many more milliseconds of the agent were heard, on the output's own clock. */
  async hears(ms: number): Promise<void> {
    const heardMs$ = this.#output.heard$.pipe(
      scan((sum, { data, metadata }) => sum + (data.length / 2 / (metadata?.sampleRate ?? sampleRate)) * 1000, 0),
    );
    await firstValueFrom(heardMs$.pipe(filter((heardMs) => heardMs >= ms)));
  }

  /** The next event of a type. */
  next<T extends VoiceEvent['type']>(type: T): Promise<VoiceEvent<T>> {
    const event = firstValueFrom(this.pipeline.events$.pipe(filter((each) => each.type === type)));
    // An assertion that fails meanwhile is what the report should say.
    event.catch(() => undefined);
    return event as Promise<VoiceEvent<T>>;
  }

  /** What the samples say that were played between two moments of the events' clock, to the last whole character. */
  readBack(from: number, to: number): string {
    const chunks = this.heard.filter(({ timestamp = 0 }) => timestamp >= from && timestamp < to);
    const rate = chunks[0]?.metadata?.sampleRate ?? sampleRate;
    const samples = Int16Array.from(chunks.flatMap(({ data }) => Array.from(int16View(data))));
    return decodeSamples(samples, rate).text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#line.unsubscribe();
    await this.pipeline.dispose();
  }

  #sendFrame(): void {
    const frame = new Int16Array(frameSamples);
    frame.set(this.#words.subarray(0, frameSamples));
    this.#words = this.#words.subarray(frameSamples);
    this.#input.push(int16Bytes(frame));
  }
}
