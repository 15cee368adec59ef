/** Slow: a thousand whole conversations. */
import fc from 'fast-check';
import { concat, delay, from, ignoreElements, map, NEVER, of, switchMap, throwError, type Observable } from 'rxjs';
import type {
  AudioChunk,
  AudioMetadata,
  ConversationPorts,
  UserTurnVerdict,
  VoiceEvent,
  VoiceEventType,
} from 'rxvoice';
import {
  application,
  textAudioFormat,
  user,
  voiceTest,
  type FakeOutput,
  type FakeTTS,
  type VoiceStep,
  type VoiceTestResult,
} from 'rxvoice/testing';
import { VoiceError } from '../../lib/core/errors.ts';

/** Signals as they come in the field, and in orders in which they never should. */
const step = fc.oneof(
  fc.constantFrom<VoiceStep>(user.starts, user.falls, user.resumes),
  fc
    .tuple(
      fc.constantFrom('interim', 'final', 'preflight'),
      fc.constantFrom('', 'no', 'tell me', 'tell me more', 'stop', 'yes', 'one two three four'),
    )
    .map(([kind, text]) => user[kind](text)),
  fc.constantFrom(
    ...['interrupt', 'begin', 'commit', 'cancel'].map((type) => application.does(type as 'interrupt')),
    application.send('typed'),
    application.send('typed and patient', { interrupt: false }),
    application.say('By the way.'),
    application.say('Listen to this.', { interruptible: false }),
  ),
);

const answers = fc.constantFrom<string>(
  ...[
    'Fine.',
    'Shall I book it? Or shall I not?',
    'One two three four. Five six seven eight nine. Ten eleven twelve thirteen.',
    '',
  ],
  ...['fails', 'hangs', 'breaks', 'calls'],
);

/** What the application makes of each turn before the model does: mostly nothing. */
const verdicts: Readonly<Record<string, UserTurnVerdict>> = {
  adds: { context: 'It rains.' },
  rewrites: { text: 'something else' },
  refuses: { refuse: 'That I cannot tell.' },
  drops: { refuse: '' },
};
const hooks = fc.constantFrom('', '', '', '', ...Object.keys(verdicts));

/** What becomes of each speech: most of them are spoken. */
const voices = fc.constantFrom('speaks', 'speaks', 'fails', 'hangs', 'breaks', 'says nothing');

const scenario = fc.record({
  steps: fc.array(fc.tuple(fc.integer({ min: 0, max: 12_000 }), step), { minLength: 1, maxLength: 14 }),
  answers: fc.array(answers, { minLength: 1, maxLength: 4 }),
  voices: fc.array(voices, { minLength: 1, maxLength: 4 }),
  hooks: fc.array(hooks, { minLength: 1, maxLength: 4 }),
  bargeIn: fc.constantFrom(true, false, 'immediate' as const),
  speak: fc.boolean(),
  reportsSpeechEnd: fc.boolean(),
  words: fc.boolean(),
  compressed: fc.boolean(),
});

type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

const compressed: AudioMetadata = { encoding: 'mp3', sampleRate: 24_000, channels: 1 };

/** Audio whose bytes do not tell how long it sounds, and an output that can decode it. */
const asCompressed = (audio$: Observable<AudioChunk>): Observable<AudioChunk> =>
  audio$.pipe(map((chunk) => ({ ...chunk, metadata: compressed })));
function decoding(output: FakeOutput): ConversationPorts['output'] {
  return {
    name: output.name,
    play: (audio$) => output.play(from(audio$).pipe(map((chunk) => ({ ...chunk, metadata: textAudioFormat })))),
    get positionMs() {
      return output.positionMs;
    },
    pause: () => {
      output.pause();
    },
    resume: () => {
      output.resume();
    },
  };
}

/** A voice that does what its plan says, speech by speech. */
function faulty(tts: FakeTTS, plan: readonly string[]): Pick<FakeTTS, 'name' | 'speak' | 'words$'> {
  let speeches = 0;
  const broke = throwError(() => new VoiceError('it broke', { code: 'connection', provider: tts.name }));
  return {
    name: tts.name,
    words$: tts.words$,
    speak: (text$) => {
      const spoken$ = tts.speak(text$);
      switch (plan[speeches++ % plan.length]) {
        case 'fails':
          return broke;
        case 'hangs':
          return spoken$.pipe(switchMap(() => NEVER));
        case 'breaks':
          return spoken$.pipe(switchMap((chunk) => concat(of(chunk), broke)));
        case 'says nothing':
          return spoken$.pipe(ignoreElements());
        default:
          return spoken$;
      }
    },
  };
}

/** When the conversation is stopped: what it is then like tells nothing of what it was like before. */
const stoppedAt = 60_000;

function run({ steps, answers: plan, voices: voice, hooks: verdict, ...scenario }: Scenario): VoiceTestResult {
  const { bargeIn, speak, reportsSpeechEnd, words, compressed: isCompressed } = scenario;
  const at: Record<number, VoiceStep[]> = {};
  for (const [ms, each] of steps) (at[ms] ??= []).push(each);
  let turns = 0;
  return voiceTest({
    steps: at,
    ...(verdict.some((each) => each) && { onUserTurn: () => verdicts[verdict[turns++ % verdict.length] ?? ''] }),
    ...{ bargeIn, reportsSpeechEnd, preflight: { speak }, tts: { words } },
    wrapTTS: (tts) => {
      const { speak, ...rest } = faulty(tts, voice);
      return { ...rest, speak: (text$) => (isCompressed ? asCompressed(speak(text$)) : speak(text$)) };
    },
    wrapOutput: decoding,
    tools: [{ name: 'look', execute: () => of('seen').pipe(delay(700)) }],
    llm: {
      answer: (messages, request) => {
        const answer = plan[request % plan.length] ?? 'Fine.';
        const error = new VoiceError('it broke', { code: 'server' });
        if (answer === 'fails') return throwError(() => error);
        if (answer === 'hangs') return NEVER;
        if (answer === 'breaks')
          return concat(
            of({ type: 'token', text: 'Half of a ' } as const),
            throwError(() => error),
          );
        if (answer !== 'calls' || messages.at(-1)?.role === 'tool') return answer === 'calls' ? 'Looked.' : answer;
        return [{ type: 'tool-call', id: `c${request}`, name: 'look', args: {}, argsText: '{}' }];
      },
    },
    untilMs: stoppedAt,
  });
}

/** Random conversations, the same in every run but for another RXVOICE_SEED. */
const seed = Number(process.env['RXVOICE_SEED'] ?? 20_261_121);
const numRuns = 1_000;
const scenarios = fc.sample(scenario, { numRuns, seed });
let results: readonly VoiceTestResult[] = [];
beforeAll(() => {
  results = scenarios.map(run);
}, 60_000);

/** Every one must keep a promise; of those that do not, the smallest that can be found is shown. */
function always(promise: (result: VoiceTestResult) => void): void {
  for (const [index, result] of results.entries()) {
    try {
      promise(result);
    } catch (cause) {
      fc.assert(
        fc.property(scenario, (each) => promise(run(each))),
        { seed, numRuns },
      );
      throw new Error(`seed ${seed}: ${fc.stringify(scenarios[index])}`, { cause });
    }
  }
}

const byTurn = (events: readonly VoiceEvent[]): Map<string, VoiceEvent[]> => {
  const turns = new Map<string, VoiceEvent[]>();
  for (const event of events) {
    if (event.turnId) turns.set(event.turnId, [...(turns.get(event.turnId) ?? []), event]);
  }
  return turns;
};
const count = (events: readonly VoiceEvent[], type: VoiceEventType): number =>
  events.filter((event) => event.type === type).length;

describe('whatever comes, in whatever order,', () => {
  it('a final transcript is before its commit, and the commit before the model', () => {
    always(({ events }) => {
      for (const turn of byTurn(events).values()) {
        const types = turn.map(({ type }) => type);
        const commit = types.indexOf('turn.committed');
        const final = types.indexOf('transcript.final');
        const model = types.indexOf('llm.started');
        if (final >= 0) expect(final).toBeLessThan(commit);
        if (model >= 0) expect(commit).toBeGreaterThanOrEqual(0);
        if (model >= 0) expect(commit).toBeLessThan(model);
      }
    });
  });

  it('emits nothing of a preflight before it is adopted', () => {
    const secret: readonly VoiceEventType[] = [
      'llm.started',
      'llm.token',
      'speech.created',
      'audio.chunk',
      'tool.call',
    ];
    always(({ events }) => {
      for (const turn of byTurn(events).values()) {
        const commit = turn.findIndex(({ type }) => type === 'turn.committed');
        const early = turn.slice(0, commit < 0 ? turn.length : commit).filter(({ type }) => secret.includes(type));
        expect(early).toEqual([]);
      }
    });
  });

  it('each speech that is created ends once, and is silent after an interruption', () => {
    always(({ events }) => {
      const of = (type: VoiceEventType): (string | undefined)[] =>
        events.filter((event) => event.type === type).map(({ speechId }) => speechId);
      expect(of('speech.ended').sort()).toEqual(of('speech.created').sort());
      expect(new Set(of('speech.ended')).size).toBe(of('speech.ended').length);
      for (const [index, event] of events.entries()) {
        if (event.type !== 'bargeIn.confirmed' || !event.speechId) continue;
        const late = events
          .slice(index)
          .filter(({ type, speechId }) => type === 'audio.chunk' && speechId === event.speechId);
        expect(late).toEqual([]);
      }
    });
  });

  it('each turn that starts ends once, with its metrics', () => {
    always(({ events }) => {
      for (const turn of byTurn(events).values()) {
        expect([count(turn, 'turn.started'), count(turn, 'turn.ended'), count(turn, 'turn.metrics')]).toEqual([
          1, 1, 1,
        ]);
      }
    });
  });

  it('long before the stop the agent listens again, the user is silent, and no request is left running', () => {
    always(({ events, llm }) => {
      const last = (type: VoiceEventType): VoiceEvent | undefined =>
        events.findLast((event) => event.type === type && event.at < stoppedAt);
      expect(last('agent.state')).toMatchObject({ state: 'listening' });
      const user = last('user.state');
      if (user) expect(user).toMatchObject({ state: 'silent' });
      expect(events.filter(({ at, type }) => at >= stoppedAt && type === 'turn.ended')).toEqual([]);
      expect(llm.requests.filter(({ outcome }) => outcome === 'running')).toEqual([]);
    });
  });

  it('roles alternate in what the model is sent', () => {
    always(({ llm }) => {
      for (const { messages } of llm.requests) {
        for (const [index, message] of messages.entries()) {
          const before = messages[index - 1];
          if (message.role === 'user') expect(before?.role).not.toBe('user');
          if (message.role === 'assistant' && before?.role === 'assistant') expect(before.toolCalls).toBeDefined();
          if (message.role === 'tool') expect(['assistant', 'tool']).toContain(before?.role);
        }
      }
    });
  });

  it('what is remembered is a prefix, in whole words, of what was audible', () => {
    always(({ events, heardText }) => {
      let heard = heardText;
      for (const event of events) {
        if (event.type !== 'speech.ended') continue;
        const said = event.heardText.trim();
        expect(event.text.startsWith(event.heardText)).toBe(true);
        expect(event.text.slice(event.heardText.length)).not.toMatch(/^\w/.test(said.slice(-1)) ? /^\w/ : /^$a/);
        const at = heard.indexOf(said);
        expect(at).toBeGreaterThanOrEqual(0);
        heard = heard.slice(at + said.length);
      }
    });
  });

  it('what fails is told, once for each that fails, and nothing else is', () => {
    always(({ events }) => {
      for (const turn of byTurn(events).values()) {
        const failed = turn.some((event) => event.type === 'turn.ended' && event.reason === 'error');
        const roles = turn.filter(({ type }) => type === 'error').map(({ role }) => role);
        expect(roles.length > 0).toBe(failed);
        expect(new Set(roles).size).toBe(roles.length);
      }
    });
  });
});
