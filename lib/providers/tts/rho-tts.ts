import type { Observable } from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import { decodeBase64 } from '../../core/base64.ts';
import { asNumber, asObject, asObjects, asString, ownEntry, type WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { Query } from '../../core/remote-provider.ts';
import { escapeXml, isSsml, ssml, xmlElement } from '../../text/ssml.ts';
import type { HttpErrorFacts } from '../../transport/http-error.ts';
import type { HttpResponse } from '../../transport/http.ts';
import { mediaType } from '../../transport/media-type.ts';
import { rhoTTS } from '../retiring.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests, type RequestVoice } from './requests/by-requests.ts';
import type { RequestContext, RequestTTSConfig, RequestWire, SpeechRequest } from './requests/request-wire.ts';
import type { TTSVoice } from './tts-voice.ts';
import type { SynthesisEvent } from './utterance.ts';
import type { TTSCallOptions } from './voice-service.ts';
import { endMarks, hearMarks, type SpeechMark, type SpeechMarks } from './words/speech-marks.ts';

/** A model of {@link RhoTTS}; others are passed through. */
export type RhoTTSModel = 'simba-3.2' | 'simba-3.0' | 'simba-english' | 'simba-multilingual' | (string & {});

/** An emotion of {@link RhoTTS}; others are passed through. */
export type RhoTTSEmotion =
  | ('angry' | 'cheerful' | 'sad' | 'terrified' | 'relaxed' | 'fearful' | 'surprised')
  | ('calm' | 'assertive' | 'energetic' | 'warm' | 'direct' | 'bright')
  | (string & {});

/** Configuration of {@link RhoTTS}. Anything omitted is left to the service. */
export interface RhoTTSConfig extends RequestTTSConfig {
  /** The id of a voice, including cloned ones; `voices()` lists them. Required; it must belong to the model. */
  readonly voiceId: string;
  /** Default: `simba-3.2`, which speaks English, for voices whose id ends in `_32`; else `simba-3.0`. */
  readonly model?: RhoTTSModel;
  /** Default: `mp3`; `pcm` for an output that cannot decode, such as a phone. All but `wav` stream. */
  readonly audioFormat?: RhoTTSFormat | 'auto';
  /** pcm: 8000 to 48000 Hz; wav: 24000 or 48000; mp3: 24000 or 22050; ulaw: 8000. Default: 24000, ulaw 8000. */
  readonly sampleRate?: number;
  /** Of mp3, in kbit/s: 32, 64, 96, 128 or 160. Default: 128. */
  readonly bitrate?: number;
  /** BCP 47, such as `en-US`. Default: automatic. */
  readonly language?: string;
  /** The emotion of plain text; SSML specifies its own. */
  readonly emotion?: RhoTTSEmotion;
  /** Percent, -83 to 100; for plain text. */
  readonly pitch?: number;
  /** A multiplier, 0.5 to 100; for plain text. Default: 1. */
  readonly speed?: number;
  /** Gain in dB; for plain text. */
  readonly volume?: number;
  /** Levels the volume, at some latency. */
  readonly loudnessNormalization?: boolean;
  /** Whether numbers and dates are spelled out, at some latency. */
  readonly textNormalization?: boolean;
  /** Whether to request word times; otherwise words are estimated. Default: true. */
  readonly wordTimings?: boolean;
  /** An opaque id of your user, for the vendor's safety team. */
  readonly safetyIdentifier?: string;
}

/** A format of {@link RhoTTS}, mono. */
export type RhoTTSFormat = 'mp3' | 'wav' | 'ogg' | 'aac' | 'pcm' | 'ulaw';

/** A format's properties. */
interface RhoFormat {
  readonly metadata: Omit<AudioMetadata, 'sampleRate' | 'channels'>;
  /** In Hz; the first is the default. */
  readonly sampleRates: readonly number[];
}

/** The formats of the service. */
const rhoFormats: Readonly<Record<RhoTTSFormat, RhoFormat>> = {
  mp3: { metadata: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' }, sampleRates: [24_000, 22_050] },
  wav: {
    metadata: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
    sampleRates: [24_000, 48_000],
  },
  ogg: { metadata: { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg' }, sampleRates: [24_000] },
  aac: { metadata: { encoding: 'aac', container: 'adts', mimeType: 'audio/aac' }, sampleRates: [24_000] },
  pcm: {
    metadata: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
    sampleRates: [24_000, 8_000, 16_000, 22_050, 44_100, 48_000],
  },
  ulaw: { metadata: { encoding: 'mulaw', bitDepth: 8, mimeType: 'audio/basic' }, sampleRates: [8_000] },
};

/** The newest version in which the service accepts all models. */
const version = { 'Speechify-Version': '2026-09-13' };

/** What the service's error names mean where there is no telling status, as in mid-stream. */
const errors: Readonly<Record<string, HttpErrorFacts>> = {
  model_retired: { code: 'not_found' },
  rate_limited: { code: 'rate_limited', recoverable: true },
  concurrency_limit_reached: { code: 'rate_limited', recoverable: true },
  content_policy_violation: { code: 'forbidden', recoverable: false },
  spend_cap_exceeded: { code: 'quota', recoverable: false },
};

function markOf(mark: WireObject): SpeechMark[] {
  const [text, startMs, endMs] = [asString(mark['value']), asNumber(mark['start_time']), asNumber(mark['end_time'])];
  if (!text?.trim() || (mark['type'] ?? 'word') !== 'word' || startMs === undefined || endMs === undefined) return [];
  return [{ text, startMs, endMs, start: asNumber(mark['start']), end: asNumber(mark['end']) }];
}

function modelOf({ model, voiceId }: RhoTTSConfig): string {
  return model ?? (voiceId.endsWith('_32') ? 'simba-3.2' : 'simba-3.0');
}

const isStreamed = ({ audioFormat }: RhoTTSConfig): boolean => audioFormat !== 'wav';

function formatOf({ audioFormat }: RhoTTSConfig): RhoFormat {
  return ownEntry(rhoFormats, audioFormat) ?? rhoFormats.mp3;
}

function rateOf(config: RhoTTSConfig): number {
  return config.sampleRate ?? formatOf(config).sampleRates[0] ?? 24_000;
}

function requestFor(text: string, config: RhoTTSConfig, isMarked: boolean): SpeechRequest {
  const { voiceId, audioFormat = 'mp3', bitrate = 128, language, sampleRate, safetyIdentifier } = config;
  const options = {
    loudness_normalization: config.loudnessNormalization,
    text_normalization: config.textNormalization,
  };
  const stream = isMarked ? '/v1/audio/stream/with-timestamps' : '/v1/audio/stream';
  const format = `${audioFormat}_${rateOf(config)}${audioFormat === 'mp3' ? `_${bitrate}` : ''}`;
  const accepted = isMarked ? 'text/event-stream' : formatOf(config).metadata.mimeType;
  return {
    path: isStreamed(config) ? stream : '/v1/audio/speech',
    headers: { ...version, Accept: isStreamed(config) ? accepted : undefined },
    json: {
      input: rhoInput(text, config),
      voice_id: voiceId,
      model: modelOf(config),
      ...(!isStreamed(config) && { audio_format: audioFormat }),
      output_format: isStreamed(config) || sampleRate !== undefined ? format : undefined,
      language,
      options: Object.values(options).some((value) => value !== undefined) ? options : undefined,
      safety_identifier: safetyIdentifier,
    },
  };
}

/** How far an answer was read. */
interface Reading {
  readonly marks: SpeechMarks;
  readonly isDone: boolean;
  readonly hasAudio: boolean;
}

/** Reads events, or one object; any other response is audio. */
function readAnswer(response: HttpResponse, context: RequestContext<RhoTTSConfig>): Observable<SynthesisEvent> {
  const { answers, error, refusal } = context;
  const type = mediaType(response.headers);
  if (type !== 'application/json' && type !== 'text/event-stream') return answers.audio(response);
  return answers.objects<Reading>(response, {
    start: { marks: undefined, isDone: false, hasAudio: false },
    read: (state, message) => {
      if (asObject(message['error']) ?? asString(message['error']))
        throw refusal(message, { headers: response.headers });
      const whole = asString(message['audio_data']);
      const isDone = state.isDone || whole !== undefined || message['type'] === 'speech.done';
      const data = decodeBase64(whole ?? asString(message['audio']) ?? '');
      if (!data) throw error('the audio is not base64', { code: 'protocol' });
      const told = asObject(message['speech_marks'])?.['chunks'] ?? message['speech_marks'];
      const [heard, ...words] = hearMarks(state.marks, asObjects(told).flatMap(markOf));
      const [marks, ...last] = isDone ? endMarks(heard) : [heard];
      return [
        { marks, isDone, hasAudio: state.hasAudio || data.length > 0 },
        ...(data.length > 0 ? [{ type: 'audio', data } as const] : []),
        ...[...words, ...last].map((word) => ({ type: 'word', ...word }) as const),
      ];
    },
    end: ({ isDone, hasAudio }) => {
      // Silence is not a part of an answer: it is asked for again once, not as often as what was lost on the way.
      if (isDone || !hasAudio) return [];
      throw error('the audio was cut off', { code: 'connection', recoverable: true });
    },
  });
}

/** The wire of one provider, which remembers models without word times. */
function wireOf(): RequestWire<RhoTTSConfig> {
  const unmarked = new Set<string>();
  const wire: RequestWire<RhoTTSConfig> = {
    name: 'RhoTTS',
    baseUrl: 'https://api.speechify.ai',
    authType: 'bearer',
    rules: (config) => ({
      voiceId: { required: true, type: 'text' },
      audioFormat: { oneOf: Object.keys(rhoFormats) },
      sampleRate: { oneOf: formatOf(config).sampleRates },
      bitrate: { known: [32, 64, 96, 128, 160] },
      emotion: { type: 'text' },
      pitch: { min: -83, max: 100 },
      speed: { min: 0.5, max: 100 },
      volume: { min: -100, max: 100 },
    }),
    retiring: rhoTTS,
    openFormat: () => ({ key: 'audioFormat', samples: 'pcm' }),
    format: (config) => ({ sampleRate: rateOf(config), channels: 1, ...formatOf(config).metadata }),
    normalizesText: ({ textNormalization = false }) => textNormalization,
    maxTextLength: (config) => (isStreamed(config) ? 20_000 : 2_000) - rhoDocument('', config).length,
    lengthOf: (character) => escapeXml(character).length,
    markupOf: (text) => (isSsml(text) ? ssml : undefined),
    concurrency: 1,
    request: (text, { config }) =>
      requestFor(text, config, (config.wordTimings ?? true) && !unmarked.has(modelOf(config))),
    read: readAnswer,
    errorOf: ({ reason }, config) => {
      if (reason !== 'speech_marks_unsupported') return ownEntry(errors, reason);
      // Asks again without them.
      unmarked.add(modelOf(config));
      return { recoverable: true, retryAfterMs: 0 };
    },
  };
  return wire;
}

/**
 * Speechify text-to-speech (Simba; `POST /v1/audio/stream/with-timestamps`, `POST /v1/audio/speech` for WAV),
 * `https://api.speechify.ai`, https://docs.speechify.ai
 *
 * Text starting with `<speak` is SSML; plain text is spoken with the configured emotion, pitch and speed. The free plan
 * allows one request at a time, hence the default of `concurrency`.
 */
export class RhoTTS extends RemoteTTS<RhoTTSConfig, RequestVoice> {
  constructor(config: RhoTTSConfig, logger?: Logger) {
    super(byRequests(wireOf()), config, logger);
  }

  /**
   * The voices that an account can use.
   *
   * @throws VoiceError when the provider is not initialized, when the request fails, and when `signal` aborts it.
   */
  voices({ signal, ...filter }: RhoTTSVoiceFilter & TTSCallOptions = {}): Promise<readonly TTSVoice[]> {
    return rhoVoices(
      (query) => this.speaker.fetchJson({ path: '/v1/voices', query, headers: version }, signal ? { signal } : {}),
      filter,
    );
  }
}

/** Speaking options of plain text, which the service accepts only as SSML. */
type Manner = Pick<RhoTTSConfig, 'emotion' | 'pitch' | 'speed' | 'volume'>;

/** The request's input. Plain text is escaped only if it is wrapped, or could be mistaken for SSML. */
function rhoInput(text: string, manner: Manner): string {
  if (isSsml(text) || /^\s*<\?xml/.test(text)) return text;
  const escaped = escapeXml(text);
  const document = rhoDocument(escaped, manner);
  return document === rhoDocument(escaped) && !/^\s*</.test(text) ? text : document;
}

/** An SSML document of escaped text. */
function rhoDocument(escaped: string, { emotion, pitch, speed, volume }: Manner = {}): string {
  const prosody = {
    pitch: signed(pitch, '%'),
    rate: speed === undefined ? undefined : signed(Math.round((speed - 1) * 100), '%'),
    volume: signed(volume, 'dB'),
  };
  const isSet = Object.values(prosody).some((value) => value !== undefined);
  const said = isSet ? xmlElement('prosody', prosody, escaped, '"') : escaped;
  return xmlElement('speak', {}, emotion ? xmlElement('speechify:style', { emotion }, said, '"') : said);
}

function signed(value: number | undefined, unit: string): string | undefined {
  return value === undefined ? undefined : `${value < 0 ? '' : '+'}${value}${unit}`;
}

/** A filter for `RhoTTS.voices()`; omitted keys match everything. */
export interface RhoTTSVoiceFilter {
  /** The vendor's, or the account's own. */
  readonly type?: 'shared' | 'personal';
  /** A tag's prefix, such as `en`. */
  readonly locale?: string;
  /** As the service says. */
  readonly gender?: 'male' | 'female' | 'not_specified';
  /** The model that they belong to. */
  readonly model?: RhoTTSModel;
}

/** The voices on all pages of the catalog. */
async function rhoVoices(
  fetchPage: (query: Query) => Promise<unknown>,
  filter: RhoTTSVoiceFilter,
  cursor?: string,
): Promise<TTSVoice[]> {
  const page = await fetchPage({ limit: 200, cursor, ...filter });
  const next = asObject(page)?.['has_more'] === true ? asString(asObject(page)?.['next_cursor']) : undefined;
  const more = next === undefined || next === cursor ? [] : await rhoVoices(fetchPage, filter, next);
  return [...voicesOf(page), ...more];
}

/** The voices on a page of the catalog; older versions return a bare list. */
function voicesOf(page: unknown): TTSVoice[] {
  return asObjects(Array.isArray(page) ? page : asObject(page)?.['voices']).flatMap(voiceOf);
}

function voiceOf(voice: WireObject): TTSVoice[] {
  const id = asString(voice['id']);
  if (id === undefined) return [];
  const models = asObjects(voice['models']);
  const spoken = models.flatMap(({ languages }) =>
    asObjects(languages).flatMap(({ locale }) => asString(locale) ?? []),
  );
  const gender = asString(voice['gender']);
  const previewUrl = asString(voice['preview_audio']);
  return [
    {
      id,
      name: asString(voice['display_name']) ?? id,
      languages: [...new Set([asString(voice['locale']) ?? [], spoken].flat())],
      models: models.flatMap(({ name }) => asString(name) ?? []),
      // Older versions write it as one word.
      ...(gender && { gender: gender === 'notSpecified' ? 'not_specified' : gender }),
      ...(previewUrl && { previewUrl }),
    },
  ];
}
