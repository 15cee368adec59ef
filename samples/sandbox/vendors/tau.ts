import type { Call, HttpRequest } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import { compressed } from '../fixtures.ts';
import { charactersOf, sendAudio } from '../talker.ts';
import { durationMs, encodeText } from '../modem.ts';
import { g711File, wavFile, writeSamples } from '../pcm.ts';
import { boolean, checkQuery, filled, member, number, oneOf, query as rule, required } from '../validate.ts';
import { shape, textMember } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { HttpRoute, Vendor } from '../vendor.ts';

const kinds: Readonly<Record<number, readonly [type: string, message: string]>> = {
  400: ['invalid_request_error', 'Invalid request'],
  401: ['authentication_error', 'Invalid API key'],
  402: ['payment_required_error', 'Quota used up'],
  403: ['permission_error', 'Not permitted'],
  404: ['not_found_error', 'Not found'],
  429: ['rate_limit_error', 'Too many requests'],
};

function refuse(status: number, why: string, said?: string): Refusal {
  const [type, message] = kinds[status] ?? ['internal_server_error', 'Internal error'];
  const request_id = crypto.randomUUID();
  const body = { type: 'error', error: { type, message: said ?? message }, request_id };
  return new Refusal(status, body, why, { 'request-id': request_id });
}
const invalid = (why: string): Refusal => refuse(400, why, why);

function authorize({ headers }: Call, credentials: Credentials): void {
  if (headers['authorization'] !== undefined) throw refuse(401, 'Authorization is not a header of this API');
  if (!credentials.isKey(headers['x-api-key'])) throw refuse(401, 'X-API-Key is wrong or absent');
}

const languages = 'auto ar as bn cs da de en es fi fr hi id it ja ko ml mr nl pl pt ru sk sv ta te th tr uk ur vi zh';
const common = {
  text: required(filled),
  voice: required(filled),
  model: oneOf('blizzard'),
  format: oneOf('mp3', 'wav', 'aac', 'ulaw', 'webm', 'pcm_s16le', 'pcm_f32le'),
  language: oneOf(...languages.split(' ')),
  sample_rate: oneOf(8000, 16000, 24000),
  ...{ temperature: number(0.0001, 5), top_p: number(0, 1), debug: boolean },
};
const bytes = shape(common);
const whole = shape({ ...common, return_timestamps: boolean });

const voices = ['leah', 'brandon', 'lily'];
const types: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  aac: 'audio/aac',
  ulaw: 'audio/wav',
  webm: 'audio/webm',
};

async function encode(format: string, samples: Int16Array, rate: number): Promise<Uint8Array<ArrayBuffer>> {
  if (format === 'wav') return wavFile(samples, rate);
  if (format === 'ulaw') return withoutSizes(g711File(samples, rate, 'mulaw'));
  if (format.startsWith('pcm')) return writeSamples(samples, format === 'pcm_f32le' ? 'linear32' : 'linear16');
  return compressed(format, samples, rate);
}

/** A file that is sent while it is made cannot tell how long it will be. */
function withoutSizes(file: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const view = new DataView(file.buffer);
  view.setUint32(4, 0xffffffff, true);
  view.setUint32(54, 0xffffffff, true);
  return file;
}

/** Words, and what stands between them. */
function timestampsOf(text: string): object[] {
  const all = charactersOf({ text, startMs: 0, endMs: Infinity });
  const pieces = [...text.matchAll(/\s+|[\p{L}\p{N}']+|[^\s\p{L}\p{N}']+/gu)];
  let at = 0;
  return pieces.map(([piece]) => {
    const first = all[at];
    at += [...piece].length;
    const last = all[at - 1];
    const start = (first?.startMs ?? 0) / 1000;
    return { text: piece, start, duration: (last?.endMs ?? 0) / 1000 - start };
  });
}

async function speak(request: HttpRequest, environment: Environment, isWhole: boolean): Promise<void> {
  const { timers, realtimeFactor } = environment;
  if (!(request.headers['content-type'] ?? '').startsWith('application/json'))
    throw invalid('Content-Type must be application/json');
  if (request.headers['lmnt-version'] !== '1.1') throw invalid('the sandbox speaks lmnt-version 1.1');
  const body = request.json(invalid);
  const wrong = (isWhole ? whole : bytes)(body, '');
  if (wrong) throw invalid(wrong);
  if (!voices.includes(textMember(body, 'voice'))) throw refuse(404, 'unknown voice', 'Voice not found');
  const text = textMember(body, 'text');
  if (text.length > 5000) throw invalid('text is longer than 5000 characters');
  const format = textMember(body, 'format') || 'mp3';
  const rate = Number(member(body, 'sample_rate') ?? (format === 'ulaw' ? 8000 : 24000));
  const samples = encodeText(text, rate);
  const audio = await encode(format, samples, rate);
  const headers = { 'request-id': crypto.randomUUID() };
  if (isWhole) {
    await timers.sleep(realtimeFactor > 0 ? durationMs(text) / realtimeFactor : 0);
    const timestamps = member(body, 'return_timestamps') === true ? timestampsOf(text) : undefined;
    request.send(200, { audio: Buffer.from(audio).toString('base64'), timestamps }, headers);
    return;
  }
  await sendAudio(request, audio, {
    ...{ timers, realtimeFactor, headers, contentType: types[format] ?? 'application/octet-stream' },
    ...{ bytesPerSecond: (audio.length / samples.length) * rate, whole: format === 'wav' || format === 'aac' },
  });
}

function list(request: HttpRequest): void {
  const wrong = checkQuery(request.query, { owner: rule.oneOf('system', 'me', 'all'), starred: rule.boolean });
  if (wrong) throw invalid(wrong);
  const mine = { id: 'mine', name: 'Mine', owner: 'me', state: 'training', type: 'instant', starred: true };
  const theirs = voices.map((id) => ({
    ...{ id, name: id.charAt(0).toUpperCase() + id.slice(1), owner: 'system', state: 'ready', type: 'instant' },
    ...{ gender: 'female', description: null, starred: false, tags: [], preview_url: `https://example.com/${id}.mp3` },
  }));
  const owner = request.query.get('owner') ?? 'all';
  const listed = [...theirs, mine].filter((voice) => owner === 'all' || voice.owner === owner);
  request.send(
    200,
    listed.filter(({ starred }) => starred || request.query.get('starred') !== 'true'),
    { 'request-id': crypto.randomUUID() },
  );
}

const route = (path: string, isWhole: boolean): HttpRoute => ({
  ...{ service: 'tau-tts', method: 'POST', path },
  handle: (request, environment) => speak(request, environment, isWhole),
});

/** LMNT: `https://api.lmnt.com/v1/ai/…`. */
export const tau: Vendor = {
  ...{ mount: 'tau', refuse, authorize },
  routes: [
    route('/v1/ai/speech', true),
    route('/v1/ai/speech/bytes', false),
    { service: 'tau-tts', method: 'GET', path: '/v1/ai/voice/list', handle: list },
  ],
};
