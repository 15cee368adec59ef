import type { DiscardReason, IgnoreReason, TurnEndedBy, TurnEndReason, VoiceEvent, VoiceEventType } from 'rxvoice';
import { counted } from '../../marbles/timeline.ts';

/** What a decision is about. */
export type Matter = 'turn' | 'barge-in' | 'preflight' | 'listening' | 'services';

/** Something that the conversation has decided, and why. */
export interface Decision {
  readonly at: number;
  readonly matter: Matter;
  readonly text: string;
  readonly why: string;
}

const ends: Readonly<Record<TurnEndReason, string>> = {
  completed: 'the answer was heard to its end',
  interrupted: 'the answer was cut off',
  merged: 'its words joined the next turn: nothing of an answer was heard',
  refused: 'onUserTurn refused it',
  empty: 'nothing was said',
  cancelled: 'the user took it back',
  error: 'a service failed',
  stopped: 'the session has stopped',
};
const discards: Readonly<Record<DiscardReason, string>> = {
  resumed: 'the user goes on',
  changed: 'the final words, or the settings of answers, are different',
  cancelled: 'something else took its place',
  failed: 'a service failed',
};
const ignored: Readonly<Record<IgnoreReason, string>> = {
  uninterruptible: 'this must be heard to its end',
  disabled: 'barge-in is off',
  'too-short': 'too few words to interrupt',
  backchannel: 'the user is only nodding along',
  echo: 'the agent hears itself',
};

const enders: Readonly<Record<TurnEndedBy, string>> = {
  stt: 'speech-to-text says that the user has finished',
  silence: 'the user has been silent for long enough',
  scorer: 'the words are a whole sentence',
  custom: 'your own strategy says so',
  maxMs: 'the silence has reached its limit',
  maxTurnMs: 'the turn has reached its limit',
  manual: 'the button was released',
  timeout: 'speech-to-text did not finish in time',
  text: 'it was typed',
  again: 'what interrupted it was nothing',
};

const quoted = (text: string): string => (text.trim() ? `“${text.trim()}”` : 'no words');
const ms = (value: number): string => `${Math.round(value)} ms`;

type Told = readonly [matter: Matter, text: string, why: string];

const guarded: Readonly<Record<VoiceEvent<'guard.acted'>['side'], string>> = {
  input: 'what the user says',
  output: 'what the agent says',
  tools: 'the arguments of a tool call',
};

/** What each event tells of a decision. */
const decisions: { readonly [T in VoiceEventType]?: (event: VoiceEvent<T>) => Told } = {
  'turn.started': ({ source }) => ['turn', 'A turn begins', source === 'speech' ? 'the user speaks' : 'it was typed'],
  'turn.committed': ({ text, endedBy }) => ['turn', `The turn is over: ${quoted(text)}`, enders[endedBy]],
  'turn.ended': ({ reason }) => ['turn', `The turn ends as ${reason}`, ends[reason]],
  'transcript.timeout': ({ text }) => ['turn', `Gave up waiting: ${quoted(text)}`, 'the words did not come in time'],
  'guard.acted': ({ side, rule, action }) => [
    'turn',
    `A guard has acted: ${action}`,
    `${rule} found something in ${guarded[side]}`,
  ],
  'agent.handoff': ({ to, from = 'the first agent' }) => ['turn', `${to} answers from now on`, `${from} handed over`],
  'user.language': ({ language }) => ['turn', `The agent speaks ${language} from now on`, 'so does the user'],
  'user.idle': ({ idleMs }) => ['turn', 'The user is idle', `nobody spoke for ${Math.round(idleMs / 1000)} s`],
  'user.away': ({ awayMs }) => ['turn', 'The user is away', `the user was silent for ${Math.round(awayMs / 1000)} s`],
  'preflight.started': ({ text }) => [
    'preflight',
    `Preparing an answer to ${quoted(text)}`,
    'the user may have finished',
  ],
  'preflight.adopted': ({ leadMs }) => [
    'preflight',
    'Adopted: the prepared answer is used',
    `the final words are the same; that saved ${ms(leadMs)}`,
  ],
  'preflight.discarded': ({ reason, wastedTokens }) => [
    ...(['preflight', `Discarded as ${reason}`] as const),
    `${discards[reason]}; ${counted(wastedTokens, 'wasted token')}`,
  ],
  'bargeIn.suspected': () => ['barge-in', 'Suspected: the agent turns itself down', 'a voice'],
  'bargeIn.paused': () => ['barge-in', 'Paused', 'the voice has not stopped'],
  'bargeIn.resumed': () => [
    'barge-in',
    'Resumed at the same sample',
    'a false alarm: no words, or none that interrupt',
  ],
  'bargeIn.confirmed': ({ detectMs, cutMs }) => [
    ...(['barge-in', 'Confirmed: the agent was cut off'] as const),
    `words, ${ms(detectMs)} after the first sign; silent ${ms(cutMs)} later`,
  ],
  'bargeIn.ignored': ({ reason, text }) => ['barge-in', `Ignored as ${reason}: ${quoted(text)}`, ignored[reason]],
  'tool.cancelled': ({ call }) => ['barge-in', `The tool ${call.name} was cancelled`, 'its answer was cut off'],
  'input.listening': ({ listening }) => [
    ...(['listening', listening ? 'The user is heard' : 'The user is not heard'] as const),
    listening ? 'every listening policy agrees' : 'a listening policy says so: the service hears silence',
  ],
  'input.muted': ({ muted }) => ['listening', muted ? 'Muted' : 'Unmuted', 'the application says so'],
  'provider.reconnecting': ({ provider = '', attempt }) => [
    ...(['services', `${provider} reconnects, attempt ${attempt}`] as const),
    'the connection was lost; what was not final is sent again',
  ],
  'provider.lost': ({ message, provider = '' }) => ['services', `${provider} is lost`, message],
  'provider.fallback': ({ from, to, message = 'it works again' }) => [
    'services',
    `${to} takes over from ${from}`,
    message,
  ],
  error: ({ message, role = 'the pipeline' }) => ['services', `An error (${role})`, message],
};

/** What an event tells of a decision, if anything. */
export function decisionOf(event: VoiceEvent): Decision | undefined {
  const tell = decisions[event.type] as ((event: VoiceEvent) => Told) | undefined;
  if (!tell) return undefined;
  const [matter, text, why] = tell(event);
  return { at: event.at, matter, text, why };
}
