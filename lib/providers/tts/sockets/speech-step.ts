import type { AudioMetadata } from '../../../audio/types.ts';
import type { VoiceError } from '../../../core/errors.ts';
import type { WireObject } from '../../../core/guard.ts';
import type { SlidingWindow } from '../../../stream/sliding-window.ts';
import type { SocketData } from '../../../transport/reconnecting-socket.ts';
import type { SynthesisEvent } from '../utterance.ts';
import type { WireErrors } from '../voice-service.ts';
import type { ContextMessages, ContextVoice, ReadEffect, SpeechWire, SpokenEvent } from './speech-wire.ts';
import { heardInContext, restart, type SpokenText } from './spoken-text.ts';

/** Fixed settings of one connection. */
export interface SpeechRules {
  readonly wire: SpeechWire<unknown>;
  readonly attribution: Attribution;
  readonly errors: WireErrors;
  /** Most characters per message. */
  readonly maxTextLength: number;
  readonly firstAudioTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly connectTimeoutMs: number;
}

/** How texts are sent to a service, and how its messages are matched to texts: `byOrder()` or `byId()`. */
export interface Attribution {
  /** Its settings, as JSON: if they change, the next text opens another connection. */
  readonly terms: unknown;
  /** Most simultaneous texts per connection. */
  readonly capacity: number;
  /** Most simultaneous contexts, including cancelled ones. */
  readonly maxContexts: () => number;
  /** How long a cancelled context counts if its end is not confirmed, in milliseconds. */
  readonly lingerMs: number;
  /** By id: the context a message belongs to. By order, messages belong to what is being spoken. */
  readonly contextOf?: (message: WireObject) => string | undefined;
  /** Sends as much of a text with a context as the service's limits allow: ideally all of it, and its end. */
  say(step: SpeechStep, key: number): void;
  /** Applies a word, an answer or an end to a text's progress. */
  hear(step: SpeechStep, key: number, effect: Extract<ReadEffect, { readonly type: 'word' | 'spoken' | 'end' }>): void;
  /** The service has refused a flush: that of a text, or of one that was cancelled. */
  unflush?(step: SpeechStep, key: number | undefined): void;
  /** Called after a message was fully processed. */
  settle?(step: SpeechStep, key: number): void;
  /** Whether audio is due from the service. */
  isDue(context: Context, text: SpokenText): boolean;
  /** Whether a context whose text was all spoken has been idle too long to accept more. */
  hasExpired?(synthesis: Synthesis, at: number): boolean;
}

/** Inputs of a connection that speaks. */
export type SpeechInput =
  | { readonly type: 'begin'; readonly key: number; readonly voice: ContextVoice; readonly format: AudioMetadata }
  | { readonly type: 'text'; readonly key: number; readonly text: string }
  /** No more text follows. */
  | { readonly type: 'textEnd'; readonly key: number }
  /** Nobody listens anymore: the service is told first, and everything else comes after. */
  | { readonly type: 'silence' | 'cancel'; readonly key: number }
  | { readonly type: 'message'; readonly data: SocketData }
  | { readonly type: 'connected'; readonly requestId?: string | undefined }
  /** The connection was lost, and is being replaced. */
  | { readonly type: 'reconnecting'; readonly error: VoiceError }
  /** No other connection follows. */
  | { readonly type: 'ended'; readonly error: VoiceError }
  | { readonly type: 'keepAlive' }
  | { readonly type: 'tick' };

/** Effects to carry out. */
export type SpeechEffect =
  | { readonly type: 'send'; readonly data: SocketData }
  | { readonly type: 'emit'; readonly key: number; readonly event: SynthesisEvent }
  | { readonly type: 'complete'; readonly key: number }
  | { readonly type: 'fail'; readonly key: number; readonly error: VoiceError }
  | { readonly type: 'reconnect' | 'report'; readonly error: VoiceError }
  | { readonly type: 'warning' | 'note'; readonly text: string };

/** What was sent under one attribution, and its results. */
export interface Context {
  readonly id: string;
  readonly messages: ContextMessages;
  /** The readers' state. */
  readonly state: unknown;
  /** Bytes since the start of the context or, by order, of its current segment. */
  readonly audioBytes: number;
  /** By id: words received whose audio has not arrived. */
  readonly words: readonly Extract<SpokenEvent, { type: 'word' }>[];
  /** By order: how many pieces had been sent with each unanswered flush. */
  readonly flushes: readonly number[];
  /** By order: a flush was refused, so one is due before the text ends. */
  readonly owesFlush: boolean;
  /** By id: how many pieces the service has said that it has spoken. */
  readonly answered: number;
  /** By id: the service knows that no more text follows. */
  readonly isEnding: boolean;
}

/** One text being spoken. */
export interface Synthesis {
  readonly key: number;
  readonly voice: ContextVoice;
  readonly format: AudioMetadata;
  readonly text: SpokenText;
  /** No more text follows. */
  readonly isEnded: boolean;
  readonly context: Context | undefined;
  /** When the service was last active, or what it is waiting for last changed. */
  readonly quietSince: number;
  /** Nothing is sent until then: the service asked for a pause, or its limits are exhausted. */
  readonly resumeAt: number | undefined;
  /** By order: a flush was sent, so audio is on its way. */
  readonly hasFlushed: boolean;
  /** Consecutive lost contexts without a piece of text heard to its end. */
  readonly losses: number;
}

/** The state of one connection. */
export interface SpeechState {
  readonly isUp: boolean;
  /** The service's id of the connection, once it is known. */
  readonly requestId: string | undefined;
  /** When the service was last active. */
  readonly heardAt: number;
  readonly syntheses: readonly Synthesis[];
  /** Cancelled contexts that the service may still speak or count, oldest first, and until when. */
  readonly cancelled: readonly { readonly id: string; readonly until: number }[];
  /** By order: the service's remaining allowance per minute. */
  readonly budget: { readonly characters: SlidingWindow; readonly flushes: SlidingWindow } | undefined;
  /** Number of contexts so far. */
  readonly contexts: number;
  /** Whether the connection has its {@link SpeechWire.keeper}. */
  readonly isKept: boolean;
  /** Number of keep-alives so far. */
  readonly keepAlives: number;
}

/** A step in progress: its state and effects so far. */
export interface SpeechStep {
  readonly rules: SpeechRules;
  /** The scheduler's time, in milliseconds. */
  readonly at: number;
  readonly effects: SpeechEffect[];
  state: SpeechState;
}

/** Changes the state. */
export function update(step: SpeechStep, changes: Partial<SpeechState>): void {
  step.state = { ...step.state, ...changes };
}

/** A synthesis in progress. */
export function synthesisOf({ state }: SpeechStep, key: number): Synthesis | undefined {
  return state.syntheses.find((each) => each.key === key);
}

/** Changes a synthesis in progress. */
export function change(step: SpeechStep, key: number, changes: Partial<Synthesis>): void {
  update(step, {
    syntheses: step.state.syntheses.map((each) => (each.key === key ? { ...each, ...changes } : each)),
  });
}

/** Changes the context of a synthesis, if there is one. */
export function changeContext(step: SpeechStep, key: number, changes: Partial<Context>): void {
  const context = synthesisOf(step, key)?.context;
  if (context) change(step, key, { context: { ...context, ...changes } });
}

export function send({ effects }: SpeechStep, data: SocketData): void {
  effects.push({ type: 'send', data });
}

export function emit({ effects }: SpeechStep, key: number, event: SynthesisEvent): void {
  effects.push({ type: 'emit', key, event });
}

/** Sends the next piece of a text. */
export function sayPiece(step: SpeechStep, key: number, { messages }: Context, text: SpokenText, piece: string): void {
  send(step, messages.say(piece));
  change(step, key, { text: { ...text, said: text.said + 1 } });
}

/** The next piece to send, in wire form. */
export function nextPiece({ pieces, said }: SpokenText): string | undefined {
  return said < pieces.length ? `${pieces[said] ?? ''} ` : undefined;
}

/** The rest of a text goes to another context, with times of its own. What was cut short is said again. */
export function leave(step: SpeechStep, key: number, isCut: boolean = false): void {
  const { context, text } = synthesisOf(step, key) ?? {};
  if (!text) return;
  const heard = heardInContext(text);
  if (context && context.audioBytes > 0) {
    emit(step, key, { type: 'segment', ...(heard && { text: heard }), ...(isCut && { isCut }) });
  }
  const anew = { context: undefined, resumeAt: undefined, hasFlushed: false, quietSince: step.at };
  change(step, key, { ...anew, text: restart(text) });
}
