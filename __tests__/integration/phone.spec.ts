import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { filter, firstValueFrom } from 'rxjs';
import { AlphaFlux, AlphaTTS, NuLLM, PhoneStreamA, Pipeline, verifyPhoneStreamASignature } from 'rxvoice';
import type { PipelineOptions, VoiceEvent } from 'rxvoice';
import { WebSocketServer } from 'ws';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { dial, type PhoneCaller } from '../../samples/sandbox/phone-caller.ts';

const authToken = '0123456789abcdef0123456789abcdef';

const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** An application with a phone number: it checks who calls, and answers each call with a pipeline. */
class Switchboard implements AsyncDisposable {
  readonly events: VoiceEvent[] = [];
  readonly phone = new PhoneStreamA();
  readonly pipeline: Pipeline;
  readonly #server: Server = createServer();
  readonly #sockets = new WebSocketServer({ noServer: true });

  constructor(sandbox: Sandbox, options: Partial<PipelineOptions> = {}, tts: 'mulaw' | 'linear16' = 'mulaw') {
    const credential = { apiKey: 'sandbox-key' };
    const alpha = { ...credential, endpoint: sandbox.endpoints.alpha };
    const voice = tts === 'mulaw' ? ({ outputFormat: 'mulaw', sampleRate: 8000 } as const) : {};
    this.pipeline = new Pipeline({
      providers: [
        this.phone,
        new AlphaFlux({ ...alpha, options: { eotThreshold: 0.6 } }),
        new NuLLM({ ...credential, endpoint: sandbox.endpoints.nu }),
        new AlphaTTS({ ...alpha, ...voice }),
      ],
      ...options,
    });
    this.pipeline.events$.subscribe((event) => this.events.push(event));
    this.#server.on('upgrade', (request, socket, head) => {
      const signature = request.headers['x-twilio-signature'];
      const given = typeof signature === 'string' ? signature : undefined;
      void verifyPhoneStreamASignature({ authToken, url: this.url, signature: given }).then((isGenuine) => {
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

  ring(customParameters: Record<string, string> = {}): Promise<PhoneCaller> {
    return dial({ url: this.url, authToken, customParameters });
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

describe('PhoneStreamA over the sandbox', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  for (const tts of ['mulaw', 'linear16'] as const) {
    it(`carries a whole call, with a voice in ${tts}`, async () => {
      await using switchboard = await new Switchboard(sandbox, { greeting: 'Hi there.' }, tts).listen();
      const caller = await switchboard.ring({ user: '42' });
      await caller.until(({ playedMs, isSpeaking, bufferedMs }) => playedMs > 500 && !isSpeaking && bufferedMs === 0);
      const ended = switchboard.next('turn.ended');
      caller.say('hello');
      await ended;
      expect(caller.heard().text.replace(/\s+/g, ' ').trim()).toBe('Hi there. Hello! How can I help you?');
      expect(switchboard.pipeline.history.messages().map(({ role, content }) => [role, content])).toEqual([
        ['assistant', 'Hi there.'],
        ['user', expect.stringMatching(/^hello\W?$/i)],
        ['assistant', 'Hello! How can I help you?'],
      ]);
      expect([switchboard.phone.getCallSid(), switchboard.phone.getCustomParameters()]).toEqual([
        caller.callSid,
        { user: '42' },
      ]);
      caller.press('5');
      await switchboard.next('dtmf.digit');
      const over = switchboard.next('call.ended');
      await caller.hangUp();
      await over;
      expect([caller.warnings, caller.clears, switchboard.of('error')]).toEqual([[], 0, []]);
    }, 60_000);
  }

  it('remembers what the caller heard of an answer that was cut off, and sends nothing after the clear', async () => {
    await using switchboard = await new Switchboard(sandbox).listen();
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

  it('goes on at the sample after a cough', async () => {
    await using switchboard = await new Switchboard(sandbox).listen();
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
      await using switchboard = await new Switchboard(sandbox).listen();
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

  it('refuses an upgrade that the platform has not signed', async () => {
    await using switchboard = await new Switchboard(sandbox).listen();
    await expect(dial({ url: switchboard.url })).rejects.toThrow(/403/);
    await expect(dial({ url: switchboard.url, authToken: 'f'.repeat(32) })).rejects.toThrow(/403/);
    expect(switchboard.events).toEqual([]);
  });
});
