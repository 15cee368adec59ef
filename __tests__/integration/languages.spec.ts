// Slow: a conversation at the speed of sound.
import { AlphaFlux, AlphaTTS, NuLLM } from 'rxvoice';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { limits, TestCaller } from './support/caller.ts';

describe('a conversation over the sandbox', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  it('changes to the language of the user, with its words and its voice', async () => {
    const credential = { apiKey: 'sandbox-key' };
    const alpha = { ...credential, endpoint: sandbox.endpoints.alpha };
    const spanish = new AlphaTTS({ ...alpha, limits, voice: 'aura-2-celeste-es' });
    await using caller = new TestCaller(sandbox, { locale: 'en', followLanguage: true, voices: { es: spanish } }, [
      new AlphaFlux({ ...alpha, options: { model: 'flux-general-multi', eotThreshold: 0.6 } }),
      new NuLLM({ ...credential, endpoint: sandbox.endpoints.nu, model: 'openai/gpt-oss-20b' }),
      new AlphaTTS({ ...alpha, limits }),
    ]);
    await caller.connect();
    for (const text of ['hello there', 'hola, qué tal']) {
      const ended = caller.next('turn.ended');
      caller.say(text);
      await ended;
    }
    const languages = caller.events.flatMap((event) => (event.type === 'user.language' ? [event.language] : []));
    expect(languages).toEqual(['es']);
    expect(caller.pipeline.history.messages().map(({ content }) => content)).toEqual([
      ...['hello there', 'Hello! How can I help you?'],
      ...['hola, qué tal', '¡Hola! ¿En qué puedo ayudarte?'],
    ]);
    expect(caller.readBack(0, Infinity)).toContain('¡Hola! ¿En qué puedo ayudarte?');
    const voices = sandbox.records('alpha-tts').map(({ query }) => new Map(query).get('model'));
    expect(voices).toContain('aura-2-celeste-es');
  });
});
