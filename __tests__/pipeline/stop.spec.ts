/** Slow: pipelines on the real clock, some of which say their last words to the end. */
import { NEVER, Subject, throwError } from 'rxjs';
import type { LLMEvent, VoiceEvent } from 'rxvoice';
import { Pipeline } from '../../lib/pipeline/pipeline.ts';
import {
  application,
  FakeInput,
  FakeLLM,
  FakeOutput,
  FakeSTT,
  FakeTTS,
  user,
  voiceTest,
  type VoiceStep,
  type VoiceTestOptions,
  type VoiceTestResult,
} from 'rxvoice/testing';
import { ofType } from './support/timeline.ts';

const done: LLMEvent = { type: 'done', finishReason: 'stop' };
const story = 'One two three four five. Six seven eight nine ten. Eleven twelve thirteen fourteen.';

/**
 * A conversation that passes through every state: greeting, listening, the user speaking, speculating, speculation void,
 * thinking before and after the first token, synthesizing, speaking, suspected, paused, resumed, interrupted, a tool
 * running, speaking again, something said and something waiting to be said, idle.
 */
const busy: Pick<VoiceTestOptions, 'steps' | 'llm' | 'tools' | 'greeting'> = {
  greeting: 'Welcome.',
  tools: [{ name: 'look', execute: () => NEVER, timeoutMs: 1_500 }],
  llm: {
    firstTokenMs: 300,
    tokenMs: 40,
    answer: (messages, request) => {
      if (request > 4) return 'Fine.';
      if (messages.at(-1)?.role === 'tool') return 'It took too long.';
      const calls = messages.some(({ content }) => content === 'look it up');
      return calls ? [{ type: 'tool-call', id: 'c1', name: 'look', args: {}, argsText: '{}' }, done] : story;
    },
  },
  steps: {
    800: user.starts,
    1_000: user.preflight('tell'),
    1_200: user.resumes,
    1_400: user.preflight('tell me'),
    1_600: [user.falls, user.final('tell me')],
    2_600: user.starts,
    2_900: user.falls,
    4_500: user.interim('hold on'),
    5_000: user.final('look it up'),
    8_000: [application.say('By the way.'), application.say('And another thing.')],
    12_000: application.send('typed'),
  },
};

function stopAt(ms: number): VoiceTestResult {
  const steps: Record<number, VoiceStep[]> = {};
  for (const [at, step] of Object.entries(busy.steps)) {
    steps[Number(at)] = Array.isArray(step) ? [...(step as VoiceStep[])] : [step as VoiceStep];
  }
  (steps[ms] ??= []).push(application.does('stop'));
  return voiceTest({ ...busy, steps, untilMs: 20_000 });
}

describe('stop, in every state', () => {
  it('ends each turn and speech, aborts each request, and is the last that happens', () => {
    const states = new Set<string>();
    for (let ms = 0; ms <= 14_000; ms += 193) {
      const { events, llm, tts } = stopAt(ms);
      const ids = (type: VoiceEvent['type'], key: 'turnId' | 'speechId'): unknown[] =>
        events.filter((event) => event.type === type).map((event) => event[key]);
      expect(ids('turn.ended', 'turnId').sort()).toEqual(ids('turn.started', 'turnId').sort());
      expect(ids('speech.ended', 'speechId').sort()).toEqual(ids('speech.created', 'speechId').sort());
      expect(llm.requests.filter(({ outcome }) => outcome === 'running')).toEqual([]);
      expect(tts.cancelled).toBeLessThanOrEqual(2);
      expect(events.at(-1)?.at).toBeLessThanOrEqual(ms);
      for (const { type } of events.slice(-12)) states.add(type);
      states.add(ofType(events, 'agent.state').at(-2)?.state ?? 'idle');
    }
    expect([...states]).toEqual(
      expect.arrayContaining(['speaking', 'thinking', 'bargeIn.paused', 'preflight.started', 'tool.call']),
    );
  });
});

/** What keeps the process alive: timers. */
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

/**
 * The timers that are left after 250 ms of this process's own time, of which a busy machine takes none away; the runner's
 * own come and go meanwhile.
 */
async function timersWithin250Ms(wanted: number): Promise<number> {
  const since = process.cpuUsage();
  const spentMs = (): number => process.cpuUsage(since).user / 1000;
  while (timers() > wanted && spentMs() < 250) await new Promise((resolve) => setImmediate(resolve));
  return timers();
}

interface Rig {
  readonly pipeline: Pipeline;
  readonly stt: FakeSTT;
  readonly llm: FakeLLM;
  readonly tts: FakeTTS;
  readonly hangUp: () => void;
}

describe('dispose and stop of a pipeline on the real clock (F43)', () => {
  const rig = (): Rig => {
    const callEnded$ = new Subject<void>();
    const input = Object.assign(new FakeInput(), { callEnded$ });
    const stt = new FakeSTT();
    const llm = new FakeLLM({ firstTokenMs: 20, tokenMs: 1, answer: () => story });
    const tts = new FakeTTS({ latencyMs: 10 });
    const pipeline = new Pipeline({ providers: [input, stt, llm, tts, new FakeOutput()] });
    return { pipeline, stt, llm, tts, hangUp: () => callEnded$.next() };
  };
  const next = (pipeline: Pipeline, type: VoiceEvent['type']): Promise<unknown> =>
    new Promise((resolve) => pipeline.once(type, resolve));
  const never = (): Promise<void> => new Promise(() => undefined);
  const reach: Record<string, (pipeline: Pipeline, stt: FakeSTT, rig: Rig) => Promise<unknown>> = {
    idle: () => Promise.resolve(),
    initialized: (pipeline) => pipeline.initialize(),
    listening: (pipeline) => pipeline.start(),
    starting: (pipeline) => {
      void pipeline.start().catch(() => undefined);
      return Promise.resolve();
    },
    initializing: async (pipeline, _, { llm }) => {
      llm.initialize = never;
      void pipeline.start().catch(() => undefined);
      await Promise.resolve();
    },
    connecting: async (pipeline, stt) => {
      stt.connect = never;
      void pipeline.start().catch(() => undefined);
      await next(pipeline, 'agent.state');
    },
    'saying what was asked for': async (pipeline) => {
      await pipeline.start();
      pipeline.say(story);
      pipeline.say('And more.');
      await next(pipeline, 'speech.started');
    },
    'writing an answer': async (pipeline, stt, { llm }) => {
      llm.updateConfig({ tokenMs: 10_000 });
      await pipeline.start();
      stt.hearWords(FakeSTT.result('tell me', 'final'));
      await next(pipeline, 'llm.token');
    },
    synthesizing: async (pipeline, stt, { tts }) => {
      tts.updateConfig({ latencyMs: 10_000 });
      await pipeline.start();
      stt.hearWords(FakeSTT.result('tell me', 'final'));
      await next(pipeline, 'speech.created');
    },
    'waiting for a final': async (pipeline, stt) => {
      await pipeline.start();
      stt.hearWords(FakeSTT.result('tell', 'interim'));
    },
    draining: async (pipeline) => {
      await pipeline.start();
      pipeline.say(story);
      await next(pipeline, 'speech.started');
      void pipeline.stop({ drain: true });
    },
    'after an error': async (pipeline, stt, { llm }) => {
      llm.generate = () => throwError(() => new Error('it broke'));
      await pipeline.start();
      stt.hearWords(FakeSTT.result('tell me', 'final'));
    },
    thinking: async (pipeline, stt) => {
      await pipeline.start();
      stt.hearWords(FakeSTT.result('tell me', 'final'));
    },
    speculating: async (pipeline, stt) => {
      await pipeline.start();
      stt.hearWords(FakeSTT.result('tell me', 'preflight'));
    },
    speaking: async (pipeline, stt) => {
      await pipeline.start();
      const speaking = new Promise((resolve) => pipeline.once('speech.started', resolve));
      stt.hearWords(FakeSTT.result('tell me', 'final'));
      await speaking;
    },
    paused: async (pipeline, stt) => {
      await pipeline.start();
      const paused = new Promise((resolve) => pipeline.once('bargeIn.paused', resolve));
      pipeline.once('speech.started', () => {
        stt.hearVoice('started');
      });
      stt.hearWords(FakeSTT.result('tell me', 'final'));
      await paused;
    },
    stopping: async (pipeline) => {
      await pipeline.start();
      void pipeline.stop();
    },
  };
  const ends: Record<string, (pipeline: Pipeline, hangUp: () => void) => Promise<unknown>> = {
    stop: (pipeline) => pipeline.stop(),
    dispose: (pipeline) => pipeline.dispose(),
    'two disposes at once': (pipeline) => Promise.all([pipeline.dispose(), pipeline.dispose()]),
    'stop and dispose at once': (pipeline) => Promise.all([pipeline.stop(), pipeline.dispose()]),
    'the end of the call': (pipeline, hangUp) => {
      hangUp();
      return pipeline.dispose();
    },
  };
  for (const [state, goThere] of Object.entries(reach)) {
    for (const [how, end] of Object.entries(ends)) {
      it(`${how}, ${state}: settles and leaves no timer`, async () => {
        const { pipeline, stt, ...rest } = rig();
        const before = timers();
        await goThere(pipeline, stt, { pipeline, stt, ...rest });
        await end(pipeline, rest.hangUp);
        expect(await timersWithin250Ms(before)).toBeLessThanOrEqual(before);
        await pipeline.dispose();
        expect(pipeline.state).toBe('disposed');
      });
    }
  }
});
