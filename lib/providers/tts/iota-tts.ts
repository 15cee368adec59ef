import { concatMap, EMPTY, of, type Observable } from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import { decodeBase64 } from '../../core/base64.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import { obj, str } from '../../core/guard.ts';
import type { HttpErrorOf } from '../../transport/http-error.ts';
import { readJson, type HttpRequestHeaders, type HttpResponse } from '../../transport/http.ts';
import type { Markup } from './text/markup.ts';
import { RestTTS, type RestTTSConfig, type SpeechRequest } from './rest-tts.ts';
import { utf8Length } from './text/split-text.ts';
import { isSsml, ssml } from './text/ssml.ts';
import type { SynthesisEvent } from './utterance.ts';

/** An encoding of {@link IotaTTS}. */
export type IotaTTSEncoding = 'MP3' | 'OGG_OPUS' | 'LINEAR16' | 'MULAW' | 'ALAW';

/** What {@link IotaTTS} plays for: the audio is adjusted to it. */
export type IotaTTSEffectsProfile =
  | 'wearable-class-device'
  | 'handset-class-device'
  | 'headphone-class-device'
  | 'small-bluetooth-speaker-class-device'
  | 'medium-bluetooth-speaker-class-device'
  | 'large-home-entertainment-class-device'
  | 'large-automotive-class-device'
  | 'telephony-class-application'
  | (string & {});

/** Configuration of {@link IotaTTS}. What is absent is left to the service. */
export interface IotaTTSConfig extends RestTTSConfig {
  /** BCP 47, without a script: `cmn-CN`. Default: what `voiceName` begins with, else `en-US`. */
  readonly languageCode?: string;
  /** Such as `en-US-Neural2-F`. Default: the service's choice for the language. */
  readonly voiceName?: string;
  /** `MALE` or `FEMALE`, where no `voiceName` decides it. */
  readonly ssmlGender?: 'MALE' | 'FEMALE';
  /** Default: `MP3`, which browsers play; a pipeline on a server needs `LINEAR16`, `MULAW` or `ALAW`. */
  readonly audioEncoding?: IotaTTSEncoding;
  /** 0.25 to 4; the service takes 2 at most today, so more is sent as 2. Default: the service's, 1. */
  readonly speakingRate?: number;
  /** -20 to 20 semitones. Default: the service's, 0. */
  readonly pitch?: number;
  /** Volume gain, -96 to 16 dB. Default: the service's, 0. */
  readonly volumeGainDb?: number;
  /** 8000 to 48000 Hz. Default: the voice's own, mostly 24000. */
  readonly sampleRate?: number;
  /** Device effects profiles, applied in this order. */
  readonly effectsProfileId?: readonly IotaTTSEffectsProfile[];
  /** The model of voices that have several, such as `gemini-2.5-flash-tts`. */
  readonly modelName?: string;
  /** How to speak, in words; for models that follow it. */
  readonly prompt?: string;
}

/** What the service sends for each encoding: it puts a WAV header before all samples. */
const formats: Readonly<Record<IotaTTSEncoding, Omit<AudioMetadata, 'sampleRate' | 'channels'>>> = {
  MP3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
  OGG_OPUS: { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg; codecs=opus' },
  LINEAR16: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
  MULAW: { encoding: 'mulaw', bitDepth: 8, container: 'wav', mimeType: 'audio/wav' },
  ALAW: { encoding: 'alaw', bitDepth: 8, container: 'wav', mimeType: 'audio/wav' },
};

/** What the service takes today, where SPEC.md says 4. */
const fastestRate = 2;
/** The audio of 5,000 bytes of text, slowly, in base64. */
const maxAnswerBytes = 96 * 1024 * 1024;

/**
 * IotaTTS: Google Cloud Text-to-Speech v1 (`text:synthesize`), `https://texttospeech.googleapis.com`,
 * https://cloud.google.com/text-to-speech/docs/reference/rest/v1/text/synthesize
 *
 * A text that starts with `<speak` is SSML. At most 5,000 bytes a request; longer texts are cut at sentences.
 */
export class IotaTTS extends RestTTS<IotaTTSConfig> {
  override readonly name: string = 'IotaTTS';
  protected override readonly defaultBaseUrl: string = 'https://texttospeech.googleapis.com';
  // Of a wrong key the service says that the request is invalid.
  protected override readonly errorOf: HttpErrorOf = ({ reason }) =>
    reason === 'API_KEY_INVALID' ? { code: 'unauthorized' } : undefined;

  override get maxTextLength(): number {
    return 5000;
  }

  protected override lengthOf(character: string): number {
    return utf8Length(character);
  }

  protected override markupOf(text: string): Markup | undefined {
    return isSsml(text) ? ssml : undefined;
  }

  protected override configRules(): Readonly<Record<string, ConfigRule>> {
    return {
      audioEncoding: { oneOf: Object.keys(formats) },
      ssmlGender: { oneOf: ['MALE', 'FEMALE'] },
      speakingRate: { min: 0.25, max: 4 },
      pitch: { min: -20, max: 20 },
      volumeGainDb: { min: -96, max: 16 },
      sampleRate: { min: 8000, max: 48_000, integer: true },
      effectsProfileId: { type: 'texts' },
    };
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    await super.onInitialize(signal);
    const { speakingRate = 1 } = this.config;
    if (speakingRate <= fastestRate) return;
    this.logger.warn(
      `${this.name}: speakingRate ${speakingRate} is sent as ${fastestRate}, the most that the service takes`,
    );
  }

  protected override wireFormat(): AudioMetadata {
    const { audioEncoding = 'MP3', sampleRate = 24_000 } = this.config;
    return { sampleRate, channels: 1, ...formats[audioEncoding] };
  }

  protected override async credentialHeaders(): Promise<HttpRequestHeaders> {
    return { 'X-goog-api-key': this.isProxyMode ? undefined : await this.resolveApiKey() };
  }

  protected override request(text: string): SpeechRequest {
    const { voiceName, ssmlGender, audioEncoding = 'MP3', speakingRate, pitch, volumeGainDb } = this.config;
    const { sampleRate, effectsProfileId, modelName, prompt } = this.config;
    return {
      path: '/v1/text:synthesize',
      json: {
        input: { ...(isSsml(text) ? { ssml: text } : { text }), prompt },
        voice: { languageCode: this.#language, name: voiceName, ssmlGender, modelName },
        audioConfig: {
          audioEncoding,
          speakingRate: speakingRate && Math.min(speakingRate, fastestRate),
          ...{ pitch, volumeGainDb, sampleRateHertz: sampleRate, effectsProfileId },
        },
      },
    };
  }

  protected override readResponse(response: HttpResponse): Observable<SynthesisEvent> {
    return of(response).pipe(
      readJson(maxAnswerBytes),
      concatMap((answer) => {
        // The service leaves out what is empty.
        const { audioContent = '' } = obj(answer) ?? { audioContent: null };
        const base64 = str(audioContent);
        const data = base64 === undefined ? undefined : decodeBase64(base64);
        if (!data) throw this.error(`${this.name}: the answer has no audio`, { code: 'protocol' });
        return data.length > 0 ? of({ type: 'audio' as const, data }) : EMPTY;
      }),
    );
  }

  /** Of `cmn-CN-Wavenet-A` it is `cmn-CN`. */
  get #language(): string {
    const { languageCode, voiceName = '' } = this.config;
    return languageCode ?? /^[a-z]{2,3}-[A-Z\d]{2,3}(?=-)/.exec(voiceName)?.[0] ?? 'en-US';
  }
}
