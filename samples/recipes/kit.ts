import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { concatMap, filter, firstValueFrom, interval, map, range, Subscription, type Observable } from 'rxjs';
import { AlphaFlux, AlphaTTS, BufferInput, NullOutput, NuLLM, PhoneStreamA } from 'rxvoice';
import type { AnyProvider, AudioChunk, Pipeline, VoiceEvent } from 'rxvoice';
import { int16Bytes, int16View } from 'rxvoice/audio';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Sandbox } from '../sandbox/index.ts';
import { decodeSamples, encodeText } from '../sandbox/modem.ts';
import { dial, type PhoneCaller } from '../sandbox/phone-caller.ts';

const sampleRate = 16_000;
const frameSamples = 320;
const frameMs = 20;

/** What a recipe is given: services on this machine, and somebody who calls. */
export class Kit implements Disposable {
  /** Writes a line of what the recipe shows. */
  readonly print: (line: string) => void;
  readonly sandbox: Sandbox;
  readonly input: BufferInput = new BufferInput({ sampleRate });
  readonly output: NullOutput = new NullOutput();
  readonly #line = new Subscription();
  readonly #heard: AudioChunk[] = [];
  #words: Int16Array<ArrayBuffer> = new Int16Array(0);

  constructor(sandbox: Sandbox, print: (line: string) => void) {
    this.sandbox = sandbox;
    this.print = print;
    this.#line.add(this.output.heard$.subscribe((chunk) => this.#heard.push(chunk)));
  }

  /** Speech-to-text, a model and a voice of the sandbox, between the caller's ends. */
  providers(): AnyProvider[] {
    return [this.input, this.stt(), this.llm(), this.tts(), this.output];
  }

  stt(): AlphaFlux {
    return new AlphaFlux({ ...this.#service('alpha'), options: { eotThreshold: 0.6, eagerEotThreshold: 0.3 } });
  }

  /** It repeats what it is told, and answers some questions. */
  llm(): NuLLM {
    return new NuLLM({ ...this.#service('nu'), model: 'openai/gpt-oss-20b' });
  }

  tts(): AlphaTTS {
    return new AlphaTTS({
      ...this.#service('alpha'),
      limits: { charactersPerMinute: 1e6, flushesPerMinute: 1e6 },
    });
  }

  /** A telephone call: the phone that the platform connects, and who is at the other end. */
  async ring(): Promise<{ readonly phone: PhoneStreamA; readonly caller: PhoneCaller }> {
    const phone = new PhoneStreamA();
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    server.once('connection', (socket: WebSocket) => phone.attach(socket));
    await once(server, 'listening');
    const caller = await dial({ url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` });
    this.#line.add(() => {
      void caller.hangUp();
      server.close();
    });
    return { phone, caller };
  }

  /** The caller picks up: from now on a frame goes out every 20 ms, silence unless something is said. */
  pickUp(): void {
    const startedAt = performance.now();
    let sent = 0;
    const frames$ = interval(frameMs / 2).pipe(
      map(() => Math.floor((performance.now() - startedAt) / frameMs) - sent),
      concatMap((due) => range(0, Math.max(0, due))),
    );
    this.#line.add(
      frames$.subscribe(() => {
        sent += 1;
        this.#sendFrame();
      }),
    );
  }

  /** The caller says something. */
  say(text: string): void {
    this.#words = encodeText(text, sampleRate);
  }

  /** What the caller has heard so far, read from the samples. */
  heard(): string {
    const runs: { readonly rate: number; readonly samples: number[] }[] = [];
    for (const { data, metadata } of this.#heard) {
      const rate = metadata?.sampleRate ?? sampleRate;
      const last = runs.at(-1);
      if (last?.rate === rate) last.samples.push(...int16View(data));
      else runs.push({ rate, samples: [...int16View(data)] });
    }
    return runs.map(({ rate, samples }) => decodeSamples(Int16Array.from(samples), rate).text).join('');
  }

  /** The next event of a type. */
  next<T extends VoiceEvent['type']>(pipeline: Pick<Pipeline, 'events$'>, type: T): Promise<VoiceEvent<T>> {
    const event$ = pipeline.events$.pipe(filter((event) => event.type === type));
    return firstValueFrom(event$ as Observable<VoiceEvent<T>>);
  }

  [Symbol.dispose](): void {
    this.#line.unsubscribe();
  }

  #service(name: 'alpha' | 'nu'): { readonly apiKey: string; readonly endpoint: string } {
    return { apiKey: 'sandbox-key', endpoint: this.sandbox.endpoints[name] };
  }

  #sendFrame(): void {
    const frame = new Int16Array(frameSamples);
    frame.set(this.#words.subarray(0, frameSamples));
    this.#words = this.#words.subarray(frameSamples);
    this.input.push(int16Bytes(frame));
  }
}
