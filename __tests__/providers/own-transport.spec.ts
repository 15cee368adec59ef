/** An application may bring its own `fetch` and WebSocket: then nothing goes around them. */
import { firstValueFrom, lastValueFrom, reduce, take, timeout } from 'rxjs';
import { WebSocket } from 'ws';
import { AlphaTTS, IotaSTT, MuLLM, NuLLM, PhiTTS, type LLMEvent } from '../../lib/index.ts';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';

const nowhere = 'https://service.invalid';
const messages = [{ role: 'user', content: 'say good day' }] as const;

describe("an application's own fetch", () => {
  let sandbox: Sandbox;
  let asked: { url: string; init: RequestInit }[];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());
  beforeEach(() => {
    asked = [];
  });
  /** Leads what is for nowhere to the sandbox. */
  const through =
    (base: string): typeof fetch =>
    (url, init = {}) => {
      const address = String(url instanceof Request ? url.url : url);
      asked.push({ url: address, init });
      return fetch(address.replace(nowhere, base), init);
    };
  const text = reduce((all: string, event: LLMEvent) => all + (event.type === 'token' ? event.text : ''), '');

  it("performs a model's requests, and an unsubscription aborts it", async () => {
    const config = { apiKey: 'sandbox-key', endpoint: nowhere, fetch: through(sandbox.endpoints.nu) };
    const llm = new NuLLM({ ...config, model: 'openai/gpt-oss-20b' });
    await llm.initialize();
    expect(await firstValueFrom(llm.generate(messages).pipe(text, timeout(20_000)))).toBe('good day');
    expect(asked.map(({ url, init }) => [url, init.method, init.redirect])).toEqual([
      [`${nowhere}/chat/completions`, 'POST', 'manual'],
    ]);
    expect(new Headers(asked[0]?.init.headers).get('authorization')).toBe('Bearer sandbox-key');
    await firstValueFrom(llm.generate(messages).pipe(take(1), timeout(20_000)));
    expect(asked[1]?.init.signal?.aborted).toBe(true);
    await llm.dispose();
  });

  it("performs the requests of the vendor's SDK", async () => {
    const llm = new MuLLM({ apiKey: 'sandbox-key', endpoint: nowhere, fetch: through(sandbox.endpoints.mu) });
    await llm.initialize();
    expect(await firstValueFrom(llm.generate(messages).pipe(text, timeout(20_000)))).toBe('good day');
    expect(asked.map(({ url }) => url)).toEqual([`${nowhere}/v1/messages`]);
    await llm.dispose();
  });

  it("performs a voice's requests and a recording's", async () => {
    const phi = { apiKey: 'sandbox-key', endpoint: nowhere, speaker: 'luna', fetch: through(sandbox.endpoints.phi) };
    const tts = new PhiTTS(phi);
    await tts.initialize();
    const bytes = await lastValueFrom(
      tts.speak('good day').pipe(
        reduce((sum, { data }) => sum + data.length, 0),
        timeout(20_000),
      ),
    );
    expect(bytes).toBeGreaterThan(1000);
    await tts.dispose();
    const stt = new IotaSTT({ apiKey: 'k', endpoint: nowhere, fetch: () => Promise.reject(new Error('mine')) });
    await stt.initialize();
    const failure = firstValueFrom(stt.transcribe(new Blob([new Uint8Array(3200)], { type: 'audio/wav' })));
    await expect(failure).rejects.toThrow(/IotaSTT/);
    await stt.dispose();
  });

  it('that throws is an error of the provider, with its name', async () => {
    const fails = (): Promise<Response> => {
      throw new TypeError('no route');
    };
    const llm = new NuLLM({ apiKey: 'k', endpoint: nowhere, model: 'openai/gpt-oss-20b', fetch: fails });
    await llm.initialize();
    await expect(firstValueFrom(llm.generate(messages))).rejects.toMatchObject({
      code: 'connection',
      provider: 'NuLLM',
    });
    await llm.dispose();
  });
});

describe('what an application brings to connect with', () => {
  for (const [key, wrong, problem] of [
    ['fetch', 'https://proxy.example', 'fetch must be a function or a class, not "https://proxy.example"'],
    ['fetch', null, 'fetch must be a function or a class, not null'],
    ['WebSocket', {}, 'WebSocket must be a function or a class, not {}'],
  ] as const) {
    it(`is refused before anything is sent when ${key} is ${JSON.stringify(wrong)}`, async () => {
      const config = { apiKey: 'sandbox-key', endpoint: nowhere, [key]: wrong };
      const tts = new AlphaTTS(config);
      await expect(tts.initialize()).rejects.toMatchObject({ message: expect.stringContaining(problem) as unknown });
      const other = new AlphaTTS({ apiKey: 'sandbox-key', endpoint: nowhere });
      expect(() => other.updateConfig({ [key]: wrong })).toThrow(problem);
    });
  }
});

describe("an application's own WebSocket", () => {
  it('is what a provider connects with: address and subprotocols, as in a browser', async () => {
    await using sandbox = await startSandbox();
    const made: (readonly [string, readonly string[]])[] = [];
    class Own extends WebSocket {
      constructor(url: URL, protocols: string[]) {
        super(String(url).replace('wss://service.invalid', sandbox.endpoints.alpha.replace('http', 'ws')), protocols);
        made.push([String(url), protocols]);
      }
    }
    const tts = new AlphaTTS({ apiKey: 'sandbox-key', endpoint: nowhere, WebSocket: Own });
    await tts.initialize();
    const bytes = await lastValueFrom(
      tts.speak('good day').pipe(
        reduce((sum, { data }) => sum + data.length, 0),
        timeout(20_000),
      ),
    );
    expect(bytes).toBeGreaterThan(1000);
    expect(made).toEqual([[expect.stringMatching(/^wss:\/\/service\.invalid\/v1\/speak\?/), ['token', 'sandbox-key']]]);
    await tts.dispose();
  });
});
