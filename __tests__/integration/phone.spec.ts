// Slow: telephone calls, at the speed of sound.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { filter, firstValueFrom } from 'rxjs';
import { AlphaFlux, AlphaTTS, NuLLM, PhoneSocketB, PhoneStreamA, Pipeline } from 'rxvoice';
import { verifyPhoneSocketBSignature, verifyPhoneStreamASignature } from 'rxvoice';
import type { AlphaTTSConfig, PipelineOptions, VoiceEvent } from 'rxvoice';
import { WebSocketServer } from 'ws';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { dial, PhoneCaller } from '../../samples/sandbox/phone-caller.ts';
import type { PhoneLine } from '../../samples/sandbox/phone-line.ts';
import { dialSocket } from '../../samples/sandbox/phone-socket-caller.ts';
import { until } from '../transport/test-clock.ts';

const secret = '0123456789abcdef0123456789abcdef';

/** A platform: who answers its calls, who calls, and how one tells that it is the platform. */
interface Platform {
  readonly name: string;
  readonly create: () => PhoneStreamA | PhoneSocketB;
  readonly isGenuine: (request: IncomingMessage, url: string) => Promise<boolean>;
  readonly ring: (url: string, signedWith?: string) => Promise<PhoneLine>;
  readonly voices: readonly AlphaTTSConfig[];
}

const mulaw: AlphaTTSConfig = { outputFormat: 'mulaw', sampleRate: 8000 };
const platforms: readonly Platform[] = [
  {
    name: 'PhoneStreamA',
    create: () => new PhoneStreamA(),
    isGenuine: ({ headers }, url) => {
      const given = headers['x-twilio-signature'];
      return verifyPhoneStreamASignature({ authToken: secret, url, signature: given?.toString() });
    },
    ring: (url, authToken) => dial({ url, customParameters: { user: '42' }, ...(authToken && { authToken }) }),
    voices: [mulaw, {}],
  },
  ...([8000, 16000, 24000] as const).map((sampleRate) => ({
    name: `PhoneSocketB at ${sampleRate} Hz`,
    create: () => new PhoneSocketB({ notify: sampleRate === 16000 }),
    isGenuine: ({ headers }: IncomingMessage) =>
      verifyPhoneSocketBSignature({ signatureSecret: secret, authorization: headers.authorization }),
    ring: (url: string, signatureSecret?: string) =>
      dialSocket({ url, sampleRate, headers: { user: '42' }, ...(signatureSecret && { signatureSecret }) }),
    voices: [sampleRate === 8000 ? mulaw : { sampleRate }],
  })),
];

const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** An application with a phone number: it checks who calls, and answers each call with a pipeline. */
class Switchboard implements AsyncDisposable {
  readonly events: VoiceEvent[] = [];
  readonly phone: PhoneStreamA | PhoneSocketB;
  readonly pipeline: Pipeline;
  readonly #server: Server = createServer();
  readonly #sockets = new WebSocketServer({ noServer: true });

  readonly #platform: Platform;

  constructor(
    sandbox: Sandbox,
    platform: Platform,
    options: Partial<PipelineOptions> = {},
    voice: AlphaTTSConfig = platform.voices[0] ?? {},
  ) {
    this.#platform = platform;
    this.phone = platform.create();
    const credential = { apiKey: 'sandbox-key' };
    const alpha = { ...credential, endpoint: sandbox.endpoints.alpha };
    this.pipeline = new Pipeline({
      providers: [
        this.phone,
        new AlphaFlux({ ...alpha, options: { eotThreshold: 0.6 } }),
        new NuLLM({ ...credential, endpoint: sandbox.endpoints.nu, model: 'openai/gpt-oss-20b' }),
        new AlphaTTS({ ...alpha, ...voice }),
      ],
      ...options,
    });
    this.pipeline.events$.subscribe((event) => this.events.push(event));
    this.#server.on('upgrade', (request, socket, head) => {
      void platform.isGenuine(request, this.url).then((isGenuine) => {
        if (!isGenuine) return socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
        this.#sockets.handleUpgrade(request, socket, head, (accepted) => {
          this.phone.attach(accepted);
          void this.pipeline.start();
        });
      });
    });
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}/phone`;
  }

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  ring(signedWith: string | undefined = secret): Promise<PhoneLine> {
    return this.#platform.ring(this.url, signedWith);
  }

  next<T extends VoiceEvent['type']>(type: T): Promise<VoiceEvent<T>> {
    return firstValueFrom(this.pipeline.events$.pipe(filter((event) => event.type === type))) as Promise<VoiceEvent<T>>;
  }

  of<T extends VoiceEvent['type']>(type: T): VoiceEvent<T>[] {
    return this.events.filter((event) => event.type === type) as VoiceEvent<T>[];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pipeline.dispose();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

for (const platform of platforms)
  describe(`${platform.name} over the sandbox`, () => {
    let sandbox: Sandbox;
    beforeAll(async () => {
      sandbox = await startSandbox();
    });
    afterAll(() => sandbox.close());
    afterEach(() => sandbox.clearFaults());

    for (const voice of platform.voices) {
      it(`carries a whole call, with a voice in ${voice.outputFormat ?? 'linear16'}`, async () => {
        await using switchboard = await new Switchboard(sandbox, platform, { greeting: 'Hi there.' }, voice).listen();
        const caller = await switchboard.ring();
        await caller.until(({ playedMs, isSpeaking, bufferedMs }) => playedMs > 500 && !isSpeaking && bufferedMs === 0);
        const ended = switchboard.next('turn.ended');
        caller.say('hello');
        await ended;
        await caller.until(({ bufferedMs }) => bufferedMs === 0);
        expect(caller.heard().text.replace(/\s+/g, ' ').trim()).toBe('Hi there. Hello! How can I help you?');
        expect(switchboard.pipeline.history.messages().map(({ role, content }) => [role, content])).toEqual([
          ['assistant', 'Hi there.'],
          ['user', expect.stringMatching(/^hello\W?$/i)],
          ['assistant', 'Hello! How can I help you?'],
        ]);
        const { phone } = switchboard;
        expect('getHeaders' in phone ? phone.getHeaders() : phone.getCustomParameters()).toEqual({ user: '42' });
        if (caller instanceof PhoneCaller && 'getCallSid' in phone) expect(phone.getCallSid()).toBe(caller.callSid);
        caller.press('5');
        await switchboard.next('dtmf.digit');
        const over = switchboard.next('call.ended');
        await caller.hangUp();
        await over;
        expect([caller.warnings, caller.clears, switchboard.of('error')]).toEqual([[], 0, []]);
      }, 60_000);
    }

    // The conversation is the same at every rate.
    if (!['PhoneStreamA', 'PhoneSocketB at 16000 Hz'].includes(platform.name)) return;

    it('remembers what the caller heard of an answer that was cut off, and sends nothing after the clear (F41)', async () => {
      await using switchboard = await new Switchboard(sandbox, platform).listen();
      const caller = await switchboard.ring();
      caller.say('tell a story');
      await caller.until(({ playedMs }) => playedMs > 2500);
      const confirmed = switchboard.next('bargeIn.confirmed');
      const ended = switchboard.next('speech.ended');
      caller.say('no thanks');
      await confirmed;
      const { heardText } = await ended;
      await caller.until(({ clears }) => clears > 0);
      const atCut = caller.playedMs;
      expect(caller.bufferedMs).toBe(0);
      const audible = words(caller.heard().text);
      const remembered = words(heardText);
      expect(remembered.length).toBeGreaterThan(1);
      expect(audible.slice(0, remembered.length)).toEqual(remembered);
      expect(audible.length - remembered.length).toBeLessThanOrEqual(2);
      await switchboard.next('llm.started');
      expect(caller.playedMs - atCut).toBeLessThan(100);
      expect(caller.warnings).toEqual([]);
      await caller.hangUp();
    }, 60_000);

    it('resumes at the same sample after a cough (F42)', async () => {
      await using switchboard = await new Switchboard(sandbox, platform).listen();
      const caller = await switchboard.ring();
      const ended = switchboard.next('turn.ended');
      caller.say('count to 9');
      await caller.until(({ playedMs }) => playedMs > 600);
      caller.cough(400);
      await ended;
      expect(caller.heard().text.trim()).toBe('1, 2, 3, 4, 5, 6, 7, 8, 9.');
      expect(caller.warnings).toEqual([]);
      await caller.hangUp();
    }, 60_000);

    for (const how of ['politely', 'abruptly'] as const) {
      it(`ends the conversation when the caller hangs up ${how} in the middle of an answer`, async () => {
        await using switchboard = await new Switchboard(sandbox, platform).listen();
        const caller = await switchboard.ring();
        caller.say('tell a story');
        await caller.until(({ playedMs }) => playedMs > 400);
        const ended = switchboard.next('call.ended');
        const spoken = switchboard.next('speech.ended');
        await caller.hangUp(how);
        await ended;
        expect((await spoken).interrupted).toBe(true);
        await firstValueFrom(switchboard.pipeline.state$.pipe(filter((event) => event.type === 'session.closed')));
        expect(switchboard.of('error')).toEqual([]);
      }, 60_000);
    }

    it('loses no word of a caller who speaks while the speech-to-text service still connects (F34)', async () => {
      sandbox.setFault('alpha-flux', { kind: 'slowAccept', ms: 1500 });
      await using switchboard = await new Switchboard(sandbox, platform).listen();
      const caller = await switchboard.ring();
      const ended = switchboard.next('turn.ended');
      caller.say('say I was early');
      await ended;
      expect(caller.heard().text.trim()).toBe('I was early');
      expect([caller.warnings, switchboard.of('error')]).toEqual([[], []]);
      await caller.hangUp();
    }, 60_000);

    it('aborts everything when the caller is gone while the model thinks (F38)', async () => {
      sandbox.setFault('nu-llm', { kind: 'stall' });
      sandbox.clearRecords();
      await using switchboard = await new Switchboard(sandbox, platform).listen();
      const caller = await switchboard.ring();
      const thinking = switchboard.next('llm.started');
      caller.say('hello');
      await thinking;
      const closed = switchboard.next('session.closed');
      await caller.hangUp('abruptly');
      await closed;
      await switchboard.pipeline.dispose();
      const isOver = (): boolean => {
        const [requests, hearing, voices] = (['nu-llm', 'alpha-flux', 'alpha-tts'] as const).map((service) =>
          sandbox.records(service),
        );
        const ends = [...(hearing ?? []), ...(voices ?? [])].map(({ close }) => close);
        return requests?.every(({ aborted }) => aborted) === true && ends.every((close) => close !== undefined);
      };
      await until(isOver);
      expect([sandbox.records('nu-llm').length, sandbox.records('alpha-flux').length]).toEqual([1, 1]);
      expect([caller.playedMs, switchboard.of('error')]).toEqual([0, []]);
    }, 60_000);

    it('refuses an upgrade that the platform has not signed (F39)', async () => {
      await using switchboard = await new Switchboard(sandbox, platform).listen();
      await expect(switchboard.ring('')).rejects.toThrow(/403/);
      await expect(switchboard.ring('f'.repeat(32))).rejects.toThrow(/403/);
      expect(switchboard.events).toEqual([]);
    });
  });
