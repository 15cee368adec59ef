import type { AudioChunk } from '../audio/types.ts';
import type { VoiceErrorCode } from '../core/errors.ts';
import type { FinishReason, TokenUsage, ToolCall } from '../core/messages.ts';
import type { AgentLatency, DeviceEvent, ProviderRole, TranscriptionResult } from '../core/roles.ts';
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
  /** What an agent's service says of its own part. */
  readonly agent?: AgentLatency;
  /** Tokens that were generated and never heard, by count of token events. */
  readonly wastedTokens?: number;
}

/** Payload of each event type, beside the envelope. */
export interface VoiceEventMap {
  /** The agent does something else than before. */
  'agent.state': {
    readonly state: AgentState;
    /** What it did before. */
    readonly previous: AgentState;
  };
  /** The user begins or stops speaking, as far as the speech-to-text service tells. */
  'user.state': { readonly state: UserState };
  /** Everything is connected: the user can be heard. */
  'session.ready': object;
  /** The conversation has ended, and everything is disconnected. */
  'session.closed': object;
  /** A provider opens its connection. */
  'provider.connecting': object;
  /** A provider's connection is open. */
  'provider.connected': object;
  /** A provider's connection was lost or refused, and is tried again. */
  'provider.reconnecting': {
    /** 1 for the first try since a connection lasted. */
    readonly attempt: number;
    /** Milliseconds until the try. */
    readonly delayMs: number;
  };
  /** A provider has given its connection up: it will not come back by itself. */
  'provider.lost': {
    /** What went wrong, for people. */
    readonly message: string;
  };
  /** Two providers have settled on the format of the audio between them. */
  'provider.format': {
    /** Who sends, and in which format. */
    readonly from: string;
    /** Who takes it, and in which format. */
    readonly to: string;
    /** Whether the audio is converted on its way. */
    readonly transcoded: boolean;
  };
  /** What the user has said so far; it may change. */
  'transcript.interim': {
    /** The whole utterance so far. */
    readonly text: string;
    /** What the speech-to-text service sent. */
    readonly result: TranscriptionResult;
  };
  /** What the user said: the turn is over. */
  'transcript.final': {
    /** The whole turn. */
    readonly text: string;
    /** What the speech-to-text service sent last; absent for words that it never made final. */
    readonly result?: TranscriptionResult;
  };
  /** What the user has said so far, when the service thinks that this may have been all. */
  'transcript.preflight': {
    /** The whole utterance so far. */
    readonly text: string;
    /** What the speech-to-text service sent. */
    readonly result: TranscriptionResult;
  };
  /** A voice was heard, and no final text came in time. */
  'transcript.timeout': {
    /** The words there were, which count as the user's turn; empty where there were none. */
    readonly text: string;
  };
  /** The user begins a turn. */
  'turn.started': {
    /** Whether it is spoken, or sent by the application. */
    readonly source: 'speech' | 'text';
  };
  /** The user's turn is over, and will be answered. */
  'turn.committed': {
    /** What is answered. */
    readonly text: string;
  };
  /** The turn and its answer are over. */
  'turn.ended': { readonly reason: TurnEndReason };
  /** Nobody has spoken for a while. */
  'user.idle': {
    /** For how many milliseconds. */
    readonly idleMs: number;
  };
  /** An answer is being prepared to what may be all that the user says. */
  'preflight.started': {
    /** What it answers. */
    readonly text: string;
  };
  /** The user said just that: the prepared answer is given. */
  'preflight.adopted': {
    /** What the user said. */
    readonly text: string;
    /** By how many milliseconds the preparation was ahead. */
    readonly leadMs: number;
  };
  /** The prepared answer is void. */
  'preflight.discarded': {
    readonly reason: DiscardReason;
    /** Token events that nobody will hear. */
    readonly wastedTokens: number;
  };
  /** The user may be interrupting: the agent speaks softer, and nothing new begins to sound. */
  'bargeIn.suspected': object;
  /** The user goes on: the agent is silent, and may go on at the same sample. */
  'bargeIn.paused': object;
  /** It is an interruption: the agent is cut off. */
  'bargeIn.confirmed': {
    /** Milliseconds from the first sign to the confirmation. */
    readonly detectMs: number;
    /** Milliseconds from the confirmation to silence. */
    readonly cutMs: number;
  };
  /** It was no interruption: the agent goes on at the sample where it paused. */
  'bargeIn.resumed': object;
  /** The user said something that did not cut the agent off, and is not answered. */
  'bargeIn.ignored': {
    readonly reason: IgnoreReason;
    /** What the user said. */
    readonly text: string;
    /** What the speech-to-text service sent. */
    readonly result: TranscriptionResult;
  };
  /** The model is asked. */
  'llm.started': {
    /** 1 for the first request of an answer, one more after each round of tools. */
    readonly round: number;
  };
  /** The model writes. */
  'llm.token': {
    /** What it adds to its text. */
    readonly delta: string;
  };
  /** The model has written its answer, or called its tools. */
  'llm.completed': {
    /** The whole text of this round. */
    readonly text: string;
    readonly finishReason: FinishReason;
    /** Tokens, where the service counts them. */
    readonly usage?: TokenUsage;
  };
  /** The request was aborted before the model had finished. */
  'llm.aborted': {
    /** What it had written. */
    readonly text: string;
  };
  /** A tool begins to run. */
  'tool.call': {
    /** What the model asked for. */
    readonly call: ToolCall;
  };
  /** A tool has run. */
  'tool.result': {
    readonly call: ToolCall;
    /** What the model is told. */
    readonly content: string;
    /** How long it ran, in milliseconds. */
    readonly durationMs: number;
  };
  /** A tool failed, timed out, or refused its arguments. */
  'tool.error': {
    readonly call: ToolCall;
    /** What the model is told. */
    readonly content: string;
    /** How long it ran, in milliseconds. */
    readonly durationMs: number;
  };
  /** An interruption has ended a tool's run. */
  'tool.cancelled': { readonly call: ToolCall };
  /** The agent is about to say something. */
  'speech.created': {
    readonly source: SpeechSource;
    /** Whether the user can cut it off. */
    readonly interruptible: boolean;
  };
  /** Its first sample sounds. */
  'speech.started': { readonly source: SpeechSource };
  /** It is paused: the user may be interrupting. */
  'speech.paused': {
    /** Milliseconds of it that were heard. */
    readonly positionMs: number;
  };
  /** It goes on where it paused. */
  'speech.resumed': {
    /** Milliseconds of it that were heard. */
    readonly positionMs: number;
  };
  /** It is over. */
  'speech.ended': {
    readonly source: SpeechSource;
    /** Everything that was to be said. */
    readonly text: string;
    /** What of it was audible, in whole words. */
    readonly heardText: string;
    /** Whether it was cut off, or failed. */
    readonly interrupted: boolean;
    /** Milliseconds of it that were heard. */
    readonly playedMs: number;
  };
  /** The voice has synthesized some audio. */
  'audio.chunk': { readonly chunk: AudioChunk };
  /** Some audio was captured; only with the option `inputEvents`. */
  'audio.input': { readonly chunk: AudioChunk };
  /** The history remembers something more. */
  'history.added': { readonly item: HistoryItem };
  /** The history remembers something differently, such as more words of one message. */
  'history.updated': {
    /** The item as it is now. */
    readonly item: HistoryItem;
  };
  /** The history has dropped its oldest turns. */
  'history.truncated': {
    /** How many items are gone. */
    readonly removed: number;
  };
  /** The caller pressed a key. */
  'dtmf.digit': {
    /** `0` to `9`, `*`, `#` or `A` to `D`. */
    readonly digit: string;
  };
  /** The caller has hung up; the pipeline stops. */
  'call.ended': object;
  /** `mute()` or `unmute()` was called. */
  'input.muted': {
    /** Whether the service hears silence now. */
    readonly muted: boolean;
  };
  /** Something has become of the microphone, or of the track that is captured. */
  'input.device': { readonly change: DeviceEvent };
  /** Something has become of the speaker. */
  'output.device': { readonly change: DeviceEvent };
  /** How long the parts of a turn took; once for each turn, right behind `turn.ended`. */
  'turn.metrics': TurnMetrics;
  /** What a service will bill. */
  usage: {
    /** Tokens of one request to the model. */
    readonly tokens?: TokenUsage;
    /** Characters of one speech that the voice was given. */
    readonly characters?: number;
  };
  /** Something went wrong that does not stop the pipeline. */
  error: {
    /** What kind of error it is. */
    readonly code: VoiceErrorCode;
    /** What went wrong and what to do, for people. */
    readonly message: string;
    /** Whether the same may work another time. */
    readonly recoverable: boolean;
    /** How long the service asks to wait, in milliseconds. */
    readonly retryAfterMs?: number;
    /** What was thrown. It may quote the user or the service: do not show it. */
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
