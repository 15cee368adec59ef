/** Slow: a server of its own, in another process. */
import { request } from 'node:http';
import { firstValueFrom, filter } from 'rxjs';
import { AlphaFlux, AlphaSTT, NuLLM } from 'rxvoice';
import { startPlayground, type Playground, type Services } from '../../../samples/playground/server/playground.ts';
import { encodeText, silence } from '../../../samples/sandbox/modem.ts';
import { int16Bytes } from 'rxvoice/audio';
import { askRaw, oddTargets, upgrade } from '../raw-requests.ts';

const rate = 16_000;

describe('The playground’s server', () => {
  let playground: Playground;
  const lines: string[] = [];
  beforeAll(async () => {
    const env = { GROQ_API_KEY: 'gsk_secret-of-the-test' };
    playground = await startPlayground({ env, log: (line) => lines.push(line) });
  });
  afterAll(() => playground.close());

  const services = async (): Promise<Services> =>
    (await fetch(`${playground.url}/api/services`)).json() as Promise<Services>;
  const hazard = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${playground.url}/api/hazards`, { method: 'POST', headers, body: JSON.stringify(body) });

  /** The status of an answer whose body is read: one that is not keeps its socket. */
  const statusOf = async (url: string, init?: RequestInit): Promise<number> => {
    const answer = await fetch(url, init);
    await answer.arrayBuffer();
    return answer.status;
  };

  it('serves the page, its scripts with source maps, and nothing of the machine', async () => {
    const page = await fetch(playground.url);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).toContain('<title>rxvoice playground</title>');
    const script = await (await fetch(`${playground.url}/assets/main.js`)).text();
    const map = /sourceMappingURL=(.+)$/m.exec(script)?.[1] ?? '';
    expect(await statusOf(`${playground.url}/assets/${map}`)).toBe(200);
    for (const path of ['/package.json', '/assets/../package.json', '/page/main.ts', '/assets/nothing.js']) {
      expect(await statusOf(playground.url + path)).toBe(404);
    }
    expect(await statusOf(playground.url, { method: 'PUT' })).toBe(405);
  });

  it('says which services there are, and no key', async () => {
    const { sandbox, proxy } = await services();
    expect(sandbox['alpha']).toBe('/sandbox/alpha');
    expect(proxy).toEqual({ nu: '/proxy/nu' });
    expect(playground.vendors).toEqual(['nu']);
    const everything = await Promise.all(
      ['/', '/assets/main.js', '/api/services'].map(async (path) => (await fetch(playground.url + path)).text()),
    );
    expect(everything.join()).not.toContain('secret-of-the-test');
  });

  it('answers to its own names only: a page that leads here by another one gets nothing', async () => {
    const status = await new Promise((resolve, reject) => {
      const url = new URL(`${playground.url}/api/services`);
      request(
        { hostname: url.hostname, port: url.port, path: url.pathname, headers: { host: 'evil.example' } },
        (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        },
      )
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
  });

  it.each(oddTargets)('lives when it is asked for %s', async (target) => {
    for (const headers of [{}, upgrade, { ...upgrade, origin: playground.url }]) {
      expect([0, 200, 400, 403, 404, 405]).toContain(await askRaw(playground.port, target, headers));
    }
    expect(await askRaw(playground.port, '/')).toBe(200);
  });

  it('brings requests and sockets to the sandbox, without a credential', async () => {
    const { sandbox } = await services();
    const llm = new NuLLM({ proxyUrl: playground.url + (sandbox['nu'] ?? ''), model: 'openai/gpt-oss-20b' });
    await llm.initialize();
    const token = await firstValueFrom(llm.generate([{ role: 'user', content: 'hello' }]));
    expect(token).toEqual({ type: 'token', text: 'Hello!' });
    await llm.dispose();

    const stt = new AlphaSTT({ proxyUrl: playground.url + (sandbox['alpha'] ?? '') });
    await stt.initialize();
    stt.configureAudio({ encoding: 'linear16', sampleRate: rate, channels: 1 });
    await stt.connect();
    const heard = firstValueFrom(stt.transcripts$.pipe(filter(({ isFinal }) => isFinal)));
    for (const samples of [encodeText('over here', rate), silence(1_000, rate)])
      stt.sendAudio({ data: int16Bytes(samples) });
    expect((await heard).text).toBe('over here');
    await stt.dispose();
  });

  it('cuts the open socket of a service, and of no other', async () => {
    const { sandbox } = await services();
    const proxyUrl = playground.url + (sandbox['alpha'] ?? '');
    const stt = [new AlphaFlux({ proxyUrl }), new AlphaSTT({ proxyUrl })] as const;
    const lost: string[] = [];
    for (const each of stt) {
      each.connection$.subscribe(({ type }) => type === 'reconnecting' && lost.push(each.name));
      await each.initialize();
      each.configureAudio({ encoding: 'linear16', sampleRate: rate, channels: 1 });
      await each.connect();
    }
    const reconnecting = firstValueFrom(stt[0].connection$.pipe(filter(({ type }) => type === 'reconnecting')));
    const response = await hazard({ hazard: 'drop', service: 'alpha-flux', path: '/alpha/v2/listen' });
    expect(await response.json()).toEqual({ dropped: 1 });
    await reconnecting;
    expect(lost).toEqual(['AlphaFlux']);
    await Promise.all(stt.map((each) => each.dispose()));
  });

  it('lets a key expire until it is renewed', async () => {
    const { sandbox } = await services();
    const llm = new NuLLM({ proxyUrl: playground.url + (sandbox['nu'] ?? ''), model: 'openai/gpt-oss-20b' });
    await llm.initialize();
    const ask = (): Promise<unknown> => firstValueFrom(llm.generate([{ role: 'user', content: 'hello' }]));
    await hazard({ hazard: 'expired-key', service: 'nu-llm' });
    for (let times = 0; times < 2; times++) await expect(ask()).rejects.toMatchObject({ code: 'unauthorized' });
    await hazard({ hazard: 'clear', service: 'nu-llm' });
    await expect(ask()).resolves.toMatchObject({ type: 'token' });
    expect(lines.join('\n')).toContain('[nu-llm] 401');
    await llm.dispose();
  });

  for (const [what, body] of [
    ['an unknown hazard', { hazard: 'explode', service: 'nu-llm' }],
    ['an inherited name', { hazard: 'constructor', service: 'nu-llm' }],
    ['an unknown service', { hazard: 'slow', service: 'nobody' }],
    ['no object', 7],
    ['too much', { hazard: 'slow', service: 'x'.repeat(5_000) }],
  ] as const) {
    it(`refuses ${what}`, async () => {
      expect((await hazard(body)).status).toBe(400);
    });
  }

  it('does no hazard for another page', async () => {
    const response = await hazard({ hazard: 'slow', service: 'nu-llm' }, { origin: 'https://evil.example' });
    expect(response.status).toBe(403);
  });

  it('runs no recipe for another page', async () => {
    const headers = { origin: 'https://evil.example' };
    const response = await fetch(`${playground.url}/api/recipes/01-text`, { method: 'POST', headers });
    expect([response.status, await response.text()]).toEqual([
      403,
      expect.stringContaining('Only the playground page'),
    ]);
  });

  it('says what to do when its port is taken', async () => {
    await expect(startPlayground({ port: playground.port })).rejects.toThrow(
      `Port ${playground.port} is taken: npm start -- --port 0 takes any free one`,
    );
  });
});
