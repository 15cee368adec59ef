/**
 * Typed text, speech of the application, cuts and stops meet what the user says and what the agent does. Whatever waits
 * has its turn or is told that it will not; whatever was begun ends, once.
 */
import { concat, concatMap, delay, EMPTY, finalize, from, NEVER, Observable, of } from 'rxjs';
import type { LLMEvent, VoiceEvent } from 'rxvoice';
import { silence } from 'rxvoice/endpointing';
import {
  application,
  user,
  voiceTest,
  type FakeLLMConfig,
  type VoiceTestOptions,
  type VoiceTestResult,
} from 'rxvoice/testing';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

const story = 'One two three four five. Six seven eight nine ten.';
const tokens = (text: string): LLMEvent[] => [
  { type: 'token', text },
  { type: 'done', finishReason: 'stop' },
];

/** A model that takes a second, and how many of its requests ran at once at most. */
function counted(answer: (request: number) => string = () => story): {
  readonly llm: FakeLLMConfig;
  readonly most: () => number;
} {
  let [now, most] = [0, 0];
  return {
    most: () => most,
    llm: {
      answer: (_, request, scheduler) => {
        most = Math.max(most, ++now);
        return from(tokens(answer(request))).pipe(
          concatMap((event) => of(event).pipe(delay(500, scheduler))),
          finalize(() => now--),
        );
      },
    },
  };
}

const test = (steps: VoiceTestOptions['steps'], options: Partial<VoiceTestOptions> = {}): VoiceTestResult =>
  voiceTest({ llm: { answer: () => story }, steps, untilMs: 40_000, ...options });
const asked = ({ llm }: VoiceTestResult): (string | undefined)[] =>
  llm.requests.map(({ messages }) => messages.at(-1)?.content);
const types = (events: readonly VoiceEvent[]): string[] => events.map(({ type }) => type);

describe('a patient send()', () => {
  it('that begins inside a cut yields an answer that can be cut, and one request at a time', () => {
    const { llm, most } = counted();
    const { events, llm: model } = test(
      {
        0: user.final('tell me'),
        2_000: application.send('later', { interrupt: false }),
        2_500: application.does('interrupt'),
        5_000: application.does('interrupt'),
      },
      { llm },
    );
    expect(most()).toBe(1);
    expect(timeline(events, 'turn.committed', 'turn.ended')).toEqual([
      '0 turn.committed tell me',
      '2500 turn.ended interrupted',
      '2500 turn.committed later',
      '5000 turn.ended interrupted',
    ]);
    expect(model.requests).toHaveLength(2);
  });

  it('waits for the user who cut the agent, and is answered after them', () => {
    const { llm, most } = counted();
    const result = test(
      {
        0: user.final('tell me'),
        2_000: application.send('later', { interrupt: false }),
        2_500: user.interim('hold on please'),
        3_500: user.final('hold on please'),
      },
      { llm },
    );
    expect(most()).toBe(1);
    expect(asked(result)).toEqual(['tell me', 'hold on please', 'later']);
    expect(ofType(result.events, 'turn.ended').map(({ reason }) => reason)).toEqual([
      ...['interrupted', 'completed', 'completed'],
    ]);
  });

  it('asks the model nothing once stop() has come', () => {
    const result = test({
      0: user.final('tell me'),
      1_000: application.send('later', { interrupt: false }),
      1_500: application.does('stop'),
    });
    expect(asked(result)).toEqual(['tell me']);
  });
});

describe('a sign in the last second of a speech while another waits', () => {
  it('leads to each stage once', () => {
    const { events } = test({
      0: [application.say('One two three.'), application.say('Four five six.')],
      700: user.starts,
      1_100: user.interim('hold on please'),
      2_200: user.final('hold on please'),
    });
    expect(types(events).filter((type) => type.startsWith('bargeIn.'))).toEqual([
      ...['bargeIn.suspected', 'bargeIn.paused', 'bargeIn.confirmed'],
    ]);
    expect(ofType(events, 'speech.started').map(({ source }) => source)).toEqual(['say', 'answer']);
  });

  it('holds the other back, and lets it go when it came to nothing', () => {
    const { events, heardText } = test({
      0: [application.say('One two three.'), application.say('Four five six.')],
      700: user.starts,
      1_100: user.falls,
    });
    expect(types(events).filter((type) => type.startsWith('bargeIn.'))).toEqual([
      ...['bargeIn.suspected', 'bargeIn.paused', 'bargeIn.resumed'],
    ]);
    expect(heardText).toBe('One two three.Four five six.');
  });

  it('before its pause holds the other back as well', () => {
    const { events, heardText } = test({
      0: [application.say('One two three.'), application.say('Four five six.'), application.say('Seven.')],
      700: user.starts,
      800: user.falls,
    });
    expect(types(events).filter((type) => type.startsWith('bargeIn.'))).toEqual([
      'bargeIn.suspected',
      'bargeIn.resumed',
    ]);
    expect(ofType(events, 'speech.started').map(({ at }) => at)[1]).toBe(2_000);
    expect(heardText).toBe('One two three.Four five six.Seven.');
  });
});

describe('words queued over an uninterruptible speech', () => {
  it('are answered when interrupt() cuts the speech', () => {
    const result = test(
      {
        0: application.say(story, { interruptible: false }),
        1_000: user.final('what time is it'),
        1_500: application.does('interrupt'),
      },
      { bargeIn: { whileUninterruptible: 'queue' } },
    );
    expect(asked(result)).toEqual(['what time is it']);
    expect(timeline(result.events, 'turn.committed', 'turn.ended')).toEqual([
      '1500 turn.committed what time is it',
      expect.stringContaining('turn.ended completed'),
    ]);
  });
});

describe('a say() that waits', () => {
  const waiting = (type: 'interrupt' | 'stop'): VoiceTestResult =>
    test({ 0: [application.say(story), application.say('Next.')], 1_000: application.does(type) });

  it('is not begun for a tick by a cut, nor by a stop', () => {
    for (const type of ['interrupt', 'stop'] as const) {
      let plays = 0;
      const { events, heardText } = test(
        { 0: [application.say(story), application.say('Next.')], 1_000: application.does(type) },
        {
          wrapOutput: (output) => {
            const play = output.play.bind(output);
            output.play = (audio$) => {
              plays++;
              return play(audio$);
            };
            return output;
          },
        },
      );
      expect(plays).toBe(1);
      expect(heardText).not.toContain('Next');
      expect(ofType(events, 'speech.started')).toHaveLength(1);
    }
    expect(ofType(waiting('stop').events, 'agent.state').at(-1)).toMatchObject({ at: 1_000, state: 'idle' });
  });
});

describe('a say() that waits for the user', () => {
  it('is said, although the words of a preflight change as they are committed', () => {
    const isFinal = { isFinal: true, utteranceComplete: false, isPreflight: false };
    const { events, heardText } = test(
      {
        0: [user.starts, user.preflight('Book a table.'), user.falls],
        100: application.say('Your taxi is here.'),
        700: { user: { text: 'Book the table.', ...isFinal } },
      },
      { endpointing: silence(), llm: { answer: () => 'Booked.' } },
    );
    expect(timeline(events, 'preflight.discarded', 'turn.committed')).toEqual([
      expect.stringMatching(/^700 preflight.discarded changed/),
      '700 turn.committed Book the table.',
    ]);
    expect(heardText).toBe('Your taxi is here.Booked.');
  });
});

describe('a stage that stands still', () => {
  it('a voice that stalls after its first audio ends the turn with an error', () => {
    const { events } = test(
      { 0: user.final('tell me') },
      { wrapTTS: (tts) => ({ name: tts.name, speak: (text$) => concat(tts.speak(text$), NEVER) }) },
    );
    expect(timeline(events, 'error', 'turn.ended')).toEqual([
      expect.stringContaining('error tts timeout'),
      expect.stringContaining('turn.ended error'),
    ]);
    expect(ofType(events, 'agent.state').findLast(({ at }) => at < 40_000)).toMatchObject({ state: 'listening' });
  });

  it('a voice that gives nothing for empty text holds nobody up', () => {
    const { events } = test(
      { 0: application.say(''), 1_000: user.final('tell me') },
      {
        llm: { answer: (_, request) => (request === 1 ? '' : story) },
        wrapTTS: (tts) => ({
          name: tts.name,
          speak: (text$) => concat(from(text$).pipe(concatMap(() => EMPTY)), NEVER),
        }),
      },
    );
    expect(timeline(events, 'error', 'turn.ended')).toEqual(['1100 turn.ended completed']);
    expect(ofType(events, 'agent.state').at(-2)).toMatchObject({ state: 'listening', at: 1_100 });
  });

  it('an output that stands still with more than five seconds unplayed ends the turn with an error', () => {
    const { events } = test(
      { 0: user.final('tell me') },
      {
        llm: { answer: () => 'One two three four five six seven eight nine ten. '.repeat(20) },
        wrapOutput: (output) => ({
          ...{ name: output.name, positionMs: 0, pause: () => undefined, resume: () => undefined },
          play: (audio$) =>
            from(audio$).pipe(
              concatMap(() => EMPTY),
              (none$) => concat(none$, NEVER),
            ),
        }),
      },
    );
    expect(timeline(events, 'error', 'turn.ended')).toEqual([
      expect.stringContaining('error output timeout'),
      expect.stringContaining('turn.ended error'),
    ]);
    expect(ofType(events, 'turn.ended')[0]?.at).toBeLessThan(20_000);
  });

  it('an output that stands still after the voice has failed ends the turn with an error', () => {
    const { events } = test(
      { 0: user.final('tell me') },
      {
        llm: { answer: () => 'Fine.' },
        wrapTTS: (tts) => ({
          name: tts.name,
          speak: (text$) => tts.speak(text$).pipe(concatMap((chunk) => concat(of(chunk), throwing('voice')))),
        }),
        wrapOutput: (output) => ({
          ...{ name: output.name, positionMs: 0, pause: () => undefined, resume: () => undefined },
          play: () => NEVER,
        }),
      },
    );
    expect(ofType(events, 'turn.ended')).toMatchObject([{ reason: 'error' }]);
    expect(ofType(events, 'turn.ended')[0]?.at).toBeLessThan(20_000);
    expect(ofType(events, 'error')).toHaveLength(1);
  });

  it('a text of the application that never ends holds nobody up', () => {
    const forever$ = concat(of('One two three.'), NEVER);
    const { events } = voiceTest({
      steps: {
        0: { command: { ...(application.say('') as { command: { type: 'say' } }).command, text$: forever$ } as never },
      },
      untilMs: 120_000,
    });
    expect(ofType(events, 'speech.ended').filter(({ at }) => at < 120_000)).toHaveLength(1);
    expect(timeline(events, 'error')).toHaveLength(1);
  });
});

describe('the wait for a final', () => {
  it('stays on after an empty interim', () => {
    const { events } = test({ 0: user.interim('tell me'), 1_000: user.interim(''), 2_000: user.interim(' ') });
    expect(timeline(events, 'transcript.timeout', 'turn.committed')).toEqual([
      '5000 transcript.timeout tell me',
      '5000 turn.committed tell me',
    ]);
  });

  it('stays on when commitTurn() follows a preflight', () => {
    const { events } = test({ 0: user.preflight('tell me'), 1_000: application.does('commit') });
    expect(ofType(events, 'turn.committed')).toHaveLength(1);
    expect(ofType(events, 'turn.ended')).toHaveLength(1);
  });

  it('does not replace the answer to what was typed since: "so", then send("what is the time")', () => {
    const result = test({ 0: user.interim('so'), 1_000: application.send('what is the time') });
    expect(asked(result)).toEqual(['what is the time']);
    expect(timeline(result.events, 'turn.committed', 'turn.ended')).toEqual([
      '1000 turn.committed what is the time',
      expect.stringContaining('turn.ended completed'),
    ]);
  });

  it('nor does the final of those words', () => {
    const steps = { 0: user.interim('so', 'u1'), 1_000: application.send('what is the time') };
    for (const late of ['So.', '']) {
      const result = test({ ...steps, 1_050: user.final(late, 'u1') });
      expect(asked(result)).toEqual(['what is the time']);
    }
  });

  it('but other words of the same utterance join the message', () => {
    const result = test({
      0: user.interim('so', 'u1'),
      1_000: application.send('what is the time'),
      1_050: user.final('So, in Paris I mean.', 'u1'),
    });
    expect(asked(result)).toEqual(['what is the time', 'what is the time So, in Paris I mean.']);
  });
});

describe('beginTurn() and cancelTurn() while thinking', () => {
  const { steps, llm }: Pick<VoiceTestOptions, 'steps'> & { readonly llm: FakeLLMConfig } = {
    steps: { 0: application.send('tell me'), 200: application.does('begin'), 700: application.does('cancel') },
    llm: { firstTokenMs: 1_000, answer: () => 'Here it is.' },
  };

  it('have the question answered after all', () => {
    for (const strategy of ['manual', 'stt'] as const) {
      const result = test(steps, { llm, turnTaking: { strategy } });
      expect(asked(result)).toEqual(['tell me', 'tell me']);
      expect(result.heardText).toBe('Here it is.');
      expect(result.history.messages()).toEqual([
        { role: 'user', content: 'tell me' },
        { role: 'assistant', content: 'Here it is.' },
      ]);
    }
  });

  it('have it answered when an uninterruptible speech is over', () => {
    const result = test(
      {
        0: application.send('tell me'),
        100: application.say(story, { interruptible: false }),
        200: application.does('begin'),
        700: application.does('cancel'),
      },
      { llm, turnTaking: { strategy: 'manual' } },
    );
    expect(result.heardText).toBe(`${story}Here it is.`);
  });

  it('have it answered when something else was said since', () => {
    const result = test(
      {
        0: [application.send('tell me'), application.say('Wait.')],
        600: application.does('begin'),
        700: application.does('cancel'),
      },
      { llm, turnTaking: { strategy: 'manual' } },
    );
    expect(result.heardText).toBe('Wait.Here it is.');
    // Some models refuse to go on from words of their own.
    expect(result.llm.requests.at(-1)?.messages).toEqual([
      { role: 'user', content: 'tell me' },
      { role: 'assistant', content: 'Wait.' },
      { role: 'user', content: 'tell me' },
    ]);
    expect(result.history.items.filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  it('have it forgotten when interrupt() came between', () => {
    const result = test({ ...steps, 500: application.does('interrupt') }, { llm, turnTaking: { strategy: 'manual' } });
    expect(asked(result)).toEqual(['tell me']);
  });
});

describe('a noise', () => {
  it('does not answer an old failure anew', () => {
    const failing = { firstTokenMs: 60_000 };
    const result = test(
      {
        0: user.final('tell me'),
        12_000: user.starts,
        12_500: user.falls,
        20_000: user.starts,
        20_300: user.final(''),
      },
      { llm: { ...failing, answer: () => story }, untilMs: 60_000 },
    );
    expect(ofType(result.events, 'turn.ended')[0]).toMatchObject({ reason: 'error', at: 10_000 });
    expect(result.llm.requests).toHaveLength(1);
  });
});

describe('a speculation', () => {
  const ways = {
    'interrupt()': application.does('interrupt'),
    'send()': application.send('typed'),
    'beginTurn()': application.does('begin'),
    'cancelTurn()': application.does('cancel'),
    'stop()': application.does('stop'),
  };
  for (const [name, step] of Object.entries(ways)) {
    it(`cut by ${name} is discarded, and its waste counted`, () => {
      const { events } = test({ 0: user.preflight('tell me'), 500: step, 6_000: application.does('cancel') });
      expect(timeline(events, 'preflight.started', 'preflight.adopted', 'preflight.discarded')).toEqual([
        '0 preflight.started tell me',
        '500 preflight.discarded cancelled',
      ]);
      const { turnId, wastedTokens } = ofType(events, 'preflight.discarded')[0] ?? {};
      expect(wastedTokens).toBe(10);
      const metrics = ofType(events, 'turn.metrics').find((each) => each.turnId === turnId);
      expect(metrics?.wastedTokens).toBeGreaterThanOrEqual(10);
    });
  }
});

describe('states', () => {
  it('user.state returns to silent with what ends the turn', () => {
    for (const [end, at] of [
      [application.send('typed'), 500],
      [application.does('cancel'), 500],
      [user.final('tell me'), 500],
      [user.falls, 500],
    ] as const) {
      const { events } = test({ 0: user.starts, 100: user.interim('tell'), [at]: end });
      expect(ofType(events, 'user.state').find(({ state }) => state === 'silent')?.at).toBe(at);
    }
  });

  it('user.state returns to silent after any interim without a final', () => {
    for (const steps of [
      { 0: user.interim('tell') },
      { 0: user.final('go'), 1_000: user.interim('eh') },
      { 0: user.starts, 100: user.interim('tell'), 200: user.interim('') },
      { 0: user.preflight('tell'), 500: application.send('typed') },
      { 0: user.interim('tell'), 500: application.does('cancel') },
    ]) {
      const { events } = test(steps);
      expect(ofType(events, 'user.state').at(-1)).toMatchObject({ state: 'silent' });
      expect(ofType(events, 'user.state').at(-1)?.at).toBeLessThan(10_000);
    }
  });

  it('stop() is told: the agent is idle, and the user silent', () => {
    for (const at of [500, 1_000]) {
      const { events } = test({ 0: user.final('tell me'), 900: user.starts, [at]: application.does('stop') });
      expect(ofType(events, 'agent.state').at(-1)).toMatchObject({ at, state: 'idle' });
      expect(ofType(events, 'agent.state').filter((event) => event.at === at)).toHaveLength(1);
    }
    const { events } = test({ 0: user.starts, 1_000: application.does('stop') });
    expect(timeline(events, 'agent.state', 'user.state').slice(-2)).toEqual([
      '1000 user.state',
      '1000 agent.state idle',
    ]);
    expect(ofType(events, 'user.state').at(-1)).toMatchObject({ state: 'silent' });
  });

  it('no barge-in is thinking in its tick', () => {
    const { events } = test({
      0: user.final('tell me'),
      1_000: user.interim('hold on please'),
      1_200: user.final('hold on please'),
    });
    expect(timeline(events, 'agent.state').filter((line) => line.startsWith('1000 '))).toEqual([
      '1000 agent.state listening',
    ]);
  });

  it('turn ids do not begin anew with the next session', () => {
    const first = test({ 0: user.final('tell me'), 5_000: application.say('By the way.') });
    const second = test(
      { 0: user.final('tell me'), 5_000: application.say('By the way.') },
      { history: first.history },
    );
    for (const key of ['turnId', 'speechId'] as const) {
      const ids = new Set(first.events.flatMap((event) => event[key] ?? []));
      expect(ids.size).toBeGreaterThan(0);
      expect(second.events.filter((event) => ids.has(event[key] ?? ''))).toEqual([]);
    }
  });
});

describe('a prepared answer that fails in the tick of its adoption', () => {
  it('ends its turn with its error', () => {
    const { events } = test(
      { 0: user.preflight('tell me') },
      { endpointing: ({ silentSince = Infinity }) => silentSince, llm: { answer: () => throwing('model') } },
    );
    expect(timeline(events, 'preflight.adopted', 'error', 'turn.ended')).toEqual([
      '0 preflight.adopted 0',
      expect.stringContaining('error llm'),
      '0 turn.ended error',
    ]);
  });

  it('is asked for anew when the application’s hook comes first', () => {
    const { events, heardText } = test(
      { 0: user.preflight('tell me') },
      {
        endpointing: ({ silentSince = Infinity }) => silentSince,
        onUserTurn: () => ({ context: 'It rains.' }),
        llm: { answer: (_, request) => (request === 1 ? throwing('model') : 'It rains.') },
      },
    );
    expect(heardText).toBe('It rains.');
    expect(timeline(events, 'preflight.adopted', 'error', 'turn.ended')).toEqual([
      '0 preflight.adopted 0',
      expect.stringContaining('turn.ended completed'),
    ]);
  });
});

describe('nothing follows turn.ended', () => {
  it('of a model that has called a tool, and whose voice refuses what comes next: it is not asked anymore', () => {
    let speeches = 0;
    let asks = 0;
    const { events } = test(
      { 0: user.final('tell me') },
      {
        tools: [{ name: 'look', execute: () => 'seen' }],
        llm: {
          answer: () => {
            asks++;
            return [{ type: 'tool-call', id: 'c', name: 'look', args: {}, argsText: '{}' }];
          },
        },
        wrapTTS: (tts) => ({
          name: tts.name,
          speak: (text$) => (++speeches === 1 ? tts.speak(text$) : throwing('voice')),
        }),
      },
    );
    expect(ofType(events, 'turn.ended').map(({ reason }) => reason)).toEqual(['error']);
    expect(asks).toBe(1);
  });

  const sync = (text: string): Observable<LLMEvent> => from([...tokens(text)]);
  const faults: Record<string, Partial<VoiceTestOptions>> = {
    'whose voice fails at once': {
      wrapTTS: (tts) => ({ name: tts.name, speak: () => throwing('tts') }),
    },
    'whose voice fails at the first piece': {
      wrapTTS: (tts) => ({
        name: tts.name,
        speak: (text$) => from(text$).pipe(concatMap(() => throwing('tts'))),
      }),
    },
    'whose output fails at once': {
      wrapOutput: (output) => ({
        ...{ name: output.name, positionMs: 0, pause: () => undefined, resume: () => undefined },
        play: () => throwing('output'),
      }),
    },
    'that fails itself': {
      llm: { answer: () => concat(sync(story), throwing('model')) },
    },
  };
  for (const [name, fault] of Object.entries(faults)) {
    it(`of a synchronous model ${name}`, () => {
      const users = { final: user.final('tell me'), preflight: user.preflight('tell me') };
      for (const first of [users.final, application.send('tell me'), users.preflight]) {
        const { events } = test(
          { 0: first, ...(first === users.preflight ? { 10: users.final } : {}) },
          { llm: { answer: () => sync(`${story} ${story}`) }, ...fault },
        );
        const ended = events.findIndex(({ type }) => type === 'turn.ended');
        const { turnId } = events[ended] ?? {};
        expect(ended).toBeGreaterThan(0);
        expect(types(events.slice(ended + 1).filter((event) => event.turnId === turnId))).toEqual(['turn.metrics']);
      }
    });
  }
});

function throwing(what: string): Observable<never> {
  return new Observable((subscriber) => subscriber.error(new Error(`${what} broke`)));
}
