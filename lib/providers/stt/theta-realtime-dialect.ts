import type { AudioEncoding } from '../../audio/types.ts';
import { encodeBase64 } from '../../core/base64.ts';
import { asNumber, asObject, asObjects, asString, wireWord, type WireObject } from '../../core/guard.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import {
  settingsId,
  thetaCloseKind,
  thetaCredentials,
  thetaErrorKind,
  thetaFailures,
  thetaFormats,
  thetaTurnDetection,
  type ThetaTurnDetection,
} from '../theta-realtime.ts';
import { ended, findEnd, isVoiced, noVoice, type OpenVoice } from './endpointer.ts';
import type { STTContext, STTDialect, STTEffect, STTStep } from './stt-wire.ts';
import type { ThetaRealtimeFacts, ThetaRealtimeSTTConfig } from './theta-realtime-stt.ts';

/** An utterance between two ends. */
interface ThetaItem {
  readonly id: string;
  /** Its words so far. */
  readonly text: string;
  /** Its end, in milliseconds of the connection; `undefined` while unknown. */
  readonly endMs: number | undefined;
  readonly isDone: boolean;
  /** Its last message; `undefined` if there was none. */
  readonly last: WireObject | undefined;
}

interface ThetaTalk {
  /** Utterances being transcribed, in spoken order, whichever is ready first. */
  readonly items: readonly ThetaItem[];
  /** Items that are done, newest first. */
  readonly finished: readonly string[];
  /** Connection times at which the client ended utterances. */
  readonly commits: readonly number[];
  /** The current voice, where the client must detect its end. */
  readonly voice: OpenVoice;
  /** Whether the service hears a voice. */
  readonly hasVoice: boolean;
  /** Whether the service has accepted the session's last utterance. */
  readonly isOver: boolean;
}

type Context = STTContext<ThetaRealtimeSTTConfig>;
type Step = STTStep<ThetaTalk>;

/** Utterances that the service may work on at once; older ones are given up. */
const maxItems = 64;

/** Finished utterances that wait for an earlier one. */
const maxWaiting = 2;

/** Silence that ends an utterance where the client must do so, in milliseconds. */
const localSilenceMs = 500;

const gapMs = 500;

const commit: WireObject = { type: 'input_audio_buffer.commit' };

/** Keys that determine whom to ask and whom to bill. */
const addressKeys = ['proxyUrl', 'endpoint', 'organizationId', 'projectId'];

const itemOf = 'conversation.item.input_audio_transcription';

/** How OpenAI's transcription is spoken to. */
export const thetaRealtimeDialect = (facts: ThetaRealtimeFacts): STTDialect<ThetaRealtimeSTTConfig, ThetaTalk> => ({
  path: '/realtime',
  failures: thetaFailures,
  requestIdOf: ({ session }) => asObject(session)?.['id'],
  start: () => ({ items: [], finished: [], commits: [], voice: noVoice, hasVoice: false, isOver: false }),
  read: {
    'input_audio_buffer.speech_started': (state, { audio_start_ms: startMs }, { config }) => [
      { ...state, hasVoice: true },
      { type: 'voice', is: 'started', ms: without(startMs, config, ({ prefixPaddingMs = 300 }) => -prefixPaddingMs) },
    ],
    'input_audio_buffer.speech_stopped': (state, { item_id: id, audio_end_ms: endMs }, { config }) => [
      withItem({ ...state, hasVoice: false }, id, () => ({ endMs: asNumber(endMs) })),
      { type: 'voice', is: 'ended', ms: without(endMs, config, ({ silenceDurationMs = 500 }) => silenceDurationMs) },
    ],
    'input_audio_buffer.committed': onCommitted,
    [`${itemOf}.delta`]: (state, message, context) => onDelta(state, message, context, facts),
    [`${itemOf}.completed`]: (state, message, context) => finish(state, message['item_id'], message, context, facts),
    [`${itemOf}.failed`](state, { item_id: id, error }, context) {
      const [next, ...effects] = finish(state, id, undefined, context, facts);
      const text = `the service cannot transcribe an utterance (${wireWord(asObject(error)?.['code'])})`;
      return [next, { type: 'warning', text }, ...effects];
    },
    error: onError,
  },
  commands: { finalize: (state, context) => finalize(state, context) },
  query: () => ({ intent: 'transcription' }),
  credentials: thetaCredentials,
  opening: ({ config, format }) => [JSON.stringify(updateOf(config, format.encoding, facts))],
  // Results sent earlier would be based on other settings.
  isReady: ({ type }) => type === 'session.updated',
  begin: (state) => [{ ...state, items: [], finished: [], commits: [], hasVoice: false }],
  reconfigure(state, changed, { config, format }) {
    if (addressKeys.some((key) => key in changed)) return undefined;
    return [
      { ...state, voice: noVoice },
      { type: 'send', message: updateOf(config, format.encoding, facts) },
    ];
  },
  hear(state, data, context) {
    const { config, format } = context;
    if (detects(config, facts) || config.turnDetection === null) return [state];
    const silenceMs = config.turnDetection?.silenceDurationMs ?? localSilenceMs;
    const [voice, hasEnded] = findEnd(state.voice, data, format, silenceMs);
    return hasEnded ? finalize({ ...state, voice }, context) : [{ ...state, voice }];
  },
  gapMs,
  gap(state, quietMs, context) {
    // Audio that stops in mid-speech contains no silence to end it.
    const isStuck = isVoiced(state.voice) && quietMs >= localSilenceMs;
    const [next, ...effects] = isStuck ? finalize(state, context) : [state];
    return [next, ...effects, ...(state.hasVoice ? [{ type: 'silence', ms: gapMs } as const] : [])];
  },
  encode: (frame) => `{"type":"input_audio_buffer.append","audio":"${encodeBase64(frame)}"}`,
  // The service sends nothing while someone speaks.
  silenceTimeoutMs: 60_000,
  finalMs: 3_000,
  closes(close) {
    const kind = thetaCloseKind(close);
    return kind === undefined ? undefined : { kind };
  },
  refusals: ({ reason }) =>
    reason === 'insufficient_quota' ? { code: 'quota', recoverable: false, reason } : undefined,
  leave: (state, { sentMs }) => [{ ...state, isOver: false, commits: [...state.commits, sentMs] }],
  farewell: () => [JSON.stringify(commit)],
  isLast: (_message, { isOver, items }) => isOver && items.length === 0,
  end: (state, context) => take(state, state.items.length, context, facts),
});

function finalize(state: ThetaTalk, { sentMs }: Context): Step {
  const { commits, voice } = state;
  return [
    { ...state, commits: [...commits, sentMs], voice: ended(voice) },
    { type: 'send-after-audio', message: commit },
  ];
}

/** Changes an item, or appends a new one. Late messages about a finished item are ignored. */
function withItem(state: ThetaTalk, id: unknown, change: (item: ThetaItem) => Partial<ThetaItem>): ThetaTalk {
  const name = asString(id) ?? '';
  const { items, finished } = state;
  if (items.some((item) => item.id === name)) {
    return { ...state, items: items.map((item) => (item.id === name ? { ...item, ...change(item) } : item)) };
  }
  if (name === '' || finished.includes(name)) return state;
  const fresh: ThetaItem = { id: name, text: '', endMs: undefined, isDone: false, last: undefined };
  return { ...state, items: [...items, { ...fresh, ...change(fresh) }].slice(-maxItems) };
}

function onCommitted(state: ThetaTalk, { item_id: id }: WireObject): Step {
  const [commitMs, ...commits] = state.commits;
  const isTimed = state.items.some((item) => item.id === id && item.endMs !== undefined);
  const next = withItem({ ...state, isOver: true }, id, ({ endMs = commitMs }) => ({ endMs }));
  return [isTimed ? next : { ...next, commits }];
}

function onDelta(
  state: ThetaTalk,
  { item_id: id, delta }: WireObject,
  { config }: Context,
  facts: ThetaRealtimeFacts,
): Step {
  const next = withItem(state, id, ({ text }) => ({ text: text + (asString(delta) ?? '') }));
  const [first] = next.items;
  const text = first?.text.trim();
  if (!text || first?.id !== id) return [next];
  const voice: readonly STTEffect[] = detects(config, facts) ? [] : [{ type: 'voice', is: 'started' }];
  return [next, ...voice, { type: 'result', kind: 'interim', text }];
}

/** Finishes an utterance: emits all that are ready, in spoken order. */
function finish(
  state: ThetaTalk,
  id: unknown,
  last: WireObject | undefined,
  context: Context,
  facts: ThetaRealtimeFacts,
): Step {
  const next = withItem(state, id, () => ({ isDone: true, last }));
  const { items } = next;
  // One that never finishes must not block all that follow.
  const isLate = items.filter(({ isDone }) => isDone).length > maxWaiting;
  const start = isLate ? items.findIndex(({ isDone }) => isDone) : 0;
  const open = items.findIndex(({ isDone }, at) => at >= start && !isDone);
  return take(next, open < 0 ? items.length : open, context, facts);
}

/** Emits the first items, which are done, as complete results. */
function take(state: ThetaTalk, count: number, { config }: Context, facts: ThetaRealtimeFacts): Step {
  const taken = state.items.slice(0, count);
  const names = taken.map(({ id }) => id).reverse();
  const effects = taken.flatMap(({ text, last, endMs }): STTEffect[] => {
    const said = (asString(last?.['transcript']) ?? text).trim();
    return [
      ...(detects(config, facts) ? [] : [{ type: 'voice', is: 'ended' } as const]),
      said ? { type: 'result', kind: 'complete', text: said, ...detailsOf(last) } : { type: 'reset' },
      ...(endMs === undefined ? [] : [{ type: 'finalized', ms: endMs } as const]),
    ];
  });
  const finished = [...names, ...state.finished].slice(0, maxItems);
  return [{ ...state, items: state.items.slice(count), finished }, ...effects];
}

function onError(state: ThetaTalk, message: WireObject): Step {
  const error = asObject(message['error']) ?? {};
  if (error['code'] === 'input_audio_buffer_commit_empty') {
    const next = { ...state, isOver: true, commits: state.commits.slice(1) };
    // What it committed by itself is still being transcribed.
    return state.items.length > 0 ? [next] : [next, { type: 'reset' }];
  }
  const kind = thetaErrorKind(error);
  if (kind !== undefined) return [state, { type: 'failure', kind, sentence: asString(error['message']) }];
  return [state, { type: 'warning', text: `the service reports ${wireWord(error['code'] ?? error['type'])}` }];
}

/** A transcript's details besides its text. */
function detailsOf(message: WireObject = {}) {
  const logprobs = asObjects(message['logprobs']).flatMap(({ logprob }) => asNumber(logprob) ?? []);
  const mean = logprobs.reduce((sum, each) => sum + each, 0) / logprobs.length;
  return {
    confidence: logprobs.length > 0 ? Math.min(1, Math.exp(mean)) : undefined,
    language: asString(asObjects(message['languages'])[0]?.['code']),
  };
}

/** The times of a voice include the padding before it, and the silence after it. */
function without(
  time: unknown,
  { turnDetection }: ThetaRealtimeSTTConfig,
  extraMs: (detection: ThetaTurnDetection) => number,
): number | undefined {
  const { type = 'server_vad' } = turnDetection ?? {};
  const ms = asNumber(time);
  return type === 'server_vad' && ms !== undefined ? ms - extraMs(turnDetection ?? {}) : undefined;
}

/** Whether the service detects the ends of utterances. */
function detects(config: ThetaRealtimeSTTConfig, { isLive }: ThetaRealtimeFacts): boolean {
  return config.turnDetection !== null && !isLive(config);
}

/** The session settings, sent at the start and whenever they change. */
function updateOf(config: ThetaRealtimeSTTConfig, encoding: AudioEncoding, facts: ThetaRealtimeFacts): WireObject {
  return { type: 'session.update', event_id: settingsId, session: sessionOf(config, encoding, facts) };
}

function sessionOf(config: ThetaRealtimeSTTConfig, encoding: AudioEncoding, facts: ThetaRealtimeFacts): WireObject {
  const { noiseReduction, includeLogprobs = false } = config;
  const language = config.language && primaryLanguage(config.language);
  const spoken = facts.lists(config) ? { languages: language && [language] } : { language };
  return {
    type: 'transcription',
    audio: {
      input: {
        format: thetaFormats[encoding],
        transcription: { ...wireParameters(config, facts.rules), ...spoken },
        noise_reduction: noiseReduction && { type: noiseReduction },
        turn_detection: detects(config, facts) ? thetaTurnDetection(config.turnDetection ?? {}) : null,
      },
    },
    ...(includeLogprobs && { include: ['item.input_audio_transcription.logprobs'] }),
    ...config.extraBody,
  };
}
