import type { AudioMetadata } from '../../audio/types.ts';
import { encodeBase64 } from '../../core/base64.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { type WireObject, asNumber, asObjects, asString } from '../../core/guard.ts';
import type { Query } from '../../core/remote-provider.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import type { GammaFacts, GammaSTTConfig } from './gamma-stt.ts';
import {
  type Failures,
  type STTContext,
  type STTDialect,
  type STTEffect,
  type STTReader,
  type STTStep,
  type Said,
  completed,
  heard,
} from './stt-wire.ts';

/** Whether final results have words with times. */
function gammaHasTimestamps({ includeTimestamps, filterBackgroundAudio }: GammaSTTConfig): boolean {
  return includeTimestamps ?? !filterBackgroundAudio;
}

/** The query parameters. */
function gammaQuery(rules: ConfigRules, config: GammaSTTConfig, { encoding, sampleRate }: AudioMetadata): Query {
  return {
    audio_format: `${encoding === 'mulaw' ? 'ulaw' : 'pcm'}_${sampleRate}`,
    ...wireParameters({ ...config, includeTimestamps: gammaHasTimestamps(config) }, rules),
    ...config.parameters,
  };
}

/** What the service's error messages mean, by type. */
const gammaFailures: Failures = {
  auth_error: { code: 'unauthorized', status: 401, hint: 'check the credential; a token serves one connection' },
  unaccepted_terms: { code: 'forbidden', hint: "accept the service's terms in its dashboard" },
  quota_exceeded: { code: 'quota', hint: "the account's quota is used up" },
  invalid_request: { code: 'configuration', hint: 'it rejected a setting' },
  input_error: { code: 'protocol', hint: 'it rejected a message' },
  chunk_size_exceeded: { code: 'protocol', hint: 'an audio chunk was too long' },
  insufficient_audio_activity: { code: 'server', recoverable: true, hint: 'it heard no speech for too long' },
  session_time_limit_exceeded: {
    code: 'server',
    recoverable: true,
    hint: 'the session reached its time limit; starting another',
  },
  rate_limited: { code: 'rate_limited', recoverable: true, hint: 'too many requests' },
  resource_exhausted: { code: 'overloaded', recoverable: true, hint: 'it has no capacity left' },
  queue_overflow: { code: 'overloaded', recoverable: true, hint: 'audio arrived faster than it could process' },
  transcriber_error: { code: 'server', recoverable: true, hint: 'reconnecting' },
  error: { code: 'server', recoverable: true, hint: 'reconnecting' },
};

interface GammaState {
  /** Whether the answer to a `finalize()` is pending. */
  readonly isAsked: boolean;
  /** Whether the service refuses to be asked, as it ends utterances by itself: silence ends them then. */
  readonly refusesCommits: boolean;
}

type Context = STTContext<GammaSTTConfig>;
type Step = STTStep<GammaState>;
type Reader = STTReader<GammaSTTConfig, GammaState>;

/** The service closes a connection after some 10 s; the first message follows the last audio by up to twice as long. */
const keepAliveMs = 4_000;

const onText: Reader = (state, message) => {
  const text = asString(message['text'])?.trim() ?? '';
  return text ? [state, ...heard({ text })] : [state];
};

/** How ElevenLabs is spoken to. */
export const gammaDialect = (facts: GammaFacts): STTDialect<GammaSTTConfig, GammaState> => ({
  path: '/v1/speech-to-text/realtime',
  catchUpSpeed: 2,
  endingMs: facts.silenceMs,
  failures: gammaFailures,
  requestIdOf: ({ session_id: id }) => id,
  start: () => ({ isAsked: false, refusesCommits: false }),
  read: {
    ...Object.fromEntries(Object.keys(gammaFailures).map((kind) => [kind, failing(kind)])),
    input_error: (state, message, context) => onInputError(facts, state, message, context),
    session_started: (state, { session_id: id }) => [
      state,
      { type: 'log', text: `session ${asString(id) ?? 'without an id'}` },
    ],
    partial_transcript: onText,
    final_transcript: onText,
    final_transcript_with_timestamps: onText,
    committed_transcript: (state, message, context) =>
      hasDetails(context.config) ? [state] : onCommitted(facts, state, message, context),
    committed_transcript_with_timestamps: (state, message, context) =>
      hasDetails(context.config) ? onCommitted(facts, state, message, context) : [state],
    commit_throttled: (state, _message, { sentMs }) => (state.isAsked ? onThrottled(state, sentMs) : [state]),
    warning: (state) => [state, { type: 'warning', text: 'the service warns' }],
  },
  commands: {
    finalize: (state, { config, format }) => [
      { ...state, isAsked: true },
      state.refusesCommits
        ? endingSilence(facts, config)
        : { type: 'send-after-audio', message: chunk(format, { commit: true }) },
    ],
  },

  query: ({ config, format }) => gammaQuery(facts.rules, config, format),
  typeOf: ({ message_type: type }) => asString(type),
  isReady: ({ message_type: type }) => type === 'session_started',
  // The service closes a connection that receives nothing; pings don't count.
  keepAlive: () => ({ intervalMs: keepAliveMs, whenQuiet: true }),
  tick: (state, { format }) => [state, { type: 'send', message: chunk(format) }],
  // `previousText` goes with the first audio of each connection.
  encode: (frame, _state, { config: { previousText }, format, sentFrames }) =>
    JSON.stringify({
      ...chunk(format, { audio: encodeBase64(frame) }),
      previous_text: sentFrames === 0 ? previousText : undefined,
    }),
  farewell: ({ refusesCommits }, { format }) =>
    refusesCommits ? [] : [JSON.stringify(chunk(format, { commit: true }))],
  isLast({ message_type: type }, _state, { config }) {
    const last = hasDetails(config) ? 'committed_transcript_with_timestamps' : 'committed_transcript';
    return type === last || type === 'commit_throttled';
  },
});

function failing(kind: string): Reader {
  return (state, { error }) => [state, { type: 'failure', kind, sentence: asString(error) }];
}

function chunk({ sampleRate }: AudioMetadata, { audio = '', commit = false } = {}): WireObject {
  return { message_type: 'input_audio_chunk', audio_base_64: audio, commit, sample_rate: sampleRate };
}

/**
 * Whether the service takes a commit where it ends utterances by itself, its reference does not say. One that it refuses is
 * asked for by silence, on this connection or, if it closes this one, on the next.
 */
function onInputError(facts: GammaFacts, state: GammaState, message: WireObject, context: Context): Step {
  const { config } = context;
  const isOurs = config.commitStrategy !== 'manual' && /commit/i.test(asString(message['error']) ?? '');
  if (!isOurs) return failing('input_error')(state, message, context);
  return [{ ...state, refusesCommits: true }, ...(state.isAsked ? [endingSilence(facts, config)] : [])];
}

/** Silence after which the service ends an utterance by itself. */
function endingSilence({ silenceMs }: GammaFacts, config: GammaSTTConfig): STTEffect {
  return { type: 'silence-after-audio', ms: silenceMs(config) + 200 };
}

function onCommitted(facts: GammaFacts, state: GammaState, message: WireObject, context: Context): Step {
  const lastMs = lastMoment(facts, state, context);
  const ends = asObjects(message['words']).map(({ end }) => (asNumber(end) ?? 0) * 1_000);
  const endMs = Math.max(0, ...ends);
  const said = saidIn(message, context, Math.max(0, endMs - lastMs));
  const told: readonly STTEffect[] = said.text || state.isAsked ? completed(said) : [{ type: 'reset' }];
  const isUntimed = said.text !== '' && !gammaHasTimestamps(context.config);
  const ms = ends.length > 0 ? Math.min(endMs, lastMs) : lastMs;
  return [
    { ...state, isAsked: false },
    ...told,
    ...(ends.length > 0 || isUntimed ? [{ type: 'finalized', ms } as const] : []),
  ];
}

/**
 * The latest moment at which a committed word can have ended, in milliseconds of the connection. With each utterance
 * that silence ends, the service's word times run some 100 ms further ahead of the audio
 * (elevenlabs/elevenlabs-python#849), and would make words final that it has not heard yet.
 */
function lastMoment({ silenceMs }: GammaFacts, { isAsked }: GammaState, { config, sentMs, isEnding }: Context): number {
  return isAsked || isEnding ? sentMs : Math.max(0, sentMs - silenceMs(config));
}

/**
 * The service ignores a commit of less than 0.3 s of audio, and may close the connection. The words so far are all that
 * there is: audio heard again would bring them twice.
 */
function onThrottled(state: GammaState, sentMs: number): Step {
  return [{ ...state, isAsked: false }, { type: 'finalized', ms: sentMs }, { type: 'finish' }, { type: 'reset' }];
}

/** What a commit says, with words that are `aheadMs` earlier than it says, as far as the audio goes back. */
function saidIn(message: WireObject, context: Context, aheadMs: number): Said {
  const spoken = asObjects(message['words']).filter(({ type = 'word' }) => type === 'word');
  const logprobs = spoken.flatMap(({ logprob }) => asNumber(logprob) ?? []);
  const msOf = (time: unknown): number => (asNumber(time) ?? NaN) * 1_000;
  const earlierMs = Math.min(aheadMs, ...spoken.flatMap(({ start }) => asNumber(start) ?? []).map(msOf));
  const words = spoken.map(({ logprob, speaker_id: speaker, start, end, ...word }) => {
    const probability = asNumber(logprob);
    const times = { start: msOf(start) - earlierMs, end: msOf(end) - earlierMs };
    return { ...word, ...times, speaker, ...(probability !== undefined && { confidence: likelihood([probability]) }) };
  });
  return {
    text: asString(message['text'])?.trim() ?? '',
    ...(words.length > 0 && { words: context.words(words, ({ text }) => asString(text), 1) }),
    confidence: logprobs.length > 0 ? likelihood(logprobs) : undefined,
    language: asString(message['language_code']),
  };
}

/** The average probability, from logarithms. */
function likelihood(logprobs: readonly number[]): number {
  return Math.min(1, Math.exp(logprobs.reduce((sum, each) => sum + each, 0) / logprobs.length));
}

/** Whether a commit arrives a second time, with details of its words and language. */
function hasDetails(config: GammaSTTConfig): boolean {
  return gammaHasTimestamps(config) || config.includeLanguageDetection === true;
}
