import { EMPTY, type Observable } from 'rxjs';
import type { AudioFormat } from '../../audio/types.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { remoteRules } from '../../core/remote-rules.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { RemoteConfig } from '../../core/remote-provider.ts';
import type { TranscriptionResult } from '../../core/roles.ts';
import { BatchSTT } from './batch-stt.ts';
import type { Recording, RecordingLimits } from './live-audio.ts';

/** An encoding of {@link IotaSTT}. */
export type IotaSTTEncoding =
  'LINEAR16' | 'FLAC' | 'MULAW' | 'AMR' | 'AMR_WB' | 'OGG_OPUS' | 'SPEEX_WITH_HEADER_BYTE' | 'WEBM_OPUS';

/** A model of {@link IotaSTT}; others are passed through. */
export type IotaSTTModel =
  | 'latest_short'
  | 'latest_long'
  | 'telephony'
  | 'command_and_search'
  | 'phone_call'
  | 'video'
  | 'medical_conversation'
  | 'medical_dictation'
  | (string & {});

/** Configuration of {@link IotaSTT}. */
export interface IotaSTTConfig extends RemoteConfig {
  /** Additional fields of each request, under the service's own names; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** BCP 47. Default: `en-US`. */
  readonly language?: string;
  /** The encoding of recordings. Default: as the recording or the audio's format specifies. */
  readonly encoding?: IotaSTTEncoding;
  /** 8000 to 48000 Hz. Default: as for `encoding`. */
  readonly sampleRate?: number;
  /** Default: the service's choice. */
  readonly model?: IotaSTTModel;
  /** Whether results have word times, in `metadata.words`. Default: false. */
  readonly enableWordTimeOffsets?: boolean;
  /** Whether results have punctuation. Default: true. */
  readonly enableAutomaticPunctuation?: boolean;
  /** Whether profanities are masked except for the first letter. Default: false. */
  readonly profanityFilter?: boolean;
  /** Words and phrases to listen for, at most 5,000 of 100 characters. */
  readonly keywords?: readonly string[];
  /** Up to three other languages to expect, BCP 47. */
  readonly alternativeLanguages?: readonly string[];
  /** Additional fields of the service's RecognitionConfig, such as `diarizationConfig`; these take precedence. */
  readonly extraConfig?: Readonly<Record<string, unknown>>;
  /** Longest wait for a result, in milliseconds. Default: 60,000. */
  readonly requestTimeoutMs?: number;
}

const rules: Readonly<Record<string, ConfigRule>> = {
  ...remoteRules,
  ...{
    extraBody: {},
    language: {},
    encoding: {},
    model: {},
    enableWordTimeOffsets: {},
    enableAutomaticPunctuation: {},
    profanityFilter: {},
    extraConfig: {},
    requestTimeoutMs: {},
  },
  sampleRate: { min: 8000, max: 48_000, integer: true },
  keywords: { type: 'texts', maxLength: 5_000 },
  alternativeLanguages: { type: 'texts', maxLength: 3 },
};

/**
 * Google Cloud Speech-to-Text v1 (`speech:recognize`), `https://speech.googleapis.com`,
 * https://cloud.google.com/speech-to-text/docs/reference/rest/v1/speech/recognize
 *
 * `transcribe(blob)` sends the recording at once and can be awaited. It accepts WAV and FLAC files, Opus in Ogg or WebM,
 * and, with `encoding` and `sampleRate` configured, whatever else the service supports: up to 60 seconds and 10 MB, or
 * 7.4 MB if it is compressed.
 */
export class IotaSTT extends BatchSTT<IotaSTTConfig> {
  readonly name = 'IotaSTT';
  protected readonly defaultBaseUrl = 'https://speech.googleapis.com';
  readonly accepts: readonly AudioFormat[] = [
    { encoding: 'linear16', sampleRates: [16_000, 8_000, 48_000, 44_100, 32_000, 24_000, 22_050, 11_025] },
    { encoding: 'mulaw', sampleRates: [8_000] },
  ];
  // The minute is approximate, so live audio ends sooner.
  protected readonly limits: RecordingLimits = { bytes: 10_000_000, ms: 60_000, liveMs: 55_000 };
  /** What speaks to the service: from `initialize()` on. */
  #recognizer: { recognize(recording: Recording): Observable<TranscriptionResult> } | undefined;

  protected override configProblem(): string | undefined {
    return configProblem(this.config, rules);
  }

  protected override recognize(recording: Recording): Observable<TranscriptionResult> {
    // `initialize()` has set it.
    return this.#recognizer?.recognize(recording) ?? EMPTY;
  }

  protected override async load(): Promise<void> {
    const { IotaRecognizer } = await new OnDemand(this.name, () => import('./iota-stt-dialect.ts')).load();
    this.#recognizer = new IotaRecognizer({
      config: () => this.config,
      transport: () => this.transportOptions,
      url: (path) => this.resolveUrl(path),
      apiKey: async () => (this.isProxyMode ? undefined : this.resolveApiKey()),
      error: (problem, options) => this.error(`${this.name} ${problem}`, options),
    });
  }
}
