/**
 * Models retire: whoever uses one is told early, once, as an `error` event of its own kind, and nothing else changes. What
 * goes wrong then: a warning with every request; a default of ours that nobody is told of; an application that takes the
 * news for a failure, and a chain of providers that switches.
 */
import { setImmediate } from 'node:timers/promises';
import { filter } from 'rxjs';
import {
  ChiTTS,
  createLogger,
  DeltaSTT,
  fallback,
  GammaTTS,
  type LLMProvider,
  MuLLM,
  NuLLM,
  OmicronAgent,
  OmicronLLM,
  PhiTTS,
  Pipeline,
  PiTTS,
  type Provider,
  PsiTTS,
  RhoTTS,
  TauTTS,
  ThetaAgent,
  ThetaLLM,
  ThetaRealtimeSTT,
  ThetaTTS,
  type VoiceError,
  type VoiceEvent,
  XiLLM,
} from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';

/** Resolves when everything that is to be told has been: the words are loaded. */
const toldAll = async (): Promise<void> => {
  await import('../../lib/core/remote-warnings.ts');
  await setImmediate();
};

interface Config {
  readonly proxyUrl: string;
  readonly model?: string;
}

const create = {
  ThetaLLM: ({ model = 'gpt-5.4-mini', ...config }: Config) => new ThetaLLM({ ...config, model }),
  ThetaTTS: (config: Config) => new ThetaTTS(config),
  ThetaRealtimeSTT: (config: Config) => new ThetaRealtimeSTT(config),
  OmicronLLM: (config: Config) => new OmicronLLM(config),
  NuLLM: (config: Config) => new NuLLM(config),
  GammaTTS: ({ model, ...config }: Config) =>
    new GammaTTS({ ...config, voiceId: 'v', ...(model !== undefined && { modelId: model }) }),
  PsiTTS: (config: Config) => new PsiTTS(config),
  ChiTTS: (config: Config) => new ChiTTS({ ...config, voiceId: 'v' }),
  DeltaSTT: (config: Config) => new DeltaSTT(config),
  MuLLM: ({ model = 'claude-sonnet-5-5', ...config }: Config) => new MuLLM({ ...config, model }),
  XiLLM: (config: Config) => new XiLLM(config),
  PiTTS: ({ model, ...config }: Config) =>
    new PiTTS({ ...config, voiceId: 'v', ...(model !== undefined && { modelId: model }) }),
  PhiTTS: (config: Config) => new PhiTTS({ ...config, speaker: 'astra' }),
  RhoTTS: (config: Config) => new RhoTTS({ ...config, voiceId: 'v' }),
  TauTTS: (config: Config) => new TauTTS({ ...config, voice: 'v' }),
  ThetaAgent: (config: Config) => new ThetaAgent(config),
  OmicronAgent: (config: Config) => new OmicronAgent(config),
};
type Name = keyof typeof create;

/** Nobody listens there. */
const proxyUrl = 'http://127.0.0.1:9';

/** What the vendors have announced; `undefined` is the provider's default. */
const announced: readonly (readonly [Name, string | undefined, string])[] = [
  ['ThetaTTS', undefined, 'retires tts-1 on 2027-01-06'],
  ['ThetaTTS', 'tts-1-hd', 'retires tts-1-hd on 2027-01-06'],
  ['ThetaTTS', 'gpt-4o-mini-tts', 'retires gpt-4o-mini-tts on 2027-01-06'],
  ['ThetaTTS', 'gpt-4o-mini-tts-2025-12-15', 'retires gpt-4o-mini-tts-2025-12-15 on 2027-01-06'],
  ['ThetaRealtimeSTT', undefined, 'retires gpt-4o-mini-transcribe on 2027-02-26; use gpt-live-transcribe'],
  ['ThetaRealtimeSTT', 'gpt-4o-transcribe', 'retires gpt-4o-transcribe on 2027-02-26; use gpt-live-transcribe'],
  ['ThetaRealtimeSTT', 'whisper-1', 'retires whisper-1 on 2027-02-26; use gpt-live-transcribe'],
  ['ThetaLLM', 'gpt-4.1-mini', 'retires gpt-4.1-mini on 2027-01-14; use gpt-6-luna'],
  ['ThetaLLM', 'gpt-5', 'retires gpt-5 on 2026-12-11; use gpt-6.1-sol'],
  ['ThetaLLM', 'gpt-5-mini', 'retires gpt-5-mini on 2026-12-11; use gpt-6.1-terra'],
  ['ThetaLLM', 'gpt-5-nano', 'retires gpt-5-nano on 2026-12-11; use gpt-6-luna'],
  ['ThetaLLM', 'gpt-5-pro', 'retires gpt-5-pro on 2026-12-11; use gpt-6.1-sol'],
  ['ThetaLLM', 'o3-2025-04-16', 'retires o3-2025-04-16 on 2026-12-11; use gpt-6.1-sol'],
  ['ThetaLLM', 'gpt-4.1-nano', 'has retired gpt-4.1-nano; use gpt-5.6-luna'],
  ['ThetaLLM', 'o4-mini', 'has retired o4-mini; use gpt-5.6-terra'],
  ['OmicronLLM', 'gemini-2.5-flash', 'retires gemini-2.5-flash on 2026-12-01; use gemini-3.5-flash-lite'],
  ['OmicronLLM', 'gemini-2.5-pro', 'retires gemini-2.5-pro on 2026-12-01; use gemini-3.8-flash'],
  ['NuLLM', undefined, 'has retired llama-3.3-70b-versatile; use openai/gpt-oss-120b'],
  ['GammaTTS', undefined, 'no longer lists eleven_turbo_v2_5; use eleven_flash_v2_5'],
  ['GammaTTS', 'turbo_v2_5', 'no longer lists eleven_turbo_v2_5; use eleven_flash_v2_5'],
  ['PsiTTS', 's1', 'retires s1 on 2026-12-31; use s2.1-pro'],
  ['ChiTTS', 'speech-01-hd', 'no longer lists speech-01-hd; use speech-2.8-hd'],
  ['ChiTTS', 'speech-01-turbo', 'no longer lists speech-01-turbo; use speech-2.8-hd'],
  ['DeltaSTT', 'stt-rt-v4', 'has retired stt-rt-v4; use stt-rt-v6'],
  ['MuLLM', 'claude-sonnet-4-5-20250929', 'retires claude-sonnet-4-5-20250929 on 2026-11-30; use claude-sonnet-5-5'],
  ['XiLLM', 'mistral-large-2411', 'has retired mistral-large-2411; use mistral-large-latest'],
  ['PiTTS', 'sonic-2-2025-03-07', 'has retired sonic-2-2025-03-07; use sonic-3'],
  ['PhiTTS', 'arcana', 'has retired arcana; use coda'],
  ['RhoTTS', 'simba-english', 'has retired simba-english; use simba-3.2'],
  ['TauTTS', 'aurora', 'has retired aurora; use blizzard'],
  ['ThetaAgent', 'gpt-realtime', 'retires gpt-realtime on 2027-01-20; use gpt-realtime-2.1'],
  ['OmicronAgent', 'gemini-2.0-flash-live-001', 'has retired gemini-2.0-flash-live-001; use gemini-3.8-live'],
];

const living: readonly (readonly [Name, string | undefined])[] = [
  ['ThetaTTS', 'tts-2'],
  ['ThetaRealtimeSTT', 'gpt-live-transcribe'],
  ['ThetaLLM', 'gpt-5.4-mini'],
  ['OmicronLLM', undefined],
  ['NuLLM', 'openai/gpt-oss-20b'],
  ['GammaTTS', 'flash_v2_5'],
  ['PsiTTS', undefined],
  ['ChiTTS', undefined],
  ['DeltaSTT', undefined],
  ['MuLLM', 'claude-sonnet-5-5'],
  ['XiLLM', undefined],
  ['PiTTS', undefined],
  ['PhiTTS', undefined],
  ['RhoTTS', undefined],
  ['TauTTS', undefined],
  ['ThetaAgent', undefined],
  ['OmicronAgent', undefined],
];

describe('Models retire', () => {
  const providers: { dispose(): Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(providers.splice(0).map((each) => each.dispose()));
  });

  /** A provider, and what it says of its models: as errors, and to its logger. */
  function listened(name: Name, model?: string) {
    const provider = create[name]({ proxyUrl, ...(model !== undefined && { model }) }) as Provider<object>;
    providers.push(provider);
    const errors: VoiceError[] = [];
    provider.errors$.pipe(filter(({ code }) => code === 'retiring')).subscribe((error) => errors.push(error));
    const lines: string[] = [];
    const write = (line: string): void => void lines.push(line);
    const logger = createLogger({ debug: write, info: write, warn: write, error: write });
    const logged = (): string[] => lines.filter((line) => /retire|no longer lists/.test(line));
    return { provider, errors, logged, initialize: () => provider.initialize({ logger }) };
  }

  for (const [name, model, sentence] of announced) {
    it(`${name} with ${model ?? 'its default'}: ${sentence}`, async () => {
      const { errors, logged, initialize } = listened(name, model);
      await initialize();
      await toldAll();
      const message: unknown = expect.stringContaining(`${name}: the service ${sentence}`);
      expect(errors).toMatchObject([{ code: 'retiring', recoverable: true, provider: name, message }]);
      expect(logged()).toEqual([message]);
    });
  }

  for (const [name, model] of living) {
    it(`${name} says nothing of ${model ?? 'its default'}`, async () => {
      const { errors, initialize } = listened(name, model);
      await initialize();
      await toldAll();
      expect(errors).toEqual([]);
    });
  }

  for (const [name, key, old, alive] of [
    ['ThetaLLM', 'model', 'gpt-4.1-mini', 'gpt-5.4-mini'],
    ['ThetaRealtimeSTT', 'model', 'whisper-1', 'gpt-live-transcribe'],
    ['GammaTTS', 'modelId', 'turbo_v2_5', 'flash_v2_5'],
  ] as const) {
    it(`${name} tells of a model once, also when it is configured later`, async () => {
      const { provider, errors, logged, initialize } = listened(name, alive);
      provider.updateConfig({ [key]: old });
      await toldAll();
      expect(errors).toEqual([]);
      await initialize();
      await toldAll();
      expect(errors).toHaveLength(1);
      provider.updateConfig({ [key]: alive });
      provider.updateConfig({ [key]: old });
      await provider.dispose();
      await initialize();
      await toldAll();
      expect([errors.length, logged().length]).toEqual([1, 1]);
    });

    it(`${name} tells of a model that it changes to while it runs`, async () => {
      const { provider, errors, initialize } = listened(name, alive);
      await initialize();
      await toldAll();
      expect(errors).toEqual([]);
      provider.updateConfig({ [key]: old });
      await toldAll();
      expect(errors.map(({ message }) => message.includes(old))).toEqual([true]);
    });
  }

  it('is an event of a pipeline that runs on, and no reason for a chain to switch', async () => {
    const fakes = { input: new FakeInput(), stt: new FakeSTT(), tts: new FakeTTS(), output: new FakeOutput() };
    const llm = fallback(new NuLLM({ proxyUrl }) as LLMProvider, new FakeLLM());
    const pipeline = new Pipeline({ providers: [fakes.input, fakes.stt, llm, fakes.tts, fakes.output] });
    providers.push(pipeline);
    const events: VoiceEvent[] = [];
    pipeline.events$.subscribe((event) => events.push(event));
    await pipeline.start();
    await toldAll();
    expect(events.filter(({ type }) => type === 'error' || type === 'provider.fallback')).toMatchObject([
      { type: 'error', code: 'retiring', recoverable: true, role: 'llm', provider: 'NuLLM' },
    ]);
    expect([pipeline.state, llm.name]).toEqual(['running', 'NuLLM']);
  });
});
