// Slow: conversations over WebRTC, at the speed of sound.
import type { Page } from 'playwright-core';
import type { Observable } from 'rxjs';
import { sentJson, startSandbox, type Sandbox, type ServiceRecord } from '../../samples/sandbox/index.ts';
import { TestBrowser } from './support/browser.ts';
import { answerIn } from './support/call-page.ts';

type Json = Record<string, unknown>;

/** Longest test, in milliseconds: sound takes its time, and more of it on a busy machine. */
const longMs = 120_000;

/** What the agent answers to which keys. */
const rules = [
  { when: '159', say: '7 3 * 0' },
  { when: '26', say: '1 4 7 0 * 3 6 9 D 2 5 8 1 4 7 0 * 3 6 9' },
  { when: '38', say: '5 2' },
];
const instructions = `sandbox: ${JSON.stringify({ rules })}`;

describe('ThetaAgent by WebRTC, in Chromium', () => {
  let browser: TestBrowser;
  let sandbox: Sandbox;
  let service: Page;
  let page: Page;
  beforeAll(async () => {
    browser = await TestBrowser.start();
    service = await browser.open();
    sandbox = await startSandbox({ answerCall: await answerIn(service) });
  });
  afterAll(async () => {
    await Promise.all([browser[Symbol.asyncDispose](), sandbox.close()]);
  });
  beforeEach(async () => {
    page = await browser.open();
    await page.exposeFunction('hangUp', () => service.evaluate(() => [...pageCalls.values()].at(-1)?.close()));
    sandbox.clearFaults();
    sandbox.clearRecords();
    await page.evaluate(() => {
      const [Peer, Context] = [RTCPeerConnection, AudioContext];
      globalThis.opened = { peers: [], contexts: [] };
      globalThis.RTCPeerConnection = class extends Peer {
        constructor(...options: ConstructorParameters<typeof Peer>) {
          super(...options);
          opened.peers.push(this);
        }
      };
      globalThis.AudioContext = class extends Context {
        constructor(...options: ConstructorParameters<typeof Context>) {
          super(...options);
          opened.contexts.push(this);
        }
      };
      globalThis.dial = (number, rate = 24_000) => {
        const samples = new Float32Array(number.length * 280 * (rate / 1000));
        samples.set(sound.dial(number, rate));
        return pcm.int16Bytes(pcm.toInt16(samples));
      };
    });
  });
  afterEach(async () => {
    await page.close();
    expect(browser.failures).toEqual([]);
  });

  const records = (): readonly ServiceRecord[] => sandbox.records('theta-agent');
  const refusals = (): string[] => records().flatMap(({ refusal = [] }) => refusal);
  const received = (record: ServiceRecord | undefined): Json[] =>
    (record?.messages ?? []).flatMap(({ from, text = '{}' }) => (from === 'service' ? [JSON.parse(text) as Json] : []));

  it(
    'hears and is heard, is interrupted, remembers what was heard, comes back, and leaves nothing behind',
    async () => {
      const running = page.evaluate(
        async ({ endpoint, instructions }) => {
          const { BrowserAudioOutput, BufferInput, Pipeline, ThetaAgent } = rxvoice;
          const input = new BufferInput({ sampleRate: 24_000 });
          const agent = new ThetaAgent({ apiKey: 'sandbox-key', endpoint, instructions, transport: 'webrtc' });
          const output = new BrowserAudioOutput();
          const pipeline = new Pipeline({ providers: [input, agent, output] });
          const log: string[] = [];
          const audio: Uint8Array<ArrayBuffer>[] = [];
          const spoken: { heardText: string; interrupted: boolean; playedMs: number; keys: string }[] = [];
          pipeline.on('error', ({ message }) => log.push(`error: ${message}`));
          agent.connection$.subscribe(({ type }) => log.push(type));
          agent.audio$.subscribe(({ data }) => audio.push(data));
          const takeKeys = (): string =>
            sound.dialled(pcm.toFloat32(pcm.int16View(pcm.concatBytes(...audio.splice(0)))), 24_000);
          const ended$ = pipeline.speech$.pipe(rxjs.filter((event) => event.type === 'speech.ended'));
          ended$.subscribe(({ heardText, interrupted, playedMs }) =>
            spoken.push({ heardText, interrupted, playedMs, keys: takeKeys() }),
          );
          const next = <T>(stream$: Observable<T>): Promise<T> => rxjs.firstValueFrom(stream$);
          await pipeline.start();

          const answered = next(ended$);
          input.push(dial('159'));
          await answered;

          const audible = next(pipeline.speech$.pipe(rxjs.filter(({ type }) => type === 'speech.started')));
          const cut = next(ended$);
          input.push(dial('26'));
          await audible;
          await next(agent.audio$.pipe(rxjs.filter(() => output.positionMs > 1500)));
          const answeredAgain = next(ended$.pipe(rxjs.skip(1)));
          input.push(dial('38'));
          await cut;
          await answeredAgain;

          const back = next(
            agent.connection$.pipe(
              rxjs.skip(1),
              rxjs.filter(({ type }) => type === 'connected'),
            ),
          );
          await hangUp();
          await back;
          const answeredAfter = next(ended$);
          input.push(dial('159'));
          await answeredAfter;
          const history = pipeline.history.messages();
          await pipeline.dispose();
          const { peers, contexts } = opened;
          await sound.closed(...contexts);
          return {
            ...{ log, spoken, history },
            open: [
              peers.map(({ connectionState }) => connectionState).filter((state) => state !== 'closed'),
              peers.flatMap((peer) => peer.getSenders().filter(({ track }) => track?.readyState === 'live')).length,
            ],
            connections: peers.length,
          };
        },
        { endpoint: sandbox.endpoints.theta, instructions },
      );
      const { log, spoken, history, ...rest } = await running;
      expect(log).toEqual(['connecting', 'connected', 'reconnecting', 'connected', 'closed']);
      const [, cut] = spoken;
      expect(spoken.map(({ heardText, interrupted }) => [heardText, interrupted])).toEqual([
        ...[
          ['7 3 * 0', false],
          [cut?.heardText, true],
        ],
        ...[
          ['5 2', false],
          ['7 3 * 0', false],
        ],
      ]);
      expect([spoken[0], spoken[2], spoken[3]].map((each) => each?.keys)).toEqual(['73*0', '52', '73*0']);
      // A key and its pause take 560 ms: what counts as heard was, and no more than was sent had sounded.
      const { heardText = '', keys = '', playedMs = 0 } = cut ?? {};
      expect(heardText).toMatch(/^1 4/);
      expect(keys).toMatch(/^14/);
      expect(keys.startsWith(heardText.replaceAll(' ', ''))).toBe(true);
      expect(keys.length).toBeLessThan(12);
      expect(heardText.length * 280).toBeLessThan(playedMs + 280);
      expect(history.map(({ content }) => content)).toEqual([
        ...['159', '7 3 * 0', '26', heardText, '38', '5 2', '159', '7 3 * 0'],
      ]);
      expect(rest).toEqual({ open: [[], 0], connections: 2 });

      await service.evaluate(() => Promise.all([...pageCalls.values()].map(({ over }) => over)));
      const [first, second, ...others] = records();
      expect([others, refusals()]).toEqual([[], []]);
      expect(first?.headers).toMatchObject({ 'content-type': 'application/sdp', authorization: 'Bearer sandbox-key' });
      expect(first?.query).toEqual([['model', 'gpt-realtime-2.1']]);
      expect([first, second].map((record) => record?.close?.code)).toEqual([1000, 1000]);
      const truncated = received(first).filter(({ type }) => type === 'conversation.item.truncated');
      expect(Number(truncated.at(-1)?.['audio_end_ms'])).toBeGreaterThan(1000);
      expect(Number(truncated.at(-1)?.['audio_end_ms'])).toBeLessThan(playedMs + 400);
      // The next connection knows what was heard, not what was generated.
      const restored = (second ? sentJson(second) : []) as { item?: { content: { text: string }[] } }[];
      expect(restored.flatMap(({ item }) => item?.content.map(({ text }) => text) ?? [])).toEqual([
        ...['159', '7 3 * 0', '26', heardText, '38', '5 2'],
      ]);
    },
    longMs,
  );

  it(
    'commits a turn by hand once all of it has arrived, and silences a reply that is interrupted',
    async () => {
      const { text, keys, after } = await page.evaluate(
        async ({ endpoint, instructions }) => {
          const config = { apiKey: 'sandbox-key', endpoint, instructions, turnDetection: false } as const;
          const agent = new rxvoice.ThetaAgent({ ...config, transport: 'webrtc' });
          const audio: Uint8Array<ArrayBuffer>[] = [];
          agent.audio$.subscribe(({ data }) => audio.push(data));
          const takeKeys = (): string =>
            sound.dialled(pcm.toFloat32(pcm.int16View(pcm.concatBytes(...audio.splice(0)))), 24_000);
          await agent.initialize();
          await agent.connect();
          const said = rxjs.firstValueFrom(agent.transcripts$.pipe(rxjs.filter(({ isFinal }) => isFinal)));
          const replied = rxjs.firstValueFrom(agent.audioDone$);
          agent.startTurn();
          agent.sendAudio({ data: dial('159') });
          agent.endTurn();
          const { text } = await said;
          await replied;
          const keys = takeKeys();
          agent.injectUserMessage('26');
          await rxjs.firstValueFrom(agent.audio$.pipe(rxjs.skip(50)));
          audio.length = 0;
          agent.interrupt();
          const repliedAgain = rxjs.firstValueFrom(agent.audioDone$);
          agent.injectUserMessage('38');
          await repliedAgain;
          const after = takeKeys();
          await agent.dispose();
          return { text, keys, after };
        },
        { endpoint: sandbox.endpoints.theta, instructions },
      );
      expect({ text, keys, after }).toEqual({ text: '159', keys: '73*0', after: '52' });
      const [record] = records();
      const interesting = /cancel|buffer\.(clear|commit)|response\.create/;
      const sent = (record ? sentJson(record) : []).map((message) => String((message as Json)['type']));
      expect(sent.filter((type) => interesting.test(type))).toEqual([
        ...['input_audio_buffer.clear', 'input_audio_buffer.commit', 'response.create', 'response.create'],
        ...['response.cancel', 'output_audio_buffer.clear', 'response.create'],
      ]);
      const told = received(record).map(({ type }) => String(type));
      expect(told.filter((type) => type.startsWith('output_audio_buffer'))).toEqual([
        ...['started', 'stopped', 'started', 'cleared', 'started', 'stopped'].map(
          (each) => `output_audio_buffer.${each}`,
        ),
      ]);
      expect(refusals()).toEqual([]);
    },
    longMs,
  );

  it(
    'sends what was said before the connection was there, with shorter pauses',
    async () => {
      const text = await page.evaluate(
        async ({ endpoint, instructions }) => {
          const agent = new rxvoice.ThetaAgent({ apiKey: 'sandbox-key', endpoint, instructions, transport: 'webrtc' });
          await agent.initialize();
          const said = rxjs.firstValueFrom(agent.transcripts$.pipe(rxjs.filter(({ isFinal }) => isFinal)));
          const connected = agent.connect();
          agent.sendAudio({ data: dial('1') });
          // As long as it was, it would end the turn.
          for (let frame = 0; frame < 150; frame++) agent.sendAudio({ data: new Uint8Array(960) });
          agent.sendAudio({ data: dial('59') });
          await connected;
          const { text } = await said;
          await agent.dispose();
          return text;
        },
        { endpoint: sandbox.endpoints.theta, instructions },
      );
      expect([text, refusals()]).toEqual(['159', []]);
    },
    longMs,
  );

  it(
    'is refused a wrong credential for good, and needs none with a proxy',
    async () => {
      const { failure, types, states } = await page.evaluate(
        async ({ endpoint, proxyUrl }) => {
          const agent = new rxvoice.ThetaAgent({ apiKey: 'wrong', endpoint, transport: 'webrtc' });
          const types: string[] = [];
          agent.connection$.subscribe(({ type }) => types.push(type));
          await agent.initialize();
          const failure = await agent.connect().then(
            () => undefined,
            (error: unknown) => {
              const { code, status, recoverable } = rxvoice.VoiceError.from(error);
              return { code, status, recoverable };
            },
          );
          await agent.dispose();
          const proxied = new rxvoice.ThetaAgent({ proxyUrl, transport: 'webrtc' });
          await proxied.initialize();
          proxied.connection$.subscribe(({ type }) => types.push(type));
          await proxied.connect();
          await proxied.dispose();
          const { peers, contexts } = opened;
          await sound.closed(...contexts);
          return {
            failure,
            types,
            states: [...peers.map((peer) => peer.connectionState), ...contexts.map(({ state }) => state)],
          };
        },
        { endpoint: sandbox.endpoints.theta, proxyUrl: sandbox.proxies.theta },
      );
      expect(failure).toEqual({ code: 'unauthorized', status: 401, recoverable: false });
      expect(types).toEqual(['connecting', 'lost', 'connecting', 'connected', 'closed']);
      expect(states).toEqual(['closed', 'closed', 'closed', 'closed']);
      expect(records().map(({ status, headers }) => [status, headers['authorization'] !== undefined])).toEqual([
        ...[
          [401, true],
          [201, false],
        ],
      ]);
    },
    longMs,
  );
});

declare global {
  var opened: { readonly peers: RTCPeerConnection[]; readonly contexts: AudioContext[] };
  /** Keys, and as much silence as keeps their length. */
  var dial: (number: string, rate?: number) => Uint8Array<ArrayBuffer>;
  /** Lets the service hang up. */
  var hangUp: () => Promise<void>;
}
