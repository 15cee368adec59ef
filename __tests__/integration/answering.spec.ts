// Slow: telephone calls, at the speed of sound.
/** Messages spoken into a greeting, menus that are talked to, people who are hung up on: over a platform's real wire. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { firstValueFrom } from 'rxjs';
import { AlphaFlux, AlphaTTS, answeredBy, leaveMessage, NuLLM, PhoneSocketB, PhoneStreamA, Pipeline } from 'rxvoice';
import { pressKeys, type Answered, type AnsweredByOptions, type VoiceEvent } from 'rxvoice';
import { WebSocketServer } from 'ws';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { readSamples, type SampleEncoding } from '../../samples/sandbox/pcm.ts';
import { dial } from '../../samples/sandbox/phone-caller.ts';
import type { PhoneLine } from '../../samples/sandbox/phone-line.ts';
import { dialSocket } from '../../samples/sandbox/phone-socket-caller.ts';

interface Platform {
  readonly name: string;
  readonly create: () => PhoneStreamA | PhoneSocketB;
  readonly ring: (url: string) => Promise<PhoneLine>;
  readonly encoding: SampleEncoding;
  readonly sampleRate: number;
}

const platforms: readonly Platform[] = [
  {
    name: 'PhoneStreamA',
    create: () => new PhoneStreamA(),
    ring: (url) => dial({ url }),
    encoding: 'mulaw',
    sampleRate: 8000,
  },
  {
    name: 'PhoneSocketB',
    create: () => new PhoneSocketB(),
    ring: (url) => dialSocket({ url, sampleRate: 16_000 }),
    encoding: 'linear16',
    sampleRate: 16_000,
  },
];

/** A call that was placed, and answered. */
class PlacedCall implements AsyncDisposable {
  readonly phone: PhoneStreamA | PhoneSocketB;
  readonly pipeline: Pipeline;
  readonly events: VoiceEvent[] = [];
  readonly answered: Promise<Answered>;
  other!: PhoneLine;
  readonly #platform: Platform;
  readonly #server = new WebSocketServer({ port: 0, host: '127.0.0.1' });

  constructor(sandbox: Sandbox, platform: Platform, options: AnsweredByOptions) {
    const key = { apiKey: 'sandbox-key' };
    this.#platform = platform;
    this.phone = platform.create();
    this.pipeline = new Pipeline({
      providers: [
        this.phone,
        new AlphaFlux({ ...key, endpoint: sandbox.endpoints.alpha, options: { eotThreshold: 0.6 } }),
        new NuLLM({ ...key, endpoint: sandbox.endpoints.nu, model: 'openai/gpt-oss-20b' }),
        new AlphaTTS({ ...key, endpoint: sandbox.endpoints.alpha, sampleRate: 8000, outputFormat: 'mulaw' }),
      ],
      timeouts: { hookMs: 25_000 },
      onUserTurn: async () => ((await this.answered).by === 'human' ? undefined : { refuse: '' }),
    });
    this.pipeline.events$.subscribe((event) => this.events.push(event));
    this.answered = firstValueFrom(answeredBy(this.pipeline, this.phone, options));
  }

  async begin(): Promise<this> {
    this.#server.on('connection', (socket) => this.phone.attach(socket));
    await once(this.#server, 'listening');
    const address = this.#server.address() as AddressInfo;
    this.other = await this.#platform.ring(`ws://127.0.0.1:${address.port}`);
    await this.pipeline.start();
    return this;
  }

  /** The level of a tone in the loudest 100 ms of what the other side heard. */
  levelOf(hz: number): number {
    const { encoding, sampleRate } = this.#platform;
    const samples = readSamples(this.other.playedAudio, encoding);
    const length = sampleRate / 10;
    let most = 0;
    for (let start = 0; start + length <= samples.length; start += length / 5) {
      let [real, imaginary] = [0, 0];
      samples.subarray(start, start + length).forEach((sample, n) => {
        real += sample * Math.cos((2 * Math.PI * hz * n) / sampleRate);
        imaginary += sample * Math.sin((2 * Math.PI * hz * n) / sampleRate);
      });
      most = Math.max(most, (2 * Math.hypot(real, imaginary)) / length / 32_768);
    }
    return most;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pipeline.dispose();
    await this.other.hangUp();
    this.#server.close();
    expect(this.other.warnings).toEqual([]);
    expect(this.events.filter(({ type }) => type === 'error')).toEqual([]);
  }
}

describe.each(platforms)('who answers on $name', (platform) => {
  const place = (sandbox: Sandbox, options: AnsweredByOptions = {}): Promise<PlacedCall> =>
    new PlacedCall(sandbox, platform, options).begin();

  it('is a human, who is talked to', async () => {
    await using sandbox = await startSandbox();
    await using call = await place(sandbox);
    call.other.say('Say hello');
    expect(await call.answered).toMatchObject({ by: 'human', reason: 'length' });
    await call.other.until(({ playedMs }) => playedMs >= 400);
    expect(call.other.heard().text).toMatch(/^hello/i);
  });

  it('is a machine, which gets its message after the beep, and nothing else', async () => {
    await using sandbox = await startSandbox();
    await using call = await place(sandbox);
    call.other.say('Say nothing. I am not here. Leave a message after the tone.');
    call.other.pause(700);
    call.other.beep();
    const answered = await call.answered;
    expect(answered.by).toBe('machine');
    const hangUp = (): void => call.phone.hangUp();
    const message$ = leaveMessage(call.pipeline, call.phone, 'Your car is ready.', { answered, hangUp });
    expect(await firstValueFrom(message$)).toEqual({ isLeft: true, after: 'beep', heardText: 'Your car is ready.' });
    await call.other.ended;
    expect(call.other.heard().text.trim()).toBe('Your car is ready.');
    // The machine was not taken at its word.
    expect(call.events.filter(({ type }) => type === 'llm.started')).toEqual([]);
  });

  it('is a menu, which hears the keys', async () => {
    await using sandbox = await startSandbox();
    await using call = await place(sandbox);
    call.other.say('For sales press 1. For support press 2.');
    expect(await call.answered).toMatchObject({ by: 'menu', reason: 'words' });
    await pressKeys(call.pipeline, '2').done;
    // The pair of the key, and no other of its row and column.
    expect(call.levelOf(697)).toBeGreaterThan(0.2);
    expect(call.levelOf(1336)).toBeGreaterThan(0.2);
    for (const hz of [770, 852, 941, 1209, 1477]) expect(call.levelOf(hz)).toBeLessThan(0.05);
    expect(call.events.filter(({ type }) => type === 'llm.started')).toEqual([]);
  });

  it('is nobody', async () => {
    await using sandbox = await startSandbox();
    await using call = await place(sandbox, { silenceMs: 1_000 });
    expect(await call.answered).toEqual({ by: 'unsure', reason: 'silence', text: '', greetingMs: 0 });
  });
});
