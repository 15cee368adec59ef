import type { AudioFormat } from '../../audio/types.ts';
import type { ConfigRules, WireValue } from '../../core/config-rule.ts';
import type { VoiceError } from '../../core/errors.ts';
import { asNumber, asObject, asObjects, asString, ownEntry, type WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { Query } from '../../core/remote-provider.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import type { AwsCredentials } from '../../transport/aws-signature.ts';
import { AwsSigner } from '../../transport/aws-signer.ts';
import type { HttpErrorFacts, HttpFailure } from '../../transport/http-error.ts';
import type { SocketRequest, ReconnectingSocketOptions } from '../../transport/reconnecting-socket.ts';
import { lambdaAudio, lambdaFailures, lambdaKind, lambdaMessage } from './lambda-stt-events.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import {
  completed,
  heard,
  withFinished,
  silenceInGaps,
  type STTContext,
  type STTFault,
  type STTStep,
  type STTWire,
} from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';

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
  mediaEncoding: { oneOf: Object.keys(encodings), wire: 'media-encoding', default: 'pcm' },
  languageCode: { type: 'text' },
  sampleRate: { min: 8_000, max: 48_000, integer: true },
  ...Object.fromEntries(Object.entries(told).map(([key, rule]) => [key, { ...rule, wire: kebab(key), toWire }])),
};

interface LambdaResults {
  /** The most recent final results, to recognize late repetitions. */
  readonly finished: readonly string[];
}

type Context = STTContext<LambdaSTTConfig>;
type Step = STTStep<LambdaResults>;

const gapMs = 500;

/** Silence after which the service ends an utterance; filling longer gaps costs money and achieves nothing. */
const endingMs = 3_000;

/** Silence that stands for the end of an utterance when the application knows it, in milliseconds. */
const finalSilenceMs = 1_500;

/** How often the service needs audio while nobody speaks: it gives up after 15 s. */
const idleMs = 5_000;

/** Amazon Transcribe's wire. */
export const lambdaWire: STTWire<LambdaSTTConfig, LambdaResults> = {
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
  failures: lambdaFailures,
  minFrameMs: 50,
  catchUpSpeed: 2,
  gapMs,
  gap: silenceInGaps(gapMs, endingMs, idleMs),
  // Only if the application names the session.
  idParameter: 'session-id',
  start: () => ({ finished: [] }),
  read: {
    TranscriptEvent: (state, { body }, context) =>
      asObjects(asObject(asObject(body)?.['Transcript'])?.['Results']).reduce<Step>(
        ([now, ...effects], result) => {
          const [next, ...more] = onResult(now, result, context);
          return [next, ...effects, ...more];
        },
        [state],
      ),
    exception: onFailure,
    error: onFailure,
  },

  // Nobody can ask the service for a final: silence that comes at once ends the utterance.
  commands: { finalize: (state) => [state, { type: 'silence-after-audio', ms: finalSilenceMs }] },
  finalMs: 3_000,

  conflict: (config, isProxyMode) => conflictOf(config, !isProxyMode),
  decode: lambdaMessage,
  begin: () => [{ finished: [] }],
  encode: lambdaAudio,
  // An empty event ends the stream.
  farewell: () => [lambdaAudio(new Uint8Array(0))],
};

/**
 * Amazon Transcribe streaming, API 2017-10-26, at
 * `wss://transcribestreaming.<region>.amazonaws.com:8443/stream-transcription-websocket`: partial and final results
 * with word times; requests are signed and framed without a vendor SDK. See
 * https://docs.aws.amazon.com/transcribe/latest/dg/streaming.html.
 */
export class LambdaSTT extends StreamingSTT<LambdaSTTConfig, LambdaResults> {
  readonly #signer: AwsSigner = new AwsSigner({
    service: 'transcribe',
    config: () => this.config,
    remember: (secret) => this.freshCredential(secret),
    error: (message, options) => this.error(`${this.name}: ${message}`, options),
  });

  constructor(config: LambdaSTTConfig, logger?: Logger) {
    super(lambdaWire, config, logger);
  }

  protected override get directCredential(): unknown {
    return this.config.credentials;
  }

  protected override async request(): Promise<SocketRequest> {
    const url = this.resolveSocketUrl('/stream-transcription-websocket', queryOf(this.config, this.format.sampleRate));
    return { url: this.isProxyMode ? url : await this.#signer.presign(url) };
  }

  protected override socketOptions(): Partial<ReconnectingSocketOptions> {
    return { errorOf: (failure) => this.#factsOf(failure) };
  }

  /** The service's timestamp corrects the signer's clock. */
  protected override failure(fault: STTFault): VoiceError {
    const error = super.failure(fault);
    const { message, code, status, cause } = error;
    const said = 'sentence' in fault ? (fault.sentence ?? '') : '';
    const facts = this.#signer.errorOf({ status, headers: {}, message: said });
    return facts ? this.error(message, { code, status, cause, ...facts }) : error;
  }

  /** What a refused upgrade means: its type is in a header, or in the body. */
  #factsOf(failure: HttpFailure): HttpErrorFacts | undefined {
    const [name = ''] = (failure.headers['x-amzn-errortype'] ?? failure.reason ?? '').split(/[:,]/, 1);
    const reason = lambdaKind(name, failure.message);
    const known = ownEntry(lambdaFailures, reason);
    return this.#signer.errorOf(failure) ?? (known && { code: known.code, recoverable: known.recoverable, reason });
  }
}

function onResult(state: LambdaResults, result: WireObject, context: Context): Step {
  const { ResultId, ChannelId: channel, LanguageCode, EndTime, IsPartial, Alternatives } = result;
  const { finished } = state;
  const id = asString(ResultId);
  const [best = {}] = asObjects(Alternatives);
  const text = asString(best['Transcript'])?.trim();
  if (!text || (id !== undefined && finished.includes(id))) return [state];
  const words = context.words(spokenItems(best, channel), ({ content }) => asString(content));
  const configured = identifies(context.config) ? undefined : context.config.languageCode;
  const said = { text, words, confidence: meanConfidence(words), language: asString(LanguageCode) ?? configured };
  if (IsPartial !== false) return [state, ...heard(said)];
  const endMs = (asNumber(EndTime) ?? 0) * 1_000;
  // Channels are transcribed separately: a final result in one says nothing about the other.
  const isNew = !context.isFinal(endMs) || endMs === 0 || channel !== undefined;
  return [
    { finished: withFinished(finished, id) },
    { type: 'finalized', ms: endMs },
    ...(isNew ? completed(said) : []),
  ];
}

/** A result's words, without punctuation. With separate channels, these stand for speakers. */
function spokenItems({ Items: items }: WireObject, channel: unknown): WireObject[] {
  return asObjects(items).flatMap((item) => {
    const { Type: type, StartTime: start, EndTime: end, Content: content, Confidence: confidence } = item;
    return type === 'pronunciation' ? { start, end, content, confidence, speaker: item['Speaker'] ?? channel } : [];
  });
}

function onFailure(state: LambdaResults, { name, message }: WireObject): Step {
  const sentence = asString(message) ?? '';
  return [state, { type: 'failure', kind: lambdaKind(asString(name) ?? '', sentence), sentence }];
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

/** The query parameters. */
function queryOf(config: LambdaSTTConfig, sampleRate: number): Query {
  const { language = 'en-US', languageCode = language } = config;
  const { 'media-encoding': encoding, ...others } = wireParameters(config, rules);
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
