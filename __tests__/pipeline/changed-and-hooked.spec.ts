/**
 * A running pipeline can be changed and hooked: what the application sets or decides in the middle of a call holds from
 * the moment that the documentation promises, through a whole Pipeline; and none of its functions can end the call.
 */
import {
  handoff,
  Pipeline,
  type AnswerOptions,
  type LLMEvent,
  type Message,
  type PipelineOptions,
  type TranscriptionResult,
  type VoiceEvent,
} from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, type FakeLLMConfig } from 'rxvoice/testing';
import { loadPhrases } from '../../lib/text/phrases.ts';
import { settle, TestClock } from '../transport/test-clock.ts';
import { ofType } from './support/timeline.ts';

interface Call {
  readonly pipeline: Pipeline;
  readonly clock: TestClock;
  readonly stt: FakeSTT;
  readonly llm: FakeLLM;
  readonly tts: FakeTTS;
  readonly events: VoiceEvent[];
  readonly says: (text: string, metadata?: TranscriptionResult['metadata']) => void;
  /** What the model was told of the system and of the user, by request. */
  readonly asked: () => readonly (readonly (string | undefined)[])[];
}

async function call(
  options: Partial<PipelineOptions>,
  answer?: FakeLLMConfig['answer'],
  clock = new TestClock(),
): Promise<Call> {
  const config = { scheduler: clock };
  const [stt, llm, tts] = [
    new FakeSTT(config),
    new FakeLLM(answer ? { ...config, answer } : config),
    new FakeTTS(config),
  ];
  const providers = [new FakeInput(config), stt, llm, tts, new FakeOutput(config)];
  const pipeline = new Pipeline({ providers, ...config, ...options });
  const events: VoiceEvent[] = [];
  pipeline.events$.subscribe((event) => events.push(event));
  await pipeline.start();
  const says: Call['says'] = (text, metadata) =>
    stt.hearWords({ ...FakeSTT.result(text, 'final'), ...(metadata ? { metadata } : {}) });
  const last = (messages: readonly Message[], role: Message['role']): string | undefined =>
    messages.findLast((message) => message.role === role)?.content;
  const asked: Call['asked'] = () =>
    llm.requests.map(({ messages }) => [last(messages, 'system'), last(messages, 'user')]);
  return { pipeline, clock, stt, llm, tts, events, says, asked };
}

const long = 'One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen.';
const reasons = (events: readonly VoiceEvent[]): string[] => ofType(events, 'turn.ended').map(({ reason }) => reason);

/** A language's phrases have reached the conversation that asked for them first. */
async function phrasesLoaded(language: string): Promise<void> {
  await loadPhrases(language);
  await settle();
}

describe('onUserTurn', () => {
  it('that drops a message leaves alone what the application says, whether it can be interrupted or not', async () => {
    for (const interruptible of [true, false]) {
      let decide: (verdict: { refuse: string }) => void = () => undefined;
      const { pipeline, clock, says, events } = await call({
        onUserTurn: () => new Promise((resolve) => (decide = resolve)),
      });
      says('you have reached nobody');
      await clock.advance(100);
      const said = pipeline.say(long, { interruptible });
      await clock.advance(1_000);
      decide({ refuse: '' });
      await clock.advance(20_000);
      expect(await said.done).toEqual({ heardText: long, interrupted: false });
      expect(reasons(events)).toEqual(['refused']);
      await pipeline.dispose();
    }
  });
});

describe('update() of a running pipeline', () => {
  it('systemPrompt and tools: from the next request, also the round after the tools of this answer', async () => {
    const look: LLMEvent = { type: 'tool-call', id: 'c', name: 'look', args: {}, argsText: '{}' };
    const seen: string[][] = [];
    const talk = await call(
      {
        systemPrompt: 'before',
        tools: [
          {
            name: 'look',
            execute: () => {
              talk.pipeline.update({ systemPrompt: 'after', tools: [] });
              return 'seen';
            },
          },
        ],
      },
      (messages) => (messages.at(-1)?.role === 'tool' ? 'Seen.' : [look]),
    );
    talk.says('look');
    await talk.clock.advance(5_000);
    seen.push(...talk.llm.requests.map(({ options }) => (options.tools ?? []).map(({ name }) => name)));
    expect(talk.asked().map(([system]) => system)).toEqual(['before', 'after']);
    expect(seen).toEqual([['look'], []]);
    await talk.pipeline.dispose();
  });

  it('bargeIn: at once, for what is being said', async () => {
    const { pipeline, clock, events, says } = await call({ bargeIn: false }, () => long);
    says('go');
    await clock.advance(1_000);
    says('never mind all that');
    await clock.advance(200);
    expect(ofType(events, 'bargeIn.confirmed')).toEqual([]);
    pipeline.update({ bargeIn: 'immediate' });
    says('and now');
    await clock.advance(200);
    expect(ofType(events, 'bargeIn.confirmed')).toHaveLength(1);
    await pipeline.dispose();
  });

  it('turnTaking: from the next turn; the one that is open ends by its own rules', async () => {
    const { pipeline, clock, stt, asked, says } = await call({});
    stt.hearWords(FakeSTT.result('this one', 'interim'));
    pipeline.update({ turnTaking: { strategy: 'manual' } });
    says('this one ends');
    await clock.advance(5_000);
    says('not by itself');
    await clock.advance(5_000);
    expect(asked().map(([, user]) => user)).toEqual(['this one ends']);
    pipeline.beginTurn();
    says('but by hand');
    pipeline.commitTurn();
    await clock.advance(5_000);
    expect(asked().map(([, user]) => user)).toEqual(['this one ends', 'but by hand']);
    await pipeline.dispose();
  });

  it('locale: at once for the commands of the user', async () => {
    const { pipeline, clock, events, llm, says } = await call({ locale: 'en' }, () => long);
    pipeline.update({ locale: 'es' });
    await clock.advance(10);
    await phrasesLoaded('es');
    says('hola');
    await clock.advance(1_000);
    says('basta');
    await clock.advance(2_000);
    expect(ofType(events, 'bargeIn.confirmed')).toHaveLength(1);
    expect(llm.requests).toHaveLength(1);
    await pipeline.dispose();
  });

  it('answer: from the next request', async () => {
    const { pipeline, clock, llm, says } = await call({ answer: { maxTokens: 9 } });
    says('one');
    await clock.advance(5_000);
    pipeline.update({ answer: { temperature: 1 } });
    says('two');
    await clock.advance(5_000);
    expect(llm.requests.map(({ options }) => options)).toEqual([{ maxTokens: 9 }, { temperature: 1 }]);
    await pipeline.dispose();
  });
});

describe('onUserTurn of a pipeline', () => {
  const wait = (clock: TestClock, ms: number): Promise<void> =>
    new Promise((resolve) => clock.schedule(() => resolve(), ms));

  it('adds text and context before the model is asked, with its time in turn.metrics.hook', async () => {
    const talk = await call({
      systemPrompt: 'Be brief.',
      onUserTurn: async ({ text }) => {
        await wait(talk.clock, 250);
        return { text: text.replace('1234', '****'), context: 'The caller is Ann.' };
      },
    });
    talk.says('my pin is 1234');
    await talk.clock.advance(5_000);
    expect(talk.asked()).toEqual([['Be brief.\n\nThe caller is Ann.', 'my pin is ****']]);
    expect(ofType(talk.events, 'turn.metrics').map(({ hook }) => hook)).toEqual([250]);
    await talk.pipeline.dispose();
  });

  it('refuses: its words are said, and the model is not asked', async () => {
    const { pipeline, clock, events, asked, says } = await call({ onUserTurn: () => ({ refuse: 'I must not say.' }) });
    says('the secret please');
    await clock.advance(5_000);
    expect(asked()).toEqual([]);
    expect(ofType(events, 'speech.ended').map(({ heardText }) => heardText)).toEqual(['I must not say.']);
    await pipeline.dispose();
  });

  it('that throws ends nothing: an error, and the turn is answered as it is', async () => {
    const { pipeline, clock, events, asked, says } = await call({
      onUserTurn: () => {
        throw new Error('no idea');
      },
    });
    says('one');
    await clock.advance(5_000);
    says('two');
    await clock.advance(5_000);
    expect(asked().map(([, user]) => user)).toEqual(['one', 'two']);
    expect(reasons(events)).toEqual(['completed', 'completed']);
    expect(ofType(events, 'error')).toHaveLength(2);
    await pipeline.dispose();
  });
});

describe('one answer of a pipeline', () => {
  it('has its toolChoice, maxTokens, temperature and extraBody', async () => {
    const { pipeline, clock, llm } = await call({ tools: [{ name: 'look', execute: () => 'seen' }] });
    const answer: AnswerOptions = { toolChoice: 'none', maxTokens: 60, temperature: 0, extraBody: { seed: 7 } };
    pipeline.send('one', { answer });
    await clock.advance(5_000);
    pipeline.send('two');
    await clock.advance(5_000);
    const tools = [{ name: 'look' }];
    expect(llm.requests.map(({ options }) => options)).toEqual([{ ...answer, tools }, { tools }]);
    await pipeline.dispose();
  });

  it('can be uninterruptible, alone: what is said over it is answered after it', async () => {
    const { pipeline, clock, events, says, asked } = await call({}, () => long);
    pipeline.send('the terms', { answer: { interruptible: false } });
    await clock.advance(1_000);
    says('please stop it and listen to me');
    await clock.advance(7_000);
    expect(ofType(events, 'speech.ended').map(({ heardText, interrupted }) => [heardText, interrupted])[0]).toEqual([
      long,
      false,
    ]);
    expect(asked().map(([, user]) => user)).toEqual(['the terms', 'please stop it and listen to me']);
    says('no wait a moment');
    await clock.advance(200);
    expect(ofType(events, 'bargeIn.confirmed')).toHaveLength(1);
    await pipeline.dispose();
  });
});

describe('a handoff in a pipeline', () => {
  it('keeps the history, and changes prompt, tools, voice and model', async () => {
    const clock = new TestClock();
    const config = { scheduler: clock };
    const [other, voice] = [new FakeLLM({ ...config, answer: () => 'Billing here.' }), new FakeTTS(config)];
    const handOver: LLMEvent = { type: 'tool-call', id: 'h', name: 'hand_over_to_billing', args: {}, argsText: '{}' };
    const [stt, llm, tts] = [
      new FakeSTT(config),
      new FakeLLM({ ...config, answer: () => [handOver] }),
      new FakeTTS(config),
    ];
    const pipeline = new Pipeline({
      ...config,
      providers: [new FakeInput(config), stt, llm, tts, new FakeOutput(config)],
      agents: {
        reception: { systemPrompt: 'reception', tools: [handoff('billing')] },
        billing: { systemPrompt: 'billing', llm: other, tts: voice, tools: [] },
      },
    });
    const events: VoiceEvent[] = [];
    pipeline.events$.subscribe((event) => events.push(event));
    await pipeline.start();
    stt.hearWords(FakeSTT.result('I want to pay', 'final'));
    await clock.advance(5_000);
    expect(ofType(events, 'agent.handoff').map(({ from, to }) => [from, to])).toEqual([['reception', 'billing']]);
    expect(other.requests[0]?.messages).toMatchObject([
      { role: 'system', content: 'billing' },
      { role: 'user', content: 'I want to pay' },
      { role: 'assistant', toolCalls: [{ name: 'hand_over_to_billing' }] },
      { role: 'tool' },
    ]);
    expect([tts.pieces, voice.pieces]).toEqual([[], ['Billing here.']]);
    await pipeline.dispose();
  });
});

describe('a pipeline that follows the language', () => {
  it('takes it from metadata.language, speaks with its voice, and knows its commands', async () => {
    const clock = new TestClock();
    const spanish = new FakeTTS({ scheduler: clock });
    const talk = await call({ followLanguage: true, locale: 'en', voices: { es: spanish } }, () => long, clock);
    talk.says('quiero pagar mi factura', { language: 'es' });
    await phrasesLoaded('es');
    await clock.advance(1_000);
    expect(ofType(talk.events, 'user.language').map(({ language }) => language)).toEqual(['es']);
    expect(spanish.pieces.join('')).toContain('One two three');
    talk.says('basta');
    await clock.advance(2_000);
    expect(ofType(talk.events, 'bargeIn.confirmed')).toHaveLength(1);
    expect(talk.llm.requests).toHaveLength(1);
    await talk.pipeline.dispose();
  });
});
