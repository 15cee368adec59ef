import type { AudioFormat } from '../../audio/types.ts';
import { wireParameters, type ConfigRules, type WireValue } from '../../core/config-rule.ts';
import type { Query } from '../../core/remote-provider.ts';
import type { AwsCredentials } from '../../transport/aws-signature.ts';
import type { StreamingSTTConfig } from './streaming-stt.ts';
import type { Failure, Failures } from './stt-wire.ts';

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
  /** Hz, ideally 16,000; audio at other rates is converted. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Whether partial results change less, at some loss of accuracy. Default: false. */
  readonly enablePartialResultsStabilization?: boolean;
  /** How soon words stop changing; turns stabilization on. Default: the service's, `high`. */
  readonly partialResultsStability?: 'high' | 'medium' | 'low';
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
export const lambdaEncodings: Readonly<Record<LambdaMediaEncoding, AudioFormat>> = {
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
  readonly vocabularyFilterMethod?: 'remove' | 'mask' | 'tag';
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly showSpeakerLabel?: boolean;
  /**
   * Transcribes the two channels of stereo audio separately; `metadata.words` name them as speakers. Default: false.
   */
  readonly enableChannelIdentification?: boolean;
  /** A custom language model, with `languageCode`. */
  readonly languageModelName?: string;
  /** Labels personal data; not with `contentRedactionType`. */
  readonly contentIdentificationType?: 'PII';
  /** Removes personal data. */
  readonly contentRedactionType?: 'PII';
  /** Kinds of personal data, such as `NAME`; requires one of the two keys above. Default: all. */
  readonly piiEntityTypes?: readonly string[];
  /** A UUID for the session; a newer session with the same id ends the older one. Default: the service's. */
  readonly sessionId?: string;
  /** How long the service lets a session be resumed, 1 to 300 minutes. */
  readonly sessionResumeWindow?: number;
  /** Whether numbers and the like are in written or spoken form. Default: the service's, `WRITTEN`. */
  readonly transcriptFormat?: 'WRITTEN' | 'SPOKEN';
}

/** Rules for the keys that become query parameters under their own names, in the service's spelling. */
const told: ConfigRules = {
  enablePartialResultsStabilization: { type: 'boolean' },
  partialResultsStability: { oneOf: ['high', 'medium', 'low'] },
  identifyLanguage: { type: 'boolean' },
  identifyMultipleLanguages: { type: 'boolean' },
  languageOptions: { type: 'texts' },
  preferredLanguage: { type: 'text' },
  vocabularyName: {},
  vocabularyFilterName: {},
  vocabularyNames: { type: 'texts' },
  vocabularyFilterNames: { type: 'texts' },
  vocabularyFilterMethod: { oneOf: ['remove', 'mask', 'tag'] },
  showSpeakerLabel: { type: 'boolean' },
  enableChannelIdentification: { type: 'boolean' },
  languageModelName: {},
  contentIdentificationType: { oneOf: ['PII'] },
  contentRedactionType: { oneOf: ['PII'] },
  piiEntityTypes: { type: 'texts' },
  sessionId: {},
  sessionResumeWindow: { min: 1, max: 300, integer: true },
  transcriptFormat: { oneOf: ['WRITTEN', 'SPOKEN'] },
};

/** Rules for the keys, and their query parameters. */
export const lambdaSTTRules: ConfigRules = {
  mediaEncoding: { oneOf: Object.keys(lambdaEncodings), wire: 'media-encoding', default: 'pcm' },
  languageCode: { type: 'text' },
  sampleRate: { min: 8_000, max: 48_000, integer: true },
  ...Object.fromEntries(Object.entries(told).map(([key, rule]) => [key, { ...rule, wire: kebab(key), toWire }])),
};

/** Lists are joined into one value; `false` is omitted. */
function toWire(value: unknown): WireValue {
  if (Array.isArray(value)) return value.join(',') || undefined;
  return typeof value === 'string' || typeof value === 'number' || value === true ? value || undefined : undefined;
}

function kebab(key: string): string {
  return key.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
}

/** Whether the service detects the language. */
export function identifies({ identifyLanguage = false, identifyMultipleLanguages = false }: LambdaSTTConfig): boolean {
  return identifyLanguage || identifyMultipleLanguages;
}

/** The query parameters. */
export function lambdaQuery(config: LambdaSTTConfig, sampleRate: number): Query {
  const { language = 'en-US', languageCode = language } = config;
  const { 'media-encoding': encoding, ...others } = wireParameters(config, lambdaSTTRules);
  return {
    'media-encoding': encoding,
    'sample-rate': sampleRate,
    'language-code': identifies(config) ? undefined : languageCode,
    ...others,
    ...(config.partialResultsStability && { 'enable-partial-results-stabilization': true }),
    'number-of-channels': config.enableChannelIdentification ? 2 : undefined,
  };
}

/** A conflict between keys, as a sentence; `undefined` if there is none. */
export function lambdaConflict(config: LambdaSTTConfig, needsRegion: boolean): string | undefined {
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

const credential: Failure = {
  ...{ code: 'unauthorized', status: 403 },
  hint: "check the credentials, the region, and this machine's clock",
};

/** What the service's exceptions mean. */
export const lambdaFailures: Failures = {
  BadRequestException: { code: 'configuration', status: 400, hint: 'check that the configuration matches the audio' },
  RequestTimedOut: { code: 'timeout', status: 400, recoverable: true, hint: 'it received no audio for 15 s' },
  UnrecognizedClientException: credential,
  InvalidSignatureException: credential,
  SignatureDoesNotMatch: credential,
  ExpiredTokenException: credential,
  IncompleteSignatureException: credential,
  MissingAuthenticationTokenException: credential,
  AccessDeniedException: {
    ...{ code: 'forbidden', status: 403 },
    hint: 'the credentials must allow transcribe:StartStreamTranscriptionWebSocket',
  },
  ResourceNotFoundException: { code: 'not_found', status: 404, hint: 'no such vocabulary or model' },
  ConflictException: { code: 'configuration', status: 409, hint: 'a newer session uses the same sessionId' },
  LimitExceededException: { code: 'rate_limited', status: 429, recoverable: true, hint: 'too many sessions at once' },
  InternalFailureException: { code: 'server', status: 500, recoverable: true, hint: 'it failed' },
  InternalFailure: { code: 'server', status: 500, recoverable: true, hint: 'it failed' },
  ServiceUnavailableException: { code: 'overloaded', status: 503, recoverable: true, hint: 'it is overloaded' },
};

/** The name of what an exception means, where its message says more than its type. */
export function lambdaKind(name: string, message: string): string {
  if (name !== 'BadRequestException') return name;
  if (message.startsWith('Your request timed out')) return 'RequestTimedOut';
  return /signature/i.test(message) ? 'InvalidSignatureException' : name;
}
