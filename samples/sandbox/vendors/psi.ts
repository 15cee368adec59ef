import type { HttpRequest } from '../call.ts';
import type { Environment } from '../environment.ts';
import { compressed } from '../fixtures.ts';
import { characterMs, encodeText } from '../modem.ts';
import { concatBytes, wavHeader, writeSamples } from '../pcm.ts';
import { sendAudio } from '../talker.ts';
import {
  anyOf,
  arrayOf,
  boolean,
  filled,
  integer,
  member,
  nothing,
  number,
  oneOf,
  required,
  shape,
  string,
  textMember,
} from '../validate.ts';
import type { Check } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';
import { authorizeBearer } from './chat-completions.ts';

const messages: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Invalid Token',
  402: 'Insufficient Balance',
  403: 'Forbidden',
  404: 'Not Found',
  429: 'Too many requests',
  503: 'Service Unavailable',
};
const refuse = (status: number, why: string, message?: string): Refusal =>
  new Refusal(status, { message: message ?? messages[status] ?? 'Internal Server Error', status, reason: null }, why);
const invalid = (why: string): Refusal => refuse(400, why, why);

const rates: Readonly<Record<string, readonly number[]>> = {
  wav: [8000, 16000, 24000, 32000, 44100],
  pcm: [8000, 16000, 24000, 32000, 44100],
  mp3: [32000, 44100],
  opus: [48000],
};
const mediaTypes: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
  opus: 'audio/ogg',
};
const binary: Check = (value, path) =>
  value instanceof Uint8Array && value.length > 0 ? undefined : `${path} must be binary`;
const reference = shape({ audio: required(binary), text: required(string) });

const speech = shape({
  text: required(filled),
  reference_id: anyOf(nothing, filled, arrayOf(filled, 1)),
  references: arrayOf(anyOf(reference, arrayOf(reference))),
  format: oneOf('mp3', 'wav', 'pcm', 'opus'),
  sample_rate: anyOf(nothing, integer(8000, 48000)),
  mp3_bitrate: oneOf(64, 128, 192),
  opus_bitrate: oneOf(-1000, 24000, 32000, 48000, 64000),
  latency: oneOf('normal', 'balanced', 'low'),
  normalize: boolean,
  prosody: anyOf(nothing, shape({ speed: number(0.5, 2), volume: number(), normalize_loudness: boolean })),
  chunk_length: integer(100, 300),
  min_chunk_length: integer(0, 100),
  temperature: number(0, 1),
  top_p: number(0, 1),
  repetition_penalty: number(),
  max_new_tokens: integer(1),
  condition_on_previous_chunks: boolean,
  early_stop_threshold: number(0, 1),
  features: arrayOf(string),
});
const running = new WeakMap<Environment, number>();

async function parse(request: HttpRequest): Promise<unknown> {
  const type = (request.headers['content-type'] ?? '').split(';')[0];
  if (type === 'application/json')
    return request.json((why) => new Refusal(400, 'Failed to parse the request body', why));
  if (type !== 'application/msgpack')
    throw refuse(415, `Content-Type cannot be ${type ?? 'absent'}`, 'Unsupported Media Type');
  // A client that sends MessagePack has the package installed.
  const { decode } = await import('@msgpack/msgpack');
  try {
    return decode(request.body);
  } catch (error) {
    throw new Refusal(400, 'Failed to parse the request body as MessagePack', `not MessagePack: ${String(error)}`);
  }
}

async function handle(request: HttpRequest, environment: Environment, timed: boolean): Promise<void> {
  const { timers, realtimeFactor, limits } = environment;
  const body = await parse(request);
  const wrong = speech(body, '');
  if (wrong) throw invalid(wrong);
  if (member(body, 'reference_id') === 'no-such-voice') throw refuse(404, 'unknown voice', 'Reference not found');
  const format = textMember(body, 'format') || 'mp3';
  const rate = Number(member(body, 'sample_rate') ?? (format === 'opus' ? 48000 : 44100));
  if (!rates[format]?.includes(rate)) throw invalid(`sample_rate ${rate} is not for ${format}`);
  if (request.headers['model'] === undefined) request.log('no model header: billed as s2.1-pro');
  const inFlight = running.get(environment) ?? 0;
  if (inFlight >= limits.psiConcurrency)
    throw refuse(429, `${inFlight} requests in flight, ${limits.psiConcurrency} allowed`);
  running.set(environment, inFlight + 1);
  try {
    const text = textMember(body, 'text');
    const samples = encodeText(text, rate);
    const pcm = writeSamples(samples, 'linear16');
    const audio =
      format === 'pcm'
        ? pcm
        : format === 'wav'
          ? concatBytes([wavHeader(rate), pcm])
          : await compressed(format, samples, rate);
    await sendAudio(request, audio, {
      ...{ timers, realtimeFactor, contentType: mediaTypes[format] ?? '' },
      ...{ bytesPerSecond: (audio.length / samples.length) * rate, whole: timed },
      ...(timed ? { event: (base64: string): unknown => aligned(base64, text, samples.length / rate) } : {}),
    });
  } finally {
    running.set(environment, (running.get(environment) ?? 1) - 1);
  }
}

function aligned(base64: string, text: string, duration: number): unknown {
  const encoder = new TextEncoder();
  const seconds = (part: string): number => (encoder.encode(part).length * characterMs) / 1000;
  const segments = [...text.matchAll(/\S+/g)].map((word) => {
    const start = seconds(text.slice(0, word.index));
    return { text: word[0], start, end: start + seconds(word[0]) };
  });
  const alignment = { audio_duration: duration, segments };
  return { audio_base64: base64, content: text, chunk_seq: 0, chunk_audio_offset_sec: 0, alignment };
}

const author = { _id: 'a1', nickname: 'sandbox' };
const model = {
  ...{
    _id: '933563129e564b19a115bedd57b7406a',
    type: 'tts',
    title: 'Modem',
    description: '',
    state: 'trained',
    tags: [],
  },
  ...{ languages: ['en'], visibility: 'public', samples: [], author },
};

/** Fish Audio: `https://api.fish.audio/v1/tts`. */
export const psi: Vendor = {
  mount: 'psi',
  refuse,
  authorize: authorizeBearer((why) => refuse(401, why)),
  routes: [
    { service: 'psi-tts', method: 'POST', path: '/v1/tts', handle: (request, at) => handle(request, at, false) },
    {
      service: 'psi-tts',
      method: 'POST',
      path: '/v1/tts/stream/with-timestamp',
      handle: (request, at) => handle(request, at, true),
    },
    {
      service: 'psi-tts',
      method: 'GET',
      path: '/model',
      handle: (request) => request.send(200, { total: 1, items: [model], has_more: false }),
    },
  ],
};
