import { config, from, NEVER, Subject } from 'rxjs';
import {
  Pipeline,
  type LLMEvent,
  type Logger,
  type LogSink,
  type PipelineOptions,
  type Tool,
  type VoiceEvent,
} from 'rxvoice';
import * as library from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { timersDue } from '../transport/test-clock.ts';
import { everyProvider, streamsOf } from './support/every-provider.ts';
import { ofType } from './support/timeline.ts';

/** What would have ended the process. */
const unhandled: unknown[] = [];

beforeEach(() => {
  unhandled.length = 0;
  config.onUnhandledError = (cause) => unhandled.push(cause);
});
afterEach(async () => {
  await timersDue();
  config.onUnhandledError = null;
  expect(unhandled).toEqual([]);
});

const broken = (): never => {
  throw new Error('it broke');
};
/** An async function, which TypeScript takes for a callback too. */
const rejecting = (() => Promise.reject(new Error('it broke'))) as () => never;

interface Rig {
  readonly pipeline: Pipeline;
  readonly stt: FakeSTT;
  readonly llm: FakeLLM;
  readonly tts: FakeTTS;
  readonly output: FakeOutput;
  readonly events: VoiceEvent[];
}

function rig(options: Partial<PipelineOptions> = {}): Rig {
  const stt = new FakeSTT();
  const llm = new FakeLLM({ firstTokenMs: 0, tokenMs: 0 });
  const tts = new FakeTTS({ latencyMs: 0, msPerCharacter: 1 });
  const output = new FakeOutput();
  const pipeline = new Pipeline({ providers: [new FakeInput(), stt, llm, tts, output], ...options });
  const events: VoiceEvent[] = [];
  pipeline.on('*', (event) => events.push(event));
  return { pipeline, stt, llm, tts, output, events };
}

/** One whole turn; its answer is heard. */
async function turn({ pipeline, stt }: Rig): Promise<void> {
  const ended = new Promise<VoiceEvent<'turn.ended'>>((resolve) => pipeline.once('turn.ended', resolve));
  stt.hearWords(FakeSTT.result('hello', 'final'));
  expect(await ended).toMatchObject({ reason: 'completed' });
}

const messages = ({ events }: Rig): string[] => ofType(events, 'error').map(({ message }) => message);

describe('application code that throws (F60)', () => {
  const ofPipeline = ['events$', 'state$', 'turns$', 'tokens$', 'audio$', 'metrics$'] as const;
  for (const name of ofPipeline) {
    it(`as a subscriber of the pipeline's ${name} costs nobody the turn, and is named once`, async () => {
      const rigged = rig();
      const first = rigged.pipeline[name].subscribe(broken);
      const seen: string[] = [];
      const second = rigged.pipeline[name].subscribe(({ type }) => seen.push(type));
      await rigged.pipeline.start();
      await turn(rigged);
      await turn(rigged);
      expect(seen.length).toBeGreaterThan(1);
      expect(messages(rigged)).toEqual([`a subscriber of ${name} threw: it broke`]);
      for (const subscription of [first, second]) subscription.unsubscribe();
      await rigged.pipeline.dispose();
    });
  }

  it('as a subscriber of errors$ is told of itself only once', async () => {
    const rigged = rig();
    const subscription = rigged.pipeline.errors$.subscribe(broken);
    await rigged.pipeline.start();
    rigged.llm.generate = () => new Subject<never>().pipe(() => broken());
    const said = rigged.pipeline.send('hello');
    await said.done;
    expect(messages(rigged)).toEqual(['FakeLLM: it broke', 'a subscriber of errors$ threw: it broke']);
    subscription.unsubscribe();
    await rigged.pipeline.dispose();
  });

  const ofProviders: readonly (readonly [string, (rig: Rig) => { unsubscribe(): void }])[] = [
    ['FakeSTT: a subscriber of transcripts$', ({ stt }) => stt.transcripts$.subscribe(broken)],
    ['FakeLLM: a subscriber of tokens$', ({ llm }) => llm.tokens$.subscribe(broken)],
    ['FakeTTS: a subscriber of audio$', ({ tts }) => tts.audio$.subscribe(broken)],
    ['FakeTTS: a subscriber of words$', ({ tts }) => tts.words$.subscribe({ next: broken })],
    ['FakeOutput: a subscriber of playback$', ({ output }) => output.playback$.subscribe(broken)],
    ['FakeLLM: a subscriber of state$', ({ llm }) => llm.state$.subscribe(broken)],
  ];
  for (const [what, subscribe] of ofProviders) {
    it(`as ${what.replace(':', ',')} costs nobody the turn, and is named`, async () => {
      const rigged = rig();
      const subscription = subscribe(rigged);
      await rigged.pipeline.start();
      await turn(rigged);
      expect(messages(rigged).every((message) => message === `${what} threw: it broke`)).toBe(true);
      // A subscriber of state$ breaks as it subscribes.
      expect(messages(rigged)).toHaveLength(1);
      expect(ofType(rigged.events, 'error')).toMatchObject([{ code: 'internal', provider: what.split(':')[0] }]);
      subscription.unsubscribe();
      await rigged.pipeline.dispose();
    });
  }

  it('as a callback of on() or once() that throws or rejects is named, and the others are called', async () => {
    const rigged = rig();
    const { pipeline } = rigged;
    const seen: string[] = [];
    pipeline.on('transcript.final', broken);
    pipeline.on('transcript.final', rejecting);
    pipeline.once('turn.ended', rejecting);
    pipeline.on('error', rejecting);
    pipeline.on('transcript.final', ({ text }) => seen.push(text));
    await pipeline.start();
    await turn(rigged);
    await timersDue();
    expect(seen).toEqual(['hello']);
    const ofFinal = 'a callback for transcript.final threw: it broke';
    expect(messages(rigged)).toEqual([ofFinal, ofFinal, 'a callback for turn.ended threw: it broke']);
    await pipeline.dispose();
  });

  const unreadable: Record<string, unknown> = {
    'an object for a message': Object.assign(new Error(), { message: { status: 500 } }),
    'a message that is no text': Object.assign(new Error(), { message: Object.create(null) as unknown }),
    'a message that cannot be read': Object.defineProperty({}, 'message', { get: broken }),
  };
  for (const [what, thrown] of Object.entries(unreadable)) {
    it(`as what throws an error with ${what} costs nobody the turn, and is named`, async () => {
      const breaks = (): never => {
        throw thrown;
      };
      const tool: Tool = { name: 'breaks', execute: breaks };
      const rigged = rig({ tools: [tool] });
      const { pipeline, llm, events } = rigged;
      const call: LLMEvent = { type: 'tool-call', id: '1', name: 'breaks', args: {}, argsText: '{}' };
      const calls: LLMEvent[] = [call, { type: 'done', finishReason: 'tool-calls' }];
      const answer = llm.generate.bind(llm);
      llm.generate = (sent, options) => (sent.at(-1)?.role === 'user' ? from(calls) : answer(sent, options));
      const subscription = pipeline.turns$.subscribe(breaks);
      pipeline.on('transcript.final', breaks);
      await pipeline.start();
      await turn(rigged);
      expect(messages(rigged).sort()).toEqual([
        'a callback for transcript.final threw: unknown error',
        'a subscriber of turns$ threw: unknown error',
      ]);
      expect(ofType(events, 'tool.error').map(({ content }) => content)).toEqual(['Error: unknown error.']);
      subscription.unsubscribe();
      await pipeline.dispose();
    });
  }

  it('as what throws ten megabytes of text is cut', async () => {
    const rigged = rig();
    const subscription = rigged.pipeline.turns$.subscribe(() => {
      throw new Error('it broke, '.repeat(1_000_000));
    });
    await rigged.pipeline.start();
    await turn(rigged);
    expect(messages(rigged).map(({ length }) => length < 20_000)).toEqual([true]);
    subscription.unsubscribe();
    await rigged.pipeline.dispose();
  });

  it('as a subscriber of the history is named', async () => {
    const rigged = rig();
    const subscription = rigged.pipeline.history.changes$.subscribe(broken);
    await rigged.pipeline.start();
    await turn(rigged);
    expect(messages(rigged)).toEqual(['a subscriber of changes$ threw: it broke']);
    subscription.unsubscribe();
    await rigged.pipeline.dispose();
  });

  it('as the history’s countTokens is named once, and the usual count goes on', async () => {
    const rigged = rig({ history: { maxTokens: 6, countTokens: broken } });
    await rigged.pipeline.start();
    await turn(rigged);
    await turn(rigged);
    expect(messages(rigged)).toEqual(['countTokens threw: it broke']);
    expect(ofType(rigged.events, 'history.truncated')).toHaveLength(1);
    await rigged.pipeline.dispose();
  });

  const sinkOf = (write: () => never): LogSink => ({ debug: write, info: write, warn: write, error: write });
  const loggerOf = (write: () => never): Logger => ({ ...sinkOf(write), scope: () => loggerOf(write) });
  for (const [what, logger] of Object.entries({
    'a logger that throws': loggerOf(broken),
    'a logger that rejects': loggerOf(rejecting),
    'a log sink that throws': library.createLogger(sinkOf(broken)),
    'a log sink that rejects': library.createLogger(sinkOf(rejecting)),
  })) {
    it(`as ${what} is named once, and costs nobody the turn`, async () => {
      const rigged = rig({ logger });
      const { pipeline, events } = rigged;
      pipeline.on('transcript.final', broken);
      await pipeline.start();
      await turn(rigged);
      await turn(rigged);
      await timersDue();
      expect(messages(rigged).filter((message) => message.startsWith('the logger'))).toEqual([
        'the logger threw: it broke',
      ]);
      expect(ofType(events, 'turn.ended')).toHaveLength(2);
      await pipeline.dispose();
    });
  }

  it('as the logger of one provider is named with the provider', async () => {
    const logger: Logger = { debug: broken, info: broken, warn: broken, error: broken, scope: () => logger };
    const llm = new library.NuLLM({ apiKey: 'sk-none', endpoint: 'http://127.0.0.1:9' }, logger);
    const told: string[] = [];
    const errors = llm.errors$.subscribe(({ message }) => told.push(message));
    const other = llm.tokens$.subscribe(broken);
    (llm as unknown as { report(error: library.VoiceError): void }).report(
      new library.VoiceError('something', { code: 'server' }),
    );
    expect(told).toEqual(['NuLLM: the logger threw: it broke', 'something']);
    errors.unsubscribe();
    other.unsubscribe();
    await llm.dispose();
  });

  it('as what code is announced with ends one speech', async () => {
    const codeBlock = broken;
    const rigged = rig({ text: [library.markdown({ codeBlock })] });
    const { pipeline, events } = rigged;
    await pipeline.start();
    await pipeline.say('Look: \n```js\n1\n```\n').done;
    expect(messages(rigged)).toEqual(['it broke']);
    expect(await pipeline.say('Still here.').done).toMatchObject({ heardText: 'Still here.' });
    expect(ofType(events, 'session.closed')).toEqual([]);
    await pipeline.dispose();
  });
});

describe('every provider', () => {
  const providers = everyProvider(library);

  it('is tried', () => {
    expect(providers.length).toBeGreaterThan(45);
  });

  for (const [name, provider] of providers) {
    it(`hands out guarded streams only: ${name}`, () => {
      // Only for subclasses.
      const { disposing$, ...streams } = streamsOf(provider);
      expect(disposing$).toBeDefined();
      expect(Object.keys(streams)).toContain('errors$');
      // A stream that never emits has nobody to break.
      const emitting = Object.values(streams).filter((stream$) => stream$ !== NEVER);
      expect(new Set(emitting.map(({ constructor }) => constructor.name))).toEqual(new Set(['PublicStream']));
    });
  }
});
