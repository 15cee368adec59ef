import type { Observable } from 'rxjs';
import { decodeBase64 } from '../../core/base64.ts';
import { asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { isSsml, ssml } from '../../text/ssml.ts';
import { escapeXml } from '../../text/xml.ts';
import type { HttpErrorFacts } from '../../transport/http-error.ts';
import type { HttpResponse } from '../../transport/http.ts';
import { mediaType } from '../../transport/media-type.ts';
import type { RequestContext, RequestDialect, SpeechRequest } from './requests/request-wire.ts';
import type { RhoFacts, RhoTTSConfig, RhoTTSVoiceFilter } from './rho-tts.ts';
import type { TTSVoice } from './tts-voice.ts';
import type { SynthesisEvent } from './utterance.ts';
import { endMarks, hearMarks, type SpeechMark, type SpeechMarks } from './words/speech-marks.ts';

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

function modelOf({ model, voiceId }: RhoTTSConfig): string {
  return model ?? (voiceId.endsWith('_32') ? 'simba-3.2' : 'simba-3.0');
}

function markOf(mark: WireObject): SpeechMark[] {
  const [text, startMs, endMs] = [asString(mark['value']), asNumber(mark['start_time']), asNumber(mark['end_time'])];
  if (!text?.trim() || (mark['type'] ?? 'word') !== 'word' || startMs === undefined || endMs === undefined) return [];
  return [{ text, startMs, endMs, start: asNumber(mark['start']), end: asNumber(mark['end']) }];
}

function requestFor(
  text: string,
  { config, format: { sampleRate: rate, mimeType } }: RequestContext<RhoTTSConfig>,
  { isStreamed, documentOf }: RhoFacts,
  isMarked: boolean,
): SpeechRequest {
  const { voiceId, audioFormat = 'mp3', bitrate = 128, language, sampleRate, safetyIdentifier } = config;
  const options = {
    loudness_normalization: config.loudnessNormalization,
    text_normalization: config.textNormalization,
  };
  const stream = isMarked ? '/v1/audio/stream/with-timestamps' : '/v1/audio/stream';
  const format = `${audioFormat}_${rate}${audioFormat === 'mp3' ? `_${bitrate}` : ''}`;
  const accepted = isMarked ? 'text/event-stream' : mimeType;
  return {
    path: isStreamed(config) ? stream : '/v1/audio/speech',
    headers: { ...version, Accept: isStreamed(config) ? accepted : undefined },
    json: {
      input: inputOf(text, config, documentOf),
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

/** The request's input. Plain text is escaped only if it is wrapped, or could be mistaken for SSML. */
function inputOf(text: string, manner: RhoTTSConfig, documentOf: RhoFacts['documentOf']): string {
  if (isSsml(text) || /^\s*<\?xml/.test(text)) return text;
  const escaped = escapeXml(text);
  const document = documentOf(escaped, manner);
  return document === documentOf(escaped) && !/^\s*</.test(text) ? text : document;
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

/** How Speechify is spoken with by one provider, which remembers models without word times. */
export function rhoDialect(facts: RhoFacts): RequestDialect<RhoTTSConfig> {
  const unmarked = new Set<string>();
  return {
    lengthOf: (character) => escapeXml(character).length,
    markupOf: (text) => (isSsml(text) ? ssml : undefined),
    concurrency: 1,
    request: (text, context) => {
      const { wordTimings = true } = context.config;
      return requestFor(text, context, facts, wordTimings && !unmarked.has(modelOf(context.config)));
    },
    read: readAnswer,
    errorOf: ({ reason }, config) => {
      if (reason !== 'speech_marks_unsupported') return ownEntry(errors, reason);
      // Asks again without them.
      unmarked.add(modelOf(config));
      return { recoverable: true, retryAfterMs: 0 };
    },
  } satisfies RequestDialect<RhoTTSConfig>;
}

/** The voices on all pages of the catalog. */
export async function rhoVoices(
  fetch: (request: SpeechRequest) => Promise<unknown>,
  filter: RhoTTSVoiceFilter,
  cursor?: string,
): Promise<TTSVoice[]> {
  const page = await fetch({ path: '/v1/voices', query: { limit: 200, cursor, ...filter }, headers: version });
  const next = asObject(page)?.['has_more'] === true ? asString(asObject(page)?.['next_cursor']) : undefined;
  const more = next === undefined || next === cursor ? [] : await rhoVoices(fetch, filter, next);
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
