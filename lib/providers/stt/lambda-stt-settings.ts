import type { AudioFormat } from '../../audio/types.ts';
import { wireParameters, type ConfigRules, type WireValue } from '../../core/config-rule.ts';
import type { Query } from '../../core/remote-provider.ts';
import type { AwsCredentials } from '../../transport/aws-signature.ts';
import type { StreamingSTTConfig } from './streaming-stt.ts';
import type { Failure, Failures } from './stt-wire.ts';

/** Configuration of {@link LambdaSTT}. `apiKey` has no effect: requests are signed with `credentials`. */
export interface LambdaSTTConfig extends StreamingSTTConfig, LambdaSTTOptions {
  /** What requests are signed with, or an async factory that is called for each connection; temporary ones are best. */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>);
  /** The region of the service, such as `us-east-1`; required without `proxyUrl`. */
  readonly region?: string;
  /** BCP 47, such as `en-US`; not beside `identifyLanguage`. Default: `language`, else `en-US`. */
  readonly languageCode?: string;
  /** What the audio is. Default: `pcm`, which is linear16. */
  readonly mediaEncoding?: LambdaMediaEncoding;
  /** In hertz, at best 16,000; audio at another rate is converted. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Whether the words of partial results change less, which costs accuracy. Default: false. */
  readonly enablePartialResultsStabilization?: boolean;
  /** How soon words stop changing; switches the stabilization on. Default: the service's, `high`. */
  readonly partialResultsStability?: 'high' | 'medium' | 'low';
  /** Finds out which one of `languageOptions` is spoken. Default: false. */
  readonly identifyLanguage?: boolean;
  /** The languages that may be spoken: two or more, one dialect of each. */
  readonly languageOptions?: readonly string[];
}

/** The sample rates that audio comes at, among 8,000 to 48,000 Hz; the service takes any. */
const sampleRates = [16_000, 8_000, 11_025, 12_000, 22_050, 24_000, 32_000, 44_100, 48_000];

/** What Amazon Transcribe takes. */
export type LambdaMediaEncoding = 'pcm' | 'ogg-opus' | 'flac' | 'g711-ulaw' | 'g711-alaw';

/** What each media encoding is. */
export const lambdaEncodings: Readonly<Record<LambdaMediaEncoding, AudioFormat>> = {
  pcm: { encoding: 'linear16', sampleRates },
  'ogg-opus': { encoding: 'opus', sampleRates: [48_000, 24_000, 16_000, 12_000, 8_000], containers: ['ogg'] },
  flac: { encoding: 'flac', sampleRates },
  'g711-ulaw': { encoding: 'mulaw', sampleRates: [8_000] },
  'g711-alaw': { encoding: 'alaw', sampleRates: [8_000] },
};

/** Keys of {@link LambdaSTTConfig} that go beyond the usual. */
export interface LambdaSTTOptions {
  /** Finds out which of `languageOptions` are spoken, as they change. Default: false. */
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
  /** What becomes of filtered words. Default: the service's. */
  readonly vocabularyFilterMethod?: 'remove' | 'mask' | 'tag';
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly showSpeakerLabel?: boolean;
  /** Transcribes the two channels of stereo audio apart; `metadata.words` name them as speakers. Default: false. */
  readonly enableChannelIdentification?: boolean;
  /** A custom language model, with `languageCode`. */
  readonly languageModelName?: string;
  /** Labels personal data; not beside `contentRedactionType`. */
  readonly contentIdentificationType?: 'PII';
  /** Removes personal data. */
  readonly contentRedactionType?: 'PII';
  /** Which personal data, such as `NAME`; with one of the two keys above. Default: all. */
  readonly piiEntityTypes?: readonly string[];
  /** A name for the session, a UUID; a newer session of the same name ends an older one. Default: the service's. */
  readonly sessionId?: string;
  /** Minutes for which the service keeps a session that it may go on with, 1 to 300. */
  readonly sessionResumeWindow?: number;
  /** Numbers and the like as they are written or as they are spoken. Default: the service's, `WRITTEN`. */
  readonly transcriptFormat?: 'WRITTEN' | 'SPOKEN';
}

/** What the keys may hold of those that go into the address under their own names, in the service's spelling. */
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

/** What the keys may hold, and their names in the address. */
export const lambdaSTTRules: ConfigRules = {
  mediaEncoding: { oneOf: Object.keys(lambdaEncodings), wire: 'media-encoding', default: 'pcm' },
  languageCode: { type: 'text' },
  sampleRate: { min: 8_000, max: 48_000, integer: true },
  ...Object.fromEntries(Object.entries(told).map(([key, rule]) => [key, { ...rule, wire: kebab(key), toWire }])),
};

/** Lists are one value; what is off is left out. */
function toWire(value: unknown): WireValue {
  if (Array.isArray(value)) return value.join(',') || undefined;
  return typeof value === 'string' || typeof value === 'number' || value === true ? value || undefined : undefined;
}

function kebab(key: string): string {
  return key.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
}

/** Whether the service finds out the language. */
export function identifies({ identifyLanguage = false, identifyMultipleLanguages = false }: LambdaSTTConfig): boolean {
  return identifyLanguage || identifyMultipleLanguages;
}

/** The parameters of the address. */
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

/** What goes together and what does not, as a sentence for people. */
export function lambdaConflict(config: LambdaSTTConfig, needsRegion: boolean): string | undefined {
  const { region, identifyLanguage = false, identifyMultipleLanguages = false, languageOptions = [] } = config;
  const isIdentified = identifies(config);
  const conflicts: readonly (readonly [boolean, string])[] = [
    [needsRegion && !region, 'region is missing'],
    // It becomes a part of the host that the credentials go to.
    [Boolean(region) && !/^[a-z\d]+(-[a-z\d]+)+$/.test(region ?? ''), 'region must look like us-east-1'],
    [
      identifyLanguage && identifyMultipleLanguages,
      'identifyLanguage and identifyMultipleLanguages exclude each other',
    ],
    [isIdentified && languageOptions.length < 2, 'languageOptions must have two or more languages to identify'],
    [isIdentified && config.languageCode !== undefined, 'languageCode does not go with language identification'],
    [
      isIdentified && config.languageModelName !== undefined,
      'languageModelName does not go with language identification',
    ],
    [
      config.enablePartialResultsStabilization === false && config.partialResultsStability !== undefined,
      'partialResultsStability needs enablePartialResultsStabilization',
    ],
    [
      config.contentIdentificationType !== undefined && config.contentRedactionType !== undefined,
      'contentIdentificationType and contentRedactionType exclude each other',
    ],
  ];
  return conflicts.find(([applies]) => applies)?.[1];
}

const credential: Failure = {
  ...{ code: 'unauthorized', status: 403 },
  hint: 'check credentials and region, and the clock of this machine',
};

/** What the service's exceptions mean. */
export const lambdaFailures: Failures = {
  BadRequestException: { code: 'configuration', status: 400, hint: 'check the configuration against the audio' },
  RequestTimedOut: { code: 'timeout', status: 400, recoverable: true, hint: 'it has heard nothing for 15 s' },
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
  ResourceNotFoundException: { code: 'not_found', status: 404, hint: 'it knows no such vocabulary or model' },
  ConflictException: { code: 'configuration', status: 409, hint: 'a newer session has taken the sessionId' },
  LimitExceededException: { code: 'rate_limited', status: 429, recoverable: true, hint: 'too many sessions at once' },
  InternalFailureException: { code: 'server', status: 500, recoverable: true, hint: 'it failed' },
  InternalFailure: { code: 'server', status: 500, recoverable: true, hint: 'it failed' },
  ServiceUnavailableException: { code: 'overloaded', status: 503, recoverable: true, hint: 'it is overloaded' },
};

/** The name of what an exception means, where its own says less than its sentence. */
export function lambdaKind(name: string, message: string): string {
  if (name !== 'BadRequestException') return name;
  if (message.startsWith('Your request timed out')) return 'RequestTimedOut';
  return /signature/i.test(message) ? 'InvalidSignatureException' : name;
}
