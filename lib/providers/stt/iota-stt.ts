import { defer, forkJoin, map, of, type Observable } from 'rxjs';
import { describeFormat } from '../../audio/accepted.ts';
import type { AudioEncoding, AudioFormat } from '../../audio/types.ts';
import { encodeBase64 } from '../../core/base64.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { RemoteConfig } from '../../core/remote-provider.ts';
import type { TranscribedWord, TranscriptionResult } from '../../core/roles.ts';
import type { HttpErrorOf } from '../../transport/http-error.ts';
import { httpRequest, readJson, requestRetries } from '../../transport/http.ts';
import { isRecoverable } from '../../stream/backoff.ts';
import { retryBackoff } from '../../stream/retry-backoff.ts';
import { BatchSTT } from './batch-stt.ts';
import { partsOf, type Recording, type RecordingLimits } from './recordings.ts';

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
  /** Default: true. */
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
  sampleRate: { min: 8000, max: 48_000, integer: true },
  keywords: { type: 'texts', maxLength: 5_000 },
  alternativeLanguages: { type: 'texts', maxLength: 3 },
};

/** File types by their first bytes; the service reads WAV and FLAC headers itself. */
const files: readonly (readonly [readonly number[], WireObject])[] = [
  [[0x52, 0x49, 0x46, 0x46], {}],
  [[0x66, 0x4c, 0x61, 0x43], {}],
  [[0x4f, 0x67, 0x67, 0x53], { encoding: 'OGG_OPUS', sampleRateHertz: 48_000 }],
  [[0x1a, 0x45, 0xdf, 0xa3], { encoding: 'WEBM_OPUS', sampleRateHertz: 48_000 }],
];
const encodings: Readonly<Partial<Record<AudioEncoding, string>>> = { linear16: 'LINEAR16', mulaw: 'MULAW' };

/** Most bytes of a request's recording: the service takes requests of 10 MB, and base64 adds a third. */
const requestBytes = 7_400_000;

const errorOf: HttpErrorOf = ({ reason }) => (reason === 'API_KEY_INVALID' ? { code: 'unauthorized' } : undefined);

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

  protected override configProblem(): string | undefined {
    return configProblem(this.config, rules);
  }

  protected override recognize(recording: Recording): Observable<TranscriptionResult> {
    // The service rejects an empty recording, but silence is not an error.
    if (recording.data.length === 0) return of(resultOf([]));
    const parts = partsOf(recording, requestBytes);
    if (!parts) {
      const most = `${requestBytes / 1e6} MB`;
      const message = `${this.name} divides only WAV files and raw audio over ${most}: this recording is larger`;
      throw this.error(message, { code: 'overflow' });
    }
    const answers = parts.map((part) => this.#ask(part).pipe(map((answer) => heardIn(answer, part.startMs))));
    return forkJoin(answers).pipe(map(resultOf));
  }

  /** The service's answer to one request. */
  #ask(recording: Recording): Observable<unknown> {
    const { scheduler, requestTimeoutMs = 60_000 } = this.config;
    return defer(() =>
      httpRequest({
        ...this.transportOptions,
        url: this.resolveUrl('/v1/speech:recognize'),
        headers: async () => ({ 'X-goog-api-key': this.isProxyMode ? undefined : await this.resolveApiKey() }),
        json: {
          ...{ config: this.#recognitionConfig(recording), audio: { content: encodeBase64(recording.data) } },
          ...this.config.extraBody,
        },
        timeouts: { firstByteMs: requestTimeoutMs },
        errorOf,
      }),
    ).pipe(
      readJson(),
      retryBackoff({
        ...requestRetries,
        shouldRetry: (error) => isRecoverable(error) && error.code !== 'timeout',
        ...(scheduler && { scheduler }),
      }),
    );
  }

  #recognitionConfig(recording: Recording): WireObject {
    const { language = 'en-US', model, enableWordTimeOffsets, profanityFilter, keywords = [] } = this.config;
    const { enableAutomaticPunctuation = true, alternativeLanguages = [], extraConfig } = this.config;
    return {
      languageCode: language,
      enableAutomaticPunctuation,
      ...this.#formatOf(recording),
      model,
      enableWordTimeOffsets,
      profanityFilter,
      ...(alternativeLanguages.length > 0 && { alternativeLanguageCodes: alternativeLanguages }),
      ...(keywords.length > 0 && { speechContexts: [{ phrases: keywords }] }),
      ...extraConfig,
    };
  }

  #formatOf({ data, metadata }: Recording): WireObject {
    const file = files.find(([magic]) => magic.every((byte, at) => data[at] === byte))?.[1];
    if (file) return file;
    const wire = metadata && encodings[metadata.encoding];
    if (wire) {
      const { sampleRate: sampleRateHertz, channels } = metadata;
      return { encoding: wire, sampleRateHertz, ...(channels > 1 && { audioChannelCount: channels }) };
    }
    const { encoding, sampleRate } = this.config;
    if (encoding) return { encoding, sampleRateHertz: sampleRate };
    const what = metadata ? describeFormat(metadata) : 'recording';
    const message = `${this.name} cannot tell the format of the ${what}: send a WAV file, or set encoding and sampleRate`;
    throw this.error(message, { code: 'unsupported_format' });
  }
}

/** What an answer says of a recording's part. */
interface Heard {
  readonly texts: readonly string[];
  readonly confidences: readonly number[];
  readonly words: readonly TranscribedWord[];
  readonly language: string | undefined;
  readonly billed: string | undefined;
  readonly requestId: string | undefined;
}

/** What an answer says; an answer without words is one too. */
function heardIn(answer: unknown, startMs: number): Heard {
  const { results, totalBilledTime, requestId } = asObject(answer) ?? {};
  const portions = asObjects(results).flatMap(({ alternatives }) => asObjects(alternatives).slice(0, 1));
  const perPortion = portions.map(({ words }) => asObjects(words).map((word) => wordOf(word, startMs)));
  // With speakers, the last portion repeats all the words.
  const hasSpeakers = perPortion.at(-1)?.some(({ speaker }) => speaker !== undefined) ?? false;
  return {
    texts: portions.map(({ transcript }) => asString(transcript) ?? ''),
    confidences: portions.map(({ confidence }) => asNumber(confidence)).filter((each) => each !== undefined),
    words: (hasSpeakers ? perPortion.slice(-1) : perPortion).flat(),
    language: asString(asObjects(results)[0]?.['languageCode']),
    billed: asString(totalBilledTime),
    requestId: asString(requestId),
  };
}

/** The result of a recording, from what was heard in its parts. */
function resultOf(parts: readonly Heard[]): TranscriptionResult {
  const confidences = parts.flatMap((part) => part.confidences);
  const words = parts.flatMap((part) => part.words);
  const language = parts.map((part) => part.language).find((each) => each !== undefined);
  const billed = parts.map((part) => part.billed).filter((each) => each !== undefined);
  const requestIds = parts.map((part) => part.requestId).filter((each) => each !== undefined);
  return {
    text: joined(parts.flatMap((part) => part.texts)),
    isFinal: true,
    utteranceComplete: true,
    isPreflight: false,
    ...(confidences.length > 0 && {
      confidence: confidences.reduce((sum, each) => sum + each, 0) / confidences.length,
    }),
    metadata: {
      ...(words.length > 0 && { words }),
      ...(language !== undefined && { language }),
      ...(billed.length > 0 && { totalBilledTime: sumOf(billed) }),
      ...(requestIds.length > 0 && { requestId: requestIds.join(', ') }),
    },
  };
}

function wordOf(
  { word, startTime, endTime, confidence, speakerLabel, speakerTag }: WireObject,
  partMs: number,
): TranscribedWord {
  const endMs = msOf(endTime);
  const sure = asNumber(confidence);
  const speaker = asString(speakerLabel) ?? asNumber(speakerTag)?.toString();
  return {
    text: asString(word) ?? '',
    // The service omits zeros.
    startMs: Math.round(partMs + (msOf(startTime) ?? 0)),
    ...(endMs !== undefined && { endMs: Math.round(partMs + endMs) }),
    ...(sure !== undefined && sure > 0 && { confidence: sure }),
    ...(speaker !== undefined && { speaker }),
  };
}

/** Milliseconds of `1.300s`. */
function msOf(duration: unknown): number | undefined {
  const seconds = /^(\d+(?:\.\d+)?)s$/.exec(asString(duration) ?? '')?.[1];
  return seconds === undefined ? undefined : Math.round(Number(seconds) * 1000);
}

/** The sum of such durations. */
function sumOf(durations: readonly string[]): string {
  return `${durations.reduce((ms, each) => ms + (msOf(each) ?? 0), 0) / 1000}s`;
}

const spaceless =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]$/u;

/** Joins consecutive parts of a text; most include their own space. */
function joined(parts: readonly string[]): string {
  let text = '';
  for (const part of parts) {
    const needsBlank = text !== '' && !/\s$/.test(text) && !/^\s/.test(part) && !spaceless.test(text);
    text += (needsBlank ? ' ' : '') + part;
  }
  return text.trim();
}
