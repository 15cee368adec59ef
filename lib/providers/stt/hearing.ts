import { durationMs, isPcmLike } from '../../audio/formats.ts';
import { asString, type WireObject } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { eachEffect, takeStep } from '../../stream/fold.ts';
import type { SocketRequest } from '../../transport/reconnecting-socket.ts';
import type { StreamingSTTConfig } from './streaming-stt-config.ts';
import type { STTContext, STTEffect, STTReader, STTStep, STTWire } from './stt-wire.ts';
import {
  finishes,
  isOpen,
  newestWords,
  noUtterances,
  resets,
  says,
  silent,
  speaks,
  type Telling,
  type UtteranceEffect,
  type Utterances,
  type UtterancesStep,
} from './utterances.ts';
import { isLoud, noVoices, withVoices, type Voices } from './voice-levels.ts';

type Frames = readonly Uint8Array<ArrayBuffer>[];

/** The state of a speech-to-text session. */
export interface Hearing<S> {
  /** The wire's state. */
  readonly wire: S;
  readonly utterances: Utterances;
  readonly watch: Watch;
  /** The address of the current connection, if the next one may reuse it. */
  readonly address: SocketRequest | undefined;
  /** Whether the current connection reuses the previous one's address. */
  readonly isResumed: boolean;
  /** The service's id of the session, once it is known. */
  readonly requestId: string | undefined;
}

/** Voice sent to the service and not yet answered, in audio time (docs/faults.md, F10). */
interface Watch {
  readonly unansweredMs: number;
  /** When the first of it was sent, in the scheduler's milliseconds: a recording comes faster than it can be answered. */
  readonly since?: number;
  /** Of services that may be silent about noise: the voices in it. */
  readonly voices: Voices;
  /** How many times in a row it exceeded the limit. */
  readonly alarms: number;
}

/** Inputs of a session. */
export type HearingInput<C> =
  /** A message has come: the wire's `each` reads it before its reader does. */
  | { readonly type: 'arrival'; readonly message: WireObject }
  /** `undefined` for an unreadable message. */
  | { readonly type: 'message'; readonly message: WireObject | undefined }
  | { readonly type: 'command'; readonly name: string }
  /** Asks for the final result, once the service `isReady`; `isPending` when there is sound that is not final. */
  | { readonly type: 'finalize'; readonly isPending: boolean; readonly isReady: boolean }
  /** The answer to a request did not come in time. */
  | { readonly type: 'overdue'; readonly ask: number }
  | { readonly type: 'connecting' }
  /** The address of a connection is known, and what it calls the session. */
  | { readonly type: 'addressed'; readonly requestId: string | undefined }
  | { readonly type: 'granted'; readonly address: SocketRequest }
  | { readonly type: 'forget' }
  /** The service starts to hear what the `id` identifies. */
  | { readonly type: 'begin'; readonly id: string }
  | { readonly type: 'audio'; readonly data: Uint8Array<ArrayBuffer> }
  | { readonly type: 'sent'; readonly frames: Frames }
  | { readonly type: 'tick'; readonly canPing: boolean }
  | { readonly type: 'gap'; readonly quietMs: number }
  | { readonly type: 'changed'; readonly changed: Partial<C> }
  | { readonly type: 'leave' }
  | { readonly type: 'end' };

/** What the runner carries out. */
export type HearingEffect =
  | Exclude<STTEffect, { type: 'voice' | 'result' | 'finish' | 'reset' | 'forget-address' }>
  | UtteranceEffect
  /** All words up to a moment of the audio were told as final, of a channel or of all, though not by the service. */
  | { readonly type: 'settled'; readonly audioMs: number; readonly channel: number | undefined }
  /** The answer to a request is due within `ms` milliseconds. */
  | { readonly type: 'await-final'; readonly ask: number; readonly ms: number }
  /** A message that does not fit the wire. */
  | { readonly type: 'malformed'; readonly kind: string; readonly cause?: unknown }
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
    utterances: noUtterances,
    watch: answered,
    address: undefined,
    isResumed: false,
    requestId: undefined,
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
    case 'arrival':
      return readBy(wire.each, wire, hearing, input.message, context);
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
      return apply(wire, { ...hearing, requestId: undefined }, wire.connecting?.(state, context), context);
    case 'addressed':
      return [{ ...hearing, requestId: input.requestId }];
    case 'granted':
      return [{ ...hearing, address: input.address, isResumed: before.address !== undefined }];
    case 'forget':
      return [{ ...hearing, address: undefined }];
    case 'begin': {
      const [begun, ...effects] = apply(wire, hearing, wire.begin?.(state, context, input.id), context);
      // What was asked is asked now, after the audio that comes first.
      if (!begun.utterances.isAsked) return [begun, ...effects];
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
  before: Hearing<S>,
  message: WireObject | undefined,
  context: STTContext<C>,
): HearingStep<S> {
  if (!message) return [before, { type: 'malformed', kind: 'ignored an unreadable message' }];
  const requestId = wireId(wire.requestIdOf?.(message)) ?? before.requestId;
  const hearing = requestId === before.requestId ? before : { ...before, requestId };
  const type = typeOf(wire, message, hearing.wire) ?? 'unknown';
  return readBy(ownEntry(wire.read, type) ?? ignored(type), wire, hearing, message, context);
}

function readBy<C extends StreamingSTTConfig, S>(
  reader: STTReader<C, S> | undefined,
  wire: STTWire<C, S>,
  hearing: Hearing<S>,
  message: WireObject,
  context: STTContext<C>,
): HearingStep<S> {
  try {
    return apply(wire, hearing, reader?.(hearing.wire, message, context), context);
  } catch (cause) {
    const type = typeOf(wire, message, hearing.wire) ?? 'unknown';
    return [hearing, { type: 'malformed', kind: `ignored a malformed message of type ${type}`, cause }];
  }
}

/** Reads messages of a type that a wire does not know. */
const ignored =
  (type: string) =>
  <S>(state: S): STTStep<S> => [state, { type: 'log', text: `ignored a message of type ${type}` }];

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
  const settled = newestWords(hearing.utterances).flatMap(({ words, channel }) => {
    const audioMs = words?.at(-1)?.endMs;
    return audioMs === undefined ? [] : [{ type: 'settled', audioMs, channel } as const];
  });
  const [{ utterances, watch }, ...told] = apply(wire, hearing, [last, ended, ...effects, { type: 'reset' }], context);
  return [
    { ...silentHearing(wire.start()), utterances: { ...utterances, isAsked: false }, watch },
    ...settled,
    ...told,
  ];
}

/** One result comes for every request: at once when nothing is pending, else the service's, else the words so far. */
function onFinalize<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  hearing: Hearing<S>,
  { isPending, isReady }: Extract<HearingInput<C>, { type: 'finalize' }>,
  context: STTContext<C>,
): HearingStep<S> {
  const { utterances } = hearing;
  if (!isPending && !isOpen(utterances))
    return within(hearing, says(utterances, silent, telling(wire, hearing, context)));
  const asked = { ...hearing, utterances: { ...utterances, isAsked: true } };
  return isReady ? ask(wire, asked, context) : [asked];
}

function ask<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  hearing: Hearing<S>,
  context: STTContext<C>,
): HearingStep<S> {
  const { utterances } = hearing;
  const asks = utterances.asks + 1;
  const asked = { ...hearing, utterances: { ...utterances, asks } };
  const [next, ...effects] = apply(wire, asked, wire.commands?.['finalize']?.(hearing.wire, context), context);
  return [next, ...effects, { type: 'await-final', ask: asks, ms: wire.finalMs ?? finalMs }];
}

function onOverdue<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  hearing: Hearing<S>,
  asked: number,
  context: STTContext<C>,
): HearingStep<S> {
  const { isAsked, asks } = hearing.utterances;
  if (!isAsked || asks !== asked) return [hearing];
  // What comes late must not say it again.
  const said: readonly STTEffect[] =
    newestWords(hearing.utterances).length > 0
      ? [{ type: 'finalized', ms: context.sentMs }, { type: 'finish' }]
      : [silent];
  const step: STTStep<S> = [hearing.wire, ...said, ...(wire.overdue?.(hearing.wire, context) ?? [])];
  const [next, ...effects] = apply(wire, hearing, step, context);
  return [{ ...next, utterances: { ...next.utterances, isAsked: false } }, ...effects];
}

/** The state after a step of the wire, with its effects for the runner. */
function apply<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  hearing: Hearing<S>,
  step: STTStep<S> = [hearing.wire],
  context: STTContext<C>,
): HearingStep<S> {
  const [state] = step;
  const told: HearingEffect[] = [];
  let now = state === hearing.wire ? hearing : { ...hearing, wire: state };
  eachEffect(step, (effect) => {
    now = takeStep(told, enacted(wire, now, effect, context));
  });
  return [now, ...told];
}

function enacted<C extends StreamingSTTConfig, S>(
  wire: STTWire<C, S>,
  hearing: Hearing<S>,
  effect: STTEffect,
  context: STTContext<C>,
): HearingStep<S> {
  const { utterances } = hearing;
  switch (effect.type) {
    case 'voice': {
      const positionMs = effect.ms === undefined ? undefined : context.toAudioMs(effect.ms);
      return within(hearing, speaks(utterances, effect.is, effect.channel, positionMs));
    }
    case 'result':
      return within(hearing, says(utterances, effect, telling(wire, hearing, context)));
    case 'finish':
      return within(hearing, finishes(utterances, effect.channel, telling(wire, hearing, context)));
    case 'reset':
      return within(hearing, resets(utterances, effect.channel, telling(wire, hearing, context)));
    case 'forget-address':
      return [{ ...hearing, address: undefined }];
    default:
      return [hearing, effect];
  }
}

function within<S>(hearing: Hearing<S>, [utterances, ...effects]: UtterancesStep): HearingStep<S> {
  if (utterances === hearing.utterances) return [hearing, ...effects];
  // Every word comes by here: a literal costs less than a spread.
  const { wire, watch, address, isResumed, requestId } = hearing;
  return [{ wire, utterances, watch, address, isResumed, requestId }, ...effects];
}

function telling<C extends StreamingSTTConfig, S>(
  { name }: STTWire<C, S>,
  { requestId }: Hearing<S>,
  { config: { language, interimResults = true } }: STTContext<C>,
): Telling {
  return { name, language, interimResults, requestId };
}

/** Longest id of a session: some are of a UUID and more. */
const maxIdLength = 128;

function wireId(id: unknown): string | undefined {
  return typeof id === 'string' && id.length > 0 && id.length <= maxIdLength ? id : undefined;
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
  { frames }: Extract<HearingInput<C>, { type: 'sent' }>,
  context: STTContext<C>,
): HearingStep<S> {
  const { config, format } = context;
  const limitMs: number | false = config.silenceTimeoutMs ?? wire.silenceTimeoutMs ?? 10_000;
  if (limitMs === false || !isPcmLike(format.encoding)) return [hearing];
  const promises = wire.promisesMessages?.(config) ?? false;
  const { alarms } = hearing.watch;
  let { unansweredMs, voices } = hearing.watch;
  const patienceMs = promises ? limitMs : limitMs * 2 ** alarms;
  for (const frame of frames) {
    if (unansweredMs < patienceMs * unmeasured || (promises && isLoud(frame, format))) {
      unansweredMs += durationMs(frame.length, format);
    } else if (!promises) {
      const before = voices.ms;
      voices = withVoices(voices, frame, format);
      unansweredMs += voices.ms - before;
    }
  }
  const isPatient = unansweredMs < patienceMs;
  // Silence, of which there is most, changes nothing.
  if (isPatient && unansweredMs === hearing.watch.unansweredMs && voices === hearing.watch.voices) return [hearing];
  const since = hearing.watch.since ?? context.now;
  const watch = { unansweredMs, voices, alarms, since };
  if (isPatient || context.now - since < patienceMs) return [{ ...hearing, watch }];
  // The service's session state is worthless.
  const dead = { ...hearing, watch: { ...answered, alarms: alarms + 1 }, address: undefined };
  return [dead, { type: 'dead', isFinal: promises && alarms + 1 >= maxAlarms, limitMs: patienceMs }];
}
