import type { Observable } from 'rxjs';
import { decodeBase64 } from '../../core/base64.ts';
import { asNumber, asObject, asObjects, asString, ownEntry, type WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { escapeXml, isSsml, ssml } from '../../text/ssml.ts';
import type { HttpErrorFacts } from '../../transport/http-error.ts';
import type { HttpResponse } from '../../transport/http.ts';
import { mediaType } from '../../transport/sse.ts';
import { RequestTTS } from './request-tts.ts';
import { readAudio, readObjects } from './requests/read-audio.ts';
import type { RequestContext, RequestWire, SpeechRequest } from './requests/request-wire.ts';
import type { RhoTTSConfig } from './rho-tts-config.ts';
import { rhoFormats, type RhoFormat } from './rho-tts-formats.ts';
import { rhoDocument, rhoInput } from './rho-tts-input.ts';
import { rhoVoices, type RhoTTSVoiceFilter } from './rho-tts-voices.ts';
import type { TTSVoice } from './tts-voice.ts';
import type { SynthesisEvent } from './utterance.ts';
import type { TTSCallOptions } from './voice-service.ts';
import { endMarks, hearMarks, type SpeechMark, type SpeechMarks } from './words/speech-marks.ts';

/** The newest version in which the service takes all models. */
const version = { 'Speechify-Version': '2026-09-13' };

/** Models that others speak for. */
const retired = { 'simba-english': 'simba-3.2', 'simba-multilingual': 'simba-3.0' };

/** What the service's words for an error mean where its status does not say, as in the middle of a stream. */
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
      ...{ input: rhoInput(text, config), voice_id: voiceId, model: modelOf(config) },
      ...(!isStreamed(config) && { audio_format: audioFormat }),
      output_format: isStreamed(config) || sampleRate !== undefined ? format : undefined,
      language,
      options: Object.values(options).some((value) => value !== undefined) ? options : undefined,
      safety_identifier: safetyIdentifier,
    },
  };
}

/** Events, or one object; an answer of another kind is audio. */
function readAnswer(response: HttpResponse, context: RequestContext<RhoTTSConfig>): Observable<SynthesisEvent> {
  const { error, refusal } = context;
  const type = mediaType(response.headers);
  if (type !== 'application/json' && type !== 'text/event-stream') return readAudio(response, context);
  return readObjects<{ readonly marks: SpeechMarks; readonly isDone: boolean }>(response, context, {
    start: { marks: undefined, isDone: false },
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
        { marks, isDone },
        ...(data.length > 0 ? [{ type: 'audio', data } as const] : []),
        ...[...words, ...last].map((word) => ({ type: 'word', ...word }) as const),
      ];
    },
    end: ({ isDone }) => {
      if (isDone) return [];
      throw error('the audio ends before its end', { code: 'connection', recoverable: true });
    },
  });
}

/** The wire of one provider, which learns which models mark no words. */
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
      bitrate: { oneOf: [32, 64, 96, 128, 160] },
      emotion: { type: 'text' },
      pitch: { min: -83, max: 100 },
      speed: { min: 0.5, max: 100 },
      volume: { min: -100, max: 100 },
    }),
    model: ({ model }) => model,
    retired,
    format: (config) => ({ sampleRate: rateOf(config), channels: 1, ...formatOf(config).metadata }),
    maxTextLength: (config) => (isStreamed(config) ? 20_000 : 2_000) - rhoDocument('', config).length,
    lengthOf: (character) => escapeXml(character).length,
    markupOf: (text) => (isSsml(text) ? ssml : undefined),
    concurrency: 1,
    request: (text, { config }) =>
      requestFor(text, config, (config.wordTimings ?? true) && !unmarked.has(modelOf(config))),
    read: readAnswer,
    errorOf: ({ reason }, config) => {
      if (reason !== 'speech_marks_unsupported') return ownEntry(errors, reason);
      // It is asked again without them.
      unmarked.add(modelOf(config));
      return { recoverable: true, retryAfterMs: 0 };
    },
  };
  return wire;
}

/**
 * RhoTTS: Speechify text-to-speech (Simba; `POST /v1/audio/stream/with-timestamps`, `POST /v1/audio/speech` for WAV),
 * `https://api.speechify.ai`, https://docs.speechify.ai
 *
 * Text that begins with `<speak` is SSML; plain text is spoken with the configured emotion, pitch and speed. The free
 * plan has one request at a time, so that is the default of `concurrency`.
 */
export class RhoTTS extends RequestTTS<RhoTTSConfig> {
  constructor(config: RhoTTSConfig, logger?: Logger) {
    super(wireOf(), config, logger);
  }

  /**
   * The voices that an account can use.
   *
   * @throws VoiceError when the provider is not initialized, when the request fails, and when `signal` aborts it.
   */
  voices({ signal, ...filter }: RhoTTSVoiceFilter & TTSCallOptions = {}): Promise<readonly TTSVoice[]> {
    return rhoVoices(
      (query) => this.fetchJson({ path: '/v1/voices', query, headers: version }, signal ? { signal } : {}),
      filter,
    );
  }
}
