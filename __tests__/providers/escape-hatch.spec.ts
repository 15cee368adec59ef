/** What a service takes and we do not know yet, a gateway's headers, a proxy's query: all of it passes, last. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { filter, firstValueFrom, Subject, timeout } from 'rxjs';
import { WebSocketServer } from 'ws';
import {
  AlphaAgent,
  DeltaSTT,
  EpsilonSTT,
  GammaTTS,
  IotaSTT,
  KappaSTT,
  PiTTS,
  ThetaRealtimeSTT,
  ZetaSTT,
} from '../../lib/index.ts';
import { AlphaTTS } from '../../lib/providers/tts/alpha-tts.ts';
import type { Message } from '../../lib/core/messages.ts';
import type { RemoteConfig } from '../../lib/core/remote-provider.ts';
import { CompatibleLLM } from '../../lib/providers/llm/compatible-llm.ts';
import type { ChatLLM } from '../../lib/providers/llm/chat-llm.ts';
import type { LLMConfig } from '../../lib/providers/llm/llm-config.ts';
import { MuLLM } from '../../lib/providers/llm/mu-llm.ts';
import { NuLLM } from '../../lib/providers/llm/nu-llm.ts';
import { OmicronLLM } from '../../lib/providers/llm/omicron-llm.ts';
import { ThetaLLM } from '../../lib/providers/llm/theta-llm.ts';
import { XiLLM } from '../../lib/providers/llm/xi-llm.ts';
import { AlphaSTT } from '../../lib/providers/stt/alpha-stt.ts';
import { KappaTTS } from '../../lib/providers/tts/kappa-tts.ts';
import { ThetaTTS } from '../../lib/providers/tts/theta-tts.ts';
import { OmegaTTS } from '../../lib/providers/tts/omega-tts.ts';
import { until } from '../transport/test-clock.ts';
import { outcomeOf } from './llm/llm-fixture.ts';

interface Seen {
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

const ask: Message[] = [{ role: 'user', content: 'Hi' }];
const extras = {
  extraQuery: { 'api-version': '2026-11-01', list: ['a', 'b'] },
  extraHeaders: { 'x-gateway': 'eu', 'CONTENT-type': 'application/json; charset=utf-8' },
};

describe('the escape hatch', () => {
  let server: Server;
  let sockets: WebSocketServer;
  let seen: Seen[];
  /** What is sent over sockets. */
  let said$: Subject<string>;
  const providers: { dispose(): Promise<void> }[] = [];
  beforeEach(async () => {
    seen = [];
    said$ = new Subject();
    server = createServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://local');
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        // A warm-up has no body.
        if (text) seen.push({ url, headers: request.headers, body: JSON.parse(text) });
        response.writeHead(418, { 'content-type': 'application/json', 'x-request-id': 'req_418' }).end('{}');
      });
    });
    sockets = new WebSocketServer({ server });
    sockets.on('connection', (socket, request) => {
      seen.push({ url: new URL(request.url ?? '', 'ws://local'), headers: request.headers, body: undefined });
      socket.on('message', (data: Buffer) => said$.next(data.toString()));
      // Some services greet before they are told anything.
      for (const type of ['Welcome', 'session.created']) socket.send(JSON.stringify({ type }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    await Promise.all(providers.splice(0).map((provider) => provider.dispose()));
    for (const client of sockets.clients) client.terminate();
    sockets.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  async function ready<P extends { initialize(): Promise<void>; dispose(): Promise<void> }>(provider: P): Promise<P> {
    providers.push(provider);
    await provider.initialize();
    return provider;
  }

  type Create = (config: LLMConfig) => ChatLLM<LLMConfig>;
  const models: Readonly<Record<string, readonly [Create, path: string]>> = {
    ThetaLLM: [(config) => new ThetaLLM({ ...config, model: 'gpt-4.1-mini' }), '/v9/chat/completions'],
    NuLLM: [(config) => new NuLLM(config), '/v9/chat/completions'],
    XiLLM: [(config) => new XiLLM(config), '/v9/chat/completions'],
    OmicronLLM: [(config) => new OmicronLLM(config), '/v9/chat/completions'],
    CompatibleLLM: [(config) => new CompatibleLLM({ ...config, model: 'local' }), '/v9/chat/completions'],
    MuLLM: [(config) => new MuLLM(config), '/v9/v1/messages'],
  };
  for (const [name, [create, path]] of Object.entries(models)) {
    it(`${name}: query, headers and body are added last; a proxy's own query is kept`, async () => {
      const proxyUrl = `${address()}/v9/?tenant=a%20b`;
      const extraBody = { model: 'brand-new', brand_new: { on: true } };
      const llm = await ready(create({ proxyUrl, ...extras, extraBody, maxRetries: 0 }));
      const { error } = await outcomeOf(llm.generate(ask));
      expect(error).toMatchObject({ status: 418, requestId: 'req_418' });
      expect(seen).toHaveLength(1);
      expect(seen[0]?.url.pathname).toBe(path);
      const query = [...(seen[0]?.url.searchParams ?? [])].map((pair) => pair.join('='));
      expect(query).toEqual(['tenant=a b', 'api-version=2026-11-01', 'list=a', 'list=b']);
      expect(seen[0]?.headers).toMatchObject({ 'x-gateway': 'eu', 'content-type': 'application/json; charset=utf-8' });
      expect(seen[0]?.body).toMatchObject(extraBody);
    });
  }

  it('voices by requests have it too, a signed one beside its signature', async () => {
    const extraBody = { speed: 3, brand_new: { on: true } };
    const extraHeaders = { ...extras.extraHeaders, 'X-Amz-Meta': 'call-17' };
    const config = { endpoint: address(), ...extras, extraHeaders, extraBody, maxRetries: 0 };
    const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
    const theta = await ready(new ThetaTTS({ apiKey: 'sk-1', ...config }));
    const omega = await ready(new OmegaTTS({ credentials, voiceId: 'Joanna', region: 'eu-west-1', ...config }));
    for (const voice of [theta, omega]) {
      const failed = firstValueFrom(voice.speak(['Hello.']).pipe(timeout(5_000)));
      await expect(failed).rejects.toMatchObject({ status: 418, requestId: 'req_418' });
      const { url, headers, body } = seen.at(-1) ?? {};
      expect(body).toMatchObject(extraBody);
      expect(url?.searchParams.get('api-version')).toBe('2026-11-01');
      expect(headers).toMatchObject({ 'x-gateway': 'eu', 'x-amz-meta': 'call-17' });
    }
    // AWS refuses headers of its own that are not signed; others a proxy may change.
    expect(seen.at(-1)?.headers.authorization).toMatch(/SignedHeaders=content-type;host;x-amz-date;x-amz-meta,/);
    const kappa = new KappaTTS({ apiKey: 'k', region: 'westeurope', voiceName: 'en-US-JennyNeural', extraBody });
    providers.push(kappa);
    await expect(kappa.initialize()).rejects.toThrow('extraBody has no place in its requests');
  });

  it('a socket has it too: in Node the headers as well, beside the credential', async () => {
    const endpoint = `${address().replace('http', 'ws')}/base?tenant=a`;
    const extraQuery = { ...extras.extraQuery, encoding: 'brand-new', model: undefined };
    const stt = await ready(new AlphaSTT({ apiKey: 'k', endpoint, extraQuery, extraHeaders: { 'x-gateway': 'eu' } }));
    void stt.connect().catch(() => undefined);
    await until(() => seen.length > 0);
    const { url, headers } = seen[0] ?? { url: new URL('ws:none'), headers: {} };
    expect(url.pathname).toBe('/base/v1/listen');
    expect(url.searchParams.getAll('encoding')).toEqual(['brand-new']);
    expect(url.searchParams.get('tenant')).toBe('a');
    expect(url.searchParams.has('model')).toBe(false);
    expect(headers).toMatchObject({ 'x-gateway': 'eu', authorization: 'Token k' });
  });

  interface Talks {
    initialize(): Promise<void>;
    dispose(): Promise<void>;
  }
  const listens = (
    stt: Talks & { connect(): Promise<void>; sendAudio(chunk: { data: Uint8Array<ArrayBuffer> }): void },
  ) =>
    [
      stt,
      () => {
        void stt.connect().catch(() => undefined);
        stt.sendAudio({ data: new Uint8Array(32_000).fill(1) });
      },
    ] as const;
  const speaks = (tts: Talks & Pick<AlphaTTS, 'speak'>) =>
    [tts, () => void tts.speak(['Hello.']).subscribe({ error: () => undefined })] as const;
  const talking: Readonly<Record<string, (config: object) => readonly [Talks, () => void]>> = {
    AlphaAgent: (config) => listens(new AlphaAgent(config)),
    DeltaSTT: (config) => listens(new DeltaSTT(config)),
    KappaSTT: (config) => listens(new KappaSTT({ ...config, region: 'westeurope' })),
    ThetaRealtimeSTT: (config) => listens(new ThetaRealtimeSTT(config)),
    ZetaSTT: (config) => listens(new ZetaSTT(config)),
    AlphaTTS: (config) => speaks(new AlphaTTS(config)),
    GammaTTS: (config) => speaks(new GammaTTS({ ...config, voiceId: 'v' })),
    PiTTS: (config) => speaks(new PiTTS({ ...config, voiceId: 'v' })),
  };
  for (const [name, create] of Object.entries(talking)) {
    it(`${name}: extraBody is in the messages of its socket, last`, async () => {
      const said = firstValueFrom(said$.pipe(filter((text) => text.includes('brand_new'))));
      const [provider, begin] = create({ proxyUrl: address(), extraBody: { brand_new: { on: true } } });
      await ready(provider);
      begin();
      expect(await said).toContain('"brand_new":{"on":true}');
    });
  }

  it('AlphaAgent: a new field of its agent joins those that it has', async () => {
    const said = firstValueFrom(said$.pipe(filter((text) => text.includes('"Settings"'))));
    const extraBody = { flags: ['beta'], agent: { greeting: 'Hi!', brand_new: 1 } };
    const agent = await ready(new AlphaAgent({ proxyUrl: address(), greeting: 'Hello!', extraBody }));
    void agent.connect().catch(() => undefined);
    const settings = JSON.parse(await said) as { agent: object };
    expect(settings).toMatchObject({ flags: ['beta'], agent: { greeting: 'Hi!', brand_new: 1 } });
    expect(Object.keys(settings.agent)).toEqual(expect.arrayContaining(['listen', 'think', 'speak']));
  });

  it('so have the requests of speech-to-text', async () => {
    const config = { proxyUrl: address(), extraBody: { brand_new: { on: true } }, reconnect: false as const };
    const epsilon = await ready(new EpsilonSTT(config));
    await epsilon.connect().catch(() => undefined);
    expect(seen.at(-1)).toMatchObject({ url: { pathname: '/v2/live' }, body: config.extraBody });
    const iota = await ready(new IotaSTT({ ...config, encoding: 'FLAC', sampleRate: 16_000 }));
    await iota.transcribe(new Blob(['fLaC'])).then(undefined, () => undefined);
    expect(seen.at(-1)).toMatchObject({ url: { pathname: '/v1/speech:recognize' }, body: config.extraBody });
    expect(seen.at(-1)?.body).toHaveProperty('config.languageCode');
  });

  it('headers of our own may be replaced, whatever their case', async () => {
    const config: RemoteConfig = { apiKey: 'sk-1', endpoint: address(), extraHeaders: { AUTHORIZATION: 'Custom x' } };
    const llm = await ready(new ThetaLLM({ ...config, model: 'gpt-4.1-mini', maxRetries: 0 }));
    await outcomeOf(llm.generate(ask));
    expect(seen[0]?.headers.authorization).toBe('Custom x');
  });
});
