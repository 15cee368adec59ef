import type { HttpRequest } from '../call.ts';
import type { Environment } from '../environment.ts';
import { compressed } from '../fixtures.ts';
import { durationMs, encodeText } from '../modem.ts';
import { wavFile, writeSamples } from '../pcm.ts';
import { sendAudio, wordsOf } from '../talker.ts';
import { boolean, checkQuery, filled, oneOf, query as rule, required, shape, textMember } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { HttpRoute, Vendor } from '../vendor.ts';
import { parseXml, spokenOf } from '../xml.ts';
import { authorizeBearer } from './chat-completions.ts';

const codes: Readonly<Record<number, string>> = {
  400: 'validation_failed',
  401: 'unauthorized',
  402: 'payment_required',
  403: 'forbidden',
  404: 'not_found',
  429: 'rate_limited',
  503: 'service_unavailable',
};

function refuse(status: number, why: string, code = codes[status] ?? 'internal_error'): Refusal {
  const headers: Record<string, string> = status === 429 ? { 'retry-after': '1' } : {};
  return new Refusal(status, { error: { code, message: why }, request_id: crypto.randomUUID() }, why, headers);
}
const invalid = (why: string): Refusal => refuse(400, why);

const models = ['simba-english', 'simba-multilingual', 'simba-3.0', 'simba-3.2'];
/** Whose models are known. */
const voices: Readonly<Record<string, readonly string[]>> = {
  geffen_32: ['simba-3.2'],
  george: ['simba-3.0', 'simba-english', 'simba-multilingual'],
  lisa: ['simba-3.0'],
};
const bitrates = '(32|64|96|128|160|192)';
const outputs = new RegExp(
  `^(pcm_(8000|16000|22050|24000|44100|48000)|mp3_(22050|24000)_${bitrates}|wav_(24000|48000)|ulaw_8000|ogg_24000|aac_24000)$`,
);

const common = {
  input: required(filled),
  voice_id: required(filled),
  model: required(oneOf(...models)),
  output_format: (value: unknown): string | undefined =>
    typeof value === 'string' && outputs.test(value) ? undefined : `unknown output_format ${String(value)}`,
  language: filled,
  options: shape({ loudness_normalization: boolean, text_normalization: boolean }),
  safety_identifier: filled,
};
const whole = shape({ ...common, audio_format: required(oneOf('wav', 'mp3', 'ogg', 'aac', 'pcm')) });
const streamed = shape(common);

const types: Readonly<Record<string, (rate: number) => string>> = {
  pcm: (rate) => `audio/L16;rate=${rate};channels=1`,
  ulaw: () => 'audio/basic',
  mp3: () => 'audio/mpeg',
  ogg: () => 'audio/ogg',
  aac: () => 'audio/aac',
  wav: () => 'audio/wav',
};

/** What is said of an input: of a document, what is between its tags. */
function saidOf(input: string): string {
  if (!/^\s*</.test(input)) return input;
  try {
    const document = parseXml(input);
    if (document.name === 'speak') return spokenOf(document);
  } catch (error) {
    throw invalid(`input begins like SSML: ${String(error)}`);
  }
  throw invalid('input begins like SSML, but is no <speak>');
}

async function encode(format: string, samples: Int16Array, rate: number): Promise<Uint8Array<ArrayBuffer>> {
  if (format === 'wav') return wavFile(samples, rate);
  if (format === 'pcm' || format === 'ulaw') return writeSamples(samples, format === 'pcm' ? 'linear16' : 'mulaw');
  return compressed(format === 'ogg' ? 'opus' : format, samples, rate);
}

/** Words of a stretch of the text; what a hyphen joins is marked apart. */
function marksOf(text: string, startMs: number, endMs: number): object[] {
  return wordsOf({ text, startMs, endMs }).flatMap(({ word, startMs: wordMs }) => {
    const before = text.slice(0, charactersUntil(text, wordMs)).length;
    return [...word.matchAll(/-|[^-]+/g)].map(({ 0: value, index }) => {
      const at = wordMs + durationMs(word.slice(0, index));
      const start = before + index;
      return {
        type: 'word',
        value,
        start,
        end: start + value.length,
        start_time: at,
        end_time: at + durationMs(value),
      };
    });
  });
}

/** How many code units of a text have sounded at a time. */
function charactersUntil(text: string, ms: number): number {
  let length = 0;
  for (const character of text) {
    if (durationMs(text.slice(0, length)) >= ms) break;
    length += character.length;
  }
  return length;
}

const running = new WeakMap<Environment, number>();

async function speak(
  request: HttpRequest,
  environment: Environment,
  route: 'speech' | 'stream' | 'marks',
): Promise<void> {
  if (!(request.headers['content-type'] ?? '').startsWith('application/json'))
    throw invalid('Content-Type must be application/json');
  // Older clients name none; which one they get, the vendor does not say.
  if ((request.headers['speechify-version'] ?? '2026-09-13') !== '2026-09-13')
    throw refuse(400, 'this sandbox speaks version 2026-09-13', 'invalid_api_version');
  const body = request.json(invalid);
  const wrong = (route === 'speech' ? whole : streamed)(body, '');
  if (wrong) throw invalid(wrong);
  const [model, voice, input] = ['model', 'voice_id', 'input'].map((name) => textMember(body, name));
  const known = voices[voice ?? ''];
  if (!known) throw refuse(404, 'Voice not found', 'voice_not_found');
  if (!known.includes(model ?? '')) throw invalid(`voice ${voice ?? ''} is not for ${model ?? ''}`);
  if (model === 'simba-3.2' && !/^(en|$)/.test(textMember(body, 'language'))) throw invalid('simba-3.2 speaks English');
  const output = textMember(body, 'output_format');
  if (route !== 'speech' && (!output || output.startsWith('wav')))
    throw invalid('a stream needs an output_format, and not wav');
  if ((input ?? '').length > (route === 'speech' ? 2_000 : 20_000)) throw invalid('input is too long');
  const text = saidOf(input ?? '');

  const inFlight = running.get(environment) ?? 0;
  if (inFlight >= environment.limits.rhoConcurrency)
    throw refuse(429, 'Too many concurrent requests', 'concurrency_limit_reached');
  running.set(environment, inFlight + 1);
  try {
    const [format = '', rate = '24000'] = (output || textMember(body, 'audio_format')).split('_');
    await answer(request, environment, { route, text, format, rate: Number(rate), output: output || undefined });
  } finally {
    running.set(environment, (running.get(environment) ?? 1) - 1);
  }
}

interface Speech {
  readonly route: 'speech' | 'stream' | 'marks';
  readonly text: string;
  readonly format: string;
  readonly rate: number;
  readonly output: string | undefined;
}

async function answer(
  request: HttpRequest,
  { timers, realtimeFactor }: Environment,
  { route, text, format, rate, output }: Speech,
): Promise<void> {
  const samples = encodeText(text, rate);
  const audio = await encode(format, samples, rate);
  const characters = { billable_characters_count: text.length };
  if (route === 'speech') {
    await timers.sleep(realtimeFactor > 0 ? durationMs(text) / realtimeFactor : 0);
    const chunks = marksOf(text, 0, Infinity);
    const marks = {
      type: 'sentence',
      value: text,
      start: 0,
      end: text.length,
      start_time: 0,
      end_time: durationMs(text),
    };
    request.send(200, {
      ...{ audio_data: Buffer.from(audio).toString('base64'), audio_format: format, output_format: output },
      ...{ ...characters, speech_marks: { ...marks, chunks } },
    });
    return;
  }
  const contentType = types[format]?.(rate) ?? '';
  let atMs = 0;
  await sendAudio(request, audio, {
    ...{ timers, realtimeFactor, contentType, bytesPerSecond: (audio.length / samples.length) * rate },
    headers: {
      'x-request-id': `req_${crypto.randomUUID()}`,
      ...(route === 'marks' && { 'speechify-audio-content-type': contentType }),
    },
    ...(route === 'marks' && {
      eventName: 'speech.chunk',
      event: (base64: string): unknown => {
        const speech_marks = marksOf(text, atMs, (atMs += 200));
        return { type: 'speech.chunk', audio: base64, ...(speech_marks.length > 0 && { speech_marks }) };
      },
      lastEventName: 'speech.done',
      lastEvent: { type: 'speech.done', ...characters, audio_duration_ms: durationMs(text) },
    }),
  });
}

function list(request: HttpRequest): void {
  const wrong = checkQuery(request.query, {
    ...{ cursor: rule.filled, limit: rule.integer(1, 200), type: rule.oneOf('personal', 'shared') },
    ...{ locale: rule.filled, gender: rule.filled, model: rule.oneOf(...models) },
  });
  if (wrong) throw invalid(wrong);
  const model = request.query.get('model');
  const listed = Object.entries(voices).filter(([, known]) => model === null || known.includes(model));
  const page = listed.map(([id, names]) => ({
    ...{ id, display_name: id.charAt(0).toUpperCase() + id.slice(1), type: 'shared', gender: 'female' },
    locale: 'en-US',
    models: names.map((name) => ({ name, languages: [{ locale: 'en-US', preview_audio: null }] })),
    ...{ avatar_image: null, preview_audio: null, tags: [] },
  }));
  // Older clients, which name no version, know the bare list only.
  const isOld = request.headers['speechify-version'] === undefined;
  request.send(200, isOld ? page : { voices: page, next_cursor: null, has_more: false });
}

const route = (path: string, kind: Speech['route']): HttpRoute => ({
  ...{ service: 'rho-tts', method: 'POST', path },
  handle: (request, environment) => speak(request, environment, kind),
  ...(kind === 'marks' && {
    midStreamError:
      'event: speech.error\ndata: {"type":"speech.error","error":{"code":"upstream_failure","message":"failed"},"request_id":"req_1"}\n\n',
  }),
});

/** Speechify: `https://api.speechify.ai/v1/…`. */
export const rho: Vendor = {
  mount: 'rho',
  refuse,
  authorize: authorizeBearer((why) => refuse(401, why)),
  routes: [
    route('/v1/audio/speech', 'speech'),
    route('/v1/audio/stream', 'stream'),
    route('/v1/audio/stream/with-timestamps', 'marks'),
    { service: 'rho-tts', method: 'GET', path: '/v1/voices', handle: list },
  ],
};
