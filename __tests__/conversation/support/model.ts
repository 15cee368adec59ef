/**
 * A model of everything around the reducers: answers and speeches that progress, are cut off and fail, and the queue in
 * which whatever they report waits its turn. With it, conversations can be explored without audio, streams or timers.
 */
import { EMPTY } from 'rxjs';
import { SpeechTicket } from '../../../lib/conversation/commands.ts';
import type { UserTurnVerdict } from '../../../lib/conversation/conversation-options.ts';
import type { AgentState, VoiceEventType } from '../../../lib/conversation/events.ts';
import type { ConversationStep } from '../../../lib/conversation/fold/conversation-step.ts';
import type { Effect, Input } from '../../../lib/conversation/fold/inputs.ts';
import { follow, reduce } from '../../../lib/conversation/fold/reduce.ts';
import type { Rules } from '../../../lib/conversation/fold/rules.ts';
import type { Sounding } from '../../../lib/conversation/answer/sounding.ts';
import {
  agentStateOf,
  candidateOf,
  startState,
  wakeAt,
  type ConversationState,
} from '../../../lib/conversation/fold/state.ts';
import { FakeSTT } from 'rxvoice/testing';

/** How far what the agent says has come. */
type Progress = 'asked' | 'ready' | 'audible';

/** A moment of a conversation. Immutable. */
export interface World {
  readonly at: number;
  readonly state: ConversationState;
  /** What is being answered or said, by the id of its speech. */
  readonly speeches: Readonly<Record<string, Progress>>;
  /** What has been begun and not ended, as the events tell it: turns and preflights. */
  readonly open: readonly string[];
  /** Turns that are committed. */
  readonly committed: readonly string[];
  /** What the events told that they never may. */
  readonly broken?: string;
}

/** What can happen to a conversation. */
export type Move =
  | 'voice starts'
  | 'voice ends'
  | 'voice resumes'
  | 'voice was brief'
  | 'words'
  | 'other words'
  | 'marked words'
  | 'may be the end'
  | 'final'
  | 'other final'
  | 'empty final'
  | 'a command'
  | 'a nod'
  | 'a nod to a question'
  | 'an echo'
  | 'an echo begins'
  | 'an echo of a word'
  | 'an echo, then words'
  | 'an echo, then a command'
  | 'interrupt'
  | 'type'
  | 'type patiently'
  | 'say'
  | 'say uninterruptibly'
  | 'greet'
  | 'begin'
  | 'commit'
  | 'cancel'
  | 'drain'
  | 'stop'
  | 'speech-to-text leaves'
  | 'speech-to-text returns'
  | 'speech-to-text is lost'
  | 'the voice detector is lost'
  | 'the scorer objects'
  | 'the scorer agrees'
  | 'hook lets pass'
  | 'hook adds'
  | 'hook refuses'
  | 'hook drops'
  | 'cannot be cut from now on'
  | 'push-to-talk from now on'
  | 'as before from now on'
  | 'tools run'
  | 'tools run that words abort'
  | 'tools have run'
  | 'agent gets ready'
  | 'agent is heard'
  | 'agent is done'
  | 'agent fails'
  | 'a quarter of a second'
  | 'the next deadline';

/** Everything that can happen. */
export const moves: readonly Move[] = [
  ...(['voice starts', 'voice ends', 'voice resumes', 'words', 'other words', 'may be the end'] as const),
  ...(['voice was brief', 'marked words', 'the scorer objects', 'the scorer agrees'] as const),
  ...(['final', 'other final', 'empty final', 'interrupt', 'type', 'type patiently'] as const),
  ...(['a command', 'a nod', 'a nod to a question', 'an echo'] as const),
  ...(['an echo begins', 'an echo of a word', 'an echo, then words', 'an echo, then a command'] as const),
  ...(['tools run', 'tools run that words abort', 'tools have run'] as const),
  ...(['say', 'say uninterruptibly', 'greet', 'begin', 'commit', 'cancel', 'drain', 'stop'] as const),
  ...(['speech-to-text leaves', 'speech-to-text returns', 'speech-to-text is lost'] as const),
  'the voice detector is lost',
  ...(['hook lets pass', 'hook adds', 'hook refuses', 'hook drops'] as const),
  ...(['cannot be cut from now on', 'push-to-talk from now on', 'as before from now on'] as const),
  ...(['agent gets ready', 'agent is heard', 'agent is done', 'agent fails'] as const),
  ...(['a quarter of a second', 'the next deadline'] as const),
];

const transcript = (text: string, kind: 'interim' | 'final' | 'preflight'): Input => ({
  type: 'transcript',
  result: FakeSTT.result(text, kind),
});
/** What is said while this is heard of the agent. */
const over = (sounding: Partial<Sounding>, text: string, kind: 'interim' | 'final' = 'final'): Input => {
  const nothing: Sounding = { toQuestionMs: Infinity, sinceQuestionMs: Infinity, text: '', endedMs: 0 };
  return { ...transcript(text, kind), sounding: { ...nothing, ...sounding } } as Input;
};
const sounds: Partial<Sounding> = { text: 'one two three', between: () => 'one two' };
const say = (interruptible: boolean, source: 'say' | 'greeting' = 'say'): Input => ({
  ...{ type: 'say', text$: EMPTY, options: { interruptible }, source, ticket: new SpeechTicket() },
});

/** What a hook may decide. */
const verdicts: Partial<Record<Move, UserTurnVerdict>> = {
  'hook lets pass': {},
  'hook adds': { context: 'more' },
  'hook refuses': { refuse: 'no' },
  'hook drops': { refuse: '' },
};

/** What tools do. */
const toolsThat: Partial<Record<Move, { readonly are: 'kept' | 'abortable' | undefined }>> = {
  'tools run': { are: 'kept' },
  'tools run that words abort': { are: 'abortable' },
  'tools have run': { are: undefined },
};

/** What each move of the user and the application is to the reducers. */
const inputs: Partial<Record<Move, () => Input>> = {
  'voice starts': () => ({ type: 'speech', event: 'started' }),
  'voice ends': () => ({ type: 'speech', event: 'ended' }),
  'voice resumes': () => ({ type: 'speech', event: 'resumed' }),
  'voice was brief': () => ({ type: 'speech', event: 'ended', isBrief: true }),
  'marked words': () => ({ type: 'transcript', result: { ...FakeSTT.result('one two', 'interim'), isFinal: true } }),
  words: () => transcript('one', 'interim'),
  'other words': () => transcript('one two', 'interim'),
  'may be the end': () => transcript('one', 'preflight'),
  final: () => transcript('one', 'final'),
  'other final': () => transcript('one two', 'final'),
  'empty final': () => transcript('', 'final'),
  'a command': () => transcript('stop', 'final'),
  'a nod': () => transcript('yes', 'final'),
  'a nod to a question': () => over({ toQuestionMs: 500 }, 'yes'),
  'an echo': () => over({ text: 'this is what it said' }, 'this is what it said'),
  'an echo begins': () => over(sounds, 'one', 'interim'),
  'an echo of a word': () => over(sounds, 'one'),
  'an echo, then words': () => over(sounds, 'one two three and you', 'interim'),
  'an echo, then a command': () => over(sounds, 'one two three stop'),
  interrupt: () => ({ type: 'interrupt' }),
  drain: () => ({ type: 'stop', drain: true }),
  stop: () => ({ type: 'stop' }),
  type: () => ({ type: 'send', text: 'typed', options: {}, ticket: new SpeechTicket() }),
  'type patiently': () => ({ type: 'send', text: 'typed', options: { interrupt: false }, ticket: new SpeechTicket() }),
  say: () => say(true),
  'say uninterruptibly': () => say(false),
  greet: () => say(true, 'greeting'),
  begin: () => ({ type: 'begin' }),
  commit: () => ({ type: 'commit' }),
  cancel: () => ({ type: 'cancel' }),
  'speech-to-text leaves': () => ({ type: 'stt', is: 'away' }),
  'speech-to-text returns': () => ({ type: 'stt', is: 'here' }),
  'speech-to-text is lost': () => ({ type: 'stt', is: 'lost' }),
  'the voice detector is lost': () => ({ type: 'detector.lost' }),
  'cannot be cut from now on': () => ({ type: 'update', changes: { bargeIn: false } }),
  'push-to-talk from now on': () => ({ type: 'update', changes: { turnTaking: { strategy: 'manual' } } }),
  'as before from now on': () => ({ type: 'update', changes: { bargeIn: true, turnTaking: {} } }),
};

/** The first moment. */
export function begin(rules: Rules): World {
  const state: ConversationState = { ...startState, rules };
  return take({ at: 0, state, speeches: {}, open: [], committed: [] }, { type: 'started' });
}

/** What a move leads to; `undefined` where it cannot happen, or adds nothing to what can. */
export function move(world: World, what: Move): World | undefined {
  const { state, at } = world;
  const input = inputs[what]?.();
  if (input) {
    // Two of a kind that wait show all that more of them would.
    if (input.type === 'say' && state.says.length + state.heldSays.length >= 2) return undefined;
    if (input.type === 'send' && state.waiting.length >= 2) return undefined;
    return take(world, input);
  }
  const verdict = verdicts[what];
  if (verdict) {
    if (state.candidate?.phase !== 'hooking') return undefined;
    return take(world, { type: 'turn.hooked', candidate: state.candidate.id, verdict });
  }
  if (what === 'the scorer objects' || what === 'the scorer agrees') {
    const { score } = state.turnTaking.phase === 'hearing' ? state.turnTaking : {};
    if (!score || score.value !== undefined) return undefined;
    return take(world, { type: 'score', text: score.text, value: what === 'the scorer agrees' ? 1 : 0 });
  }
  const tools = toolsThat[what];
  if (tools) {
    if (state.candidate?.phase !== 'committed' || state.candidate.tools === tools.are) return undefined;
    return take(world, { type: 'answer.tools', candidate: state.candidate.id, tools: tools.are });
  }
  if (what === 'a quarter of a second') return at + 250 < wakeAt(state) ? { ...world, at: at + 250 } : undefined;
  if (what === 'the next deadline') return tick(world);
  return progress(world, what);
}

/** The next thing that happens by itself when the user and the application stay out of it. */
export function goOn(world: World): World | undefined {
  return (
    move(world, 'agent is heard') ?? move(world, 'agent gets ready') ?? move(world, 'agent is done') ?? tick(world)
  );
}

function tick(world: World): World | undefined {
  const at = wakeAt(world.state);
  if (at === Infinity) return undefined;
  const next = take({ ...world, at: Math.max(world.at, at) }, { type: 'tick' });
  const isStuck = wakeAt(next.state) <= next.at;
  return isStuck ? { ...next, broken: 'a deadline that comes again at once' } : next;
}

/** What the agent says comes a step further; answers go before what was asked to be said, as both are told apart. */
function progress(world: World, what: Move): World | undefined {
  const { state, speeches, at } = world;
  const wanted: Progress = what === 'agent gets ready' ? 'asked' : what === 'agent is heard' ? 'ready' : 'audible';
  const isGated = (id: string): boolean =>
    state.candidate?.speechId === id && state.candidate.phase !== 'committed' && what !== 'agent fails';
  const found = Object.entries(speeches).find(([id, stage]) => {
    if (isGated(id)) return false;
    if (what === 'agent is heard') return stage === 'ready' && state.output.speaking?.id === id;
    return what === 'agent fails' || stage === wanted;
  });
  if (!found) return undefined;
  const [id] = found;
  const { candidate } = state;
  const isAnswer = candidate?.speechId === id;
  const is = (stage: Progress): World => ({ ...world, speeches: { ...speeches, [id]: stage } });
  if (what === 'agent gets ready') {
    const said = state.says.find((each) => each.id === id);
    const { source = 'answer', interruptible = true, urgent = false } = said ?? {};
    const turn = isAnswer ? { turnId: candidate.turnId } : {};
    return take(is('ready'), { type: 'speech.ready', speech: { id, ...turn, source, interruptible, urgent } });
  }
  if (what === 'agent is heard') return take(is('audible'), { type: 'speech.audible', id });
  const failed = what === 'agent fails';
  const error = failed && isAnswer ? [failure(candidate.id)] : [];
  if (failed && isAnswer && candidate.phase === 'preflight') return take(world, failure(candidate.id));
  const { [id]: _, ...others } = speeches;
  return [...error, ended(world, id, false, failed)].reduce<World>((soFar, input) => take(soFar, input), {
    ...world,
    at,
    speeches: others,
  });
}

function failure(candidate: string): Input {
  return { type: 'answer.failed', candidate, error: new Error('it broke'), role: 'llm' };
}

/** How a speech tells that it is over. */
function ended({ state, at }: World, speechId: string, interrupted: boolean, failed = false): Input {
  const outcome = { heardText: '', interrupted };
  const { candidate } = state;
  if (candidate?.speechId !== speechId) return { type: 'say.ended', id: speechId, tickets: [], outcome, silentAt: at };
  return {
    ...{
      type: 'answer.ended',
      moments: {},
      candidate: candidate.id,
      failed,
      tokens: 1,
      wastedTokens: 1,
      wasted: { characters: 1, audioMs: 1, voice: 'it' },
      outcome,
      silentAt: at,
    },
    unanswered: candidate.text,
  };
}

/** An answer that another one replaces in its turn. */
function replaced(candidate: string, silentAt: number): Input {
  const outcome = { heardText: '', interrupted: true };
  return {
    ...{ type: 'answer.ended', moments: {}, candidate, failed: false, tokens: 1, wastedTokens: 1, outcome, silentAt },
    wasted: { characters: 1, audioMs: 1, voice: 'it' },
    unanswered: undefined,
  };
}

/** One input, and everything that it leads to at once. */
function take(world: World, first: Input): World {
  const queue: Input[] = [first];
  const agentStates: AgentState[] = [];
  const agentBefore = agentStateOf(world.state);
  let now = world;
  let steps = 0;
  function see([state, ...effects]: ConversationStep): void {
    now = show(now, state, queue);
    for (const effect of effects) {
      if (effect.type === 'then') queue.push(effect.input);
      if (effect.type === 'emit' && effect.event === 'agent.state') agentStates.push(effect.payload.state);
      now = watch(now, effect);
    }
  }
  for (let input = queue.shift(); input; input = queue.shift()) {
    if (steps++ > 100) return { ...now, broken: 'inputs that lead to each other for ever' };
    const { state: before, at } = now;
    see(reduce(before, input, at));
    see(follow(now.state, before, input, at));
  }
  const isDetour = agentBefore === 'speaking' && agentStates.includes('thinking') && agentStates.at(-1) === 'listening';
  return isDetour ? { ...now, broken: 'thinking in the tick of an interruption' } : now;
}

/** What is answered and said follows the state: what is taken away ends, and reports what was heard of it. */
function show(world: World, state: ConversationState, queue: Input[]): World {
  const [candidate, previous] = [candidateOf(state), candidateOf(world.state)];
  const next: World = { ...world, state };
  const isSame = candidate?.speechId === previous?.speechId && state.candidate?.id === world.state.candidate?.id;
  if (isSame && state.says === world.state.says) return next;
  const wanted = new Set([...state.says.map(({ id }) => id), ...(candidate ? [candidate.speechId] : [])]);
  const speeches: Record<string, Progress> = {};
  for (const [id, stage] of Object.entries(world.speeches)) {
    if (wanted.has(id)) speeches[id] = stage;
    else if (previous?.speechId === id && state.candidate?.id !== previous.id)
      queue.push(replaced(previous.id, world.at));
    else if (previous?.speechId === id || world.state.says.some((each) => each.id === id)) {
      queue.push(ended(next, id, true));
    }
  }
  const known = new Set([previous?.speechId, ...world.state.says.map(({ id }) => id)]);
  for (const id of wanted) if (!known.has(id)) speeches[id] = 'asked';
  return { ...next, speeches };
}

/** Whether the events keep what CONVERSATION promises of their order. */
function watch(world: World, effect: Effect): World {
  if (effect.type !== 'emit') return world;
  return watchers[effect.event]?.(world, effect.envelope.turnId ?? '') ?? world;
}

const fail = (world: World, broken: string): World => ({ ...world, broken });
const opened = (world: World, key: string): World => ({ ...world, open: [...world.open, key] });
const closed = (world: World, key: string): World => ({ ...world, open: world.open.filter((each) => each !== key) });

const watchers: Partial<Record<VoiceEventType, (world: World, turnId: string) => World>> = {
  'turn.started': opened,
  'turn.committed': (world, turnId) => {
    if (world.state.isDraining || world.state.isStopped) return fail(world, 'a commit after the end');
    if (!world.open.includes(turnId)) return fail(world, 'a commit of no open turn');
    return { ...world, committed: [...world.committed, turnId] };
  },
  'turn.ended': (world, turnId) => {
    if (!world.open.includes(turnId)) return fail(world, 'a turn that ends twice, or never began');
    return { ...closed(world, turnId), committed: world.committed.filter((each) => each !== turnId) };
  },
  'transcript.final': (world, turnId) =>
    world.committed.includes(turnId) ? fail(world, 'a final transcript after its commit') : world,
  'preflight.started': (world) =>
    world.open.includes('preflight') ? fail(world, 'two preflights at once') : opened(world, 'preflight'),
  'preflight.adopted': (world) =>
    world.open.includes('preflight')
      ? closed(world, 'preflight')
      : fail(world, 'an adopted preflight that never began'),
  'preflight.discarded': (world) =>
    world.open.includes('preflight')
      ? closed(world, 'preflight')
      : fail(world, 'a discarded preflight that never began'),
};

/** What is wrong with a conversation that has been left to itself, if anything. */
export function unrest({ state, speeches, open }: World): string | undefined {
  if (state.isDraining && !state.isStopped) return 'it drains for ever';
  if (agentStateOf(state) !== (state.isStopped ? 'idle' : 'listening')) return `the agent is ${agentStateOf(state)}`;
  if (state.user.state !== 'silent') return 'the user speaks for ever';
  if (!state.isListening && !state.isStopped) return 'the user is not listened to';
  if (state.bargeIn.stage !== 'none') return `an interruption is ${state.bargeIn.stage} for ever`;
  if (state.turnTaking.phase !== 'idle' && state.turnTaking.phase !== 'open')
    return `${state.turnTaking.phase} for ever`;
  if (Object.keys(speeches).length > 0) return 'something is being said for ever';
  // Push-to-talk: the application ends the turn that it began.
  const isHeld = state.turnTaking.phase === 'open' && !state.isStopped;
  if (state.waiting.length + state.heldSays.length > 0 && !isHeld) return 'something waits for ever';
  if (open.length > 0 && !isHeld) return `${open.join()} never ended`;
  return undefined;
}

/** What of a moment decides what can still happen: times count from now, and names by their order. */
export function keyOf({ at, state, speeches, open, committed }: World): string {
  const names = new Map<string, string>();
  const { ids: _, silentAt: __, idleAt, awayAt, awayInMs, settings, rules, ...rest } = state;
  const nameOf = (id: string): string => {
    const name = names.get(id) ?? `#${names.size}`;
    names.set(id, name);
    return name;
  };
  const written = (value: unknown, isTime: boolean): string => {
    if (typeof value === 'number') {
      return isTime && value !== Infinity ? String(Math.max(-11_000, value - at)) : String(value);
    }
    if (typeof value === 'string') return isId.test(value) ? nameOf(value) : `"${value}"`;
    if (typeof value !== 'object' || value === null) return String(value);
    if (Array.isArray(value)) return `[${value.map((each) => written(each, isTime)).join()}]`;
    let text = '{';
    for (const [key, each] of Object.entries(value)) {
      const { code, isDropped, isTime: isTimed } = fieldOf(key);
      if (!isDropped && each !== undefined && typeof each !== 'function') text += code + written(each, isTimed);
    }
    return `${text}}`;
  };
  const going = [rules.bargeIn, rules.turnTaking, settings.turnTaking].map(settingKey);
  const ends = [idleAt !== Infinity, awayAt !== Infinity, awayInMs !== Infinity];
  return written([rest, going, ends, Object.entries(speeches), open, committed], false);
}

const isId = /^(turn|speech|answer)-\d+$/;

/** What a field's name says of it, and a short name. */
interface Field {
  readonly code: string;
  readonly isDropped: boolean;
  readonly isTime: boolean;
}

const fields = new Map<string, Field>();
const dropped = /^(rules|phrasebook|moments|measured|tickets?|content|result|lastWords|interim|replaces)$/;

function fieldOf(key: string): Field {
  let field = fields.get(key);
  if (!field) {
    field = {
      code: `~${fields.size.toString(36)}:`,
      isDropped: dropped.test(key),
      isTime: /(At|until|since|at)$/i.test(key),
    };
    fields.set(key, field);
  }
  return field;
}

/** Settings are few, and never change. */
const settingKeys = new Map<unknown, string>();

function settingKey(setting: unknown): string {
  let key = settingKeys.get(setting);
  if (key === undefined) {
    key = JSON.stringify(setting);
    settingKeys.set(setting, key);
  }
  return key;
}
