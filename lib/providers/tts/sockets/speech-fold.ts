import type { AudioMetadata } from '../../../audio/types.ts';
import type { VoiceError } from '../../../core/errors.ts';
import { ownEntry } from '../../../core/own-entry.ts';
import { parseJsonObject } from '../../../core/parse-json.ts';
import { withRequestId } from '../../../core/request-id.ts';
import type { Machine } from '../../../stream/fold.ts';
import { splitText } from '../../../text/split-text.ts';
import { hasWords } from '../../../text/words.ts';
import type { SocketData } from '../../../transport/reconnecting-socket.ts';
import type { ReadEffect } from './speech-wire.ts';
import {
  change,
  changeContext,
  emit,
  leave,
  send,
  synthesisOf,
  update,
  type Attribution,
  type SpeechEffect,
  type SpeechInput,
  type SpeechRules,
  type SpeechState,
  type SpeechStep,
  type Synthesis,
} from './speech-step.ts';
import { isHeard, isSaid, noText } from './spoken-text.ts';

/** Consecutive losses, with nothing spoken in between, that a text survives. */
const maxLosses = 1;
/** Wait before a retry if the service does not specify one, in milliseconds. */
const pauseMs = 500;

const undocumented = 'the service sent an undocumented message';
const noObject = 'the service sent a message that is not a JSON object';
const noAudio = 'the audio is not base64';
const noFormat: AudioMetadata = { encoding: 'linear16', sampleRate: 16_000, channels: 1 };

/** The state machine of one connection that speaks. */
export function speech(rules: SpeechRules): Machine<SpeechState, SpeechInput, SpeechEffect> {
  return {
    start: {
      isUp: false,
      requestId: undefined,
      heardAt: 0,
      syntheses: [],
      cancelled: [],
      budget: undefined,
      contexts: 0,
      isKept: false,
      keepAlives: 0,
    },
    reduce: (state, input, at) => {
      const step: SpeechStep = { rules, at, state, effects: [] };
      take(step, input);
      return [step.state, ...step.effects];
    },
    wakeAt: (state) => {
      let at = Infinity;
      for (const { until } of state.cancelled) at = Math.min(at, until);
      for (const synthesis of state.syntheses) {
        at = Math.min(at, synthesis.resumeAt ?? Infinity, synthesis.quietSince + limitMs(state, synthesis, rules));
      }
      return at;
    },
    tick: { type: 'tick' },
  };
}

function take(step: SpeechStep, input: SpeechInput): void {
  const { state, at, rules } = step;
  switch (input.type) {
    case 'begin': {
      const { key, voice, format } = input;
      const anew = { text: noText, isEnded: false, context: undefined, resumeAt: undefined };
      const begun = { key, voice, format, ...anew, quietSince: at, hasFlushed: false, losses: 0 };
      update(step, { syntheses: [...state.syntheses, begun] });
      break;
    }
    case 'text': {
      const { text } = synthesisOf(step, input.key) ?? {};
      const pieces = splitText(input.text, rules.maxTextLength - 1);
      if (text) change(step, input.key, { text: { ...text, pieces: [...text.pieces, ...pieces] } });
      // More may be allowed at once than before.
      advanceAll(step);
      break;
    }
    case 'textEnd':
      change(step, input.key, { isEnded: true });
      advance(step, input.key);
      break;
    case 'silence':
      sendCancel(step, input.key);
      break;
    case 'cancel':
      linger(step, input.key);
      remove(step, input.key);
      advanceAll(step);
      break;
    case 'message':
      hear(step, input.data);
      break;
    case 'connected':
      update(step, { isUp: true, requestId: input.requestId, isKept: false });
      waitAnew(step);
      advanceAll(step);
      break;
    case 'reconnecting':
      for (const { key } of state.syntheses) lose(step, key, input.error);
      // Cancelled contexts are gone with the connection.
      update(step, { isUp: false, requestId: undefined, cancelled: [] });
      // Failed attempts don't extend the wait for a connection.
      if (state.isUp) waitAnew(step);
      break;
    case 'ended':
      for (const { key } of state.syntheses) fail(step, key, input.error);
      update(step, { isUp: false, cancelled: [] });
      break;
    case 'keepAlive': {
      // One that was closed would be opened again.
      const ids = state.syntheses.flatMap(({ context }) => (context && !context.isEnding ? context.id : []));
      const { keepAlive, keeper } = rules.wire;
      const opensKeeper = ids.length === 0 && keeper !== undefined && !state.isKept;
      const message = opensKeeper ? keeper.opening : keepAlive?.(ids[state.keepAlives % ids.length] ?? keeper?.id);
      if (message !== undefined) send(step, message);
      update(step, { keepAlives: state.keepAlives + 1, isKept: state.isKept || opensKeeper });
      break;
    }
    case 'tick':
      update(step, {
        cancelled: state.cancelled.filter(({ until }) => until > at),
        syntheses: state.syntheses.map((each) =>
          (each.resumeAt ?? Infinity) <= at ? { ...each, resumeAt: undefined } : each,
        ),
      });
      advanceAll(step);
      for (const { key } of step.state.syntheses) judge(step, key);
  }
}

/** Sends as much of a text as is allowed now. */
function advance(step: SpeechStep, key: number): void {
  const { attribution } = step.rules;
  const present = synthesisOf(step, key);
  if (present && attribution.hasExpired?.(present, step.at)) leave(step, key);
  const synthesis = synthesisOf(step, key);
  if (!synthesis) return;
  const { context, text, isEnded, resumeAt } = synthesis;
  if (isEnded && !context && isSaid(text) && isHeard(text)) {
    step.effects.push({ type: 'complete', key });
    remove(step, key);
  } else if (step.state.isUp && resumeAt === undefined && (context || !isSaid(text))) {
    if (!context && !enter(step, synthesis)) return;
    attribution.say(step, key);
  }
}

function advanceAll(step: SpeechStep): void {
  for (const { key } of step.state.syntheses) advance(step, key);
}

/** Continues in a new context, if the service accepts another. */
function enter(step: SpeechStep, { key, voice }: Synthesis): boolean {
  const { wire, attribution } = step.rules;
  const { state } = step;
  if (contextIds(state).length + state.cancelled.length >= attribution.maxContexts()) return false;
  const id = `utt_${state.contexts + 1}`;
  const messages = voice(id);
  messages.opening?.forEach((data) => send(step, data));
  update(step, { contexts: state.contexts + 1 });
  change(step, key, {
    context: {
      id,
      messages,
      state: messages.start ?? wire.start,
      audioBytes: 0,
      words: [],
      flushes: [],
      owesFlush: false,
      answered: 0,
      isEnding: false,
    },
  });
  return true;
}

function hear(step: SpeechStep, data: SocketData): void {
  const { wire, attribution, errors } = step.rules;
  const { contextOf } = attribution;
  const message = parseJsonObject(data);
  const id = message && contextOf?.(message);
  const requestId = message && wire.requestIdOf?.(message);
  if (requestId !== undefined) update(step, { requestId });
  const read =
    (message && ownEntry(wire.read, wire.typeOf(message))) ??
    (typeof data === 'string' ? undefined : ownEntry(wire.read, 'binary'));
  const synthesis = subjectOf(step.state, attribution, id);
  const { key, context, format = noFormat } = synthesis ?? {};
  const [known, ...effects] = read?.(context?.state ?? wire.start, message ?? {}, { data, format, errors }) ?? [];
  const isUnknown = contextOf ? id === undefined && !effects.some(({ type }) => type === 'error') : !read;
  if (isUnknown) {
    update(step, { heardAt: step.at });
    step.effects.push({ type: 'warning', text: message || !contextOf ? undocumented : noObject });
    return;
  }
  // Without ids, each message is also a sign of activity for what follows it.
  const isSign = (each: Synthesis): boolean => !contextOf || (read !== undefined && each === synthesis);
  const syntheses = step.state.syntheses.map((each) => (isSign(each) ? { ...each, quietSince: step.at } : each));
  update(step, { heardAt: step.at, syntheses });
  if (key !== undefined && read && known !== context?.state) changeContext(step, key, { state: known ?? wire.start });
  for (const effect of effects) takeEffect(step, effect, key, id);
  if (key !== undefined) attribution.settle?.(step, key);
}

/** The text a message belongs to. By order, none until the service has dropped everything cancelled. */
function subjectOf(state: SpeechState, { contextOf }: Attribution, id: string | undefined): Synthesis | undefined {
  if (contextOf) return state.syntheses.find(({ context }) => id !== undefined && context?.id === id);
  return state.cancelled.length > 0 ? undefined : state.syntheses.find(({ context }) => context);
}

/** Applies a message's effect, to one text or to none: late ones are dropped. */
function takeEffect(step: SpeechStep, effect: ReadEffect, key: number | undefined, id: string | undefined): void {
  const { attribution } = step.rules;
  const { cancelled, syntheses } = step.state;
  switch (effect.type) {
    case 'cleared':
      update(step, { cancelled: cancelled.slice(1) });
      break;
    case 'warning':
    case 'note':
      step.effects.push(effect);
      break;
    case 'audio': {
      const { data } = effect;
      if (key === undefined || data?.length === 0) break;
      if (!data) {
        step.effects.push({ type: 'warning', text: noAudio });
        break;
      }
      emit(step, key, { requestId: step.state.requestId, ...effect, data });
      const audioBytes = synthesisOf(step, key)?.context?.audioBytes ?? 0;
      changeContext(step, key, { audioBytes: audioBytes + data.length });
      break;
    }
    case 'unflushed':
      attribution.unflush?.(step, key);
      break;
    case 'word':
    case 'spoken':
      if (key !== undefined) attribution.hear(step, key, effect);
      break;
    case 'end':
      if (key !== undefined && isMute(step, key)) {
        // Where audio is attributed by order, what is still on its way would pass for the next attempt's.
        if (!attribution.contextOf) silence(step, key);
        refuse(step, key, step.rules.errors.error('the answer has no audio', { code: 'protocol', recoverable: true }));
      } else if (key !== undefined) attribution.hear(step, key, effect);
      else update(step, { cancelled: cancelled.filter((each) => each.id !== id) });
      advanceAll(step);
      break;
    case 'error':
      if (key !== undefined) refuse(step, key, effect.error);
      else if (id !== undefined) takeEffect(step, { type: 'end' }, key, id);
      else {
        const speaking = syntheses.filter(({ context }) => context);
        if (speaking.length === 0 && !effect.error.recoverable) step.effects.push({ ...effect, type: 'report' });
        for (const each of speaking) refuse(step, each.key, effect.error);
      }
  }
}

/** A context was lost: resends what was not heard, or fails the text. */
function lose(step: SpeechStep, key: number, error: VoiceError): void {
  const { context, text, losses: before = 0 } = synthesisOf(step, key) ?? {};
  if (!context || !text) return;
  const losses = text.heard > text.from ? 1 : before + 1;
  leave(step, key, true);
  if (losses > maxLosses || !error.recoverable) fail(step, key, error);
  else change(step, key, { losses });
}

/** The service has rejected a context: the retry waits a little. */
function refuse(step: SpeechStep, key: number, error: VoiceError): void {
  lose(step, key, error);
  change(step, key, { resumeAt: step.at + (error.retryAfterMs ?? pauseMs) });
  advanceAll(step);
}

function fail(step: SpeechStep, key: number, error: VoiceError): void {
  step.effects.push({ type: 'fail', key, error: withRequestId(error, step.state.requestId) });
  remove(step, key);
}

function remove(step: SpeechStep, key: number): void {
  update(step, { syntheses: step.state.syntheses.filter((each) => each.key !== key) });
}

/** Silences a text at the service. */
function silence(step: SpeechStep, key: number): void {
  sendCancel(step, key);
  linger(step, key);
}

function sendCancel(step: SpeechStep, key: number): void {
  const { context } = synthesisOf(step, key) ?? {};
  if (!context || !step.state.isUp) return;
  if (!context.isEnding || !context.messages.endsForGood) send(step, context.messages.cancel);
}

/** The service may still speak, or count, a text that was cancelled. */
function linger(step: SpeechStep, key: number): void {
  const { lingerMs } = step.rules.attribution;
  const { state, at } = step;
  const { context } = synthesisOf(step, key) ?? {};
  if (!context || !state.isUp || lingerMs === 0) return;
  update(step, { cancelled: [...state.cancelled, { id: context.id, until: at + lingerMs }] });
}

/** Replaces the connection, or the context, of a text that has waited too long. */
function judge(step: SpeechStep, key: number): void {
  const { rules, at, state } = step;
  const synthesis = synthesisOf(step, key);
  const ms = synthesis ? limitMs(state, synthesis, rules) : Infinity;
  if (!synthesis || at < synthesis.quietSince + ms) return;
  const awaited = !state.isUp ? 'connection' : hasSounded(synthesis) ? 'more audio arrived' : 'audio arrived';
  const { requestId } = state;
  const error = rules.errors.error(`no ${awaited} within ${ms} ms`, { code: 'timeout', recoverable: true, requestId });
  if (!state.isUp) fail(step, key, error);
  else if (at >= state.heardAt + ms) {
    step.effects.push({ type: 'reconnect', error });
    waitAnew(step);
  } else {
    // If others are answered, the connection is not at fault.
    silence(step, key);
    lose(step, key, error);
    advance(step, key);
  }
}

/** Restarts all waits. */
function waitAnew(step: SpeechStep): void {
  update(step, { syntheses: step.state.syntheses.map((each) => ({ ...each, quietSince: step.at })) });
}

/** Ids of the open contexts. */
function contextIds({ syntheses }: SpeechState): string[] {
  return syntheses.flatMap(({ context }) => context?.id ?? []);
}

function hasSounded({ context }: Synthesis): boolean {
  return context !== undefined && context.audioBytes > 0;
}

/** Whether the text that ends had words but no audio: silence would pass for speech. */
function isMute(step: SpeechStep, key: number): boolean {
  const { context, text } = synthesisOf(step, key) ?? {};
  if (!context || !text || context.audioBytes > 0) return false;
  const end = step.rules.attribution.contextOf ? text.said : context.flushes[0];
  return end !== undefined && hasWords(text.pieces.slice(text.from, end).join(' '));
}

/** How long a text may wait for the service, in milliseconds; `Infinity` if it is not waiting. */
function limitMs({ isUp }: SpeechState, synthesis: Synthesis, rules: SpeechRules): number {
  const { context, text } = synthesis;
  if (!isUp) return rules.connectTimeoutMs;
  if (!context || !rules.attribution.isDue(context, text)) return Infinity;
  return hasSounded(synthesis) ? rules.idleTimeoutMs : rules.firstAudioTimeoutMs;
}
