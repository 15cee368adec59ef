import type { VoiceErrorCode } from '../core/errors.ts';
import type { FinishReason, TokenUsage, ToolCall } from '../core/messages.ts';
import type { ProviderRole, TranscriptionResult } from '../core/roles.ts';
import type { GuardReport } from '../text/text-transform.ts';
import type { EndEventMap } from './end-events.ts';
import type { TurnEndedBy } from './turn-taking/endpointing.ts';
import type { HistoryItem } from './history.ts';
import type { ServiceUsage, TurnMetrics } from './measurements.ts';

/**
 * What the agent is doing. `thinking` lasts from a committed turn to the first audible sample. `listening` means that
 * the user can be heard: without a working microphone, the agent is `idle`.
 */
export type AgentState = 'idle' | 'listening' | 'thinking' | 'speaking';
/** What the user is doing, as reported by the speech-to-text service or a voice detector. */
export type UserState = 'silent' | 'speaking';
/** The origin of a speech. */
export type SpeechSource = 'answer' | 'say' | 'greeting';
/**
 * Why a turn ended. `merged`: the user said more before any of the answer was heard, and that joined the message.
 * `refused`: by `onUserTurn`, whose text was said instead of an answer, or by a guard.
 */
export type TurnEndReason =
  'completed' | 'interrupted' | 'merged' | 'refused' | 'empty' | 'cancelled' | 'error' | 'stopped';
/** Why a preflight was discarded. */
export type DiscardReason = 'resumed' | 'changed' | 'cancelled' | 'failed';
/** Why a sign of the user did not interrupt the agent. */
export type IgnoreReason = 'uninterruptible' | 'disabled' | 'too-short' | 'backchannel' | 'echo';

/** The payload of each event type, in addition to the envelope. */
export interface VoiceEventMap extends EndEventMap {
  /** The agent's state has changed. */
  'agent.state': {
    readonly state: AgentState;
    /** The previous state. */
    readonly previous: AgentState;
  };
  /** The user starts or stops speaking, as reported by the speech-to-text service or a voice detector. */
  'user.state': { readonly state: UserState };
  /** Everything is connected, and the user can be heard. */
  'session.ready': object;
  /** The conversation has ended, and everything is disconnected. */
  'session.closed': {
    /** What the session used, by service. */
    readonly usage: readonly ServiceUsage[];
  };
  /** `update()` has changed options; its documentation says when each of them takes effect. */
  'session.updated': {
    /** The names of the changed options. */
    readonly changed: readonly string[];
  };
  /** Another agent answers from now on. */
  'agent.handoff': {
    /** Its name in `agents`. */
    readonly to: string;
    /** The agent that answered before; absent for the first one. */
    readonly from?: string;
  };
  /** The user has switched languages, and the agent follows; only with `followLanguage`. */
  'user.language': {
    /** BCP 47. */
    readonly language: string;
    /** The previous language, if known. */
    readonly previous?: string;
  };
  /** A provider is connecting. */
  'provider.connecting': object;
  /** A provider is connected. */
  'provider.connected': object;
  /** A provider's connection was lost or refused, or a model's request was (429), and will be retried. */
  'provider.reconnecting': {
    /** 1 for the first retry since a connection lasted. */
    readonly attempt: number;
    /** Milliseconds until the retry. */
    readonly delayMs: number;
    /** What went wrong, for people, if known. */
    readonly message?: string;
    /** What kind of error it was, if known: `rate_limited` for 429. */
    readonly code?: VoiceErrorCode;
  };
  /** A provider has given up its connection for good. */
  'provider.lost': {
    /** What went wrong, for people. */
    readonly message: string;
  };
  /** Another provider of a `fallback()` chain is in use from now on. */
  'provider.fallback': {
    /** The provider that was in use. */
    readonly from: string;
    /** The provider in use now. */
    readonly to: string;
    /** What went wrong, for people; absent when the first one works again. */
    readonly message?: string;
  };
  /** The format of the audio between two providers was chosen. */
  'provider.format': {
    /** The sender and its format. */
    readonly from: string;
    /** The receiver and its format. */
    readonly to: string;
    /** Whether the audio is converted in between. */
    readonly transcoded: boolean;
  };
  /** What the user has said so far; may still change. */
  'transcript.interim': {
    /** The whole utterance so far. */
    readonly text: string;
    /**
     * The beginning of `text`, in whole words, that has not changed since the previous interim, or is final. Show the
     * rest as text that may still change.
     */
    readonly stablePrefix: string;
    /** The speech-to-text service's result. */
    readonly result: TranscriptionResult;
  };
  /** The user's turn has ended; this is what they said. */
  'transcript.final': {
    /** The whole turn. */
    readonly text: string;
    /** The speech-to-text service's last result; absent for words that it never made final. */
    readonly result?: TranscriptionResult;
  };
  /** What the user has said so far, when the service thinks that they may have finished. */
  'transcript.preflight': {
    /** The whole utterance so far. */
    readonly text: string;
    /** The speech-to-text service's result. */
    readonly result: TranscriptionResult;
  };
  /** A voice was heard, but no final text arrived in time. */
  'transcript.timeout': {
    /** The words so far, which become the user's turn; empty if there were none. */
    readonly text: string;
  };
  /** The user starts a turn. */
  'turn.started': {
    /** Whether it is spoken, or sent by the application. */
    readonly source: 'speech' | 'text';
  };
  /** The user's turn has ended, and will be answered. */
  'turn.committed': {
    /** What is answered. */
    readonly text: string;
    /** What ended the turn. */
    readonly endedBy: TurnEndedBy;
  };
  /** The turn and its answer are over. */
  'turn.ended': { readonly reason: TurnEndReason };
  /** A guard has acted; the event says what it did, not what was said. */
  'guard.acted': GuardReport;
  /** Nobody has spoken for a while. */
  'user.idle': {
    /** Duration of the silence, in milliseconds. */
    readonly idleMs: number;
  };
  /**
   * The user has said nothing for even longer, whatever the agent has said meanwhile: time to hang up. Published once,
   * until the user speaks again.
   */
  'user.away': {
    /** Duration of the silence, in milliseconds, without what the agent has said. */
    readonly awayMs: number;
  };
  /** An answer is being prepared: the user may have finished. */
  'preflight.started': {
    /** The text being answered. */
    readonly text: string;
  };
  /** The user said exactly that: the prepared answer is used. */
  'preflight.adopted': {
    /** What the user said. */
    readonly text: string;
    /** The head start of the preparation, in milliseconds. */
    readonly leadMs: number;
  };
  /** The prepared answer was discarded. */
  'preflight.discarded': {
    readonly reason: DiscardReason;
    /** Token events that nobody will hear. */
    readonly wastedTokens: number;
    /** Characters that were synthesized for it; only with `preflight.speak`. */
    readonly wastedCharacters: number;
    /** Milliseconds of audio that were synthesized for it; 0 if that is compressed. */
    readonly wastedAudio: number;
  };
  /** The user may be interrupting: the agent becomes quieter, and nothing new starts to play. */
  'bargeIn.suspected': object;
  /** The user continues: the agent is silent, and may resume at the same sample. */
  'bargeIn.paused': object;
  /** It is an interruption: the agent is cut off. */
  'bargeIn.confirmed': {
    /** Milliseconds from the first sign to the confirmation. */
    readonly detectMs: number;
    /** Milliseconds from the confirming sign to the last audible sample, as reported by the output. */
    readonly cutMs: number;
  };
  /** It was a false alarm: the agent resumes at the sample where it paused. */
  'bargeIn.resumed': object;
  /**
   * The user said something that did not interrupt the agent. It is answered only if it answers the question that the
   * agent's speech ends with, or right after the speech if it was only too short.
   */
  'bargeIn.ignored': {
    readonly reason: IgnoreReason;
    /** What the user said. */
    readonly text: string;
    /** The speech-to-text service's result. */
    readonly result: TranscriptionResult;
  };
  /** The model is asked. */
  'llm.started': {
    /** 1 for the first request of an answer, incremented after each round of tools. */
    readonly round: number;
  };
  /** The model has generated text. */
  'llm.token': {
    /** The added text. */
    readonly delta: string;
  };
  /** The model has finished its answer, or called its tools. */
  'llm.completed': {
    /** The whole text of this round. */
    readonly text: string;
    readonly finishReason: FinishReason;
    /** Tokens, if the service counts them. */
    readonly usage?: TokenUsage;
  };
  /** The request was aborted before the model had finished. */
  'llm.aborted': {
    /** Its text so far. */
    readonly text: string;
  };
  /** A tool starts. */
  'tool.call': {
    /** The model's call. */
    readonly call: ToolCall;
  };
  /** A tool has finished. */
  'tool.result': {
    readonly call: ToolCall;
    /** The result as sent to the model. */
    readonly content: string;
    /** How long it ran, in milliseconds. */
    readonly durationMs: number;
  };
  /** A tool failed, timed out, or rejected its arguments. */
  'tool.error': {
    readonly call: ToolCall;
    /** The error as sent to the model. */
    readonly content: string;
    /** How long it ran, in milliseconds. */
    readonly durationMs: number;
  };
  /** An interruption has cancelled a tool. */
  'tool.cancelled': { readonly call: ToolCall };
  /** The agent is about to say something. */
  'speech.created': {
    readonly source: SpeechSource;
    /** Whether the user can interrupt it. */
    readonly interruptible: boolean;
    /** Whether it is added to the history. */
    readonly stored: boolean;
  };
  /** Its first sample plays. */
  'speech.started': { readonly source: SpeechSource };
  /** Paused: the user may be interrupting. */
  'speech.paused': {
    /** Milliseconds of it that were heard. */
    readonly positionMs: number;
  };
  /** Resumed where it paused. */
  'speech.resumed': {
    /** Milliseconds of it that were heard. */
    readonly positionMs: number;
  };
  /** It has ended. */
  'speech.ended': {
    readonly source: SpeechSource;
    /** The complete text. */
    readonly text: string;
    /** The audible part, in whole words. */
    readonly heardText: string;
    /** Whether it was cut off, or failed. */
    readonly interrupted: boolean;
    /** Milliseconds of it that were heard. */
    readonly playedMs: number;
  };
  /**
   * One of the agent's words begins to sound; only while somebody listens to `captions$`, or to this event by name.
   * Words that are cut off have none. If times are estimated and the voice was faster, the last ones follow
   * `speech.ended`.
   */
  'caption.word': {
    /** The word as written, or as spoken if the text does not contain it. */
    readonly text: string;
    /** When it begins, in milliseconds of the speech as it is heard. */
    readonly startMs: number;
    /** When it ends, on the same clock. */
    readonly endMs: number;
    /** Where it stands in the `text` of `speech.ended`: start and end offset. */
    readonly range: readonly [number, number];
    /** True if the service gives no times and they were estimated. */
    readonly estimated: boolean;
  };
  /** An item was added to the history. */
  'history.added': { readonly item: HistoryItem };
  /** A history item changed, for example by more words of the same message. */
  'history.updated': {
    /** The updated item. */
    readonly item: HistoryItem;
  };
  /** The oldest turns were dropped from the history. */
  'history.truncated': {
    /** Number of items removed. */
    readonly removed: number;
    /** The summary that replaces them, if there is one. */
    readonly summary?: HistoryItem;
  };
  /** The latencies of a turn; once per turn, right after `turn.ended`. */
  'turn.metrics': TurnMetrics;
  /** Billable usage of a service. */
  usage: {
    /** Tokens of one request to the model, as counted by the service; aborted requests are seldom counted. */
    readonly tokens?: TokenUsage;
    /** Characters of one speech sent to the TTS; one event for each voice that speaks it. */
    readonly characters?: number;
    /**
     * Seconds of audio sent to the speech-to-text service, or to the agent, since the last such event: published with
     * each turn, and at the end. Silence sent for a muted microphone counts; compressed audio does not.
     */
    readonly seconds?: number;
  };
  /** A non-fatal error. */
  error: {
    /** The kind of error. */
    readonly code: VoiceErrorCode;
    /** What went wrong and what to do, for people. */
    readonly message: string;
    /** Whether a retry may work. */
    readonly recoverable: boolean;
    /** How long the service asks to wait, in milliseconds. */
    readonly retryAfterMs?: number;
    /** The original error. It may quote the user or the service: do not show it. */
    readonly cause: unknown;
  };
}

/** The name of an event. */
export type VoiceEventType = keyof VoiceEventMap;

/** Common to all events. */
export interface VoiceEventEnvelope {
  /** Time on the scheduler's clock, in milliseconds. */
  readonly at: number;
  readonly turnId?: string;
  readonly speechId?: string;
  /** The role concerned. */
  readonly role?: ProviderRole;
  /** Class name of the provider concerned. */
  readonly provider?: string;
}

/** An event of a conversation: a union discriminated by `type`; pass a type for just that event. */
export type VoiceEvent<T extends VoiceEventType = VoiceEventType> = {
  readonly [K in T]: VoiceEventEnvelope & { readonly type: K } & VoiceEventMap[K];
}[T];
