// Slow: audio at the speed of sound, and the waits after which a service counts as broken.
import { filter, firstValueFrom, from, toArray } from 'rxjs';
import {
  AlphaSTT,
  AlphaTTS,
  BetaSTT,
  type ConnectionEvent,
  fallback,
  type LLMProvider,
  NuLLM,
  type ProviderContract,
  type STTProvider,
  ThetaLLM,
  type TranscriptionResult,
  type TTSProvider,
  UpsilonTTS,
} from '../../lib/index.ts';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { frames } from '../conformance/streaming-stt.ts';
import { hear } from '../conformance/tts.ts';
import { settle } from '../transport/test-clock.ts';
import { TestCaller } from './support/caller.ts';

const apiKey = 'sandbox-key';

/** Chains over real sockets: one pair for each role, and all of them in one conversation. */
describe('fallback() over the sandbox', () => {
  let sandbox: Sandbox;
  let chain: ProviderContract;
  const switches: string[] = [];

  beforeEach(async () => {
    sandbox = await startSandbox();
    switches.length = 0;
  });
  afterEach(async () => {
    await chain.dispose();
    await sandbox.close();
  });

  async function ready<P extends ProviderContract>(provider: P): Promise<P> {
    chain = provider;
    provider.connection$?.subscribe((event: ConnectionEvent) => {
      if (event.type === 'fallback') switches.push(`${event.from} -> ${event.to}`);
    });
    await provider.initialize();
    return provider;
  }
  const llms = (): LLMProvider =>
    fallback(
      new NuLLM({ apiKey, endpoint: sandbox.endpoints.nu }),
      new ThetaLLM({ model: 'gpt-4o-mini', apiKey, endpoint: sandbox.endpoints.theta }),
    );
  const voices = (): TTSProvider =>
    fallback(
      new AlphaTTS({ apiKey, endpoint: sandbox.endpoints.alpha }),
      new UpsilonTTS({ voiceId: 'JBFqnCBsd6RMkjVDRZzb', apiKey, endpoint: sandbox.endpoints.upsilon }),
    );
  const ears = (): STTProvider =>
    fallback(
      new AlphaSTT({ apiKey, endpoint: sandbox.endpoints.alpha }),
      new BetaSTT({ apiKey, endpoint: sandbox.endpoints.beta }),
      { connectMs: 1_000 },
    );

  it('a model whose answer has headers and no token: the other one answers after 3 s', async () => {
    const llm = await ready(llms());
    sandbox.setFault('nu-llm', { kind: 'stall', after: 0 });
    const startedAt = performance.now();
    const events = await firstValueFrom(llm.generate([{ role: 'user', content: 'hi' }]).pipe(toArray()));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2_990);
    expect(events.flatMap((event) => (event.type === 'token' ? [event.text] : [])).join('')).toBe(
      'Hello! How can I help you?',
    );
    expect(switches).toEqual(['NuLLM -> ThetaLLM']);
    expect(sandbox.records('nu-llm')[0]).toMatchObject({ aborted: true });
  });

  it('a voice that is cut off between two sentences: the other one goes on with the next', async () => {
    const tts = await ready(voices());
    const texts = ['The first one is fine.', 'The second one is not.', 'The third one follows.'];
    const chunks = await firstValueFrom(
      tts
        .speak(
          from(texts).pipe(
            filter((text) => {
              if (text === texts[1]) sandbox.setFault('alpha-tts', { kind: 'neverReady' });
              return true;
            }),
          ),
        )
        .pipe(toArray()),
    );
    expect(hear(chunks).text).toBe(texts.join(''));
  });

  it('a voice that does not answer: the other one says all of it after 2.5 s, in words and audio', async () => {
    const tts = await ready(voices());
    sandbox.setFault('alpha-tts', { kind: 'neverReady' });
    const words: string[] = [];
    tts.words$?.subscribe(({ text }) => words.push(text));
    const chunks = await firstValueFrom(tts.speak(['Good morning.', 'How are you?']).pipe(toArray()));
    expect(hear(chunks).text).toBe('Good morning.How are you?');
    expect(words.join(' ')).toBe('Good morning. How are you?');
    expect(switches).toEqual(['AlphaTTS -> UpsilonTTS']);
  });

  it('speech-to-text that is lost in mid-utterance: the other one hears all of it, and nothing twice', async () => {
    const stt = await ready(ears());
    const results: TranscriptionResult[] = [];
    stt.transcripts$.subscribe((result) => results.push(result));
    const [format] = frames(['x']);
    if (format?.metadata) stt.configureAudio(format.metadata);
    sandbox.setFault('alpha-stt', { kind: 'dropAfter', messages: 4 });
    await stt.connect();
    const isComplete = ({ utteranceComplete }: TranscriptionResult): boolean => utteranceComplete;
    const complete = firstValueFrom(
      stt.transcripts$.pipe(filter((result) => isComplete(result) && result.text.includes('over'))),
    );
    for (const [index, chunk] of frames(['the quick brown fox jumps over']).entries()) {
      stt.sendAudio(chunk);
      if (index % 5 === 0) await settle();
    }
    await complete;
    // A service that gives up makes what it has heard final: the other one begins with the word after it.
    const said = results.filter(isComplete).map(({ text }) => text);
    expect(said.join(' ')).toBe('the quick brown fox jumps over');
    expect(switches).toEqual(['AlphaSTT -> BetaSTT']);
    await stt.disconnect();
  });

  it('a whole conversation goes on when all three of the first ones fail', async () => {
    const caller = new TestCaller(sandbox, { preflight: false }, [ears(), llms(), voices()]);
    try {
      for (const service of ['alpha-stt', 'alpha-tts', 'nu-llm'] as const)
        sandbox.setFault(service, { kind: 'refuse' });
      await caller.connect();
      const ended = caller.next('turn.ended');
      caller.say('hi');
      expect((await ended).reason).toBe('completed');
      expect(caller.readBack(0, Infinity)).toBe('Hello! How can I help you?');
      const switched = caller.events.flatMap((event) =>
        event.type === 'provider.fallback' ? [`${event.role} ${event.from} -> ${event.to}`] : [],
      );
      expect(switched.sort()).toEqual([
        'llm NuLLM -> ThetaLLM',
        'stt AlphaSTT -> BetaSTT',
        'tts AlphaTTS -> UpsilonTTS',
      ]);
    } finally {
      await caller[Symbol.asyncDispose]();
    }
  });
});
