import { asObject, asString, type WireObject } from '../core/guard.ts';
import { ownEntry } from '../core/own-entry.ts';
import type { VoiceEvent, VoiceEventType } from '../conversation/events.ts';

/** Suffixes of fields that are not text: a number, a boolean, an object or an array. */
const kinds: Readonly<Record<string, (value: unknown) => boolean>> = {
  '#': (value) => typeof value === 'number' && Number.isFinite(value),
  '?': (value) => typeof value === 'boolean',
  '%': (value) => asObject(value) !== undefined,
  '*': Array.isArray,
};

/** The fields that each event has; `audio.chunk` and `audio.input` never leave a server. */
const shapes: Readonly<Record<Exclude<VoiceEventType, 'audio.chunk' | 'audio.input'>, string>> = {
  'agent.state': 'state previous',
  'agent.handoff': 'to',
  'user.state': 'state',
  'user.language': 'language',
  'session.ready': '',
  'session.closed': 'usage*',
  'session.updated': 'changed*',
  'provider.connecting': '',
  'provider.connected': '',
  'provider.reconnecting': 'attempt# delayMs#',
  'provider.lost': 'message',
  'provider.fallback': 'from to',
  'provider.format': 'from to transcoded?',
  'transcript.interim': 'text stablePrefix result%',
  'transcript.final': 'text',
  'transcript.preflight': 'text result%',
  'transcript.timeout': 'text',
  'turn.started': 'source',
  'turn.committed': 'text endedBy',
  'turn.ended': 'reason',
  'guard.acted': 'side rule action',
  'user.idle': 'idleMs#',
  'user.away': 'awayMs#',
  'preflight.started': 'text',
  'preflight.adopted': 'text leadMs#',
  'preflight.discarded': 'reason wastedTokens# wastedCharacters# wastedAudio#',
  'bargeIn.suspected': '',
  'bargeIn.paused': '',
  'bargeIn.confirmed': 'detectMs# cutMs#',
  'bargeIn.resumed': '',
  'bargeIn.ignored': 'reason text result%',
  'llm.started': 'round#',
  'llm.token': 'delta',
  'llm.completed': 'text finishReason',
  'llm.aborted': 'text',
  'tool.call': 'call%',
  'tool.result': 'call% content durationMs#',
  'tool.error': 'call% content durationMs#',
  'tool.cancelled': 'call%',
  'speech.created': 'source interruptible?',
  'speech.started': 'source',
  'speech.paused': 'positionMs#',
  'speech.resumed': 'positionMs#',
  'speech.ended': 'source text heardText interrupted? playedMs#',
  'caption.word': 'text startMs# endMs# range* estimated?',
  'history.added': 'item%',
  'history.updated': 'item%',
  'history.truncated': 'removed#',
  'dtmf.digit': 'digit',
  'call.state': 'state',
  'speaker.active': 'userId',
  'meeting.joined': 'userId',
  'meeting.left': 'userId',
  'call.ended': '',
  'input.muted': 'muted?',
  'input.listening': 'listening?',
  'input.device': 'change%',
  'input.permission': 'permission',
  'input.level': 'rms# peak#',
  'input.overflow': 'lostMs#',
  'output.device': 'change%',
  'output.level': 'rms# peak#',
  'turn.metrics': '',
  usage: '',
  error: 'code message recoverable?',
};

/** The event, if its fields have the right types; otherwise `undefined`. */
export function readEvent(event: WireObject | undefined): VoiceEvent | undefined {
  const shape = ownEntry(shapes, asString(event?.['type']));
  if (!event || shape === undefined || !kinds['#']?.(event['at'])) return undefined;
  const isWhole = `${shape} turnId~ speechId~`
    .trim()
    .split(' ')
    .every((field) => {
      const [, name = '', mark = ''] = /^(\w+)(\W?)$/.exec(field) ?? [];
      const value = event[name];
      if (mark === '~') return value === undefined || typeof value === 'string';
      return kinds[mark]?.(value) ?? typeof value === 'string';
    });
  return isWhole ? (event as unknown as VoiceEvent) : undefined;
}
