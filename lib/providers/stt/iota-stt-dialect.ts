import { defer, forkJoin, map, of, type Observable } from 'rxjs';
import { describeFormat } from '../../audio/described.ts';
import type { AudioEncoding } from '../../audio/types.ts';
import { encodeBase64 } from '../../core/base64.ts';
import type { VoiceError, VoiceErrorOptions } from '../../core/errors.ts';
import { asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { TransportOptions } from '../../core/remote-provider.ts';
import type { TranscribedWord, TranscriptionResult } from '../../core/roles.ts';
import { isRecoverable } from '../../stream/backoff.ts';
import { retryBackoff } from '../../stream/retry-backoff.ts';
import type { HttpErrorOf } from '../../transport/http-error.ts';
import { httpRequest, readJson, requestRetries } from '../../transport/http.ts';
import type { IotaSTTConfig } from './iota-stt.ts';
import type { Recording } from './live-audio.ts';
import { partsOf } from './recordings.ts';

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

/** The provider's side of an {@link IotaRecognizer}. */
export interface IotaHost {
  readonly config: () => Readonly<IotaSTTConfig>;
  readonly transport: () => TransportOptions;
  readonly url: (path: string) => URL;
  /** The credential; `undefined` in proxy mode. */
  readonly apiKey: () => Promise<string | undefined>;
  /** An error whose message continues the provider's name. */
  readonly error: (problem: string, options: VoiceErrorOptions) => VoiceError;
}

/** Recognizes recordings: how Google is spoken to. */
export class IotaRecognizer {
  readonly #host: IotaHost;

  constructor(host: IotaHost) {
    this.#host = host;
  }

  /** The result of a recording, from as many requests as it takes. */
  recognize(recording: Recording): Observable<TranscriptionResult> {
    // The service rejects an empty recording, but silence is not an error.
    if (recording.data.length === 0) return of(resultOf([]));
    const parts = partsOf(recording, requestBytes);
    if (!parts) {
      const most = `${requestBytes / 1e6} MB`;
      const problem = `divides only WAV files and raw audio over ${most}: this recording is larger`;
      throw this.#host.error(problem, { code: 'overflow' });
    }
    const answers = parts.map((part) => this.#ask(part).pipe(map((answer) => heardIn(answer, part.startMs))));
    return forkJoin(answers).pipe(map(resultOf));
  }

  /** The service's answer to one request. */
  #ask(recording: Recording): Observable<unknown> {
    const { config, transport, url, apiKey } = this.#host;
    const { scheduler, requestTimeoutMs = 60_000, extraBody } = config();
    return defer(() =>
      httpRequest({
        ...transport(),
        url: url('/v1/speech:recognize'),
        headers: async () => ({ 'X-goog-api-key': await apiKey() }),
        json: {
          ...{ config: this.#recognitionConfig(recording), audio: { content: encodeBase64(recording.data) } },
          ...extraBody,
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
    const config = this.#host.config();
    const { language = 'en-US', model, enableWordTimeOffsets, profanityFilter, keywords = [] } = config;
    const { enableAutomaticPunctuation = true, alternativeLanguages = [], extraConfig } = config;
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
    const { encoding, sampleRate } = this.#host.config();
    if (encoding) return { encoding, sampleRateHertz: sampleRate };
    const what = metadata ? describeFormat(metadata) : 'recording';
    const problem = `cannot tell the format of the ${what}: send a WAV file, or set encoding and sampleRate`;
    throw this.#host.error(problem, { code: 'unsupported_format' });
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
