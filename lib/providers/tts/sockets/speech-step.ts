import type { AudioMetadata } from '../../../audio/types.ts';
import type { VoiceError } from '../../../core/errors.ts';
import type { WireObject } from '../../../core/guard.ts';
import type { SlidingWindow } from '../../../stream/sliding-window.ts';
import type { SocketData } from '../../../transport/reconnecting-socket.ts';
import type { SynthesisEvent } from '../utterance.ts';
import type { WireErrors } from '../voice-service.ts';
import type { ContextMessages, ContextVoice, ReadEffect, SpeechWire, SpokenEvent } from './speech-wire.ts';
import { heardInContext, restart, type SpokenText } from './spoken-text.ts';

/** What is fixed for one connection. */
export interface SpeechRules {
  readonly wire: SpeechWire<unknown>;
  readonly attribution: Attribution;
  readonly errors: WireErrors;
  /** Most characters of one message. */
  readonly maxTextLength: number;
  readonly firstAudioTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly connectTimeoutMs: number;
}

/** How a service is told texts, and how its messages find the text that they are for: `byOrder()` or `byId()`. */
export interface Attribution {
  /** What it was made of, as JSON can tell it: where that changes, the next text opens another connection. */
  readonly terms: unknown;
  /** Most texts that a connection is given at once. */
  readonly capacity: number;
  /** Most contexts that the service takes at once, the cancelled ones among them. */
  readonly maxContexts: number;
  /** How long a cancelled context counts whose end the service does not tell, in milliseconds. */
  readonly lingerMs: number;
  /** By id: the context that a message is for. By order, messages are for what is spoken. */
  readonly contextOf?: (message: WireObject) => string | undefined;
  /** Says as much as the service's limits let through of a text that has a context: at best all of it, and its end. */
  say(step: SpeechStep, key: number): void;
  /** What a word or an end means for a text's progress. */
  hear(step: SpeechStep, key: number, effect: Extract<ReadEffect, { readonly type: 'word' | 'end' }>): void;
  /** All of a message has been taken. */
  settle?(step: SpeechStep, key: number): void;
  /** Whether the service is to bring audio. */
  isDue(context: Context, text: SpokenText): boolean;
  /** Whether a context, all of whose text was spoken, has been idle for so long that it would take no more. */
  hasExpired?(synthesis: Synthesis, at: number): boolean;
}

/** What happens to a connection that speaks. */
export type SpeechInput =
  | { readonly type: 'begin'; readonly key: number; readonly voice: ContextVoice; readonly format: AudioMetadata }
  | { readonly type: 'text'; readonly key: number; readonly text: string }
  /** No more text will come. */
  | { readonly type: 'textEnd'; readonly key: number }
  /** Nobody listens any more. */
  | { readonly type: 'cancel'; readonly key: number }
  | { readonly type: 'message'; readonly data: SocketData }
  | { readonly type: 'connected' }
  /** The connection is lost, and another one is tried. */
  | { readonly type: 'reconnecting'; readonly error: VoiceError }
  /** There will be no other connection. */
  | { readonly type: 'ended'; readonly error: VoiceError }
  | { readonly type: 'keepAlive' }
  | { readonly type: 'tick' };

/** What is to be done. */
export type SpeechEffect =
  | { readonly type: 'send'; readonly data: SocketData }
  | { readonly type: 'emit'; readonly key: number; readonly event: SynthesisEvent }
  | { readonly type: 'complete'; readonly key: number }
  | { readonly type: 'fail'; readonly key: number; readonly error: VoiceError }
  | { readonly type: 'reconnect' | 'report'; readonly error: VoiceError }
  | { readonly type: 'warning' | 'note'; readonly text: string };

/** What the service was told under one attribution, and what came of it. */
export interface Context {
  readonly id: string;
  readonly messages: ContextMessages;
  /** What its wire's readers know. */
  readonly state: unknown;
  /** Bytes since the context, or by order its present segment, began. */
  readonly audioBytes: number;
  /** By id: words that the service has told, and that wait for their audio. */
  readonly words: readonly Extract<SpokenEvent, { type: 'word' }>[];
  /** By order: how many pieces had been said with each unanswered flush. */
  readonly flushes: readonly number[];
  /** By id: the service knows that no more text will come. */
  readonly isEnding: boolean;
}

/** One text on its way. */
export interface Synthesis {
  readonly key: number;
  readonly voice: ContextVoice;
  readonly format: AudioMetadata;
  readonly text: SpokenText;
  /** No more text will come. */
  readonly isEnded: boolean;
  readonly context: Context | undefined;
  /** When the service was last heard, or what it is waited for last changed. */
  readonly quietSince: number;
  /** Nothing is said until then: the service has asked for a pause, or its limits let no more through. */
  readonly resumeAt: number | undefined;
  /** By order: a flush was sent, so that audio is on its way. */
  readonly hasFlushed: boolean;
  /** Contexts that were lost in a row, without a piece of text heard to its end. */
  readonly losses: number;
}

/** What one connection speaks. */
export interface SpeechState {
  readonly isUp: boolean;
  /** When the service was last heard. */
  readonly heardAt: number;
  readonly syntheses: readonly Synthesis[];
  /** Cancelled contexts that the service may still speak or count, oldest first, and until when. */
  readonly cancelled: readonly { readonly id: string; readonly until: number }[];
  /** By order: what the service still takes in a minute. */
  readonly budget: { readonly characters: SlidingWindow; readonly flushes: SlidingWindow } | undefined;
  /** How many contexts there were. */
  readonly contexts: number;
  /** How many keep-alives there were. */
  readonly keepAlives: number;
}

/** One step on its way: its input has led to this state so far, and to these effects. */
export interface SpeechStep {
  readonly rules: SpeechRules;
  /** Milliseconds of the scheduler's clock. */
  readonly at: number;
  readonly effects: SpeechEffect[];
  state: SpeechState;
}

/** Changes the state. */
export function update(step: SpeechStep, changes: Partial<SpeechState>): void {
  step.state = { ...step.state, ...changes };
}

/** A synthesis that is still on its way. */
export function synthesisOf({ state }: SpeechStep, key: number): Synthesis | undefined {
  return state.syntheses.find((each) => each.key === key);
}

/** Changes a synthesis that is still on its way. */
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

/** Tells the service the next piece of a text. */
export function sayPiece(step: SpeechStep, key: number, { messages }: Context, text: SpokenText, piece: string): void {
  send(step, messages.say(piece));
  change(step, key, { text: { ...text, said: text.said + 1 } });
}

/** The piece that the service is to be told next, as it is told. */
export function nextPiece({ pieces, said }: SpokenText): string | undefined {
  return said < pieces.length ? `${pieces[said] ?? ''} ` : undefined;
}

/** What follows of a text is said in another context, with times of its own. */
export function leave(step: SpeechStep, key: number): void {
  const { context, text } = synthesisOf(step, key) ?? {};
  if (!text) return;
  const heard = heardInContext(text);
  if (context && context.audioBytes > 0) emit(step, key, { type: 'segment', ...(heard && { text: heard }) });
  const anew = { context: undefined, resumeAt: undefined, hasFlushed: false, quietSince: step.at };
  change(step, key, { ...anew, text: restart(text) });
}
