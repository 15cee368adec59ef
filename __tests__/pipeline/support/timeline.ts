import type { VoiceEvent, VoiceEventType } from 'rxvoice';

/** What is worth a word in a picture of a conversation, by event type. */
const details: Partial<Record<VoiceEventType, (event: never) => string>> = {
  'agent.state': ({ state }: VoiceEvent<'agent.state'>) => state,
  'transcript.interim': ({ text }: VoiceEvent<'transcript.interim'>) => text,
  'transcript.preflight': ({ text }: VoiceEvent<'transcript.preflight'>) => text,
  'transcript.final': ({ text }: VoiceEvent<'transcript.final'>) => text,
  'transcript.timeout': ({ text }: VoiceEvent<'transcript.timeout'>) => text,
  'turn.committed': ({ text }: VoiceEvent<'turn.committed'>) => text,
  'turn.ended': ({ reason }: VoiceEvent<'turn.ended'>) => reason,
  'preflight.started': ({ text }: VoiceEvent<'preflight.started'>) => text,
  'preflight.adopted': ({ leadMs }: VoiceEvent<'preflight.adopted'>) => String(leadMs),
  'preflight.discarded': ({ reason }: VoiceEvent<'preflight.discarded'>) => reason,
  'bargeIn.ignored': ({ reason, text }: VoiceEvent<'bargeIn.ignored'>) => `${reason}: ${text}`,
  'bargeIn.confirmed': ({ detectMs }: VoiceEvent<'bargeIn.confirmed'>) => String(detectMs),
  'llm.completed': ({ text }: VoiceEvent<'llm.completed'>) => text,
  'llm.aborted': ({ text }: VoiceEvent<'llm.aborted'>) => text,
  'speech.created': ({ source }: VoiceEvent<'speech.created'>) => source,
  'speech.ended': ({ heardText }: VoiceEvent<'speech.ended'>) => heardText,
  'tool.call': ({ call }: VoiceEvent<'tool.call'>) => call.name,
  'tool.result': ({ content }: VoiceEvent<'tool.result'>) => content,
  'tool.error': ({ content }: VoiceEvent<'tool.error'>) => content,
  'tool.cancelled': ({ call }: VoiceEvent<'tool.cancelled'>) => call.name,
  'input.listening': ({ listening }: VoiceEvent<'input.listening'>) => String(listening),
  'agent.handoff': ({ from, to }: VoiceEvent<'agent.handoff'>) => `${String(from)} to ${to}`,
  'user.language': ({ language }: VoiceEvent<'user.language'>) => language,
  'session.updated': ({ changed }: VoiceEvent<'session.updated'>) => changed.join(', '),
  error: ({ code, role }: VoiceEvent<'error'>) => `${String(role)} ${code}`,
};

/** A conversation as lines: when, what, and what matters of it. Only the given types, or all but tokens and audio. */
export function timeline(events: readonly VoiceEvent[], ...types: readonly VoiceEventType[]): string[] {
  return events
    .filter(({ type }) => types.length === 0 || types.includes(type))
    .map((event) => `${event.at} ${event.type} ${details[event.type]?.(event as never) ?? ''}`.trim());
}

/** The events of one type. */
export function ofType<T extends VoiceEventType>(events: readonly VoiceEvent[], type: T): VoiceEvent<T>[] {
  const wanted = events.filter((event) => event.type === type);
  return wanted as VoiceEvent<T>[];
}
