import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { asArray, asNumber, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { SocketCredentials } from '../../core/remote-provider.ts';
import type { Translation } from '../../core/roles.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { deltaSTT } from '../retiring.ts';
import type { ReconnectingSocketOptions } from '../../transport/reconnecting-socket.ts';
import { hasText, languageOf, textOf, wordsOf, type Token } from './delta-stt-tokens.ts';
import { formatsOf, nameOf, type NamedEncodings } from './named-encodings.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import { completed, endless, heard, isEndless } from './stt-wire.ts';
import type { Failures, Said, STTContext, STTEffect, STTStep, STTWire } from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';

/** What the conversation is about; some 10,000 characters in all. */
export interface DeltaContext {
  /** Facts, such as the domain or the speaker's name. */
  readonly general?: readonly { readonly key: string; readonly value: string }[];
  /** Free text; the whole context has at most some 10,000 characters. */
  readonly text?: string;
  /** Words to listen for. */
  readonly terms?: readonly string[];
  /** How words are to be translated. */
  readonly translation_terms?: readonly { readonly source: string; readonly target: string }[];
}

/** What {@link DeltaSTT} translates into: one of the two, in ISO 639-1; regions are dropped. */
export interface DeltaTranslation {
  /** All speech, into this language. */
  readonly to?: string;
  /** Speech in either of two languages, into the other. */
  readonly between?: readonly string[];
}

/** Additional options of {@link DeltaSTT}. */
export interface DeltaSTTOptions extends StreamingSTTConfig {
  /** Restricts recognition to `languageHints`, as far as possible. Default: false. */
  readonly languageHintsStrict?: boolean;
  /** Longest wait for the end of an utterance, 500 to 3,000 ms. Default: the service's, 2,000. */
  readonly maxEndpointDelayMs?: number;
  /** How readily an utterance ends, -1 to 1. Default: the service's, 0. */
  readonly endpointSensitivity?: number;
  /** How much sooner an utterance ends, at the price of errors, 0 to 3. Default: the service's, 0. */
  readonly endpointLatencyAdjustmentLevel?: number;
  /** Whether results include the language. Default: false. */
  readonly enableLanguageIdentification?: boolean;
  /** What the conversation is about. */
  readonly context?: DeltaContext;
  /** What is translated into which language; results have it in `metadata.translations`. */
  readonly translation?: DeltaTranslation;
  /** Your own name for the session, at most 256 characters. */
  readonly clientReferenceId?: string;
  /** Additional keys of the service's first message; see its docs. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Additional fields of the service's first message, under the service's own names; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
}

/**
 * Configuration of {@link DeltaSTT}. `language` is BCP 47, and serves as a single hint if there are no `languageHints`.
 */
export interface DeltaSTTConfig extends DeltaSTTOptions {
  /** `stt-rt-v4` and older are retired and cause a warning. Default: `stt-rt-v5`. */
  readonly model?: string;
  /** Audio in other formats is converted. Default: that of the audio. */
  readonly audioFormat?: 'pcm_s16le' | 'pcm_f32le' | 'mulaw' | 'alaw';
  /** Hz; audio at other rates is converted. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Languages to expect, ISO 639-1; regions are dropped. Default: `language` if set, else any. */
  readonly languageHints?: readonly string[];
  /** Whether the service ends utterances on its own; otherwise only `finalize()` does. Default: true. */
  readonly enableEndpointDetection?: boolean;
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly enableSpeakerDiarization?: boolean;
}

/** The service's names for the raw encodings it supports. */
const encodings: NamedEncodings = { pcm_s16le: 'linear16', pcm_f32le: 'linear32', mulaw: 'mulaw', alaw: 'alaw' };

/** Rules for the keys (the vendor's limits), with their names in the first message. */
export const deltaSTTRules: ConfigRules = {
  model: { type: 'text', wire: true, default: 'stt-rt-v5' },
  language: { type: 'text' },
  audioFormat: { oneOf: Object.keys(encodings) },
  sampleRate: { min: 1, integer: true },
  languageHints: {
    type: 'texts',
    wire: true,
    toWire: (tags) => [...new Set(asArray(tags).map((tag) => primaryLanguage(String(tag))))],
  },
  languageHintsStrict: { type: 'boolean', wire: true },
  enableEndpointDetection: { type: 'boolean', wire: true, default: true },
  maxEndpointDelayMs: { min: 500, max: 3_000, integer: true, wire: true },
  endpointSensitivity: { min: -1, max: 1, wire: true },
  endpointLatencyAdjustmentLevel: { min: 0, max: 3, integer: true, wire: true },
  enableSpeakerDiarization: { type: 'boolean', wire: true, default: false },
  enableLanguageIdentification: { type: 'boolean', wire: true },
  'context.text': { type: 'text' },
  'context.terms': { type: 'texts' },
  'translation.to': { type: 'text' },
  'translation.between': { type: 'texts', maxLength: 2 },
  clientReferenceId: { type: 'text', maxLength: 256, wire: true },
};

/** What the service's error codes mean. */
const failures: Failures = {
  400: { code: 'configuration', hint: 'it rejected a setting, or the audio' },
  401: { code: 'unauthorized', hint: 'check the credential, which belongs to one region' },
  402: { code: 'quota', hint: 'the account or the project has no budget left' },
  408: { code: 'timeout', recoverable: true, hint: 'audio arrived too late or too slowly' },
  429: { code: 'rate_limited', recoverable: true, hint: 'too many requests' },
  500: { code: 'server', recoverable: true, hint: 'reconnecting' },
  // Sent when the service moves its streams.
  503: { code: 'overloaded', recoverable: true, retryAfterMs: 0, hint: 'it asked to reconnect' },
};

const keepAliveMs = 5_000;

/** A valid subprotocol in browsers (RFC 6455, section 4.1): no colon, which temporary keys contain. */
const protocolName = /^[\w!#$%&'*+.^`|~-]+$/;

/** The utterance so far. */
interface DeltaUtterance {
  /** Final tokens. */
  readonly finals: readonly Token[];
  /** The tokens after them, which may change. */
  readonly newest: readonly Token[];
  /** The final tokens of its translation. */
  readonly translated: readonly Token[];
  /** Those after them, which may change. */
  readonly newlyTranslated: readonly Token[];
  /** How many of `finals` the next connection need not hear again: whole words. */
  readonly settled: number;
  /** Whether the words before were heard by an earlier connection. */
  readonly joins: boolean;
}

type Context = STTContext<DeltaSTTConfig>;
type Step = STTStep<DeltaUtterance>;

/** Audio before a word that may belong to it, in milliseconds. */
const leadMs = 100;

/** Most tokens of an utterance. */
const maxTokens = 2_048;

/** Mark the end of an utterance: after silence, and in answer to `finalize`. */
const markers: ReadonlySet<string> = new Set(['<end>', '<fin>']);

/** An utterance before its first token. */
const nothing: DeltaUtterance = {
  ...{ finals: [], newest: [], translated: [], newlyTranslated: [] },
  ...{ settled: 0, joins: false },
};

/** Soniox's wire. */
export const deltaWire: STTWire<DeltaSTTConfig, DeltaUtterance> = {
  name: 'DeltaSTT',
  baseUrl: () => 'https://stt-rt.soniox.com',
  path: '/transcribe-websocket',
  // The four raw encodings, or the configured one, at the configured or at any sample rate.
  accepts: (config) => formatsOf(encodings, config),
  rules: deltaSTTRules,
  retiring: deltaSTT,
  ownKeys: ['interimResults'],
  catchUpSpeed: 1.25,
  endingMs: ({ maxEndpointDelayMs = 2_000 }) => maxEndpointDelayMs,
  failures,
  // Only its errors have one.
  requestIdOf: ({ request_id: id }) => id,
  start: () => nothing,
  // It reports its progress, whether or not there are words.
  promisesMessages: () => true,
  read: {
    tokens: onTokens,
    error: (state, { error_code: code, error_message: sentence }) => [
      state,
      { type: 'failure', kind: asNumber(code) ?? 500, sentence: asString(sentence) },
    ],
  },
  commands: { finalize: (state) => [state, { type: 'send-after-audio', message: { type: 'finalize' } }] },

  conflict({ translation }) {
    if (!translation) return undefined;
    const { to, between } = translation;
    if (!to === !between) return 'translation needs either to or between';
    return between && between.length !== 2 ? 'translation.between needs two languages' : undefined;
  },
  credentials: (key) => ({
    headers: { Authorization: `Bearer ${key}` },
    ...(protocolName.test(key) && { protocols: ['soniox-api-key', key] }),
  }),
  // Messages have no type field.
  typeOf: ({ error_code: code }) => (code === undefined ? 'tokens' : 'error'),
  begin: (state) => [again(state)],
  // The service ends a stream that receives nothing for 20 s.
  keepAlive: () => ({ intervalMs: keepAliveMs, whenQuiet: true }),
  tick: (state) => [state, { type: 'send', message: { type: 'keepalive' } }],
  farewell: () => [''],
  isLast: ({ finished }) => finished === true,
  end: (state) => complete(withNewest(state)),
};

/**
 * Soniox real-time transcription at `wss://stt-rt.soniox.com/transcribe-websocket`: over 60 languages, word times,
 * speakers. See https://soniox.com/docs/stt/api-reference/websocket-api.
 */
export class DeltaSTT extends StreamingSTT<DeltaSTTConfig, DeltaUtterance> {
  /** A key to send in the first message. */
  #spokenKey: string | undefined;
  constructor(config: DeltaSTTConfig, logger?: Logger) {
    super(deltaWire, config, logger);
  }

  /**
   * The key as header; in browsers, a temporary key as subprotocol, or in the first message if it is not a valid one.
   */
  override async resolveSocketCredentials(): Promise<SocketCredentials> {
    this.#spokenKey = undefined;
    return super.resolveSocketCredentials();
  }

  protected override socketCredentials(key: string): SocketCredentials {
    const credentials = super.socketCredentials(key);
    if (!credentials.protocols) this.#spokenKey = key;
    return credentials;
  }

  protected override socketOptions(): Partial<ReconnectingSocketOptions> {
    return { opening: () => [JSON.stringify({ api_key: this.#spokenKey, ...deltaStart(this.config, this.format) })] };
  }
}

/** The first message. */
function deltaStart(config: DeltaSTTConfig, { encoding, sampleRate, channels }: AudioMetadata): WireObject {
  const { language, context, translation, parameters, extraBody } = config;
  const { languageHints = language === undefined ? undefined : [language] } = config;
  return {
    audio_format: nameOf(encodings, encoding),
    sample_rate: sampleRate,
    num_channels: channels,
    ...wireParameters({ ...config, languageHints }, deltaSTTRules),
    ...(context && { context }),
    ...(translation && { translation: translationOf(translation) }),
    ...parameters,
    ...extraBody,
  };
}

function translationOf({ to = '', between }: DeltaTranslation): WireObject {
  if (!between) return { type: 'one_way', target_language: primaryLanguage(to) };
  const [a, b] = between.map(primaryLanguage);
  return { type: 'two_way', language_a: a, language_b: b };
}

function translates({ translation, parameters, extraBody }: DeltaSTTConfig): boolean {
  return (translation ?? (extraBody ?? parameters)?.['translation']) !== undefined;
}

/** Prepares for the next connection: it hears the last final word again, which may still grow. */
function again({ finals, settled }: DeltaUtterance): DeltaUtterance {
  const kept = finals.slice(0, settled).map((token) => ({ ...token, startMs: undefined, endMs: undefined }));
  return { ...nothing, finals: kept, settled, joins: kept.length > 0 };
}

/** Reads the tokens of a message; a marker among them ends the utterance. */
function onTokens(before: DeltaUtterance, message: WireObject, context: Context): Step {
  const tokens = asObjects(message['tokens'])
    .filter(({ text }) => asString(text))
    .map((each, at) => tokenOf(each, before.joins && at === 0, context));
  const guesses = tokens.filter(({ isFinal }) => !isFinal);
  const [state, ...told] = tokens.filter(({ isFinal }) => isFinal).reduce<Step>(withFinal, [before]);
  const [newest, newlyTranslated] = [guesses.filter(isSpoken), guesses.filter((token) => !isSpoken(token))];
  const next = { ...state, newest, newlyTranslated };
  const isTooLong = isEndless(next.finals, maxTokens);
  const isOver = message['finished'] === true || isTooLong;
  const hasChanged = tokens.length > 0 || before.newest.length > 0 || before.newlyTranslated.length > 0;
  const [last, ...more]: Step = isOver ? complete(next) : [next, ...(hasChanged ? interim(next) : [])];
  const [settled, ...final] = settle(last, message, context);
  return [settled, ...told, ...more, ...final, ...(isTooLong ? [endless] : [])];
}

const isSpoken = ({ isTranslation }: Token): boolean => !isTranslation;

function withFinal([state, ...told]: Step, token: Token): Step {
  const [next, ...more] = added(state, token);
  return [{ ...next, joins: false }, ...told, ...more];
}

function added(state: DeltaUtterance, token: Token): Step {
  if (markers.has(token.text)) return complete(state, token.text === '<fin>');
  if (!token.isTranslation) return [{ ...state, finals: [...state.finals, token] }];
  // One that comes after its utterance is complete is not the next one's.
  const hasBegun = state.finals.length > 0 || state.newest.length > 0;
  return hasBegun ? [{ ...state, translated: [...state.translated, token] }] : [state];
}

/** @param joins - Whether an earlier connection heard the word before. */
function tokenOf(token: WireObject, joins: boolean, context: Context): Token & { readonly isFinal: boolean } {
  const { start_ms: start, end_ms: end } = token;
  const text = asString(token['text']) ?? '';
  const [word] = context.words([{ ...token, start, end }], () => text, 1);
  const isFinal = token['is_final'] === true;
  const isApart = /^\s/.test(text) || (isFinal && markers.has(text));
  return {
    text: joins && !isApart ? ` ${text}` : text,
    word,
    isFinal,
    isTranslation: token['translation_status'] === 'translation',
    language: asString(token['language']),
    startMs: asNumber(start),
    endMs: asNumber(end),
  };
}

/** Marks audio as final, up to the last word that may still grow. */
function settle(state: DeltaUtterance, message: WireObject, context: Context): Step {
  const { finals, newest } = state;
  if (finals.length === 0) {
    const ms = asNumber(message['final_audio_proc_ms']) ?? 0;
    return newest.length === 0 ? [state, { type: 'finalized', ms }] : [state];
  }
  // Heard again from its beginning, it is translated whole.
  if (translates(context.config)) return [state];
  const last = finals.findLastIndex(({ text, startMs }) => /^\s/.test(text) && startMs !== undefined);
  const { startMs } = finals[last] ?? {};
  if (startMs === undefined) return [state];
  const { endMs = 0 } = finals[last - 1] ?? {};
  // Including the pause before it, since a word starts before it is first detected.
  const ms = startMs - Math.max(0, Math.min(leadMs, startMs - endMs));
  return context.isFinal(ms)
    ? [state]
    : [
        { ...state, settled: last },
        { type: 'finalized', ms },
      ];
}

function interim(state: DeltaUtterance): readonly STTEffect[] {
  const whole = withNewest(state);
  return hasText(whole.finals) ? heard(saidIn(whole)) : [];
}

/** As if what may still change were final. */
function withNewest(state: DeltaUtterance): DeltaUtterance {
  const { finals, newest, translated, newlyTranslated } = state;
  return { ...state, finals: [...finals, ...newest], translated: [...translated, ...newlyTranslated] };
}

/** Completes the utterance with its final tokens. */
function complete(state: DeltaUtterance, evenEmpty: boolean = false): Step {
  return [nothing, ...(hasText(state.finals) || evenEmpty ? completed(saidIn(state)) : [])];
}

function saidIn({ finals, translated }: DeltaUtterance): Said {
  return {
    text: textOf(finals),
    words: wordsOf(finals),
    confidence: meanConfidence(finals.flatMap(({ word }) => word ?? [])),
    language: languageOf(finals),
    translations: hasText(translated) ? [translationIn(translated)] : undefined,
  };
}

function translationIn(tokens: readonly Token[]): Translation {
  const language = languageOf(tokens);
  return { text: textOf(tokens), ...(language !== undefined && { language }) };
}
