import type { AudioFormat } from '../../audio/types.ts';
import type { ConfigRules, WireValue } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { AwsCredentials } from '../../transport/aws-signature.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import type { LateSTTWire } from './stt-wire.ts';

/** Configuration of {@link LambdaSTT}. `apiKey` has no effect: requests are signed with `credentials`. */
export interface LambdaSTTConfig extends StreamingSTTConfig, LambdaSTTOptions {
  /** Credentials for signing, or an async factory called for each connection; preferably temporary ones. */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>);
  /** The service's region, such as `us-east-1`; required without `proxyUrl`. */
  readonly region?: string;
  /** BCP 47, such as `en-US`; not with `identifyLanguage`. Default: `language`, else `en-US`. */
  readonly languageCode?: string;
  /** The audio's encoding. Default: `pcm`, which is linear16. */
  readonly mediaEncoding?: LambdaMediaEncoding;
  /** In Hz, ideally 16,000; audio at other rates is converted. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Whether partial results change less, at some loss of accuracy. Default: false. */
  readonly enablePartialResultsStabilization?: boolean;
  /** How soon words stop changing; turns stabilization on. Default: the service's, `high`. */
  readonly partialResultsStability?: 'high' | 'medium' | 'low' | (string & {});
  /** Detects which of `languageOptions` is spoken. Default: false. */
  readonly identifyLanguage?: boolean;
  /** The languages that may be spoken: two or more, one dialect of each. */
  readonly languageOptions?: readonly string[];
}

/** Sample rates offered for input, from 8,000 to 48,000 Hz; the service supports any in between. */
const sampleRates = [16_000, 8_000, 11_025, 12_000, 22_050, 24_000, 32_000, 44_100, 48_000];

/** Audio encodings that Amazon Transcribe supports. */
export type LambdaMediaEncoding = 'pcm' | 'ogg-opus' | 'flac' | 'g711-ulaw' | 'g711-alaw';

/** The format of each media encoding. */
const encodings: Readonly<Record<LambdaMediaEncoding, AudioFormat>> = {
  pcm: { encoding: 'linear16', sampleRates },
  'ogg-opus': { encoding: 'opus', sampleRates: [48_000, 24_000, 16_000, 12_000, 8_000], containers: ['ogg'] },
  flac: { encoding: 'flac', sampleRates },
  'g711-ulaw': { encoding: 'mulaw', sampleRates: [8_000] },
  'g711-alaw': { encoding: 'alaw', sampleRates: [8_000] },
};

/** Additional options of {@link LambdaSTT}. */
export interface LambdaSTTOptions {
  /** Detects which of `languageOptions` are spoken, as they change. Default: false. */
  readonly identifyMultipleLanguages?: boolean;
  /** The most likely one of `languageOptions`. */
  readonly preferredLanguage?: string;
  /** A custom vocabulary, with `languageCode`. */
  readonly vocabularyName?: string;
  /** A vocabulary filter, with `languageCode`. */
  readonly vocabularyFilterName?: string;
  /** Custom vocabularies, with language identification. */
  readonly vocabularyNames?: readonly string[];
  /** Vocabulary filters, with language identification. */
  readonly vocabularyFilterNames?: readonly string[];
  /** How filtered words are handled. Default: the service's. */
  readonly vocabularyFilterMethod?: 'remove' | 'mask' | 'tag' | (string & {});
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly showSpeakerLabel?: boolean;
  /**
   * Transcribes the two channels of stereo audio separately; `metadata.words` name them as speakers. Default: false.
   */
  readonly enableChannelIdentification?: boolean;
  /** A custom language model, with `languageCode`. */
  readonly languageModelName?: string;
  /** Labels personal data; not with `contentRedactionType`. */
  readonly contentIdentificationType?: 'PII' | (string & {});
  /** Removes personal data. */
  readonly contentRedactionType?: 'PII' | (string & {});
  /** Kinds of personal data, such as `NAME`; requires one of the two keys above. Default: all. */
  readonly piiEntityTypes?: readonly string[];
  /** A UUID for the session; a newer session with the same id ends the older one. Default: the service's. */
  readonly sessionId?: string;
  /** How long the service lets a session be resumed, 1 to 300 minutes. */
  readonly sessionResumeWindow?: number;
  /** Whether numbers and the like are in written or spoken form. Default: the service's, `WRITTEN`. */
  readonly transcriptFormat?: 'WRITTEN' | 'SPOKEN' | (string & {});
}

/** Rules for the keys that become query parameters under their own names, in the service's spelling. */
const told: ConfigRules = {
  enablePartialResultsStabilization: { type: 'boolean' },
  partialResultsStability: { known: ['high', 'medium', 'low'] },
  identifyLanguage: { type: 'boolean' },
  identifyMultipleLanguages: { type: 'boolean' },
  languageOptions: { type: 'texts' },
  preferredLanguage: { type: 'text' },
  vocabularyName: {},
  vocabularyFilterName: {},
  vocabularyNames: { type: 'texts' },
  vocabularyFilterNames: { type: 'texts' },
  vocabularyFilterMethod: { known: ['remove', 'mask', 'tag'] },
  showSpeakerLabel: { type: 'boolean' },
  enableChannelIdentification: { type: 'boolean' },
  languageModelName: {},
  contentIdentificationType: { known: ['PII'] },
  contentRedactionType: { known: ['PII'] },
  piiEntityTypes: { type: 'texts' },
  sessionId: {},
  sessionResumeWindow: { min: 1, max: 300, integer: true },
  transcriptFormat: { known: ['WRITTEN', 'SPOKEN'] },
};

/** Rules for the keys, and their query parameters. */
const rules: ConfigRules = {
  ...{ credentials: {}, region: {} },
  mediaEncoding: { oneOf: Object.keys(encodings), wire: 'media-encoding', default: 'pcm' },
  languageCode: { type: 'text' },
  sampleRate: { min: 8_000, max: 48_000, integer: true },
  ...Object.fromEntries(Object.entries(told).map(([key, rule]) => [key, { ...rule, wire: kebab(key), toWire }])),
};

/** What the dialect needs too. */
export interface LambdaFacts {
  readonly rules: ConfigRules;
  readonly identifies: (config: LambdaSTTConfig) => boolean;
}

const facts: LambdaFacts = { rules, identifies };

/** What is known of Amazon Transcribe before anybody speaks to it. */
export const lambdaWire: LateSTTWire<LambdaSTTConfig> = {
  name: 'LambdaSTT',
  baseUrl: ({ region = '' }) =>
    `https://transcribestreaming.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}:8443`,
  // One row: the configured encoding.
  accepts({ mediaEncoding = 'pcm', sampleRate, enableChannelIdentification = false }) {
    const row: AudioFormat = encodings[mediaEncoding];
    const channels = [enableChannelIdentification ? 2 : 1];
    return [{ ...row, ...(sampleRate && { sampleRates: [sampleRate] }), channels }];
  },
  rules,
  credentialKey: 'credentials',
  // They sign the next connection.
  ownKeys: ['credentials'],
  conflict: (config, isProxyMode) => conflictOf(config, !isProxyMode),
  load: async (host) => {
    const { lambdaDialect } = await new OnDemand(host.name, () => import('./lambda-dialect.ts')).load();
    return lambdaDialect(host, facts);
  },
};

/**
 * Amazon Transcribe streaming, API 2017-10-26, at
 * `wss://transcribestreaming.<region>.amazonaws.com:8443/stream-transcription-websocket`: partial and final results
 * with word times; requests are signed and framed without a vendor SDK. See
 * https://docs.aws.amazon.com/transcribe/latest/dg/streaming.html.
 */
export class LambdaSTT extends StreamingSTT<LambdaSTTConfig> {
  constructor(config: LambdaSTTConfig, logger?: Logger) {
    super(lambdaWire, config, logger);
  }

  protected override get directCredential(): unknown {
    return this.config.credentials;
  }
}

/** Lists are joined into one value; `false` is omitted. */
function toWire(value: unknown): WireValue {
  if (Array.isArray(value)) return value.join(',') || undefined;
  return typeof value === 'string' || typeof value === 'number' || value === true ? value || undefined : undefined;
}

function kebab(key: string): string {
  return key.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
}

/** Whether the service detects the language. */
function identifies({ identifyLanguage = false, identifyMultipleLanguages = false }: LambdaSTTConfig): boolean {
  return identifyLanguage || identifyMultipleLanguages;
}

/** A conflict between keys, as a sentence; `undefined` if there is none. */
function conflictOf(config: LambdaSTTConfig, needsRegion: boolean): string | undefined {
  const { region, identifyLanguage = false, identifyMultipleLanguages = false, languageOptions = [] } = config;
  const isIdentified = identifies(config);
  const conflicts: readonly (readonly [boolean, string])[] = [
    [needsRegion && !region, 'region is missing'],
    // It becomes part of the host that receives the credentials.
    [Boolean(region) && !/^[a-z\d]+(-[a-z\d]+)+$/.test(region ?? ''), 'region must look like us-east-1'],
    [
      identifyLanguage && identifyMultipleLanguages,
      'identifyLanguage and identifyMultipleLanguages cannot be combined',
    ],
    [isIdentified && languageOptions.length < 2, 'languageOptions must have two or more languages to identify'],
    [isIdentified && config.languageCode !== undefined, 'languageCode cannot be combined with language identification'],
    [
      isIdentified && config.languageModelName !== undefined,
      'languageModelName cannot be combined with language identification',
    ],
    [
      config.enablePartialResultsStabilization === false && config.partialResultsStability !== undefined,
      'partialResultsStability requires enablePartialResultsStabilization',
    ],
    [
      config.contentIdentificationType !== undefined && config.contentRedactionType !== undefined,
      'contentIdentificationType and contentRedactionType cannot be combined',
    ],
  ];
  return conflicts.find(([applies]) => applies)?.[1];
}
