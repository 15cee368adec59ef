/**
 * Between the user's last word and the model's first, the application may have its say: look something up, keep
 * something out, refuse. The user waits for it, so it is measured and bounded; and it sees nothing that is not certain.
 */
import { BehaviorSubject } from 'rxjs';
import type { Message, UserTurn, UserTurnVerdict } from 'rxvoice';
import { application, user, voiceTest, type VoiceTestOptions, type VoiceTestResult } from 'rxvoice/testing';
import { callHook } from '../../lib/conversation/answer/call-hook.ts';
import type { HookInput } from '../../lib/conversation/fold/inputs.ts';
import { startState, type ConversationState } from '../../lib/conversation/fold/state.ts';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

const never = (): Promise<undefined> => new Promise(() => undefined);
const asked = ({ llm }: VoiceTestResult): readonly (readonly Message[])[] =>
  llm.requests.map(({ messages }) => messages);

function test(
  onUserTurn: VoiceTestOptions['onUserTurn'] & object,
  options: Partial<VoiceTestOptions> = {},
): VoiceTestResult {
  return voiceTest({ onUserTurn, steps: { 0: user.final('hello') }, ...options });
}

describe('onUserTurn', () => {
  it('sees each turn, spoken or typed, after its commit and before the model is asked', () => {
    const seen: unknown[] = [];
    const { events } = test(
      ({ id, text, source, result }) => {
        seen.push([id, text, source, result?.text]);
      },
      { steps: { 0: user.final('hello'), 10_000: application.send('typed') } },
    );
    expect(seen).toEqual([
      [events.find(({ type }) => type === 'turn.started')?.turnId, 'hello', 'speech', 'hello'],
      [events.findLast(({ type }) => type === 'turn.started')?.turnId, 'typed', 'text', undefined],
    ]);
    expect(timeline(events, 'turn.committed', 'llm.started', 'turn.ended')).toEqual([
      ...['0 turn.committed hello', '0 llm.started', '930 turn.ended completed'],
      ...['10000 turn.committed typed', '10000 llm.started', '10930 turn.ended completed'],
    ]);
  });

  it('may add what the model should know for this answer alone', () => {
    const result = test(({ text }) => (text === 'hello' ? { context: 'It rains.' } : undefined), {
      systemPrompt: 'Be brief.',
      steps: { 0: user.final('hello'), 10_000: user.final('again') },
    });
    expect(asked(result).map(([first]) => first?.content)).toEqual(['Be brief.\n\nIt rains.', 'Be brief.']);
    const alone = test(() => ({ context: 'It rains.' }));
    expect(asked(alone)[0]).toEqual([
      { role: 'system', content: 'It rains.' },
      { role: 'user', content: 'hello' },
    ]);
  });

  it('may change what the user is taken to have said, for the model and the history', () => {
    const result = test(({ text }) => ({ text: text.replace(/\d{4}/, '****') }), {
      steps: { 0: user.final('my pin is 1234') },
    });
    expect(asked(result)[0]).toEqual([{ role: 'user', content: 'my pin is ****' }]);
    expect(result.history.items[0]).toMatchObject({ role: 'user', text: 'my pin is ****' });
  });

  it('may say how it is answered', () => {
    const { llm } = test(() => ({ answer: { maxTokens: 5 } }), { answer: { maxTokens: 60, temperature: 1 } });
    expect(llm.requests[0]?.options).toEqual({ maxTokens: 5, temperature: 1 });
  });

  it('may refuse: its words are said and remembered, and the model is not asked', () => {
    const { events, llm, history, heardText } = test(() => ({ refuse: 'I cannot tell you that.' }));
    expect(llm.requests).toEqual([]);
    expect(heardText).toBe('I cannot tell you that.');
    expect(timeline(events, 'llm.started', 'llm.token', 'turn.ended')).toEqual(['1200 turn.ended refused']);
    expect(history.messages()).toEqual([
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'I cannot tell you that.' },
    ]);
  });

  it('may refuse without a word: the message is dropped, and is not answered with the next one', () => {
    const seen: string[] = [];
    const { events, llm, history } = test(
      ({ text }) => {
        seen.push(text);
        return text === 'hello' ? { refuse: '' } : undefined;
      },
      { steps: { 0: user.final('hello'), 1_000: user.final('and now') } },
    );
    expect(timeline(events, 'turn.ended')[0]).toBe('0 turn.ended refused');
    expect(seen).toEqual(['hello', 'and now']);
    expect(llm.requests.map(({ messages }) => messages)).toEqual([[{ role: 'user', content: 'and now' }]]);
    expect(history.messages()[0]).toEqual({ role: 'user', content: 'and now' });
  });

  it('that throws is an error event, and the turn is answered as it is', () => {
    const { events, heardText } = test(() => {
      throw new Error('no database');
    });
    expect(ofType(events, 'error')).toMatchObject([{ code: 'internal', message: 'onUserTurn failed: no database' }]);
    expect(heardText).toBe('You said hello.');
    expect(timeline(events, 'turn.ended')).toEqual(['930 turn.ended completed']);
  });

  it.each([['a text'], [5], [{ context: 5 }], [{ refuse: true }], [[]]])(
    'that returns %j is an error event too',
    (result) => {
      const { events, heardText } = test(() => result as unknown as UserTurnVerdict);
      expect(ofType(events, 'error')).toMatchObject([
        { message: expect.stringMatching(/must return nothing, or/) as string },
      ]);
      expect(heardText).toBe('You said hello.');
    },
  );

  it('that hangs is an error event after hookMs, its signal is aborted, and the turn is answered as it is', () => {
    const signals: AbortSignal[] = [];
    const { events, heardText } = test(
      ({ signal }) => {
        signals.push(signal);
        return never();
      },
      { timeouts: { hookMs: 2_000 } },
    );
    expect(timeline(events, 'error', 'llm.started')).toEqual(['2000 error undefined timeout', '2000 llm.started']);
    expect(heardText).toBe('You said hello.');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('is measured as a part of the latency', () => {
    const { events } = test(never, { timeouts: { hookMs: 700 } });
    const [metrics] = ofType(events, 'turn.metrics');
    expect(metrics).toMatchObject({ hook: 700, llmFirstToken: 100 });
    const { hook = 0, llmFirstToken = 0, aggregation = 0, ttsFirstAudio = 0, outputLead = 0, total } = metrics ?? {};
    expect(hook + llmFirstToken + aggregation + ttsFirstAudio + outputLead).toBe(total);
  });

  it('that is still busy when the user goes on is called again with the whole message', () => {
    const seen: UserTurn[] = [];
    const { events, llm } = test(
      (turn) => {
        seen.push(turn);
        return seen.length === 1 ? never() : undefined;
      },
      { steps: { 0: user.final('hello'), 500: user.final('my friend') } },
    );
    expect(seen.map(({ text, signal }) => [text, signal.aborted])).toEqual([
      ['hello', true],
      ['hello my friend', true],
    ]);
    expect(timeline(events, 'turn.ended')).toEqual(['500 turn.ended merged', expect.stringContaining('completed')]);
    expect(llm.requests).toHaveLength(1);
  });

  it('sees and changes the message also when the agent has said something meanwhile', () => {
    const seen: string[] = [];
    const verdicts: UserTurnVerdict[] = [{}, { text: 'my pin is ****' }];
    const result = test(
      ({ text }) => {
        seen.push(text);
        return verdicts.shift();
      },
      {
        turnTaking: { strategy: 'manual' },
        llm: { firstTokenMs: 1_000 },
        steps: {
          0: [application.send('my pin is 1234'), application.say('Wait.')],
          600: application.does('begin'),
          700: application.does('cancel'),
        },
      },
    );
    expect(seen).toEqual(['my pin is 1234', 'my pin is 1234']);
    expect(asked(result).at(-1)).toEqual([
      { role: 'user', content: 'my pin is ****' },
      { role: 'assistant', content: 'Wait.' },
      { role: 'user', content: 'my pin is ****' },
    ]);
    expect(result.history.items[0]).toMatchObject({ text: 'my pin is ****' });
  });

  it('that is still busy when the conversation stops holds nothing up', () => {
    const signals: AbortSignal[] = [];
    const { events } = test(
      ({ signal }) => {
        signals.push(signal);
        return never();
      },
      { steps: { 0: user.final('hello'), 100: application.does('stop') } },
    );
    expect(timeline(events, 'turn.ended')).toEqual(['100 turn.ended stopped']);
    expect(signals[0]?.aborted).toBe(true);
  });

  describe('with an answer that was prepared', () => {
    const steps = { 0: user.preflight('hello'), 300: user.final('hello') };

    it('is not called before the turn is certain, and never for what was discarded', () => {
      const seen: string[] = [];
      const { events } = test(
        ({ text }) => {
          seen.push(text);
        },
        { steps: { 0: user.preflight('hell'), 200: user.preflight('hello'), 300: user.final('hello') } },
      );
      expect(timeline(events, 'preflight.discarded', 'preflight.adopted')).toHaveLength(2);
      expect(seen).toEqual(['hello']);
    });

    it('lets it through as it is when it has nothing to add', () => {
      const { events, llm, heardText } = test(() => undefined, { steps });
      expect(llm.requests.map(({ outcome }) => outcome)).toEqual(['completed']);
      expect(heardText).toBe('You said hello.');
      expect(ofType(events, 'turn.metrics')[0]).toMatchObject({ hook: 0, preflightLead: 300 });
    });

    it('holds it back as long as it takes, and that is measured', () => {
      const { events } = test(never, { steps, timeouts: { hookMs: 700 } });
      expect(timeline(events, 'llm.started', 'speech.created')).toEqual([
        '1000 llm.started',
        '1000 speech.created answer',
      ]);
      expect(ofType(events, 'turn.metrics')[0]).toMatchObject({ hook: 700, llmFirstToken: 0 });
    });

    it('has it given anew when it adds something, and counts the waste', () => {
      const result = test(() => ({ context: 'It rains.' }), { steps });
      expect(result.llm.requests.map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
      expect(asked(result)[1]?.[0]).toEqual({ role: 'system', content: 'It rains.' });
      expect(result.heardText).toBe('You said hello.');
      expect(timeline(result.events, 'llm.started', 'turn.ended')).toEqual([
        '300 llm.started',
        '1230 turn.ended completed',
      ]);
      expect(ofType(result.events, 'turn.metrics')[0]?.wastedTokens).toBe(3);
    });

    it('drops it when it refuses', () => {
      const spoken = test(() => ({ refuse: 'No.' }), { steps });
      expect(spoken.heardText).toBe('No.');
      const silent = test(() => ({ refuse: '' }), { steps });
      expect(silent.heardText).toBe('');
      expect(timeline(silent.events, 'llm.started', 'turn.ended')).toEqual(['300 turn.ended refused']);
      expect(silent.history.messages()).toEqual([]);
    });

    it('has it asked for anew when the model failed meanwhile', () => {
      const { events, heardText } = test(never, {
        steps: { 0: user.preflight('hello'), 50: user.final('hello') },
        timeouts: { hookMs: 700 },
        llm: {
          answer: (_, request) => {
            if (request === 1) throw new Error('it broke');
            return 'Fine.';
          },
        },
      });
      expect(timeline(events, 'turn.ended')).toEqual([expect.stringContaining('completed')]);
      expect(heardText).toBe('Fine.');
    });
  });

  it('may take its time: a promise that resolves or rejects', async () => {
    const candidate = { id: 'answer-1', phase: 'hooking' };
    const state$ = new BehaviorSubject({ ...startState, candidate } as unknown as ConversationState);
    const verdicts: HookInput[] = [];
    const call = (hook: (turn: UserTurn) => Promise<UserTurnVerdict>): Promise<void> =>
      new Promise((resolve) => {
        const turn = { id: 'turn-1', source: 'speech' } as const;
        const effect = { type: 'hook', candidate: 'answer-1', hook, hookMs: 5_000, guards: [], turn } as const;
        callHook(effect, { state$ }, 'hello').subscribe({
          next: (verdict) => verdicts.push(verdict),
          complete: resolve,
        });
      });
    await call(({ text }) => Promise.resolve({ context: `about ${text}` }));
    await call(() => Promise.reject(new Error('no database')));
    expect(verdicts).toMatchObject([
      { verdict: { context: 'about hello' } },
      { verdict: {}, error: { code: 'internal', message: 'onUserTurn failed: no database' } },
    ]);
  });
});
