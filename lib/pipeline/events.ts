import type { AudioChunk } from '../audio/types.ts';
import type { VoiceErrorCode } from '../core/errors.ts';
import type { FinishReason, TokenUsage, ToolCall } from '../core/messages.ts';
import type { DeviceEvent, ProviderRole, TranscriptionResult } from '../core/roles.ts';
import type { HistoryItem } from './history.ts';

/** What the agent is doing. `thinking` lasts from a committed turn to the first audible sample. */
export type AgentState = 'idle' | 'listening' | 'thinking' | 'speaking';
/** What the user is doing, as far as the speech-to-text service tells. */
export type UserState = 'silent' | 'speaking';
/** Where a speech comes from. */
export type SpeechSource = 'answer' | 'say' | 'greeting';
/** Why a turn ended. `merged`: what followed before anything of the answer was heard joined its message. */
export type TurnEndReason = 'completed' | 'interrupted' | 'merged' | 'empty' | 'cancelled' | 'error' | 'stopped';
/** Why a preflight came to nothing. */
export type DiscardReason = 'resumed' | 'changed' | 'cancelled' | 'failed';
/** Why a sign of the user did not cut the agent off. */
export type IgnoreReason = 'uninterruptible' | 'disabled' | 'too-short';

/**
 * The latency of a turn, in milliseconds. Parts that are not known are absent; those that are add up to `total`, which
 * runs from the end of the user's speech (the commit, where that is not known) to the first audible sample.
 */
export interface TurnMetrics {
  /** End of speech, on the audio's own clock, to commit. */
  readonly endpointing?: number;
  /** Commit to the request: what runs before the model is asked. */
  readonly hook?: number;
  /** Request (or commit, if the request was a preflight) to first token. */
  readonly llmFirstToken?: number;
  /** First token to first speakable clause. */
  readonly aggregation?: number;
  /** First clause to first audio. */
  readonly ttsFirstAudio?: number;
  /** First audio to audible. */
  readonly outputLead?: number;
  readonly total?: number;
  /** The user's first sign to the confirmation, where this turn was interrupted. */
  readonly bargeInDetect?: number;
  /** Confirmation to the output's silence. */
  readonly bargeInCut?: number;
  /** How far a preflight was ahead of the commit. */
  readonly preflightLead?: number;
  /** Tokens that were generated and never heard, by count of token events. */
  readonly wastedTokens?: number;
}

/** Payload of each event type, beside the envelope. */
export interface VoiceEventMap {
  'agent.state': { readonly state: AgentState; readonly previous: AgentState };
  'user.state': { readonly state: UserState };
  'session.ready': object;
  'session.closed': object;
  'provider.connecting': object;
  'provider.connected': object;
  'provider.reconnecting': { readonly attempt: number; readonly delayMs: number };
  'provider.lost': { readonly message: string };
  'provider.format': { readonly from: string; readonly to: string; readonly transcoded: boolean };
  'transcript.interim': { readonly text: string; readonly result: TranscriptionResult };
  'transcript.final': { readonly text: string; readonly result?: TranscriptionResult };
  'transcript.preflight': { readonly text: string; readonly result: TranscriptionResult };
  'transcript.timeout': { readonly text: string };
  'turn.started': { readonly source: 'speech' | 'text' };
  'turn.committed': { readonly text: string };
  'turn.ended': { readonly reason: TurnEndReason };
  'user.idle': { readonly idleMs: number };
  'preflight.started': { readonly text: string };
  'preflight.adopted': { readonly text: string; readonly leadMs: number };
  'preflight.discarded': { readonly reason: DiscardReason; readonly wastedTokens: number };
  'bargeIn.suspected': object;
  'bargeIn.paused': object;
  'bargeIn.confirmed': { readonly detectMs: number; readonly cutMs: number };
  'bargeIn.resumed': object;
  'bargeIn.ignored': {
    readonly reason: IgnoreReason;
    readonly text: string;
    readonly result: TranscriptionResult;
  };
  'llm.started': { readonly round: number };
  'llm.token': { readonly delta: string };
  'llm.completed': { readonly text: string; readonly finishReason: FinishReason; readonly usage?: TokenUsage };
  'llm.aborted': { readonly text: string };
  'tool.call': { readonly call: ToolCall };
  'tool.result': { readonly call: ToolCall; readonly content: string; readonly durationMs: number };
  'tool.error': { readonly call: ToolCall; readonly content: string; readonly durationMs: number };
  'tool.cancelled': { readonly call: ToolCall };
  'speech.created': { readonly source: SpeechSource; readonly interruptible: boolean };
  'speech.started': { readonly source: SpeechSource };
  'speech.paused': { readonly positionMs: number };
  'speech.resumed': { readonly positionMs: number };
  'speech.ended': {
    readonly source: SpeechSource;
    readonly text: string;
    readonly heardText: string;
    readonly interrupted: boolean;
    readonly playedMs: number;
  };
  'audio.chunk': { readonly chunk: AudioChunk };
  'audio.input': { readonly chunk: AudioChunk };
  'history.added': { readonly item: HistoryItem };
  'history.updated': { readonly item: HistoryItem };
  'history.truncated': { readonly removed: number };
  'dtmf.digit': { readonly digit: string };
  'call.ended': object;
  'input.muted': { readonly muted: boolean };
  'input.device': { readonly change: DeviceEvent };
  'output.device': { readonly change: DeviceEvent };
  'turn.metrics': TurnMetrics;
  usage: { readonly tokens?: TokenUsage; readonly characters?: number };
  error: {
    readonly code: VoiceErrorCode;
    readonly message: string;
    readonly recoverable: boolean;
    readonly retryAfterMs?: number;
    readonly cause: unknown;
  };
}

/** The name of an event. */
export type VoiceEventType = keyof VoiceEventMap;

/** What every event has. */
export interface VoiceEventEnvelope {
  /** The scheduler's clock, in milliseconds. */
  readonly at: number;
  readonly turnId?: string;
  readonly speechId?: string;
  /** The role that the event is about. */
  readonly role?: ProviderRole;
  /** Class name of the provider that the event is about. */
  readonly provider?: string;
}

/** Something that happened in a conversation. A discriminated union by `type`; give a type for just that event. */
export type VoiceEvent<T extends VoiceEventType = VoiceEventType> = {
  readonly [K in T]: VoiceEventEnvelope & { readonly type: K } & VoiceEventMap[K];
}[T];

/** Which events each named stream of a pipeline carries. Every type is on exactly one stream. */
export const eventStreams = {
  state$: ['agent.state', 'user.state', 'session.ready', 'session.closed'],
  connection$: [
    'provider.connecting',
    'provider.connected',
    'provider.reconnecting',
    'provider.lost',
    'provider.format',
  ],
  transcripts$: ['transcript.interim', 'transcript.final', 'transcript.preflight', 'transcript.timeout'],
  turns$: ['turn.started', 'turn.committed', 'turn.ended', 'user.idle'],
  preflight$: ['preflight.started', 'preflight.adopted', 'preflight.discarded'],
  bargeIn$: ['bargeIn.suspected', 'bargeIn.paused', 'bargeIn.confirmed', 'bargeIn.resumed', 'bargeIn.ignored'],
  tokens$: ['llm.started', 'llm.token', 'llm.completed', 'llm.aborted'],
  tools$: ['tool.call', 'tool.result', 'tool.error', 'tool.cancelled'],
  speech$: ['speech.created', 'speech.started', 'speech.paused', 'speech.resumed', 'speech.ended'],
  audio$: ['audio.chunk', 'audio.input'],
  history$: ['history.added', 'history.updated', 'history.truncated'],
  call$: ['dtmf.digit', 'call.ended'],
  input$: ['input.muted', 'input.device'],
  output$: ['output.device'],
  metrics$: ['turn.metrics', 'usage'],
  errors$: ['error'],
} as const;

/** The name of an event stream. */
export type EventStream = keyof typeof eventStreams;

/** What one event stream carries. */
export type StreamEvent<S extends EventStream> = VoiceEvent<(typeof eventStreams)[S][number]>;
