import type { HttpRequest } from '../call.ts';
import type { Environment } from '../environment.ts';
import { compressed } from '../fixtures.ts';
import { encodeText } from '../modem.ts';
import { wavFile, writeSamples } from '../pcm.ts';
import { sendAudio } from '../talker.ts';
import { arrayOf, boolean, filled, member, number, oneOf, required, shape, string, textMember } from '../validate.ts';
import type { Check } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { HttpRoute, Vendor } from '../vendor.ts';
import { authorizeBearer } from './chat-completions.ts';

const errors: Readonly<Record<number, readonly [error: string, message: string]>> = {
  400: ['InvalidRequest', 'Invalid request.'],
  401: ['Unauthorized', 'Bearer token is missing or invalid.'],
  403: ['Forbidden', 'Access denied.'],
  404: ['NotFound', 'Not found.'],
  429: ['TooManyRequests', 'Concurrency limit exceeded'],
};

function refuse(status: number, why: string, message?: string): Refusal {
  const [error, usual] = errors[status] ?? ['InternalServerError', 'Internal server error.'];
  return new Refusal(status, { error, message: message ?? usual }, why);
}
const invalid = (why: string): Refusal => refuse(400, why, why);

const id: Check = (value, path) =>
  typeof value === 'string' && /^[A-Za-z0-9_.-]{1,128}$/.test(value)
    ? undefined
    : `${path} must match [A-Za-z0-9_.-]{1,128}`;
const languages = 'auto en hi mr kn ta bn gu te ml pa or es de fr it nl sv pt ru pl'.split(' ');
const proLanguages = [...languages, ...'el fi no ar zh id ja ko ms tr vi'.split(' ')];

const speech = shape({
  text: required(filled),
  voice_id: required(filled),
  model: oneOf('lightning_v3.1', 'lightning_v3.1_pro'),
  output_format: oneOf('pcm', 'wav', 'mp3', 'ulaw', 'alaw'),
  sample_rate: oneOf(8000, 16000, 24000, 44100),
  speed: number(0.5, 2),
  language: oneOf(...proLanguages),
  number_pronunciation_language: oneOf(...proLanguages),
  math_notation: boolean,
  pronunciation_dicts: arrayOf(string),
  session_id: id,
  request_id: id,
  word_timestamps: boolean,
});

/** Whose voices are known to belong to one pool only. */
const pools: Readonly<Record<string, string>> = {
  meher: 'lightning_v3.1_pro',
  kaitlyn: 'lightning_v3.1_pro',
  magnus: 'lightning_v3.1',
  sophia: 'lightning_v3.1',
  jordan: 'lightning_v3.1',
};
const running = new WeakMap<Environment, number>();

async function handle(request: HttpRequest, environment: Environment, live: boolean): Promise<void> {
  const { timers, realtimeFactor, limits } = environment;
  if (!live && request.headers['accept'] !== 'audio/wav') throw invalid('Accept must be audio/wav');
  if (!(request.headers['content-type'] ?? '').startsWith('application/json'))
    throw invalid('Content-Type must be application/json');
  const body = request.json(invalid);
  if (!textMember(body, 'text')) throw invalid("The 'text' field is required.");
  const wrong = speech(body, '');
  if (wrong) throw invalid(wrong);
  const model = textMember(body, 'model') || 'lightning_v3.1';
  const language = textMember(body, 'language');
  if (language && !model.endsWith('_pro') && !languages.includes(language))
    throw invalid(`language ${language} is not for ${model}`);
  const inFlight = running.get(environment) ?? 0;
  if (inFlight >= limits.upsilonConcurrency)
    throw refuse(429, `${inFlight} request(s) in flight, ${limits.upsilonConcurrency} allowed`);
  running.set(environment, inFlight + 1);
  try {
    const format = textMember(body, 'output_format') || 'pcm';
    const rate = Number(member(body, 'sample_rate') ?? 44100);
    const pool = pools[textMember(body, 'voice_id')] ?? model;
    // A voice of the other pool is not refused: what it says is not what it was given.
    const samples = encodeText(
      pool === model ? textMember(body, 'text') : 'hallucinated audio of a voice of the other pool',
      rate,
    );
    const audio = await encode(format, samples, rate);
    const session = { 'X-Session-Id': crypto.randomUUID(), 'X-Request-Id': crypto.randomUUID() };
    const echoed = {
      ...(textMember(body, 'session_id') ? { 'X-External-Session-Id': textMember(body, 'session_id') } : {}),
      ...(textMember(body, 'request_id') ? { 'X-External-Request-Id': textMember(body, 'request_id') } : {}),
    };
    await sendAudio(request, audio, {
      ...{ timers, realtimeFactor, contentType: 'audio/wav', headers: { ...session, ...echoed } },
      bytesPerSecond: (audio.length / samples.length) * rate,
      ...(live
        ? { eventName: 'audio', event: (base64: string): unknown => ({ audio: base64, done: false, status: '206' }) }
        : {}),
      ...(live ? { lastEvent: { status: '200', done: true } } : {}),
    });
  } finally {
    running.set(environment, (running.get(environment) ?? 1) - 1);
  }
}

async function encode(format: string, samples: Int16Array, rate: number): Promise<Uint8Array<ArrayBuffer>> {
  if (format === 'wav') return wavFile(samples, rate);
  if (format === 'mp3') return compressed('mp3', samples, rate);
  return writeSamples(samples, format === 'ulaw' ? 'mulaw' : format === 'alaw' ? 'alaw' : 'linear16');
}

const voice = (name: string): Record<string, unknown> => ({
  voiceId: name,
  displayName: name.charAt(0).toUpperCase() + name.slice(1),
  tags: {
    language: ['english'],
    accent: 'american',
    gender: 'female',
    age: 'young',
    emotions: [],
    usecases: ['conversational'],
  },
});
const list = (path: string): HttpRoute => ({
  ...{ service: 'upsilon-tts', method: 'GET', path },
  handle: (request) => request.send(200, { voices: Object.keys(pools).map(voice) }),
});

/** Smallest.ai Waves: `https://api.smallest.ai/waves/v1/tts`. */
export const upsilon: Vendor = {
  mount: 'upsilon',
  refuse,
  authorize: authorizeBearer((why) => refuse(401, why)),
  routes: [
    {
      service: 'upsilon-tts',
      method: 'POST',
      path: '/waves/v1/tts',
      handle: (request, at) => handle(request, at, false),
    },
    {
      service: 'upsilon-tts',
      method: 'POST',
      path: '/waves/v1/tts/live',
      handle: (request, at) => handle(request, at, true),
    },
    list('/waves/v1/lightning-v3.1/get_voices'),
    list('/waves/v1/voice/get-all-models'),
  ],
};
