import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { AwsCredentials } from '../../transport/aws-signature.ts';
import type { AwsConfig, AwsSignerOptions } from '../../transport/aws-signer.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests } from './requests/by-requests.ts';
import type { LateRequestWire, RequestTTSConfig } from './requests/request-wire.ts';

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

/** Rules for the keys, and their names in a request. */
export const omegaTTSRules: ConfigRules = {
  ...{ credentials: {}, region: {}, wordTimings: {} },
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

/** The wire of one provider, whose requests are signed. */
const wireOf = (signing: () => AwsSignerOptions): LateRequestWire<OmegaTTSConfig> => ({
  name: 'OmegaTTS',
  baseUrl: ({ region = '' }) => `https://polly.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`,
  rules: (config) => ({
    ...omegaTTSRules,
    region: { required: !config.proxyUrl },
    sampleRate: { ...omegaTTSRules['sampleRate'], oneOf: formatOf(config).sampleRates },
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
  load: async (name) => {
    const { omegaDialect } = await new OnDemand(name, () => import('./omega-dialect.ts')).load();
    return omegaDialect(signing());
  },
});

/**
 * Amazon Polly (API 2016-06-10, `POST /v1/speech`, signed), `https://polly.<region>.amazonaws.com`,
 * https://docs.aws.amazon.com/polly/latest/dg/API_SynthesizeSpeech.html
 *
 * At most 3,000 characters per request; longer texts are split at sentences.
 */
export class OmegaTTS extends RemoteTTS<OmegaTTSConfig> {
  protected override readonly credentialKey: string = 'credentials';

  constructor(config: OmegaTTSConfig, logger?: Logger) {
    super(byRequests(wireOf(() => this.#signing)), config, logger);
  }

  protected override get directCredential(): unknown {
    return this.config.credentials;
  }

  get #signing(): AwsSignerOptions {
    return {
      service: 'polly',
      config: () => this.config,
      remember: (secret) => this.freshCredential(secret),
      error: (message, options) => this.error(`${this.name}: ${message}`, options),
    };
  }
}
