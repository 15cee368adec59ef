/**
 * Conversations at random: signals in any order, an application that does everything at any moment, and providers that
 * fail, stall and lie.
 */
import fc from 'fast-check';
import {
  concat,
  concatMap,
  defer,
  delay,
  EMPTY,
  filter,
  from,
  ignoreElements,
  map,
  NEVER,
  of,
  switchMap,
  take,
  tap,
  throwError,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import {
  afterGreeting,
  unlessToolsRun,
  type AudioChunk,
  type AudioMetadata,
  type ConversationPorts,
  type Endpointing,
  type LLMEvent,
  type Message,
  type Tool,
  type UserTurnVerdict,
} from 'rxvoice';
import { scorer, silence } from 'rxvoice/endpointing';
import {
  application,
  textAudioFormat,
  tokensOf,
  user,
  voiceTest,
  type FakeOutput,
  type FakeTTS,
  type VoiceStep,
  type VoiceTestResult,
} from 'rxvoice/testing';
import { SpeechTicket } from '../../../lib/conversation/commands.ts';
import { VoiceError } from '../../../lib/core/errors.ts';

/** Signals as they come in the field, and in orders in which they never should. */
const step = fc.oneof(
  fc.constantFrom<VoiceStep>(user.starts, user.falls, user.resumes),
  fc.constantFrom<VoiceStep>(user.voice(60), user.silence(200), user.silence(0, 'brief')),
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
    application.say('At once.', { priority: 'high' }),
    application.say(''),
    application.say('Listen to this.', { interruptible: false }),
    application.updates({ bargeIn: 'immediate', systemPrompt: 'Be brief.' }),
    application.updates({ bargeIn: true, turnTaking: { strategy: 'manual' } }),
    application.updates({ turnTaking: { strategy: 'stt' }, endpointing: { minMs: 400, maxMs: 2_000 } }),
  ),
);

const long = 'One two three four. Five six seven eight nine. Ten eleven twelve thirteen. ';
const answers = fc.constantFrom<string>(
  ...['Fine.', 'Shall I book it? Or shall I not?', long, long.repeat(3), ''],
  ...['fails', 'hangs', 'breaks', 'stalls', 'at once', 'at once, and fails', 'calls', 'calls twice', 'pays'],
);

/** What the application makes of each turn before the model does: mostly nothing. */
const verdicts: Readonly<Record<string, UserTurnVerdict>> = {
  adds: { context: 'It rains.' },
  rewrites: { text: 'something else' },
  refuses: { refuse: 'That I cannot tell.' },
  drops: { refuse: '' },
};
const hooks = fc.constantFrom('', '', '', '', 'hangs', ...Object.keys(verdicts));

/** Who ends a turn: mostly the service. */
const endpointings: Readonly<Record<string, Endpointing>> = {
  bounds: { minMs: 300, maxMs: 3_000, dynamic: true },
  'at once': ({ silentSince = Infinity }) => silentSince,
  silence: silence(),
  scorer: scorer((text) => (text.endsWith('more') ? 0.1 : 0.9)),
  short: { maxTurnMs: 2_000 },
};

/** What becomes of each speech: most of them are spoken. */
const voices = fc.constantFrom(
  ...['speaks', 'speaks', 'speaks', 'fails', 'fails at the text', 'hangs', 'listens to nobody', 'breaks'],
  ...['stalls', 'says nothing', 'ends early'],
);
const outputs = fc.constantFrom('plays', 'plays', 'plays', 'plays', 'fails', 'breaks', 'stands still', 'takes nothing');

/** A random conversation. */
export const scenario = fc.record({
  steps: fc.array(fc.tuple(fc.integer({ min: 0, max: 12_000 }), step), { minLength: 1, maxLength: 14 }),
  answers: fc.array(answers, { minLength: 1, maxLength: 4 }),
  voices: fc.array(voices, { minLength: 1, maxLength: 4 }),
  outputs: fc.array(outputs, { minLength: 1, maxLength: 4 }),
  hooks: fc.array(hooks, { minLength: 1, maxLength: 4 }),
  bargeIn: fc.constantFrom(true, false, 'immediate' as const, { whileUninterruptible: 'discard' } as const),
  strategy: fc.constantFrom('stt' as const, 'stt' as const, 'manual' as const),
  endpointing: fc.constantFrom('', '', ...Object.keys(endpointings)),
  stableInterims: fc.boolean(),
  vad: fc.boolean(),
  greeting: fc.constantFrom(undefined, 'Welcome.'),
  /** Whether the user is heard during greetings and tools. */
  isAlwaysHeard: fc.constantFrom(true, true, false),
  /** What the agent says when it could not hear. */
  unclear: fc.constantFrom('', 'Sorry?'),
  speak: fc.boolean(),
  reportsSpeechEnd: fc.boolean(),
  words: fc.boolean(),
  msPerCharacter: fc.constantFrom(50, 50, 150),
  compressed: fc.boolean(),
  /** How the application ends it before it is stopped, and when. */
  end: fc.option(fc.tuple(fc.constantFrom('stop' as const, 'drain' as const), fc.integer({ min: 0, max: 14_000 }))),
});

export type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

/** What became of a conversation. */
export interface Outcome extends VoiceTestResult {
  readonly scenario: Scenario;
  /** Most requests to the model that ran at once. */
  readonly mostRequests: number;
  /** Requests to the model, plays of the output and runs of tools after the application had stopped the conversation. */
  readonly begunAfterEnd: readonly string[];
  /** How many requests of the application, made before it ended the conversation, were never told their outcome. */
  readonly unsettled: number;
}

/** When the conversation is stopped: what it is then like tells nothing of what it was like before. */
export const stoppedAt = 300_000;
/** When an application ends what it began by push-to-talk. */
const releasedAt = 20_000;

const compressed: AudioMetadata = { encoding: 'mp3', sampleRate: 24_000, channels: 1 };

/** Audio whose bytes do not tell how long it sounds, and an output that can decode it. */
const asCompressed = (audio$: Observable<AudioChunk>): Observable<AudioChunk> =>
  audio$.pipe(map((chunk) => ({ ...chunk, metadata: compressed })));
const decoded = (audio$: Observable<AudioChunk>): Observable<AudioChunk> =>
  audio$.pipe(map((chunk) => ({ ...chunk, metadata: textAudioFormat })));

const broken = (provider: string): Observable<never> =>
  throwError(() => new VoiceError('it broke', { code: 'connection', provider }));

/** An output that does what its plan says, play by play, and can decode. */
function faultyOutput(output: FakeOutput, plan: readonly string[], onPlay: () => void): ConversationPorts['output'] {
  let plays = 0;
  let stands = false;
  const does: Record<string, (audio$: Observable<AudioChunk>) => ReturnType<FakeOutput['play']>> = {
    fails: () => broken(output.name),
    breaks: (audio$) => concat(output.play(audio$).pipe(take(1)), broken(output.name)),
    'stands still': (audio$) => concat(audio$.pipe(switchMap(() => EMPTY)), NEVER),
    'takes nothing': () => NEVER,
  };
  return {
    name: output.name,
    play: (audio$) =>
      defer(() => {
        onPlay();
        const what = plan[plays++ % plan.length] ?? '';
        stands = what === 'stands still' || what === 'takes nothing' || what === 'fails';
        const audible$ = decoded(from(audio$));
        return does[what]?.(audible$) ?? output.play(audible$);
      }),
    get positionMs() {
      return stands ? 0 : output.positionMs;
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
function faulty(tts: FakeTTS, plan: readonly string[], hasWords: boolean): Pick<FakeTTS, 'name' | 'speak' | 'words$'> {
  let speeches = 0;
  const broke$ = broken(tts.name);
  return {
    name: tts.name,
    words$: tts.words$,
    speak: (text$) => {
      const spoken$ = tts.speak(text$);
      switch (plan[speeches++ % plan.length]) {
        case 'fails':
          return broke$;
        case 'fails at the text':
          return from(text$).pipe(switchMap(() => broke$));
        case 'hangs':
          return spoken$.pipe(switchMap(() => NEVER));
        case 'listens to nobody':
          return NEVER;
        case 'breaks':
          return spoken$.pipe(switchMap((chunk) => concat(of(chunk), broke$)));
        case 'stalls':
          return concat(spoken$, NEVER);
        case 'says nothing':
          return spoken$.pipe(ignoreElements());
        // Without word times nobody can tell how much of a text its audio says.
        case 'ends early':
          if (!hasWords) return spoken$;
          return tts.speak(from(text$).pipe(filter((_, index) => index === 0)));
        default:
          return spoken$;
      }
    },
  };
}

/** What a model does for an answer of the plan. */
function outcomeOf(
  answer: string,
  messages: readonly Message[],
  request: number,
): readonly LLMEvent[] | Observable<LLMEvent> {
  const error = new VoiceError('it broke', { code: 'server' });
  const call = (name: string, args: unknown): LLMEvent => ({
    ...{ type: 'tool-call', id: 'call', name, args, argsText: JSON.stringify(args) },
  });
  const failing$ = throwError(() => error);
  const half$ = of<LLMEvent>({ type: 'token', text: 'Half of a ' });
  const isTold = messages.at(-1)?.role === 'tool';
  switch (answer) {
    case 'fails':
      return failing$;
    case 'hangs':
      return NEVER;
    case 'breaks':
      return concat(half$, failing$);
    case 'stalls':
      return concat(half$, NEVER);
    case 'at once':
      return from(tokensOf(long));
    case 'at once, and fails':
      return concat(from(tokensOf(long)), failing$);
    case 'calls':
      return isTold ? tokensOf('Looked.') : [call('look', { request })];
    case 'calls twice':
      return isTold ? tokensOf('Looked.') : [call('look', {}), call('look', {}), call('look', { request })];
    case 'pays':
      return isTold ? tokensOf('Paid.') : [call('pay', { request })];
    default:
      return tokensOf(answer);
  }
}

/** The events of a request at the pace of a model. */
function inTime(events: readonly LLMEvent[], scheduler: SchedulerLike): Observable<LLMEvent> {
  return from(events).pipe(concatMap((event, index) => of(event).pipe(delay(index === 0 ? 100 : 10, scheduler))));
}

/** Runs a conversation. */
export function run(scenario: Scenario): Outcome {
  const { steps, answers: plan, voices: voice, outputs: plays, hooks: verdict, strategy, end, greeting } = scenario;
  const { bargeIn, speak, reportsSpeechEnd, words, msPerCharacter, compressed: isCompressed } = scenario;
  const { endpointing, stableInterims, vad, isAlwaysHeard, unclear } = scenario;
  const begunAfterEnd: string[] = [];
  let hasEnded = false;
  let [requests, mostRequests, turns, unsettled] = [0, 0, 0, 0];
  const begin = (what: string): void => {
    if (hasEnded) begunAfterEnd.push(what);
  };
  /** Who asks for something is told its outcome: each conversation has tickets of its own. */
  const own = (ms: number, each: VoiceStep): VoiceStep => {
    // A voice detector tells of what was heard a moment ago.
    if ('activity' in each) return { activity: { ...each.activity, positionMs: ms - each.activity.positionMs } };
    if (!('command' in each) || !('ticket' in each.command) || (end && ms >= end[1])) return each;
    const ticket = new SpeechTicket();
    unsettled++;
    ticket.cut$.subscribe({ complete: () => unsettled-- });
    return { command: { ...each.command, ticket } };
  };
  const story: (readonly [number, VoiceStep])[] = steps.map(([ms, each]) => [ms, own(ms, each)]);
  story.push([releasedAt, application.does('cancel')]);
  if (end) {
    const [how, ms] = end;
    const command = how === 'drain' ? ({ type: 'stop', drain: true } as const) : ({ type: 'stop' } as const);
    const ending: VoiceStep = {
      get command() {
        hasEnded = how === 'stop';
        return command;
      },
    };
    story.push([ms, ending]);
  }
  const at: Record<number, VoiceStep[]> = {};
  for (const [ms, each] of story) (at[ms] ??= []).push(each);
  const tools: Tool[] = [
    { name: 'look', execute: () => (begin('tool'), of('seen').pipe(delay(700))) },
    { name: 'pay', onInterrupt: 'finish', execute: () => (begin('tool'), of('paid').pipe(delay(4_000))) },
  ];
  const answer = (messages: readonly Message[], request: number, scheduler: SchedulerLike): Observable<LLMEvent> => {
    begin('request');
    mostRequests = Math.max(mostRequests, ++requests);
    const what = outcomeOf(plan[request % plan.length] ?? 'Fine.', messages, request);
    const events$ = Array.isArray(what)
      ? inTime(what as readonly LLMEvent[], scheduler)
      : (what as Observable<LLMEvent>);
    const end = (): void => {
      requests--;
    };
    return events$.pipe(tap({ error: end, complete: end, unsubscribe: end }));
  };
  const decide = (): UserTurnVerdict | Promise<undefined> | undefined => {
    const what = verdict[turns++ % verdict.length] ?? '';
    return what === 'hangs' ? new Promise(() => undefined) : verdicts[what];
  };
  const result = voiceTest({
    steps: at,
    ...(verdict.some((each) => each) && { onUserTurn: decide }),
    ...(endpointing && { endpointing: endpointings[endpointing] }),
    ...(isAlwaysHeard ? {} : { listening: [afterGreeting, unlessToolsRun] }),
    ...(unclear && { onUnclear: () => unclear }),
    ...{ vad, timeouts: { hookMs: 1_500 } },
    ...(greeting === undefined ? {} : { greeting }),
    ...{
      bargeIn,
      reportsSpeechEnd,
      preflight: { speak, ...(stableInterims ? { stableInterimMs: 300 } : {}) },
      tts: { words, msPerCharacter },
      turnTaking: { strategy },
    },
    wrapTTS: (tts) => {
      const { speak, ...rest } = faulty(tts, voice, words);
      return { ...rest, speak: (text$) => (isCompressed ? asCompressed(speak(text$)) : speak(text$)) };
    },
    wrapOutput: (output) => faultyOutput(output, plays, () => begin('play')),
    tools,
    llm: { answer },
    untilMs: stoppedAt,
  });
  return { ...result, scenario, mostRequests, begunAfterEnd, unsettled };
}
