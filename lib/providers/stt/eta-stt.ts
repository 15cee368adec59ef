import type { ConfigRule } from '../../core/config-rule.ts';
import { asNumber, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import type { SocketRequest, SocketRequestContext } from '../../transport/reconnecting-socket.ts';
import { formatsOf, nameOf, type NamedEncodings } from './named-encodings.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import {
  completed,
  heard,
  silenceInGaps,
  type Failures,
  type STTContext,
  type STTStep,
  type STTWire,
} from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';

/** Additional options of {@link EtaSTT}. */
export interface EtaSTTOptions {
  /** A vocabulary uploaded to the service beforehand; English only. */
  readonly customVocabularyId?: string;
  /** Which generation of models to use. Default: the service's, by language. */
  readonly transcriber?: 'machine' | 'machine_v2' | (string & {});
  /** Whether words name their speaker; requires `machine_v2`. Default: false. */
  readonly enableSpeakerSwitch?: boolean;
  /** Whether final results omit punctuation, capitals and number formatting; English and Spanish. Default: false. */
  readonly skipPostprocessing?: boolean;
  /** Whether interim results have times and confidence, at some loss of accuracy. Default: false. */
  readonly detailedPartials?: boolean;
  /** What to optimize for; English and Spanish with `machine_v2`. Default: the service's, `speed`. */
  readonly priority?: 'speed' | 'accuracy' | (string & {});
  /** A text of up to 512 characters that the service stores with the job. */
  readonly metadata?: string;
  /** Seconds after which the service deletes the job, 0 to 2,592,000. */
  readonly deleteAfterSeconds?: number;
  /** How long the service may wait for a free worker, 60 to 600 seconds. Default: the service's, 60. */
  readonly maxConnectionWaitSeconds?: number;
  /** The content type of audio that is not raw samples: `audio/x-flac` or `audio/x-wav`, with its parameters. */
  readonly contentType?: string;
}

/** Configuration of {@link EtaSTT}. `language` is one of en, fr, de, it, ja, ko, cmn, pt and es; default: en. */
export interface EtaSTTConfig extends StreamingSTTConfig, EtaSTTOptions {
  /** 8000 to 48000 Hz. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Whether profanities are masked; English only. Default: false. */
  readonly filterProfanity?: boolean;
  /** Whether "ums" and "uhs" are left out; English only. Default: false. */
  readonly removeDisfluencies?: boolean;
  /** Seconds after which words become final even in mid-speech, 5 to 30. Default: never. */
  readonly maxSegmentDurationSeconds?: number;
}

/** A key's rule, and what else the key requires. */
interface EtaRule extends ConfigRule {
  /** Languages that it works with. Default: all. */
  readonly only?: readonly ('en' | 'es')[];
  /** Whether it requires the second generation of models. */
  readonly v2?: boolean;
}

const flag: EtaRule = { type: 'boolean', wire: true, toWire: (isOn) => (isOn ? true : undefined) };

/** The keys; options are sent as query parameters. */
export const etaSTTRules: Readonly<Record<string, EtaRule>> = {
  sampleRate: { min: 8_000, max: 48_000, integer: true },
  filterProfanity: { ...flag, only: ['en'] },
  removeDisfluencies: { ...flag, only: ['en'] },
  customVocabularyId: { type: 'text', wire: true, only: ['en'] },
  skipPostprocessing: { ...flag, only: ['en', 'es'] },
  priority: { known: ['speed', 'accuracy'], wire: true, only: ['en', 'es'], v2: true },
  enableSpeakerSwitch: { ...flag, v2: true },
  maxSegmentDurationSeconds: { min: 5, max: 30, integer: true, wire: true },
  transcriber: { known: ['machine', 'machine_v2'], wire: true },
  detailedPartials: flag,
  metadata: { maxLength: 512, wire: true },
  deleteAfterSeconds: { min: 0, max: 2_592_000, integer: true, wire: true },
  maxConnectionWaitSeconds: { min: 60, max: 600, integer: true, wire: true },
  contentType: { type: 'text' },
};

const languages = ['en', 'fr', 'de', 'it', 'ja', 'ko', 'cmn', 'pt', 'es'];

/** Languages written without spaces. */
const unspacedLanguages: ReadonlySet<string> = new Set(['ja', 'cmn']);

/** The service's names for the sample encodings it supports. */
const encodings: NamedEncodings = { S16LE: 'linear16', F32LE: 'linear32' };

/** What the service's close codes mean; it sends no error messages. */
const failures: Failures = {
  1007: { code: 'protocol', hint: 'it rejected a message as invalid' },
  4001: { code: 'unauthorized', hint: 'it rejected the access token' },
  4002: { code: 'configuration', hint: 'it rejected a setting' },
  4003: { code: 'quota', hint: "the account's balance is used up" },
  4010: { code: 'overloaded', recoverable: true, hint: 'it is shutting down' },
  4013: { code: 'overloaded', recoverable: true, hint: 'it has no free worker' },
  4029: { code: 'rate_limited', recoverable: true, hint: 'too many streams at once' },
};

/** Close codes from here on are the service's own. */
const firstOwnCode = 4_000;

/** Longest upgrade once the service has a free worker, in milliseconds. */
const upgradeMs = 10_000;

const gapMs = 500;

/** Silence that ends an utterance, in milliseconds. */
const endingMs = 1_000;

/** Rev AI's wire. */
export const etaWire: STTWire<EtaSTTConfig, undefined> = {
  name: 'EtaSTT',
  baseUrl: () => 'https://api.rev.ai',
  path: '/speechtotext/v1/stream',
  // Samples, at the configured or at any sample rate; else as given by `contentType`.
  accepts({ sampleRate, contentType }) {
    const rate = sampleRate === undefined ? {} : { sampleRate };
    if (contentType === undefined) return formatsOf(encodings, rate);
    if (contentType.startsWith('audio/x-flac')) return formatsOf({ flac: 'flac' }, rate);
    return formatsOf({ wav: 'linear16' }, rate).map((format) => ({ ...format, containers: ['wav'] }));
  },
  rules: etaSTTRules,
  ownKeys: ['interimResults'],
  gapMs,
  gap: silenceInGaps(gapMs, 3_000, 5_000),
  minFrameMs: 250,
  catchUpSpeed: 1.5,
  failures,
  requestIdOf: ({ type, id }) => (type === 'connected' ? id : undefined),
  start: () => undefined,
  read: {
    connected: (state, { id }) => [state, { type: 'log', text: `job ${asString(id) ?? 'without an id'} begins` }],
    partial(state, { elements }, { config }) {
      const text = joined(asObjects(elements), glueOf(config));
      return text ? [state, ...heard({ text })] : [state];
    },
    final: onFinal,
  },

  query: ({ config, format: { encoding, sampleRate, channels } }) => ({
    content_type:
      config.contentType ??
      `audio/x-raw;layout=interleaved;rate=${sampleRate};format=${nameOf(encodings, encoding) ?? ''};channels=${channels}`,
    language: languageOf(config) === 'en' ? undefined : languageOf(config),
    ...wireParameters(config, etaSTTRules),
  }),
  credentials: (key) => ({ query: { access_token: key } }),
  connectTimeoutMs: ({ maxConnectionWaitSeconds = 60 }) => maxConnectionWaitSeconds * 1_000 + upgradeMs,
  conflict(config) {
    const language = languageOf(config);
    const { transcriber, contentType } = config;
    if (!languages.includes(language)) {
      return `language must be ${languages.join(', ')}, not ${language.slice(0, 20)}`;
    }
    for (const [key, { only, v2 = false }] of Object.entries(etaSTTRules)) {
      if (!Reflect.get(config, key)) continue;
      if (only && !only.some((each) => each === language)) {
        return `${key} supports only English${only.length > 1 ? ' and Spanish' : ''}`;
      }
      if (v2 && transcriber !== 'machine_v2') return `${key} requires transcriber 'machine_v2'`;
    }
    const isKnown = contentType === undefined || /^audio\/x-(flac|wav)\b/.test(contentType);
    return isKnown ? undefined : 'contentType must be audio/x-flac or audio/x-wav';
  },
  // Nobody can ask the service for a final: silence that comes at once ends the utterance.
  commands: { finalize: (state) => [state, { type: 'silence-after-audio', ms: endingMs }] },
  isReady: ({ type }) => type === 'connected',
  closes: ({ code }) =>
    code < firstOwnCode || code in failures
      ? undefined
      : { message: `the service closed the connection (${code})`, code: 'server', status: code },
  farewell: () => ['EOS'],
};

/**
 * Rev AI streaming speech-to-text, API v1, at `wss://api.rev.ai/speechtotext/v1/stream`: punctuated finals with word times
 * and confidence. See https://docs.rev.ai/api/streaming/.
 */
export class EtaSTT extends StreamingSTT<EtaSTTConfig, undefined> {
  constructor(config: EtaSTTConfig, logger?: Logger) {
    super(etaWire, config, logger);
  }

  /** The service accepts its token only in the query, in Node as well. */
  protected override async request(context: SocketRequestContext): Promise<SocketRequest> {
    const { url, query } = await super.request(context);
    const address = new URL(url);
    address.search = String(new URLSearchParams([...Object.entries(query ?? {}), ...address.searchParams]));
    return { url: address };
  }
}

function onFinal(state: undefined, message: WireObject, context: STTContext<EtaSTTConfig>): STTStep<undefined> {
  const endMs = (asNumber(message['end_ts']) ?? 0) * 1_000;
  if (endMs > 0 && context.isFinal(endMs)) return [state];
  const elements = asObjects(message['elements']);
  const spoken = elements.filter(({ type }) => type === 'text');
  const times = spoken.map(({ ts: start, end_ts: end, speaker_id: speaker = message['speaker_id'], ...word }) => ({
    ...word,
    start,
    end,
    speaker,
  }));
  const words = context.words(times, ({ value }) => asString(value));
  // Spaces are among a final's punctuation elements; one without any was left unprocessed.
  const text = joined(elements, elements.some(({ type }) => type === 'punct') ? '' : glueOf(context.config));
  const told = spoken.length > 0 ? completed({ text, words, confidence: meanConfidence(words) }) : [];
  return [state, ...(endMs > 0 ? [{ type: 'finalized', ms: endMs } as const] : []), ...told];
}

function joined(elements: readonly WireObject[], glue: string): string {
  return elements
    .flatMap(({ value }) => asString(value) ?? [])
    .join(glue)
    .trim();
}

function glueOf(config: EtaSTTConfig): string {
  return unspacedLanguages.has(languageOf(config)) ? '' : ' ';
}

/** The service's language code: without a region. */
function languageOf({ language = 'en' }: EtaSTTConfig): string {
  const primary = primaryLanguage(language);
  return primary === 'zh' ? 'cmn' : primary;
}
