/**
 * Options as an application without TypeScript gives them, or one in a hurry: what cannot work is refused with a
 * sentence that says what to write, before anybody wonders why the agent does not do as it was told.
 */
import { inspect } from 'node:util';
import { AlphaAgent, History, Pipeline, type EndOfTurn, type PipelineOptions, type Tool } from 'rxvoice';
import * as library from 'rxvoice';
import { scorer, silence } from 'rxvoice/endpointing';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { energyVad } from 'rxvoice/vad';
import { z } from 'zod';
import { VoiceError } from '../../lib/core/errors.ts';
import { assertOptions } from '../../lib/pipeline/option-rules.ts';
import { everyProvider } from './support/every-provider.ts';

const everyone = (): PipelineOptions['providers'] => [
  ...[new FakeInput(), new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput()],
];

/** What was thrown, or what a promise was rejected with. */
async function refusal(attempt: () => unknown): Promise<string> {
  try {
    await attempt();
  } catch (error) {
    if (VoiceError.is(error) && error.code === 'configuration') return error.message;
    throw error;
  }
  throw new Error('It was not refused.');
}

/** A tool with a schema only, of a library that tells its JSON Schema like this. */
function told(jsonSchema?: object): object {
  const schema = {
    '~standard': { version: 1, vendor: 'zod', validate: (value: unknown) => ({ value }), jsonSchema },
  };
  return { name: 'book', schema, execute: () => 'done' };
}

describe('new Pipeline()', () => {
  const mute =
    'Pipeline: the tool book has no parameters, and its schema tells no JSON Schema: ' +
    "write what the model may pass as parameters: { type: 'object', properties: { … } }";
  const write = 'Pipeline: providers must be an array: write new Pipeline({ providers: [new NuLLM({ … }), … ] })';
  const cases: readonly (readonly [string, readonly unknown[], string])[] = [
    ['no argument at all', [], write],
    ['null', [null], write],
    ['no options', [{}], write],
    ['a misspelt "providers"', [{ provider: [] }], write],
    ['a provider without its array', [{ providers: new FakeLLM() }], write],
    [
      'a class in place of a provider',
      [{ providers: [new FakeInput(), FakeSTT] }],
      'Pipeline: providers[1] is not a provider: write new NuLLM({ … }), or an object with roles',
    ],
    [
      'nothing in place of a provider',
      [{ providers: [undefined] }],
      'Pipeline: providers[0] is not a provider: write new NuLLM({ … }), or an object with roles',
    ],
    [
      'no providers',
      [{ providers: [] }],
      'The pipeline has no stt provider: add a speech-to-text provider such as AlphaSTT or AlphaFlux, or an agent such as AlphaAgent',
    ],
    ['a tool that cannot tell its arguments', [{ providers: everyone(), tools: [told()] }], mute],
    ['that of an agent', [{ providers: everyone(), agents: { clerk: { tools: [told()] } } }], mute],
  ];
  for (const [what, given, sentence] of cases) {
    it(`refuses ${what}`, async () => {
      const create = Pipeline as unknown as new (...all: readonly unknown[]) => Pipeline;
      expect(await refusal(() => new create(...given))).toBe(sentence);
    });
  }

  it('takes a tool that cannot tell its arguments, but has parameters; update() refuses one that has none', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    await using pipeline = new Pipeline({
      providers: everyone(),
      tools: [{ ...told(), parameters }] as unknown as readonly Tool[],
    });
    expect(await refusal(() => pipeline.update({ tools: [told()] as unknown as readonly Tool[] }))).toBe(mute);
  });
});

/** As a class of JavaScript, of which something was forgotten. */
const without = (provider: object, key: string): object =>
  new Proxy(provider, { get: (target, name) => (name === key ? undefined : (Reflect.get(target, name) as unknown)) });

describe('a provider that does not keep its contract', () => {
  const roles = { input: FakeInput, stt: FakeSTT, llm: FakeLLM, tts: FakeTTS, output: FakeOutput };
  const stream = 'an Observable';
  const method = 'a method';
  const cases: readonly (readonly [keyof typeof roles, string, string])[] = [
    ...['initialize', 'dispose', 'generate'].map((key) => ['llm', key, method] as const),
    ...['speak'].map((key) => ['tts', key, method] as const),
    ...['start', 'stop', 'getMetadata'].map((key) => ['input', key, method] as const),
    ...['configureAudio', 'connect', 'disconnect', 'sendAudio'].map((key) => ['stt', key, method] as const),
    ...['play', 'stop', 'pause', 'resume'].map((key) => ['output', key, method] as const),
    ...[['input', 'audio$', stream] as const, ['stt', 'transcripts$', stream] as const],
    ['stt', 'speech$', stream],
    ...(['stt', 'output'] as const).map((role) => [role, 'accepts', 'an array of AudioFormats'] as const),
  ];
  const beginning = (role: keyof typeof roles, provider: object): Promise<string> => {
    const others = Object.entries(roles).flatMap(([each, Fake]) => (each === role ? [] : [new Fake()]));
    const pipeline = new Pipeline({ providers: [...others, provider as FakeLLM] });
    return refusal(() => pipeline.start());
  };
  for (const [role, key, what] of cases) {
    it(`is refused by its name: ${role} without ${key}`, async () => {
      const { name } = new roles[role]();
      const sentence = `Pipeline: ${name} needs ${key}, ${what}, to be a provider of ${role}: see https://github.com/rxvoice/rxvoice/blob/main/docs/custom-providers.md`;
      expect(await beginning(role, without(new roles[role](), key))).toBe(sentence);
    });
  }

  it.each([
    ['a number of channels', [{ encoding: 'linear16', channels: 1 }]],
    ['one sample rate', [{ encoding: 'linear16', sampleRates: 8000 }]],
    ['names of encodings', ['linear16']],
    ['one format', { encoding: 'linear16' }],
  ])('is refused where accepts has %s', async (_, accepts) => {
    const output = Object.defineProperty(new FakeOutput(), 'accepts', { value: accepts });
    expect(await beginning('output', output)).toContain('FakeOutput needs accepts, an array of AudioFormats');
  });

  it('is refused without a name, and with a role that there is not', async () => {
    expect(await beginning('llm', without(new FakeLLM(), 'name'))).toBe('Pipeline: providers[4] must have a name');
    const strange = Object.assign(new FakeTTS(), { roles: ['tts', 'speech'] });
    const sentence = 'Pipeline: FakeTTS has the role speech: there are only input, stt, llm, tts and output';
    expect(await beginning('tts', strange)).toBe(sentence);
  });
});

describe('a provider of the library', () => {
  it.each(everyProvider(library))('keeps its contract: %s', (_, provider) => {
    const providers = [provider] as PipelineOptions['providers'];
    expect(() => {
      assertOptions({ providers });
    }).not.toThrow();
  });
});

describe('an option that update() cannot change', () => {
  it.each<readonly [object, string]>([
    [{ history: { maxTurn: 5 } }, 'there is no option history.maxTurn, only history.maxTurns, history.maxTokens, '],
    [{ history: { maxTurns: -1 } }, 'history.maxTurns must be a number from 0 to Infinity, not -1'],
    [{ history: { maxTokens: '500' } }, 'history.maxTokens must be a number from 0 to Infinity, not "500"'],
    [{ history: [] }, 'history must be a History, or options of one'],
    [{ vad: true }, 'vad must be a voice detector'],
    [{ hearing: 'all' }, 'hearing must be a function'],
    [{ logger: console }, 'logger must be a Logger: write createLogger(console)'],
  ])('%j is refused by initialize()', async (options, sentence) => {
    await using pipeline = new Pipeline({ providers: everyone(), ...options });
    expect(await refusal(() => pipeline.initialize())).toContain(`Pipeline: ${sentence}`);
  });

  it.each([undefined, null, 'Be brief.', []])('%j, which is no object, is refused', async (changes) => {
    await using pipeline = new Pipeline({ providers: everyone() });
    expect(await refusal(() => pipeline.update(changes as object))).toBe(
      "Pipeline: update() takes an object: write update({ systemPrompt: '…' })",
    );
  });

  it('is taken where it can work', async () => {
    for (const history of [
      new History({ maxTurns: 5 }),
      { maxTurns: 5, countTokens: () => 1 },
      { maxTurns: undefined },
    ]) {
      await using pipeline = new Pipeline({ providers: everyone(), history, vad: energyVad() });
      await pipeline.initialize();
      expect(pipeline.state).toBe('ready');
    }
  });
});

describe('an option', () => {
  const cases: (readonly [object, string])[] = [
    [{ systemPromt: 'Be brief.' }, 'there is no option systemPromt: did you mean systemPrompt?'],
    [{ bargein: false }, 'there is no option bargein: did you mean bargeIn?'],
    [{ prompt: 'Be brief.' }, 'there is no option prompt, only systemPrompt, greeting, tools, turnTaking, '],
    [{ turnTaking: { sttTimeout: 1 } }, 'there is no option turnTaking.sttTimeout, only turnTaking.strategy, '],
    [{ bargeIn: { minWord: 3 } }, 'there is no option bargeIn.minWord, only bargeIn.pauseAfterMs, bargeIn.minWords, '],
    [{ bargeIn: { greeting: { minWord: 3 } } }, 'there is no option bargeIn.greeting.minWord, only bargeIn.greeting.'],
    [{ preflight: { enable: false } }, 'there is no option preflight.enable, only preflight.enabled, '],
    [{ timeouts: { idle: 5 } }, 'there is no option timeouts.idle, only timeouts.hookMs, '],
    [{ endpointing: { min: 5 } }, 'there is no option endpointing.min, only endpointing.minMs, endpointing.maxMs, '],
    [{ answer: { maxToken: 50 } }, 'there is no option answer.maxToken, only answer.maxTokens, '],
    [{ turnTaking: { strategy: 'silence' } }, 'turnTaking.strategy must be stt or manual, not "silence"'],
    [{ turnTaking: 'manual' }, "turnTaking must be an object: write { strategy: 'manual' }"],
    [{ endpointing: 'silence' }, 'endpointing must be a strategy such as silence(), or an object'],
    [{ locale: 5 }, 'locale must be a BCP 47 language such as en-US'],
    [{ answer: { toolChoice: 'any' } }, 'answer.toolChoice must be auto, required, none or { name }'],
    [{ answer: { toolChoice: {} } }, 'answer.toolChoice must be auto, required, none or { name }'],
    [{ answer: { seed: 'x' } }, 'answer.seed must be a whole number from '],
    [{ answer: { stopSequences: 'END' } }, 'answer.stopSequences must be an array of texts'],
    [{ answer: { responseFormat: 'json_object' } }, "answer.responseFormat must be 'json', a JSON Schema or "],
    [{ answer: { parallelToolCalls: 'no' } }, 'answer.parallelToolCalls must be true or false, not "no"'],
    [{ answer: { cacheKey: 5 } }, 'answer.cacheKey must be a text, not 5'],
  ];
  const noDates = (): never => {
    throw new Error('dates have none');
  };
  const write = "write what the model may pass as parameters: { type: 'object', properties: { … } }";
  const untold = 'the tool book has no parameters, and zod cannot turn the schema into JSON Schema: ';
  cases.push(
    [
      { tools: [{ name: 'book', parameters: { '~standard': { version: 1, vendor: 'zod' } }, execute: () => 'done' }] },
      'the tool book has a Standard Schema as its parameters, which are JSON Schema: name that key schema',
    ],
    [{ tools: [told({ input: noDates })] }, `${untold}dates have none; ${write}`],
    [
      { tools: [told({ input: () => ({ type: 'string' }) })] },
      `the tool book takes "string", but models pass an object; ${write}`,
    ],
  );
  cases.push([
    { tools: [{ name: 'weather', execute: () => 'dry', timeoutms: 5 }] },
    'the tool weather: there is no option timeoutms: did you mean timeoutMs?',
  ]);
  for (const name of ['get weather', 'wetter.jetzt', 'x'.repeat(65)]) {
    cases.push([
      { tools: [{ name, execute: () => 'done' }] },
      `models refuse the tool name "${name}": use 1 to 64 of a-z A-Z 0-9 _ -`,
    ]);
  }
  for (const [options, sentence] of cases) {
    it(`${JSON.stringify(options)} is refused by initialize(), start() and update()`, async () => {
      const begins = () => new Pipeline({ providers: everyone(), ...options });
      const [first, second, running] = [begins(), begins(), new Pipeline({ providers: everyone() })];
      expect(await refusal(() => first.initialize())).toContain(`Pipeline: ${sentence}`);
      expect(await refusal(() => second.start())).toContain(`Pipeline: ${sentence}`);
      await running.start();
      const update = await refusal(() => running.update(options));
      // What cannot change is not told apart from what is not there.
      const stray = ['systemPromt', 'bargein', 'prompt'].find((key) => key in options);
      expect(update).toContain(stray ? `update() cannot change ${stray}, only ` : sentence);
      await Promise.all([first, second, running].map((pipeline) => pipeline.dispose()));
    });
  }

  it.each<readonly [string, EndOfTurn, string]>([
    ['a strategy', silence({ minMs: NaN }), 'endpointing.minMs must be a number from 0 to Infinity, not NaN'],
    ['a scorer', scorer(() => 1, { maxMs: -1 }), 'endpointing.maxMs must be a number from 0 to Infinity, not -1'],
  ])('that is a bound of %s is refused as well', async (_, endpointing, sentence) => {
    const pipeline = new Pipeline({ providers: everyone(), endpointing });
    expect(await refusal(() => pipeline.start())).toBe(`Pipeline: ${sentence}`);
    await pipeline.dispose();
  });

  it('is no JSON Schema that a library made, which is a Standard Schema too', async () => {
    for (const made of [z.toJSONSchema(z.object({ city: z.string() })), z.toJSONSchema(z.object({}))]) {
      expect('~standard' in made).toBe(true);
      const tools: Tool[] = [{ name: 'weather', parameters: made, execute: () => 'dry' }];
      const pipeline = new Pipeline({ providers: everyone(), tools });
      await pipeline.initialize();
      await pipeline.dispose();
    }
    const tools = [{ name: 'weather', parameters: z.object({ city: z.string() }), execute: () => 'dry' }];
    const pipeline = new Pipeline({ providers: everyone(), tools: tools as unknown as Tool[] });
    expect(await refusal(() => pipeline.start())).toContain('name that key schema');
    await pipeline.dispose();
  });

  it('for one of several agents is refused as well', async () => {
    const options = { agents: { desk: { tools: [told({ input: noDates })] } } } as unknown as Partial<PipelineOptions>;
    const pipeline = new Pipeline({ providers: everyone(), ...options });
    expect(await refusal(() => pipeline.start())).toContain(`Pipeline: agents.desk ${untold}`);
    await pipeline.dispose();
  });

  const begun: readonly (readonly [object, string])[] = [
    [
      { agents: { desk: { systemPromt: 'Hi.' } } },
      'there is no option agents.desk.systemPromt, only agents.desk.system',
    ],
    [
      { agents: { desk: { answer: { maxToken: 5 } } } },
      'there is no option agents.desk.answer.maxToken, only agents.desk',
    ],
    [{ history: { maxToken: 50 } }, 'there is no option history.maxToken, only history.maxTurns, history.maxTokens, '],
    [{ history: 'none' }, 'history must be a History, or options of one'],
    [{ vad: {} }, 'vad must be a voice detector such as energyVad()'],
    [{ vad: energyVad }, 'vad must be a voice detector such as energyVad()'],
    [{ inputEvents: 'no' }, 'inputEvents must be true or false'],
    [{ scheduler: {} }, 'scheduler must be a SchedulerLike of RxJS'],
    [{ scheduler: 5 }, 'scheduler must be a SchedulerLike of RxJS'],
  ];
  for (const [options, sentence] of begun) {
    it(`${inspect(options)}, which does not change later, is refused by start()`, async () => {
      const pipeline = new Pipeline({ providers: everyone(), ...options });
      expect(await refusal(() => pipeline.start())).toContain(`Pipeline: ${sentence}`);
      await pipeline.dispose();
    });
  }

  it('of send() and say() that there is not is refused, too', async () => {
    const pipeline = new Pipeline({ providers: everyone() });
    await pipeline.start();
    const send = (options: object) => refusal(() => pipeline.send('Hi', options).done);
    expect(await send({ interruptible: false })).toBe(
      'Pipeline: there is no option interruptible, only interrupt, images, answer',
    );
    expect(await send({ answer: { maxToken: 5 } })).toContain('Pipeline: there is no option answer.maxToken, only ');
    const say = (options: object) => refusal(() => pipeline.say('Hi', options).done);
    expect(await say({ interruptable: false })).toContain('there is no option interruptable, only interruptible, ');
    expect(await say({ interruptible: 'no' })).toContain('interruptible must be true or false, not "no"');
    expect(await say({ priority: 'urgent' })).toContain('priority must be normal or high, not "urgent"');
    expect(await send({ interrupt: 1 })).toContain('interrupt must be true or false, not 1');
    await pipeline.dispose();
  });

  it('of start() is refused when it is a controller, not its signal', async () => {
    await using pipeline = new Pipeline({ providers: everyone() });
    const signal = new AbortController() as unknown as AbortSignal;
    expect(await refusal(() => pipeline.start({ signal }))).toBe(
      'Pipeline: signal must be an AbortSignal: write { signal: controller.signal }',
    );
    expect(pipeline.state).toBe('idle');
  });

  it('is refused beside an agent, too', async () => {
    const providers = [new FakeInput(), new AlphaAgent({ apiKey: 'key' }), new FakeOutput()];
    const pipeline = new Pipeline({ providers, inputEvent: true } as PipelineOptions);
    expect(await refusal(() => pipeline.start())).toContain(
      'Pipeline: there is no option inputEvent: did you mean inputEvents?',
    );
    await pipeline.dispose();
  });

  it('that there is, is none of these; nor is one that is left undefined', async () => {
    const waits = { pauseAfterMs: 1, resumeAfterMs: 1, maxPauseMs: 1, voiceTimeoutMs: 1 };
    const thresholds = { ...waits, minWords: 2, minFinalWords: 1 };
    const options: Required<Omit<PipelineOptions, 'scheduler' | 'logger'>> = {
      ...{ providers: everyone(), history: new History(), inputEvents: false, vad: energyVad() },
      ...{ systemPrompt: 'Be brief.', greeting: 'Hello!', tools: [], locale: 'en', followLanguage: true },
      ...{ agents: { one: {} }, agent: 'one', voices: { es: new FakeTTS() } },
      turnTaking: { strategy: 'stt', sttTimeoutMs: 1 },
      endpointing: { minMs: 1, maxMs: 2, dynamic: true, maxTurnMs: 3 },
      bargeIn: {
        ...thresholds,
        ...{ thinking: thresholds, speaking: thresholds, greeting: thresholds },
        ...{ duckDb: 1, whileUninterruptible: 'queue', commands: [], backchannels: [], echoGuard: true },
      },
      preflight: { enabled: true, speak: false, maxStarts: 1, maxSpeechMs: 1, stableInterimMs: 1 },
      timeouts: {
        ...{ hookMs: 1, llmFirstTokenMs: 1, llmStallMs: 1, ttsFirstAudioMs: 1, ttsOverrunMs: 1, playoutMs: 1 },
        ...{ idleMs: 1, awayMs: 1 },
      },
      ...{ listening: [], onUnclear: () => undefined, onUserTurn: () => undefined },
      ...{ answer: {}, text: [], hearing: (transcripts$) => transcripts$ },
    };
    const pipeline = new Pipeline({ ...options, nothing: undefined } as PipelineOptions);
    await pipeline.initialize();
    expect(pipeline.state).toBe('ready');
    await pipeline.dispose();
  });
});
