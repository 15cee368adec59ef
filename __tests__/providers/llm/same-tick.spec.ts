/** A turn waits for the model's request: with a key at hand it leaves in the tick that asks for it. */
import { NuLLM } from '../../../lib/providers/llm/nu-llm.ts';
import type { NuLLMConfig } from '../../../lib/providers/llm/nu-llm.ts';

describe("a model's request", () => {
  let llm: NuLLM | undefined;
  afterEach(() => llm?.dispose());

  async function asking(config: Partial<NuLLMConfig>) {
    const sent: (string | null)[] = [];
    const fetch = (_: unknown, { headers }: RequestInit = {}): Promise<Response> => {
      sent.push(new Headers(headers).get('authorization'));
      return Promise.resolve(new Response());
    };
    const model = (llm = new NuLLM({ model: 'openai/gpt-oss-20b', fetch, maxRetries: 0, ...config }));
    await model.initialize();
    return {
      model,
      sent,
      ask: () => model.generate([{ role: 'user', content: 'Hi' }]).subscribe({ error: () => undefined }),
    };
  }

  it.each([
    ['a key', { apiKey: 'key-1' }, 'Bearer key-1'],
    ['a proxy', { proxyUrl: 'https://proxy.example/nu', apiKey: 'key-1' }, null],
  ])('leaves in the tick that asks for it, with %s', async (_, config, authorization) => {
    const { ask, sent } = await asking(config);
    ask();
    expect(sent).toEqual([authorization]);
  });

  it('waits for a credential that must be fetched, which is fetched for each request', async () => {
    let keys = 0;
    const apiKey = () => Promise.resolve(`key-${++keys}`);
    const { ask, sent } = await asking({ apiKey });
    ask();
    ask();
    expect(sent).toEqual([]);
    await new Promise(setImmediate);
    expect(sent).toEqual(['Bearer key-1', 'Bearer key-2']);
  });

  it('masks a key that it has sent', async () => {
    const { model } = await asking({
      apiKey: 'plainly-secret',
      fetch: () => Promise.reject(new Error('refused plainly-secret')),
    });
    const error = await new Promise((resolve) => {
      model.generate([{ role: 'user', content: 'Hi' }]).subscribe({ error: resolve });
    });
    expect(String(error)).not.toContain('plainly-secret');
  });
});
