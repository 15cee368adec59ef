import { durationMs, isPcmLike } from '../../audio/formats.ts';
import { ownEntry, asString, type WireObject } from '../../core/guard.ts';
import type { SpeechEvent, TranscriptionResult } from '../../core/roles.ts';
import { eachEffect, takeStep } from '../../stream/fold.ts';
import type { SocketRequest } from '../../transport/reconnecting-socket.ts';
import type { StreamingSTTConfig } from './streaming-stt-config.ts';
import type { Said, STTContext, STTEffect, STTStep, STTWire } from './stt-wire.ts';
import { soleSpeaker } from './stt-words.ts';
import { isLoud, noVoices, withVoices, type Voices } from './voice-levels.ts';

type Frames = readonly Uint8Array<ArrayBuffer>[];

/** The state of a speech-to-text session. */
export interface Hearing<S> {
  /** The wire's state. */
  readonly wire: S;
  readonly utterance: Utterance;
  readonly watch: Watch;
  /** The address of the current connection, if the next one may reuse it. */
  readonly address: SocketRequest | undefined;
  /** Whether the current connection reuses the previous one's address. */
  readonly isResumed: boolean;
  /** Identifies the stretch of audio the service is hearing; new when it starts over. */
  readonly id: string;
}

interface Utterance {
  /** Utterances so far. */
  readonly count: number;
  /** Id of the current utterance. */
  readonly id: string | undefined;
  /** The latest words of an utterance that is not complete. */
  readonly newest: Said | undefined;
  readonly hasVoice: boolean;
  /** Counts requests for the final result. */
  readonly asks: number;
  /** Whether the answer to the newest is pending. */
  readonly isAsked: boolean;
}

/** Voice sent to the service and not yet answered, in audio time (docs/faults.md, F10). */
interface Watch {
  readonly unansweredMs: number;
  /** Of services that may be silent about noise: the voices in it. */
  readonly voices: Voices;
  /** How many times in a row it exceeded the limit. */
  readonly alarms: number;
}

/** Inputs of a session. */
export type HearingInput<C> =
  /** `undefined` for an unreadable message. */
  | { readonly type: 'message'; readonly message: WireObject | undefined }
  | { readonly type: 'command'; readonly name: string }
  /** Asks for the final result, once the service `isReady`; `isPending` when there is sound that is not final. */
  | { readonly type: 'finalize'; readonly isPending: boolean; readonly isReady: boolean }
  /** The answer to a request did not come in time. */
  | { readonly type: 'overdue'; readonly ask: number }
  | { readonly type: 'connecting' }
  | { readonly type: 'granted'; readonly address: SocketRequest }
  | { readonly type: 'forget' }
  | { readonly type: 'begin'; readonly id: string }
  | { readonly type: 'audio'; readonly data: Uint8Array<ArrayBuffer> }
  | { readonly type: 'sent'; readonly frames: Frames; readonly limitMs: number | false }
  | { readonly type: 'tick'; readonly canPing: boolean }
  | { readonly type: 'gap'; readonly quietMs: number }
  | { readonly type: 'changed'; readonly changed: Partial<C> }
  | { readonly type: 'leave' }
  | { readonly type: 'end' };

/** What the runner carries out. */
export type HearingEffect =
  | Exclude<STTEffect, { type: 'voice' | 'result' | 'finish' | 'reset' | 'forget-address' }>
  | { readonly type: 'speech'; readonly event: SpeechEvent }
  | { readonly type: 'transcript'; readonly result: TranscriptionResult }
  /** All words up to a moment of the audio were told as final, though not by the service. */
  | { readonly type: 'settled'; readonly audioMs: number }
  /** The answer to a request is due within `ms` milliseconds. */
  | { readonly type: 'await-final'; readonly ask: number; readonly ms: number }
  /** A message that does not fit the wire. */
  | { readonly type: 'malformed'; readonly kind: string }
  /** No answer to `limitMs` of voice; `isFinal` when too often in a row. */
  | { readonly type: 'dead'; readonly isFinal: boolean; readonly limitMs: number };

export type HearingStep<S> = readonly [Hearing<S>, ...HearingEffect[]];

/** Connections in a row that receive audio without a promised answer, after which the session is given up. */
const maxAlarms = 3;

/** Longest wait for the answer to a request for the final result, in milliseconds. */
const finalMs = 2_000;

/** The share of the limit that passes before levels are measured: a live service answers long before. */
const unmeasured = 0.25;

/** The state before any audio. */
export function silentHearing<S>(wire: S): Hearing<S> {
  return {
    wire,
    utterance: { count: 0, id: undefined, newest: undefined, hasVoice: false, asks: 0, isAsked: false },
    watch: answered,
    address: undefined,
    isResumed: false,
    id: '',
  };
}

/** Folds an input into a session: its next state and effects. Pure. */
export function hear<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  before: Hearing<S>,
  input: HearingInput<C>,
  context: STTContext<C>,
): HearingStep<S> {
  const watch = watched(before, input);
  const hearing = watch === before.watch ? before : { ...before, watch };
  const state = before.wire;
  switch (input.type) {
    case 'message':
      return onMessage(wire, hearing, input.message, context);
    case 'sent':
      return onSent(wire, hearing, input, context);
    case 'command':
      return apply(wire, hearing, ownEntry(wire.commands ?? {}, input.name)?.(state, context), context);
    case 'finalize':
      return onFinalize(wire, hearing, input, context);
    case 'overdue':
      return onOverdue(wire, hearing, input.ask, context);
    case 'connecting':
      return apply(wire, hearing, wire.connecting?.(state, context), context);
    case 'granted':
      return [{ ...hearing, address: input.address, isResumed: before.address !== undefined }];
    case 'forget':
      return [{ ...hearing, address: undefined }];
    case 'begin': {
      const { id } = input;
      const [begun, ...effects] = apply(wire, { ...hearing, id }, wire.begin?.(state, { ...context, id }), context);
      // What was asked is asked now, after the audio that comes first.
      if (!begun.utterance.isAsked) return [begun, ...effects];
      const [next, ...asked] = ask(wire, begun, context);
      return [next, ...effects, ...asked];
    }
    case 'audio':
      return apply(wire, hearing, wire.hear?.(state, input.data, context), context);
    case 'tick':
      return apply(wire, hearing, wire.tick?.(state, context, input.canPing), context);
    case 'gap':
      return apply(wire, hearing, wire.gap?.(state, input.quietMs, context), context);
    case 'changed':
      return apply(
        wire,
        hearing,
        wire.reconfigure?.(state, input.changed, context) ?? [state, { type: 'reconnect' }],
        context,
      );
    case 'leave':
      return apply(wire, hearing, wire.leave?.(state, context), context);
    case 'end':
      return onEnd(wire, hearing, context);
  }
}

function onMessage<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  hearing: Hearing<S>,
  message: WireObject | undefined,
  context: STTContext<C>,
): HearingStep<S> {
  if (!message) return [hearing, { type: 'malformed', kind: 'ignored an unreadable message' }];
  const type = typeOf(wire, message, hearing.wire) ?? 'unknown';
  try {
    const [looked, ...noted] = wire.each?.(hearing.wire, message, context) ?? [hearing.wire];
    const read = ownEntry(wire.read, type);
    const [state, ...effects] = read?.(looked, message, context) ?? [looked, ignored(type)];
    return apply(wire, hearing, [state, ...noted, ...effects], context);
  } catch {
    return [hearing, { type: 'malformed', kind: `ignored a malformed message of type ${type}` }];
  }
}

const ignored = (type: string): STTEffect => ({ type: 'log', text: `ignored a message of type ${type}` });

/** A message's type, according to its wire. */
export function typeOf<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  message: WireObject,
  state: S,
): string | undefined {
  return wire.typeOf ? wire.typeOf(message, state) : asString(message['type']);
}

function onEnd<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  hearing: Hearing<S>,
  context: STTContext<C>,
): HearingStep<S> {
  const [last, ...effects]: STTStep<S> = wire.end?.(hearing.wire, context) ?? [hearing.wire, { type: 'finish' }];
  const ended = { type: 'voice', is: 'ended' } as const;
  // What is told as final now is not heard again by the next session.
  const audioMs = hearing.utterance.newest?.words?.at(-1)?.endMs;
  const settled = audioMs === undefined ? [] : [{ type: 'settled', audioMs } as const];
  const [{ utterance, watch }, ...told] = apply(wire, hearing, [last, ended, ...effects, { type: 'reset' }], context);
  return [{ ...silentHearing(wire.start()), utterance: { ...utterance, isAsked: false }, watch }, ...settled, ...told];
}

/** One result comes for every request: at once when nothing is pending, else the service's, else the words so far. */
function onFinalize<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  hearing: Hearing<S>,
  { isPending, isReady }: Extract<HearingInput<C>, { type: 'finalize' }>,
  context: STTContext<C>,
): HearingStep<S> {
  const { utterance } = hearing;
  if (!isPending && !utterance.newest && !utterance.hasVoice) return says(hearing, silent, wire.name, context.config);
  const asked = { ...hearing, utterance: { ...utterance, isAsked: true } };
  return isReady ? ask(wire, asked, context) : [asked];
}

function ask<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  hearing: Hearing<S>,
  context: STTContext<C>,
): HearingStep<S> {
  const { utterance } = hearing;
  const asks = utterance.asks + 1;
  const asked = { ...hearing, utterance: { ...utterance, asks } };
  const [next, ...effects] = apply(wire, asked, wire.commands?.['finalize']?.(hearing.wire, context), context);
  return [next, ...effects, { type: 'await-final', ask: asks, ms: wire.finalMs ?? finalMs }];
}

function onOverdue<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  hearing: Hearing<S>,
  asked: number,
  context: STTContext<C>,
): HearingStep<S> {
  const { isAsked, asks, newest } = hearing.utterance;
  if (!isAsked || asks !== asked) return [hearing];
  // What comes late must not say it again.
  const said: readonly STTEffect[] = newest
    ? [{ type: 'finalized', ms: context.sentMs }, { type: 'finish' }]
    : [silent];
  return apply(wire, hearing, [hearing.wire, ...said, ...(wire.overdue?.(hearing.wire, context) ?? [])], context);
}

/** The result of an utterance without words. */
const silent = { type: 'result', kind: 'complete', text: '' } as const;

/** The state after a step of the wire, with its effects for the runner. */
function apply<C extends StreamingSTTConfig, S>(
  { name }: STTWire<C, S>,
  hearing: Hearing<S>,
  step: STTStep<S> = [hearing.wire],
  context: STTContext<C>,
): HearingStep<S> {
  const [wire] = step;
  const told: HearingEffect[] = [];
  let now = wire === hearing.wire ? hearing : { ...hearing, wire };
  eachEffect(step, (effect) => {
    now = takeStep(told, enacted(now, effect, name, context));
  });
  return [now, ...told];
}

function enacted<S>(
  hearing: Hearing<S>,
  effect: STTEffect,
  name: string,
  { config, toAudioMs }: STTContext<StreamingSTTConfig>,
): HearingStep<S> {
  const { utterance } = hearing;
  switch (effect.type) {
    case 'voice':
      return speaks(hearing, effect.is, effect.ms === undefined ? undefined : toAudioMs(effect.ms));
    case 'result':
      return says(hearing, effect, name, config);
    case 'finish': {
      const [quiet, ...told] = speaks(hearing, 'ended');
      if (!utterance.newest) return [quiet, ...told];
      const [next, ...more] = says(quiet, { ...utterance.newest, kind: 'complete' }, name, config);
      return [next, ...told, ...more];
    }
    case 'reset': {
      const [quiet, ...told] = speaks(hearing, 'ended');
      const next = { ...quiet, utterance: { ...quiet.utterance, id: undefined, newest: undefined } };
      if (!utterance.isAsked) return [next, ...told];
      const [answered, ...more] = says(next, silent, name, config);
      return [answered, ...told, ...more];
    }
    case 'forget-address':
      return [{ ...hearing, address: undefined }];
    default:
      return [hearing, effect];
  }
}

function speaks<S>(hearing: Hearing<S>, type: SpeechEvent['type'], positionMs?: number): HearingStep<S> {
  const hasVoice = type !== 'ended';
  if (hearing.utterance.hasVoice === hasVoice) return [hearing];
  return [
    { ...hearing, utterance: { ...hearing.utterance, hasVoice } },
    { type: 'speech', event: { type, ...(positionMs !== undefined && { positionMs }) } },
  ];
}

function says<S>(
  hearing: Hearing<S>,
  said: Omit<Extract<STTEffect, { type: 'result' }>, 'type'>,
  name: string,
  config: Readonly<StreamingSTTConfig>,
): HearingStep<S> {
  const { utterance } = hearing;
  const { kind, text, confidence, words, language = config.language, translations, fields } = said;
  const isComplete = kind === 'complete';
  const newest = isComplete ? undefined : said;
  // Nobody knows of an utterance whose words were never emitted.
  if (kind === 'interim' && config.interimResults === false)
    return [{ ...hearing, utterance: { ...utterance, newest } }];
  const count = utterance.id === undefined ? utterance.count + 1 : utterance.count;
  const utteranceId = utterance.id ?? `${name}-${count}`;
  const speaker = soleSpeaker(words ?? []);
  const result: TranscriptionResult = {
    text,
    isFinal: kind === 'segment' || isComplete,
    utteranceComplete: isComplete,
    isPreflight: kind === 'preflight',
    ...(confidence !== undefined && { confidence }),
    utteranceId,
    metadata: {
      ...fields,
      ...(words && { words }),
      ...(language !== undefined && { language }),
      ...(speaker !== undefined && { speaker }),
      ...(translations && { translations }),
    },
  };
  const isAsked = utterance.isAsked && !isComplete;
  const next = { ...utterance, count, id: isComplete ? undefined : utteranceId, newest, isAsked };
  return [
    { ...hearing, utterance: next },
    { type: 'transcript', result },
  ];
}

const answered: Watch = { unansweredMs: 0, voices: noVoices, alarms: 0 };

/** Any answer resets the watch for a silent service, and so does a new start: nothing was asked of it yet. */
function watched<C>({ watch }: { watch: Watch }, { type }: HearingInput<C>): Watch {
  if (type === 'message') return answered;
  return type === 'begin' ? { ...answered, alarms: watch.alarms } : watch;
}

/**
 * A service that promises messages is dead without them. Others say nothing about noise, and may say nothing about a
 * voice in the background: each time in a row they have twice as long, and the session goes on.
 */
function onSent<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  hearing: Hearing<S>,
  { frames, limitMs }: Extract<HearingInput<C>, { type: 'sent' }>,
  { config, format }: STTContext<C>,
): HearingStep<S> {
  if (limitMs === false || !isPcmLike(format.encoding)) return [hearing];
  const promises = wire.promisesMessages?.(config) ?? false;
  const { alarms } = hearing.watch;
  const patienceMs = promises ? limitMs : limitMs * 2 ** alarms;
  const watch = frames.reduce((before, frame) => {
    const ms = durationMs(frame.length, format);
    if (before.unansweredMs < patienceMs * unmeasured) return { ...before, unansweredMs: before.unansweredMs + ms };
    if (promises) return isLoud(frame, format) ? { ...before, unansweredMs: before.unansweredMs + ms } : before;
    const voices = withVoices(before.voices, frame, format);
    return { ...before, voices, unansweredMs: before.unansweredMs + voices.ms - before.voices.ms };
  }, hearing.watch);
  if (watch.unansweredMs < patienceMs) return [{ ...hearing, watch }];
  // The service's session state is worthless.
  const dead = { ...hearing, watch: { ...answered, alarms: alarms + 1 }, address: undefined };
  return [dead, { type: 'dead', isFinal: promises && alarms + 1 >= maxAlarms, limitMs: patienceMs }];
}
