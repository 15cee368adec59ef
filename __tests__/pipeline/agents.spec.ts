/** Agents and languages bring models and voices of their own, which live and play as the pipeline's own do. */
import { firstValueFrom, of, Subject, toArray } from 'rxjs';
import {
  AlphaAgent,
  handoff,
  Pipeline,
  VoiceError,
  type AudioChunk,
  type AudioMetadata,
  type ConnectionEvent,
  type PipelineOptions,
  type PipelineUpdate,
} from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { adapt } from '../../lib/pipeline/audio-path.ts';
import { TestClock } from '../transport/test-clock.ts';

function rig(options: Partial<PipelineOptions>): { pipeline: Pipeline; stt: FakeSTT } {
  const stt = new FakeSTT();
  const providers = [new FakeInput(), stt, new FakeLLM(), new FakeTTS(), new FakeOutput()];
  return { pipeline: new Pipeline({ providers, ...options }), stt };
}

describe('an agent behind one connection', () => {
  it.each([
    ['the connection', 'connection', 3],
    ['a service that is overloaded', 'overloaded', 3],
    ['a service that has refused the credential', 'unauthorized', 1],
    ['a service that has ended the conversation', 'server', 1],
  ] as const)('that has lost %s is connected again, unless that was meant', async (_, code, connects) => {
    const scheduler = new TestClock();
    const connection$ = new Subject<ConnectionEvent>();
    const failure = new VoiceError('no longer', { code });
    const answers = [Promise.resolve(), Promise.reject(failure), Promise.resolve()];
    answers[1]?.catch(() => undefined);
    const asked: unknown[] = [];
    const agent = Object.assign(new AlphaAgent({ apiKey: 'key', scheduler }), {
      connection$,
      connect: (): Promise<void> => {
        asked.push(code);
        return answers[asked.length - 1] ?? Promise.resolve();
      },
    });
    const pipeline = new Pipeline({ providers: [new FakeInput(), agent, new FakeOutput()], scheduler });
    await pipeline.start();
    connection$.next({ type: 'lost', error: failure });
    await scheduler.advance(60_000);
    expect(asked).toHaveLength(connects);
    await pipeline.dispose();
  });
});

describe('agents and voices', () => {
  it('are initialized and disposed with the pipeline, each once', async () => {
    const calls: string[] = [];
    const llm = new FakeLLM();
    const [tts, es] = [new FakeTTS(), new FakeTTS()];
    for (const [name, provider] of Object.entries({ llm, tts, es })) {
      for (const method of ['initialize', 'dispose'] as const) {
        const own = provider[method].bind(provider);
        provider[method] = () => {
          calls.push(`${name} ${method}`);
          return own();
        };
      }
    }
    const { pipeline } = rig({ agents: { one: { llm, tts }, two: { tts } }, voices: { es }, followLanguage: true });
    await pipeline.start();
    await pipeline.dispose();
    expect(calls.sort()).toEqual([
      'es dispose',
      'es initialize',
      'llm dispose',
      'llm initialize',
      'tts dispose',
      'tts initialize',
    ]);
  });

  it('are warmed at the start if they answer first, and the others are not', async () => {
    const warmed: string[] = [];
    const warm = (name: string) => ({ warm: () => void warmed.push(name) });
    const llm = Object.assign(new FakeLLM(), warm('first model'));
    const [first, second] = ['first voice', 'second voice'].map((name) => Object.assign(new FakeTTS(), warm(name)));
    if (!first || !second) throw new Error('no voices');
    for (const [agent, expected] of [
      [undefined, ['first model', 'first voice']],
      ['two', ['second voice']],
    ] as const) {
      warmed.length = 0;
      const agents = { one: { llm, tts: first }, two: { tts: second } };
      const { pipeline } = rig({ agents, ...(agent === undefined ? {} : { agent }) });
      await pipeline.start();
      expect(warmed).toEqual(expected);
      await pipeline.dispose();
    }
  });

  it('that the output cannot play are refused before they are heard', async () => {
    const mute = new FakeTTS();
    mute.getMetadata = () => ({ encoding: 'aac', sampleRate: 8_000, channels: 9 });
    const { pipeline } = rig({ agents: { one: { tts: mute } } });
    await expect(pipeline.initialize()).rejects.toMatchObject({ code: 'unsupported_format' });
    await pipeline.dispose();
  });

  it.each<readonly [object, string]>([
    [{ agents: {} }, 'agents must be an object of at least one agent, by name'],
    [{ agents: 'reception' }, 'agents must be an object of at least one agent, by name'],
    [{ agents: { one: null } }, 'agents.one must be an object'],
    [{ agents: { one: { systemPrompt: 1 } } }, 'agents.one has a systemPrompt that is not a string'],
    [{ agents: { one: { tools: [{}] } } }, 'agents.one has tools without name or execute()'],
    [{ agents: { one: { tools: [handoff('a'), handoff('a')] } } }, 'tools has two tools named hand_over_to_a'],
    [{ agents: { one: { llm: {} } } }, 'agents.one has an llm that is not a language model'],
    [{ agents: { one: { tts: {} } } }, 'agents.one has a tts that is not a voice'],
    [{ agents: { one: { answer: { maxTokens: 0 } } } }, 'agents.one answer.maxTokens must be a whole number'],
    [{ agents: { one: {} }, agent: 'two' }, 'agent must be the name of one of agents (one), not "two"'],
    [{ agent: 'two' }, 'agent must be the name of one of agents (there are none), not "two"'],
    [{ voices: { es: new FakeTTS() } }, 'voices need followLanguage: true'],
    [{ voices: { es: new FakeTTS() }, followLanguage: false }, 'voices need followLanguage: true'],
    [{ voices: { 'not a language': new FakeTTS() }, followLanguage: true }, 'voices has "not a language"'],
    [{ voices: { es: {} }, followLanguage: true }, 'voices.es must be a text-to-speech provider'],
    [{ followLanguage: 'es' }, 'followLanguage must be true or false'],
  ])('%j is refused', async (options, message) => {
    await expect(rig(options).pipeline.initialize()).rejects.toThrow(message);
  });

  it('are still there when update() has stopped following the language, and may be used again', async () => {
    const options = { voices: { es: new FakeTTS() }, followLanguage: true };
    const { pipeline } = rig(options);
    const told: unknown[] = [];
    pipeline.on('session.updated', ({ changed }) => told.push(...changed));
    await pipeline.start();
    pipeline.update({ followLanguage: false });
    pipeline.update({ systemPrompt: 'Be brief.' });
    pipeline.update({ followLanguage: undefined });
    pipeline.update({ followLanguage: true });
    expect(told).toEqual(['followLanguage', 'systemPrompt', 'followLanguage', 'followLanguage']);
    await pipeline.dispose();
    // Before initialize(), too.
    const { pipeline: later } = rig(options);
    later.update({ followLanguage: false });
    await later.initialize();
    await later.dispose();
  });

  it('belong to an agent service if there is one', () => {
    const providers = [new FakeInput(), new AlphaAgent({ apiKey: 'key' }), new FakeOutput()];
    expect(() => new Pipeline({ providers, agents: { one: {} } })).toThrow('AlphaAgent handles agents itself');
  });

  it('may be chosen by update(), and the first one again', async () => {
    const { pipeline } = rig({ agents: { one: {}, two: {} } });
    const told: unknown[] = [];
    pipeline.on('agent.handoff', ({ from, to }) => told.push([from, to]));
    await pipeline.start();
    pipeline.update({ agent: 'two' });
    pipeline.update({ agent: undefined });
    expect(() => pipeline.update({ agent: 'three' })).toThrow('agent must be the name of one of agents (one, two)');
    expect(() => pipeline.update({ agents: {} } as PipelineUpdate)).toThrow('update() cannot change agents');
    expect(told).toEqual([
      ['one', 'two'],
      ['two', 'one'],
    ]);
    await pipeline.dispose();
  });
});

describe('a speech of several voices', () => {
  const format = (sampleRate: number): AudioMetadata => ({
    encoding: 'linear16',
    sampleRate,
    channels: 1,
    bitDepth: 16,
  });
  const chunk = (sampleRate: number, ms: number, value: number): AudioChunk => {
    const samples = new Int16Array((sampleRate * ms) / 1_000).fill(value);
    return { data: new Uint8Array(samples.buffer), metadata: format(sampleRate) };
  };
  const play = (...chunks: AudioChunk[]): Promise<AudioChunk[]> => {
    const told: string[] = [];
    const ends = { source: 'FakeTTS', target: 'FakeOutput' };
    const to = adapt([{ encoding: 'linear16', sampleRates: [8_000] }], ends, ({ from }) =>
      told.push(String(from.sampleRate)),
    );
    return firstValueFrom(of(...chunks).pipe(to, toArray()));
  };
  const seconds = (chunks: readonly AudioChunk[]): number =>
    chunks.reduce((sum, { data }) => sum + data.byteLength, 0) / 2 / 8_000;

  it('plays whole and in order, in whatever formats they speak', async () => {
    const orders = [
      [8_000, 24_000],
      [24_000, 8_000],
      [24_000, 16_000],
      [8_000, 16_000, 8_000, 24_000],
    ];
    for (const rates of orders) {
      const played = await play(...rates.map((rate, index) => chunk(rate, 500, 1_000 * (index + 1))));
      expect(played.every(({ metadata }) => metadata?.sampleRate === 8_000)).toBe(true);
      expect(seconds(played)).toBeCloseTo(rates.length / 2, 1);
      const samples = played.flatMap(({ data }) => [...new Int16Array(data.slice().buffer)]);
      const middles = rates.map((_, index) => samples[Math.round((index + 0.5) * 4_000)] ?? 0);
      expect(middles.map((each) => Math.round(each / 1_000))).toEqual(rates.map((_, index) => index + 1));
    }
  });

  it('fails when one of them speaks what the output cannot play', async () => {
    const strange: AudioChunk = {
      data: new Uint8Array(10),
      metadata: { encoding: 'aac', sampleRate: 8_000, channels: 9 },
    };
    await expect(play(chunk(8_000, 100, 1), strange)).rejects.toMatchObject({ code: 'unsupported_format' });
    await expect(play(chunk(24_000, 100, 1), strange)).rejects.toMatchObject({ code: 'unsupported_format' });
  });
});
