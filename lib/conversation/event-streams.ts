import type { VoiceEvent } from './events.ts';

/** The events of each named stream of a pipeline. Every type is on exactly one stream. */
export const eventStreams = {
  state$: [
    'agent.state',
    'agent.handoff',
    'user.state',
    'user.language',
    'session.ready',
    'session.updated',
    'session.closed',
  ],
  connection$: [
    'provider.connecting',
    'provider.connected',
    'provider.reconnecting',
    'provider.lost',
    'provider.fallback',
    'provider.format',
  ],
  transcripts$: ['transcript.interim', 'transcript.final', 'transcript.preflight', 'transcript.timeout'],
  turns$: ['turn.started', 'turn.committed', 'turn.ended', 'guard.acted', 'user.idle', 'user.away'],
  preflight$: ['preflight.started', 'preflight.adopted', 'preflight.discarded'],
  bargeIn$: ['bargeIn.suspected', 'bargeIn.paused', 'bargeIn.confirmed', 'bargeIn.resumed', 'bargeIn.ignored'],
  tokens$: ['llm.started', 'llm.token', 'llm.completed', 'llm.aborted'],
  tools$: ['tool.call', 'tool.result', 'tool.error', 'tool.cancelled'],
  speech$: ['speech.created', 'speech.started', 'speech.paused', 'speech.resumed', 'speech.ended'],
  audio$: ['audio.chunk', 'audio.input'],
  captions$: ['caption.word'],
  history$: ['history.added', 'history.updated', 'history.truncated'],
  call$: ['dtmf.digit', 'call.state', 'speaker.active', 'meeting.joined', 'meeting.left', 'call.ended'],
  input$: ['input.muted', 'input.listening', 'input.device', 'input.permission', 'input.level', 'input.overflow'],
  output$: ['output.device', 'output.level'],
  metrics$: ['turn.metrics', 'usage'],
  errors$: ['error'],
} as const;

/** The name of an event stream. */
export type EventStream = keyof typeof eventStreams;

/** The events of one stream. */
export type StreamEvent<S extends EventStream> = VoiceEvent<(typeof eventStreams)[S][number]>;
