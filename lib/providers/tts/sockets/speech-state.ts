import { durationMs, isPcmLike } from '../../../audio/formats.ts';
import type { AudioMetadata } from '../../../audio/types.ts';
import type { VoiceError } from '../../../core/errors.ts';
import { SlidingWindow } from '../../../stream/sliding-window.ts';
import type { SocketData } from '../../../transport/reconnecting-socket.ts';
import type { SynthesisEvent } from '../utterance.ts';
import type {
  ContextConnection,
  ContextMessages,
  ContextVoice,
  FlushConnection,
  SpeechWire,
  SpokenEvent,
} from './socket-wire.ts';
import type { WireErrors } from '../voice-service.ts';
import { SpokenText } from './spoken-text.ts';

/** What is fixed for one connection. */
export interface SpeechRules<S> {
  readonly wire: SpeechWire<S>;
  readonly connection: FlushConnection | ContextConnection;
  readonly errors: WireErrors;
  /** Most characters of one message. */
  readonly maxTextLength: number;
  readonly firstAudioTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly connectTimeoutMs: number;
}

/** What happens to a connection that speaks; `at` is the time, in milliseconds of the scheduler's clock. */
export type SpeechInput = { readonly at: number } & (
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
  | { readonly type: 'wake' }
);

/** What is to be done. */
export type SpeechEffect =
  | { readonly type: 'send'; readonly data: SocketData }
  | { readonly type: 'emit'; readonly key: number; readonly event: SynthesisEvent }
  | { readonly type: 'complete'; readonly key: number }
  | { readonly type: 'fail'; readonly key: number; readonly error: VoiceError }
  | { readonly type: 'reconnect'; readonly error: VoiceError }
  | { readonly type: 'report'; readonly error: VoiceError }
  | { readonly type: 'warning' | 'note'; readonly text: string }
  /** A `wake` is wanted at a time, in place of the one before; `undefined`: none is. */
  | { readonly type: 'wakeAt'; readonly at: number | undefined };

/** What the service was told under one attribution, and what came of it. */
export interface Context<S> {
  readonly id: string;
  readonly messages: ContextMessages;
  /** What its wire's readers know. */
  readonly state: S;
  /** Bytes since the context, or by order its present segment, began. */
  readonly audioBytes: number;
  /** Words that the service has told, and that wait for their audio. */
  readonly words: readonly Extract<SpokenEvent, { type: 'word' }>[];
  /** By order: how many pieces had been said with each unanswered flush. */
  readonly flushes: readonly number[];
  /** By id: the service knows that no more text will come. */
  readonly isEnding: boolean;
}

/** One text on its way. */
export interface Synthesis<S> {
  readonly key: number;
  readonly voice: ContextVoice;
  readonly format: AudioMetadata;
  readonly text: SpokenText;
  /** No more text will come. */
  readonly isEnded: boolean;
  readonly context: Context<S> | undefined;
  /** When the service was last heard, or what it is waited for last changed. */
  readonly quietSince: number;
  /** Nothing is said until then: the service has asked for a pause. */
  readonly pausedUntil: number | undefined;
  /** When the service's limits let more through. */
  readonly budgetAt: number | undefined;
  /** By order: a flush was sent, so that audio is on its way. */
  readonly hasFlushed: boolean;
  /** Contexts that were lost in a row, without a piece of text heard to its end. */
  readonly losses: number;
}

/** What one connection speaks. */
export interface SpeechState<S> {
  readonly isUp: boolean;
  /** When the service was last heard. */
  readonly heardAt: number;
  readonly syntheses: readonly Synthesis<S>[];
  /** By order: clears that the service has yet to answer; what comes before that is of texts that nobody wants. */
  readonly clears: number;
  /** By id: cancelled contexts that the service may still count, and until when. */
  readonly cancelled: readonly { readonly id: string; readonly until: number }[];
  readonly characters: SlidingWindow;
  readonly flushes: SlidingWindow;
  /** How many contexts there were. */
  readonly contexts: number;
  /** How many keep-alives there were. */
  readonly keepAlives: number;
  /** When the next look at the clock is due. */
  readonly wakeAt: number | undefined;
}

/** How far a word's end may lie behind its audio, in milliseconds: times and samples are rounded apart. */
const toleranceMs = 50;

/** The length of the services' windows, in milliseconds, with a second for what the network does to it. */
const windowMs = 61_000;

/** The state of a connection that has not been opened. */
export function startOf<S>({ connection }: SpeechRules<S>): SpeechState<S> {
  const { charactersPerMinute = Infinity, flushesPerMinute = Infinity } = connection.by === 'order' ? connection : {};
  return {
    ...{
      isUp: false,
      heardAt: 0,
      syntheses: [],
      clears: 0,
      cancelled: [],
      keepAlives: 0,
      contexts: 0,
      wakeAt: undefined,
    },
    characters: new SlidingWindow(charactersPerMinute, windowMs),
    flushes: new SlidingWindow(flushesPerMinute, windowMs),
  };
}

/** A text of which nothing has come yet. */
export function synthesisFrom<S>({ key, voice, format, at }: SpeechInput & { readonly type: 'begin' }): Synthesis<S> {
  return {
    ...{ key, voice, format, text: new SpokenText(), isEnded: false, context: undefined, quietSince: at },
    ...{ pausedUntil: undefined, budgetAt: undefined, hasFlushed: false, losses: 0 },
  };
}

/** A synthesis that is still on its way. */
export function synthesisOf<S>(state: SpeechState<S>, key: number | undefined): Synthesis<S> | undefined {
  return state.syntheses.find((each) => each.key === key);
}

/** The state with one synthesis changed, if it is still on its way. */
export function change<S>(
  state: SpeechState<S>,
  key: number,
  changes: (synthesis: Synthesis<S>) => Partial<Synthesis<S>>,
): SpeechState<S> {
  const syntheses = state.syntheses.map((each) => (each.key === key ? { ...each, ...changes(each) } : each));
  return { ...state, syntheses };
}

/** The state with the context of one synthesis changed, if there is one. */
export function changeContext<S>(
  state: SpeechState<S>,
  key: number,
  changes: (context: Context<S>) => Partial<Context<S>>,
): SpeechState<S> {
  return change(state, key, ({ context }) => (context ? { context: { ...context, ...changes(context) } } : {}));
}

/** The state without a synthesis. */
export function without<S>(state: SpeechState<S>, key: number): SpeechState<S> {
  return { ...state, syntheses: state.syntheses.filter((each) => each.key !== key) };
}

/** The state with all waits begun anew. */
export function waitAnew<S>(state: SpeechState<S>, at: number): SpeechState<S> {
  return { ...state, syntheses: state.syntheses.map((each) => ({ ...each, quietSince: at })) };
}

/** The contexts that are open. */
export function contextIds<S>({ syntheses }: SpeechState<S>): string[] {
  return syntheses.flatMap(({ context }) => context?.id ?? []);
}

/** Whether the service takes no other context. */
export function isFull<S>(state: SpeechState<S>, { connection }: SpeechRules<S>): boolean {
  const most = connection.by === 'id' ? connection.maxContexts : 1;
  return contextIds(state).length + state.cancelled.length >= most;
}

/** Whether all of a text has been spoken. */
export function isOver<S>({ isEnded, context, text }: Synthesis<S>): boolean {
  return isEnded && !context && text.isSaid && text.isHeard;
}

/** By order: whether the service was asked to speak all that it was told. */
export function isFlushed<S>({ context, text }: Synthesis<S>): boolean {
  return text.said === (context?.flushes.at(-1) ?? text.heard);
}

/** Whether a context, all of whose text was spoken, has been idle for so long that it would take no more. */
export function hasExpired<S>({ context, text, quietSince }: Synthesis<S>, rules: SpeechRules<S>, at: number): boolean {
  const { connection } = rules;
  if (connection.by === 'order' || connection.expiresMs === undefined || !context) return false;
  return context.audioBytes > 0 && text.isHeard && !context.isEnding && at - quietSince >= connection.expiresMs;
}

/** Milliseconds of audio that a context has brought; those of a compressed format cannot be counted. */
export function soundedMs<S>({ context, format }: Synthesis<S>): number {
  return isPcmLike(format.encoding) ? durationMs(context?.audioBytes ?? 0, format) + toleranceMs : Infinity;
}

/** What the service keeps a text waiting for: `undefined` when it waits for nothing. */
export function awaited<S>(
  { context, text }: Synthesis<S>,
  { connection }: SpeechRules<S>,
): 'audio' | 'more audio' | undefined {
  if (!context) return undefined;
  const hasSounded = context.audioBytes > 0;
  const speaksAtOnce = connection.by === 'id' && connection.speaksAtOnce;
  const isDue = context.flushes.length > 0 || context.isEnding || (speaksAtOnce && text.isBegun && !hasSounded);
  return isDue ? (hasSounded ? 'more audio' : 'audio') : undefined;
}

/** How long a text waits for the service, in milliseconds; `undefined` when it doesn't. */
export function limitMs<S>(
  { isUp }: SpeechState<S>,
  synthesis: Synthesis<S>,
  rules: SpeechRules<S>,
): number | undefined {
  if (!isUp) return rules.connectTimeoutMs;
  const what = awaited(synthesis, rules);
  return what && (what === 'audio' ? rules.firstAudioTimeoutMs : rules.idleTimeoutMs);
}

/** When something is due next; `Infinity` when nothing is. */
export function deadline<S>(state: SpeechState<S>, rules: SpeechRules<S>): number {
  const times = state.syntheses.map((synthesis) => {
    const { quietSince, pausedUntil = Infinity, budgetAt = Infinity } = synthesis;
    return Math.min(pausedUntil, budgetAt, quietSince + (limitMs(state, synthesis, rules) ?? Infinity));
  });
  return Math.min(...times, ...state.cancelled.map(({ until }) => until));
}
