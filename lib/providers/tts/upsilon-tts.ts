import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import type { AuthType } from '../../core/remote-provider.ts';
import { RestTTS, type RestTTSConfig, type SpeechRequest } from './rest-tts.ts';

/** A model of {@link UpsilonTTS}; later ones pass through. */
export type UpsilonTTSModel = 'lightning_v3.1' | 'lightning_v3.1_pro' | (string & {});

/** A format of {@link UpsilonTTS}. */
export type UpsilonTTSFormat = 'wav' | 'mp3' | 'pcm' | 'ulaw' | 'alaw';

/** Configuration of {@link UpsilonTTS}. */
export interface UpsilonTTSConfig extends RestTTSConfig {
  /** A voice of the catalog, or a clone (`voice_…`). Required. It must belong to the model: the service does not check. */
  readonly voiceId: string;
  /** Default: `lightning_v3.1`. */
  readonly model?: UpsilonTTSModel;
  /** Default: `wav`. A pipeline on a server takes `wav`, `pcm`, `ulaw` and `alaw`, which also stream; not `mp3`. */
  readonly outputFormat?: UpsilonTTSFormat;
  /** 8000, 16000, 24000 or 44100 Hz. Default: the service's, 44100; `ulaw` and `alaw` are always 8000. */
  readonly sampleRate?: 8000 | 16000 | 24000 | 44100;
  /** 0.5 to 2. Default: the service's, 1. */
  readonly speed?: number;
  /** ISO 639-1, such as `en`, or `auto`. Default: the service's. */
  readonly language?: string;
  /** The language in which numbers are read. */
  readonly numberPronunciationLanguage?: string;
  /** Whether formulas are read as such. Default: the service's, false. */
  readonly mathNotation?: boolean;
  /** Ids of pronunciation dictionaries. */
  readonly pronunciationDicts?: readonly string[];
}

const formats: Readonly<Record<UpsilonTTSFormat, Omit<AudioMetadata, 'sampleRate' | 'channels'>>> = {
  wav: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
  mp3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
  pcm: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
  ulaw: { encoding: 'mulaw', bitDepth: 8, mimeType: 'audio/basic' },
  alaw: { encoding: 'alaw', bitDepth: 8, mimeType: 'audio/alaw' },
};

/**
 * UpsilonTTS: Smallest.ai Waves text-to-speech (Lightning), `https://api.smallest.ai/waves`,
 * https://docs.smallest.ai/waves
 *
 * Texts are cut at 250 characters, above which the service's quality suffers. Accounts have one request at a time, so
 * that is the default of `concurrency`.
 */
export class UpsilonTTS extends RestTTS<UpsilonTTSConfig> {
  override readonly name: string = 'UpsilonTTS';
  protected override readonly defaultBaseUrl: string = 'https://api.smallest.ai/waves';
  protected override readonly defaultAuthType: AuthType = 'bearer';
  protected override readonly maxConcurrency: number = 1;

  override get maxTextLength(): number {
    return 250;
  }

  protected override configRules(): Readonly<Record<string, ConfigRule>> {
    return {
      voiceId: { required: true },
      outputFormat: { oneOf: Object.keys(formats) },
      sampleRate: { oneOf: [8000, 16000, 24000, 44100] },
      speed: { min: 0.5, max: 2 },
    };
  }

  protected override wireFormat(): AudioMetadata {
    return { sampleRate: this.#sampleRate ?? 44_100, channels: 1, ...formats[this.config.outputFormat ?? 'wav'] };
  }

  protected override request(text: string): SpeechRequest {
    const { voiceId, model = 'lightning_v3.1', outputFormat = 'wav', speed, language } = this.config;
    const { numberPronunciationLanguage, mathNotation, pronunciationDicts } = this.config;
    return {
      path: '/v1/tts',
      // Whatever the format: without it the answer can be empty (the vendor's reference).
      headers: { Accept: 'audio/wav' },
      json: {
        ...{
          text,
          voice_id: voiceId,
          model,
          output_format: outputFormat,
          sample_rate: this.#sampleRate,
          speed,
          language,
        },
        number_pronunciation_language: numberPronunciationLanguage,
        math_notation: mathNotation,
        pronunciation_dicts: pronunciationDicts,
      },
    };
  }

  get #sampleRate(): number | undefined {
    const { outputFormat, sampleRate } = this.config;
    return outputFormat === 'ulaw' || outputFormat === 'alaw' ? 8000 : sampleRate;
  }
}
