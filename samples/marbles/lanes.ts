import type { VoiceEvent, VoiceEventType } from 'rxvoice';

/** The lanes of a diagram, from the user's voice down to what went wrong. */
export const lanes = [
  { id: 'audio', title: 'audio', about: 'what the microphone brings' },
  { id: 'speech', title: 'speech', about: 'when the user speaks' },
  { id: 'transcripts', title: 'transcripts', about: 'what the user says: interim, preflight, final' },
  { id: 'turns', title: 'turns', about: 'whose turn it is, and what the agent does' },
  { id: 'preflight', title: 'preflight', about: 'answers that are prepared before the turn is over' },
  { id: 'generation', title: 'generation', about: 'what the language model writes' },
  { id: 'tools', title: 'tools', about: 'what the language model has done' },
  { id: 'synthesis', title: 'synthesis', about: 'audio as the voice brings it' },
  { id: 'playback', title: 'playback', about: 'what is heard, and what never was' },
  { id: 'bargeIn', title: 'barge-in', about: 'how the user interrupts' },
  { id: 'services', title: 'services', about: 'connections and formats' },
  { id: 'memory', title: 'memory', about: 'what the model will remember, and what it cost' },
  { id: 'errors', title: 'errors', about: 'what went wrong' },
] as const;

/** The name of a lane. */
export type LaneId = (typeof lanes)[number]['id'];

/** The lane of each event: every event stands in exactly one. */
export const laneOf: Readonly<Record<VoiceEventType, LaneId>> = {
  'audio.input': 'audio',
  'input.muted': 'audio',
  'input.listening': 'audio',
  'input.device': 'audio',
  'input.permission': 'audio',
  'input.level': 'audio',
  'input.overflow': 'audio',
  'output.device': 'playback',
  'output.level': 'playback',
  'dtmf.digit': 'audio',
  'call.state': 'audio',
  'speaker.active': 'speech',
  'meeting.joined': 'speech',
  'meeting.left': 'speech',
  'user.state': 'speech',
  'user.idle': 'speech',
  'user.away': 'speech',
  'transcript.interim': 'transcripts',
  'transcript.final': 'transcripts',
  'transcript.preflight': 'transcripts',
  'transcript.timeout': 'transcripts',
  'agent.state': 'turns',
  'agent.handoff': 'turns',
  'user.language': 'turns',
  'turn.started': 'turns',
  'turn.committed': 'turns',
  'guard.acted': 'turns',
  'turn.ended': 'turns',
  'preflight.started': 'preflight',
  'preflight.adopted': 'preflight',
  'preflight.discarded': 'preflight',
  'llm.started': 'generation',
  'llm.token': 'generation',
  'llm.completed': 'generation',
  'llm.aborted': 'generation',
  'tool.call': 'tools',
  'tool.result': 'tools',
  'tool.error': 'tools',
  'tool.cancelled': 'tools',
  'audio.chunk': 'synthesis',
  'speech.created': 'synthesis',
  'speech.started': 'playback',
  'caption.word': 'playback',
  'speech.paused': 'playback',
  'speech.resumed': 'playback',
  'speech.ended': 'playback',
  'bargeIn.suspected': 'bargeIn',
  'bargeIn.paused': 'bargeIn',
  'bargeIn.confirmed': 'bargeIn',
  'bargeIn.resumed': 'bargeIn',
  'bargeIn.ignored': 'bargeIn',
  'session.ready': 'services',
  'session.updated': 'services',
  'session.closed': 'services',
  'provider.connecting': 'services',
  'provider.connected': 'services',
  'provider.reconnecting': 'services',
  'provider.fallback': 'services',
  'provider.lost': 'services',
  'provider.format': 'services',
  'call.ended': 'services',
  'history.added': 'memory',
  'history.updated': 'memory',
  'history.truncated': 'memory',
  'turn.metrics': 'memory',
  usage: 'memory',
  error: 'errors',
};

const quoted = ({ text }: { readonly text: string }): string => `“${text}”`;
const called = ({ call }: VoiceEvent<'tool.call'>): string => `${call.name}(${call.argsText})`;
const returned = (event: VoiceEvent<'tool.result' | 'tool.error'>): string =>
  `${event.call.name}: ${event.content} (${Math.round(event.durationMs)} ms)`;
const remembered = ({ item }: VoiceEvent<'history.added' | 'history.updated'>): string => {
  if (item.role === 'assistant') return `assistant: ${item.heard}`;
  return item.role === 'user' ? `user: ${item.text}` : `tool: ${item.content}`;
};

/** What matters of an event, in a few words; types that say it by their name alone are not here. */
const said: { readonly [T in VoiceEventType]?: (event: VoiceEvent<T>) => string } = {
  'agent.state': ({ state }) => state,
  'user.state': ({ state }) => state,
  'user.idle': ({ idleMs }) => `nobody spoke for ${Math.round(idleMs / 1000)} s`,
  'user.away': ({ awayMs }) => `the user said nothing for ${Math.round(awayMs / 1000)} s`,
  'input.listening': ({ listening }) => (listening ? 'listens' : 'does not listen'),
  'input.muted': ({ muted }) => (muted ? 'muted' : 'unmuted'),
  'input.device': ({ change }) => change.type,
  'output.device': ({ change }) => change.type,
  'dtmf.digit': ({ digit }) => digit,
  'provider.connecting': ({ provider = '' }) => provider,
  'provider.connected': ({ provider = '' }) => provider,
  'provider.reconnecting': ({ provider = '', attempt, delayMs }) =>
    `${provider}, attempt ${attempt} in ${Math.round(delayMs)} ms`,
  'provider.lost': ({ message }) => message,
  'provider.format': ({ from, to, transcoded }) => `${from} → ${to}${transcoded ? ', transcoded' : ''}`,
  'transcript.interim': quoted,
  'transcript.final': quoted,
  'transcript.preflight': quoted,
  'transcript.timeout': quoted,
  'turn.started': ({ source }) => `by ${source}`,
  'turn.committed': quoted,
  'turn.ended': ({ reason }) => reason,
  'guard.acted': ({ side, rule, action }) => `${side}, ${rule}: ${action}`,
  'preflight.started': quoted,
  'preflight.adopted': ({ leadMs }) => `saved ${Math.round(leadMs)} ms`,
  'preflight.discarded': ({ reason, wastedTokens }) => `${reason}, ${wastedTokens} wasted tokens`,
  'bargeIn.confirmed': ({ detectMs, cutMs }) => `after ${Math.round(detectMs)} ms, silent in ${Math.round(cutMs)} ms`,
  'bargeIn.ignored': ({ reason, text }) => `${reason}: “${text}”`,
  'llm.started': ({ round }) => `round ${round}`,
  'llm.token': ({ delta }) => delta,
  'llm.completed': quoted,
  'llm.aborted': quoted,
  'tool.call': called,
  'tool.result': returned,
  'tool.error': returned,
  'tool.cancelled': ({ call }) => call.name,
  'speech.created': ({ source }) => source,
  'speech.started': ({ source }) => source,
  'caption.word': ({ text }) => text,
  'speech.paused': ({ positionMs }) => `at ${Math.round(positionMs)} ms`,
  'speech.resumed': ({ positionMs }) => `at ${Math.round(positionMs)} ms`,
  'speech.ended': ({ heardText }) => `heard “${heardText}”`,
  'audio.chunk': ({ chunk }) => `${chunk.data.length} bytes`,
  'audio.input': ({ chunk }) => `${chunk.data.length} bytes`,
  'history.added': remembered,
  'history.updated': remembered,
  'history.truncated': ({ removed }) => `${removed} items dropped`,
  'turn.metrics': ({ total }) => (total === undefined ? '' : `${Math.round(total)} ms to the first sound`),
  usage: ({ tokens, characters }) =>
    [
      ...(tokens?.totalTokens === undefined ? [] : [`${tokens.totalTokens} tokens`]),
      ...(characters === undefined ? [] : [`${characters} characters`]),
    ].join(', '),
  error: ({ message }) => message,
};

/** What matters of an event, in a few words; empty where its type says it all. */
export function summaryOf(event: VoiceEvent): string {
  const say = said[event.type] as ((event: VoiceEvent) => string) | undefined;
  return say?.(event) ?? '';
}
