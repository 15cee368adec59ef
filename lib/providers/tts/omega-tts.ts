import { catchError, EMPTY, map, type OperatorFunction, switchMap } from 'rxjs';
import { durationMs } from '../../audio/formats.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { messageOf } from '../../core/errors.ts';
import { asObject, asString, ownEntry } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { incremental } from '../../stream/incremental.ts';
import { merge } from '../../stream/merge.ts';
import type { Markup } from '../../text/markup.ts';
import { isSsml, ssml } from '../../text/ssml.ts';
import type { AwsCredentials } from '../../transport/aws-signature.ts';
import { AwsSigner, type AwsConfig } from '../../transport/aws-signer.ts';
import type { HttpErrorFacts, HttpFailure } from '../../transport/http-error.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests } from './requests/by-requests.ts';
import type { RequestTTSConfig, RequestWire, SpeechRequest } from './requests/request-wire.ts';
import type { SynthesisEvent } from './utterance.ts';
import { marksIn, wordsAt, type ByteMark } from './words/speech-marks.ts';

/** A format of {@link OmegaTTS}. */
export type OmegaTTSFormat = 'mp3' | 'ogg_vorbis' | 'ogg_opus' | 'pcm' | 'mulaw' | 'alaw';

/** An engine of {@link OmegaTTS}; the voice and the region must support it. */
export type OmegaTTSEngine = 'neural' | 'generative' | 'long-form' | 'standard' | (string & {});

/** Configuration of {@link OmegaTTS}. `apiKey` and `authType` have no effect: requests are signed with `credentials`. */
export interface OmegaTTSConfig extends RequestTTSConfig, AwsConfig {
  /** Credentials for signing, or an async factory; preferably temporary ones. Required without `proxyUrl`. */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>);
  /** The voice, such as `Joanna`. */
  readonly voiceId: string;
  /** Default: `neural`. */
  readonly engine?: OmegaTTSEngine;
  /** Default: `mp3`; `pcm` for an output that cannot decode, such as a phone. All stream. */
  readonly outputFormat?: OmegaTTSFormat | 'auto';
  /** mp3, ogg_vorbis: 8000 to 48000 Hz (default 24000, `standard` 22050); pcm: 8000 or 16000 (default). */
  readonly sampleRate?: number;
  /**
   * `ssml`: text that is not a `<speak>` document is wrapped in one, unescaped. Default: `text`, where `<speak>`
   * documents are SSML.
   */
  readonly textType?: 'text' | 'ssml';
  /** At most five lexicons of the account, in the voice's language. */
  readonly lexiconNames?: readonly string[];
  /** BCP 47; only for bilingual voices. */
  readonly languageCode?: string;
  /**
   * Whether `words$` has the service's own times instead of estimates: needs a second, billed request for each text; raw
   * formats only. Default: false.
   */
  readonly wordTimings?: boolean;
}

/** A format on the wire. */
interface Format {
  readonly metadata: Omit<AudioMetadata, 'sampleRate' | 'channels'>;
  /** In Hz; the first is the default. */
  readonly sampleRates: readonly number[];
}

/** Rates of the listening formats. */
const musicRates = [24_000, 22_050, 8000, 16_000, 44_100, 48_000];

/** The service's formats. */
const formats: Readonly<Record<OmegaTTSFormat, Format>> = {
  mp3: { metadata: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' }, sampleRates: musicRates },
  ogg_vorbis: {
    metadata: { encoding: 'vorbis', container: 'ogg', mimeType: 'audio/ogg; codecs=vorbis' },
    sampleRates: musicRates,
  },
  ogg_opus: {
    metadata: { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg; codecs=opus' },
    sampleRates: [48_000],
  },
  pcm: { metadata: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' }, sampleRates: [16_000, 8000] },
  mulaw: { metadata: { encoding: 'mulaw', bitDepth: 8, mimeType: 'audio/basic' }, sampleRates: [8000] },
  alaw: { metadata: { encoding: 'alaw', bitDepth: 8, mimeType: 'audio/x-alaw-basic' }, sampleRates: [8000] },
};

/** What the service's error types mean beyond their status. */
const meanings: Readonly<Record<string, HttpErrorFacts>> = {
  ThrottlingException: { code: 'rate_limited', recoverable: true },
  ServiceQuotaExceededException: { code: 'quota', recoverable: false },
  ...Object.fromEntries(
    ['InvalidSignature', 'UnrecognizedClient', 'MissingAuthenticationToken', 'ExpiredToken', 'IncompleteSignature'].map(
      (name) => [`${name}Exception`, { code: 'unauthorized' as const, recoverable: false }],
    ),
  ),
};

/** Rules for the keys, and their names in a request. */
export const omegaTTSRules: ConfigRules = {
  voiceId: { required: true, wire: 'VoiceId' },
  engine: { known: ['neural', 'generative', 'long-form', 'standard'], wire: 'Engine', default: 'neural' },
  languageCode: { wire: 'LanguageCode' },
  lexiconNames: {
    type: 'texts',
    maxLength: 5,
    wire: 'LexiconNames',
    toWire: (names: readonly string[]) => (names.length > 0 ? names : undefined),
  },
  outputFormat: { oneOf: Object.keys(formats), wire: 'OutputFormat', default: 'mp3' },
  sampleRate: { wire: 'SampleRate', toWire: String },
  textType: { oneOf: ['text', 'ssml'] },
};

function formatOf({ outputFormat }: OmegaTTSConfig): Format {
  return ownEntry(formats, outputFormat) ?? formats.mp3;
}

function metadataOf(config: OmegaTTSConfig): AudioMetadata {
  const { metadata, sampleRates } = formatOf(config);
  // The oldest engine has its own default.
  const usualRate = config.engine === 'standard' && sampleRates === musicRates ? 22_050 : sampleRates[0];
  return { sampleRate: config.sampleRate ?? usualRate ?? 0, channels: 1, ...metadata };
}

function markupOf(text: string, { textType }: OmegaTTSConfig): Markup | undefined {
  return textType === 'ssml' || isSsml(text) ? ssml : undefined;
}

function requestFor(text: string, config: OmegaTTSConfig, output?: object): SpeechRequest {
  const { VoiceId, ...parameters } = wireParameters(config, omegaTTSRules);
  const isMarkup = markupOf(text, config) !== undefined;
  const body = {
    ...parameters,
    ...output,
    Text: isMarkup && !isSsml(text) ? `<speak>${text}</speak>` : text,
    TextType: isMarkup ? 'ssml' : 'text',
    VoiceId,
    ...config.extraBody,
  };
  // Sends exactly the signed text; in lower case, so that the signed header replaces it.
  return { path: '/v1/speech', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** The request for word times, answered with one object per line. */
function marksRequestFor(text: string, config: OmegaTTSConfig): SpeechRequest {
  return requestFor(text, config, { OutputFormat: 'json', SampleRate: undefined, SpeechMarkTypes: ['word'] });
}

interface Marks {
  readonly type: 'marks';
  readonly marks: readonly ByteMark[];
}

/** Adds the words once everything has arrived: the last one lasts until the audio ends. */
function withWords(text: string, config: OmegaTTSConfig): OperatorFunction<SynthesisEvent | Marks, SynthesisEvent> {
  const written = markupOf(text, config) ? '' : text;
  return incremental(() => {
    let [bytes, marks]: [number, readonly ByteMark[]] = [0, []];
    return {
      push: (event) => {
        if (event.type === 'marks') marks = event.marks;
        if (event.type === 'audio') bytes += event.data.length;
        return event.type === 'marks' ? [] : [event];
      },
      flush: () =>
        wordsAt(marks, written, durationMs(bytes, metadataOf(config))).map((word) => ({ type: 'word', ...word })),
    };
  });
}

function reasonOf({ json, headers }: HttpFailure): string | undefined {
  const { code, __type } = asObject(json) ?? {};
  const type = headers['x-amzn-errortype'] ?? asString(__type) ?? asString(code) ?? '';
  return type.split(/[:,]/, 1)[0]?.replace(/^.*#/, '');
}

function wireOf(signer: () => AwsSigner): RequestWire<OmegaTTSConfig> {
  const wire: RequestWire<OmegaTTSConfig> = {
    name: 'OmegaTTS',
    baseUrl: ({ region = '' }) => `https://polly.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`,
    rules: (config) => ({
      ...omegaTTSRules,
      region: { required: !config.proxyUrl },
      sampleRate: { oneOf: formatOf(config).sampleRates },
    }),
    problem: (config) => {
      // It becomes part of the host that receives the credentials.
      if (config.region && !/^[a-z\d]+(-[a-z\d]+)+$/.test(config.region)) return 'region must look like us-east-1';
      return config.wordTimings && formatOf(config).metadata.bitDepth === undefined
        ? 'wordTimings requires outputFormat pcm, mulaw or alaw'
        : undefined;
    },
    openFormat: () => ({ key: 'outputFormat', samples: 'pcm' }),
    format: metadataOf,
    normalizesText: () => true,
    maxTextLength: () => 3000,
    // It is undocumented whether the service counts code points or UTF-16 units: the latter are never fewer.
    lengthOf: (character) => character.length,
    markupOf,
    request: (text, { config }) => requestFor(text, config),
    exchange: (text, events$, context) => {
      const { config, warn } = context;
      if (!config.wordTimings) return events$;
      const marks$ = context.ask(marksRequestFor(text, config)).pipe(
        switchMap((response) => context.answers.text(response)),
        map((lines): Marks => ({ type: 'marks', marks: marksIn(lines) })),
        // Without them, words are estimated.
        catchError((error: unknown) => {
          warn(`no word times: ${messageOf(error)}`);
          return EMPTY;
        }),
      );
      return merge(events$, marks$).pipe(withWords(text, config));
    },
    sign: ({ headers, body }, url, extraHeaders) => {
      // Only what AWS has signed: a proxy on the way may change the others.
      const amazons = Object.entries(extraHeaders).filter(([name]) => /^x-amz-/i.test(name));
      const sent = { 'content-type': headers?.['content-type'] ?? '', ...Object.fromEntries(amazons) };
      return signer().headers({ method: 'POST', url, headers: sent, body });
    },
    errorOf: (failure) => {
      const reason = reasonOf(failure);
      const facts: HttpErrorFacts | undefined = signer().errorOf(failure) ?? ownEntry(meanings, reason);
      return reason ? { ...facts, reason } : facts;
    },
  };
  return wire;
}

/**
 * Amazon Polly (API 2016-06-10, `POST /v1/speech`, signed), `https://polly.<region>.amazonaws.com`,
 * https://docs.aws.amazon.com/polly/latest/dg/API_SynthesizeSpeech.html
 *
 * At most 3,000 characters per request; longer texts are split at sentences.
 */
export class OmegaTTS extends RemoteTTS<OmegaTTSConfig> {
  protected override readonly credentialKey: string = 'credentials';
  readonly #signer: AwsSigner = new AwsSigner({
    service: 'polly',
    config: () => this.config,
    remember: (secret) => this.freshCredential(secret),
    error: (message, options) => this.error(`${this.name}: ${message}`, options),
  });

  constructor(config: OmegaTTSConfig, logger?: Logger) {
    super(byRequests(wireOf(() => this.#signer)), config, logger);
  }

  protected override get directCredential(): unknown {
    return this.config.credentials;
  }
}
