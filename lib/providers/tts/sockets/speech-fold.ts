import type { AudioMetadata } from '../../../audio/types.ts';
import type { VoiceError } from '../../../core/errors.ts';
import { ownEntry, parseJsonObject } from '../../../core/guard.ts';
import type { Step } from '../../../stream/fold.ts';
import { splitText } from '../../../text/split-text.ts';
import type { SocketData } from '../../../transport/reconnecting-socket.ts';
import type { ReadEffect } from './socket-wire.ts';
import {
  awaited,
  change,
  changeContext,
  contextIds,
  deadline,
  hasExpired,
  isFlushed,
  isFull,
  isOver,
  limitMs,
  soundedMs,
  synthesisFrom,
  synthesisOf,
  waitAnew,
  without,
  type SpeechEffect,
  type SpeechInput,
  type SpeechRules,
  type SpeechState,
  type Synthesis,
} from './speech-state.ts';

/** Losses in a row, with nothing spoken between them, that a text survives. */
const maxLosses = 1;
/** How long the next try waits when the service does not say, in milliseconds. */
const pauseMs = 500;
/** How long a cancelled context whose end never comes counts, in milliseconds. */
const lingerMs = 5_000;

const undocumented = 'the service sent a message that it does not document';
const noObject = 'the service sent a message that is no JSON object';
const noFormat: AudioMetadata = { encoding: 'linear16', sampleRate: 16_000, channels: 1 };

/** The pure reducer of one connection that speaks. */
export function speechReducer<S>(
  rules: SpeechRules<S>,
): (state: SpeechState<S>, input: SpeechInput) => Step<SpeechState<S>, SpeechEffect> {
  return (state, input) => {
    const effects: SpeechEffect[] = [];
    const next = new SpeechStep(rules, input.at, effects).take(state, input);
    const dueAt = deadline(next, rules);
    // One timer serves any number of messages: where it rings too early, it is set again.
    if (dueAt === Infinity ? next.wakeAt === undefined : dueAt >= (next.wakeAt ?? Infinity)) return [next, ...effects];
    const wakeAt = dueAt === Infinity ? undefined : dueAt;
    return [{ ...next, wakeAt }, ...effects, { type: 'wakeAt', at: wakeAt }];
  };
}

/** One step: each method gives the state after it, and notes what is to be done. */
class SpeechStep<S> {
  readonly #rules: SpeechRules<S>;
  readonly #at: number;
  readonly #effects: SpeechEffect[];

  constructor(rules: SpeechRules<S>, at: number, effects: SpeechEffect[]) {
    this.#rules = rules;
    this.#at = at;
    this.#effects = effects;
  }

  take(state: SpeechState<S>, input: SpeechInput): SpeechState<S> {
    switch (input.type) {
      case 'begin':
        return { ...state, syntheses: [...state.syntheses, synthesisFrom(input)] };
      case 'text': {
        const pieces = splitText(input.text, this.#rules.maxTextLength - 1);
        return this.#advance(
          change(state, input.key, ({ text }) => ({ text: text.add(pieces) })),
          input.key,
        );
      }
      case 'textEnd':
        return this.#advance(
          change(state, input.key, () => ({ isEnded: true })),
          input.key,
        );
      case 'cancel':
        return this.#advanceAll(without(this.#cancel(state, input.key), input.key));
      case 'message':
        return this.#hear(state, input.data);
      case 'connected':
        // A new connection knows nothing of what was cancelled on the one before.
        return this.#advanceAll(waitAnew({ ...state, isUp: true, clears: 0, cancelled: [] }, this.#at));
      case 'reconnecting': {
        const lost = state.syntheses.reduce((each, { key }) => this.#lose(each, key, input.error), state);
        const down = { ...lost, isUp: false, clears: 0 };
        // Attempts that fail don't prolong the wait for a connection.
        return state.isUp ? waitAnew(down, this.#at) : down;
      }
      case 'ended':
        return state.syntheses.reduce<SpeechState<S>>((each, { key }) => this.#fail(each, key, input.error), {
          ...state,
          isUp: false,
          clears: 0,
        });
      case 'keepAlive': {
        const ids = contextIds(state);
        const message = this.#rules.wire.keepAlive?.(ids[state.keepAlives % ids.length]);
        if (message !== undefined) this.#send(message);
        return { ...state, keepAlives: state.keepAlives + 1 };
      }
      case 'wake':
        return this.#wake({ ...state, wakeAt: undefined });
    }
  }

  /** Tells the service what it may be told of one text now. */
  #advance(before: SpeechState<S>, key: number): SpeechState<S> {
    const synthesis = synthesisOf(before, key);
    if (!synthesis) return before;
    if (hasExpired(synthesis, this.#rules, this.#at)) return this.#advance(this.#leave(before, key), key);
    if (isOver(synthesis)) {
      this.#effects.push({ type: 'complete', key });
      return without(before, key);
    }
    const { context, text, pausedUntil } = synthesis;
    if (!before.isUp || pausedUntil !== undefined || (!context && text.isSaid)) return before;
    if (context) return this.#say(before, key);
    return isFull(before, this.#rules) ? before : this.#say(this.#enter(before, synthesis), key);
  }

  #advanceAll(state: SpeechState<S>): SpeechState<S> {
    return state.syntheses.reduce((each, { key }) => this.#advance(each, key), state);
  }

  /** Speaks in a new context from now on. */
  #enter(state: SpeechState<S>, { key, voice }: Synthesis<S>): SpeechState<S> {
    const id = `utt_${state.contexts + 1}`;
    const messages = voice(id);
    messages.opening?.forEach((data) => this.#send(data));
    const context = { id, messages, state: this.#rules.wire.start, audioBytes: 0, words: [], flushes: [] };
    return change({ ...state, contexts: state.contexts + 1 }, key, () => ({
      context: { ...context, isEnding: false },
    }));
  }

  /** Says as much as the service's limits let through: at best all of the text, and its end. */
  #say(state: SpeechState<S>, key: number): SpeechState<S> {
    const synthesis = synthesisOf(state, key);
    const { text, context } = synthesis ?? {};
    if (!synthesis || !text || !context) return state;
    if (text.next === undefined) return synthesis.isEnded ? this.#sayEnd(state, synthesis) : state;
    const message = `${text.next} `;
    const waitMs = state.characters.waitMs(message.length, this.#at);
    if (waitMs > 0) {
      // What the service has is not to wait for what it cannot have yet.
      const flushed = state.flushes.left(this.#at) > 0 ? this.#flush(state, synthesis) : state;
      return change(flushed, key, () => ({ budgetAt: this.#at + waitMs }));
    }
    this.#send(context.messages.say(message));
    const isFirst = !text.isBegun && this.#rules.connection.by === 'id';
    const said = { text: text.say(), budgetAt: undefined, ...(isFirst && { quietSince: this.#at }) };
    const spent = { ...state, characters: state.characters.add(message.length, this.#at) };
    return this.#say(
      this.#flushEarly(
        change(spent, key, () => said),
        key,
      ),
      key,
    );
  }

  /** By order: has a piece spoken at once, as long as enough flushes are left for the ends of texts. */
  #flushEarly(state: SpeechState<S>, key: number): SpeechState<S> {
    const { connection } = this.#rules;
    const synthesis = synthesisOf(state, key);
    if (connection.by === 'id' || !synthesis) return state;
    const reserve = synthesis.hasFlushed ? connection.flushReserve : 1;
    return state.flushes.left(this.#at) > reserve ? this.#flush(state, synthesis) : state;
  }

  /** All text was said, and no more will come. */
  #sayEnd(state: SpeechState<S>, synthesis: Synthesis<S>): SpeechState<S> {
    const { key, context } = synthesis;
    if (this.#rules.connection.by === 'order') {
      const waitMs = isFlushed(synthesis) ? 0 : state.flushes.waitMs(1, this.#at);
      const budgetAt = waitMs > 0 ? this.#at + waitMs : undefined;
      return change(waitMs > 0 ? state : this.#flush(state, synthesis), key, () => ({ budgetAt }));
    }
    if (!context || context.isEnding) return state;
    context.messages.ending?.forEach((data) => this.#send(data));
    return change(state, key, () => ({ context: { ...context, isEnding: true }, quietSince: this.#at }));
  }

  /** By order: has everything spoken that was said since the last flush. */
  #flush(state: SpeechState<S>, synthesis: Synthesis<S>): SpeechState<S> {
    const { connection } = this.#rules;
    const { key, text } = synthesis;
    if (connection.by === 'id' || isFlushed(synthesis)) return state;
    this.#send(connection.flush);
    const flushed = changeContext(state, key, ({ flushes }) => ({ flushes: [...flushes, text.said] }));
    const spent = { ...flushed, flushes: state.flushes.add(1, this.#at) };
    return change(spent, key, () => ({ hasFlushed: true, quietSince: this.#at }));
  }

  #hear(before: SpeechState<S>, data: SocketData): SpeechState<S> {
    const { wire, connection, errors } = this.#rules;
    const message = parseJsonObject(data);
    const isByOrder = connection.by === 'order';
    const id = message && wire.contextOf?.(message);
    const read =
      (message && ownEntry(wire.read, wire.typeOf(message))) ??
      (typeof data === 'string' ? undefined : ownEntry(wire.read, 'binary'));
    const state = isByOrder ? waitAnew(before, this.#at) : before;
    const synthesis = state.syntheses.find(({ context }) =>
      isByOrder ? context && state.clears === 0 : id !== undefined && context?.id === id,
    );
    const { context, format = noFormat } = synthesis ?? {};
    const [known, ...effects] = read?.(context?.state ?? wire.start, message ?? {}, { data, format, errors }) ?? [];
    const isForNobody = !isByOrder && id === undefined && !effects.some(({ type }) => type === 'error');
    if (isForNobody || (isByOrder && !read)) {
      this.#effects.push({ type: 'warning', text: message || isByOrder ? undocumented : noObject });
      return { ...before, heardAt: this.#at };
    }
    const heard = { ...state, heardAt: this.#at };
    if (!synthesis || !read) {
      return effects.reduce((each, effect) => this.#hearOther(each, id, effect), heard);
    }
    const { key } = synthesis;
    const entered = change(
      changeContext(heard, key, () => ({ state: known ?? wire.start })),
      key,
      () => ({ quietSince: this.#at }),
    );
    return this.#tellWords(
      effects.reduce((each, effect) => this.#hearOwn(each, key, effect), entered),
      key,
    );
  }

  /** What a message means for the text that it is for. */
  #hearOwn(state: SpeechState<S>, key: number, effect: ReadEffect): SpeechState<S> {
    switch (effect.type) {
      case 'audio':
        if (effect.data.length === 0) return state;
        this.#effects.push({ type: 'emit', key, event: effect });
        return changeContext(state, key, ({ audioBytes }) => ({ audioBytes: audioBytes + effect.data.length }));
      case 'word':
        if (!Number.isFinite(effect.startMs) || !Number.isFinite(effect.endMs)) return state;
        return changeContext(state, key, ({ words }) => ({ words: [...words, effect] }));
      case 'end':
        return this.#rules.connection.by === 'order' ? this.#endSegment(state, key) : this.#endContext(state, key);
      case 'error':
        return this.#refuse(state, key, effect.error);
      default:
        return this.#hearOther(state, undefined, effect);
    }
  }

  /** What a message means that is for no text, or for one that is over: what is late goes nowhere. */
  #hearOther(state: SpeechState<S>, id: string | undefined, effect: ReadEffect): SpeechState<S> {
    switch (effect.type) {
      case 'cleared':
        return { ...state, clears: Math.max(0, state.clears - 1) };
      case 'warning':
      case 'note':
        this.#effects.push(effect);
        return state;
      case 'end':
      case 'error': {
        if (id !== undefined) {
          return this.#advanceAll({ ...state, cancelled: state.cancelled.filter((each) => each.id !== id) });
        }
        if (effect.type === 'end') return state;
        const speaking = state.syntheses.filter(({ context }) => context);
        if (speaking.length === 0 && !effect.error.recoverable) this.#effects.push({ ...effect, type: 'report' });
        return speaking.reduce((each, { key }) => this.#refuse(each, key, effect.error), state);
      }
      default:
        return state;
    }
  }

  /** By order: the oldest flush is answered. */
  #endSegment(state: SpeechState<S>, key: number): SpeechState<S> {
    const { context, text } = synthesisOf(state, key) ?? {};
    const [heard, ...flushes] = context?.flushes ?? [];
    // An answer to nothing, or to a flush that a clear has made void.
    if (!context || !text || heard === undefined) return state;
    const spoken = text.hearTo(heard);
    this.#effects.push({ type: 'emit', key, event: { type: 'segment', text: spoken.heardInContext } });
    const next = { ...context, flushes, audioBytes: 0 };
    const ended = change(state, key, () => ({
      ...{ text: spoken.restart(text.said), losses: 0 },
      context: spoken.isHeard ? undefined : next,
    }));
    return this.#advance(ended, key);
  }

  /** By id: the service has spoken all that a context was told. */
  #endContext(state: SpeechState<S>, key: number): SpeechState<S> {
    const told = change(this.#tellWords(state, key, Infinity), key, ({ text }) => ({ text: text.hearTo(text.said) }));
    return this.#advanceAll(this.#leave(told, key));
  }

  /** Tells of words once they have sounded, so that none is told of audio that is then lost. */
  #tellWords(state: SpeechState<S>, key: number, endMs?: number): SpeechState<S> {
    const synthesis = synthesisOf(state, key);
    const words = synthesis?.context?.words ?? [];
    if (!synthesis || words.length === 0) return state;
    const untilMs = endMs ?? soundedMs(synthesis);
    const waiting = words.findIndex((word) => word.endMs > untilMs);
    const told = waiting < 0 ? words : words.slice(0, waiting);
    for (const event of told) this.#effects.push({ type: 'emit', key, event });
    const text = told.reduce((each, word) => each.hear(word.text), synthesis.text);
    return changeContext(
      change(state, key, () => ({ text })),
      key,
      () => ({ words: words.slice(told.length) }),
    );
  }

  /** What follows is said in another context, with times of its own. */
  #leave(state: SpeechState<S>, key: number): SpeechState<S> {
    return change(state, key, ({ context, text }) => {
      const heard = text.heardInContext;
      const hasSounded = context !== undefined && context.audioBytes > 0;
      if (hasSounded)
        this.#effects.push({ type: 'emit', key, event: { type: 'segment', ...(heard && { text: heard }) } });
      return { context: undefined, text: text.restart(), hasFlushed: false, quietSince: this.#at };
    });
  }

  /** A context is gone: what was not heard of it is said again, or the text fails. */
  #lose(state: SpeechState<S>, key: number, error: VoiceError): SpeechState<S> {
    const { context, text, losses: before = 0 } = synthesisOf(state, key) ?? {};
    if (!context) return state;
    const losses = text?.hasAdvanced ? 1 : before + 1;
    const left = change(this.#leave(state, key), key, () => ({ losses }));
    return losses > maxLosses || !error.recoverable ? this.#fail(left, key, error) : left;
  }

  /** The service has given a context up: the next try waits a little. */
  #refuse(state: SpeechState<S>, key: number, error: VoiceError): SpeechState<S> {
    const pausedUntil = this.#at + (error.retryAfterMs ?? pauseMs);
    return this.#advanceAll(change(this.#lose(state, key, error), key, () => ({ pausedUntil })));
  }

  #fail(state: SpeechState<S>, key: number, error: VoiceError): SpeechState<S> {
    this.#effects.push({ type: 'fail', key, error });
    return without(state, key);
  }

  /** Silences a text at the service. */
  #cancel(state: SpeechState<S>, key: number): SpeechState<S> {
    const { connection } = this.#rules;
    const { context } = synthesisOf(state, key) ?? {};
    if (!context || !state.isUp) return state;
    this.#send(context.messages.cancel);
    if (connection.by === 'order') return { ...state, clears: state.clears + 1 };
    if (!connection.endsCancelled) return state;
    return { ...state, cancelled: [...state.cancelled, { id: context.id, until: this.#at + lingerMs }] };
  }

  #wake(state: SpeechState<S>): SpeechState<S> {
    const rested: SpeechState<S> = {
      ...state,
      cancelled: state.cancelled.filter(({ until }) => until > this.#at),
      syntheses: state.syntheses.map((each) =>
        (each.pausedUntil ?? Infinity) <= this.#at ? { ...each, pausedUntil: undefined } : each,
      ),
    };
    const advanced = this.#advanceAll(rested);
    return advanced.syntheses.reduce((each, { key }) => this.#stall(each, key), advanced);
  }

  /** Has the connection replaced, or the context, of a text that has waited for too long. */
  #stall(state: SpeechState<S>, key: number): SpeechState<S> {
    const synthesis = synthesisOf(state, key);
    const ms = synthesis && limitMs(state, synthesis, this.#rules);
    if (!synthesis || ms === undefined || this.#at - synthesis.quietSince < ms) return state;
    const what = state.isUp ? (awaited(synthesis, this.#rules) ?? 'audio') : 'connection';
    const error = this.#rules.errors.error(`no ${what} ${state.isUp ? 'came ' : ''}within ${ms} ms`, {
      code: 'timeout',
      recoverable: true,
    });
    if (!state.isUp) return this.#fail(state, key, error);
    if (this.#at - state.heardAt >= ms) {
      this.#effects.push({ type: 'reconnect', error });
      return waitAnew(state, this.#at);
    }
    // Where others are answered, it is not the connection's fault.
    const cancelled = this.#cancel(state, key);
    return this.#advance(this.#lose(cancelled, key, error), key);
  }

  #send(data: SocketData): void {
    this.#effects.push({ type: 'send', data });
  }
}
