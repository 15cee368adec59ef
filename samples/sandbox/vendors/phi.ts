import type { HttpRequest } from '../call.ts';
import type { Environment } from '../environment.ts';
import { compressed } from '../fixtures.ts';
import { encodeText } from '../modem.ts';
import { wavFile, writeSamples } from '../pcm.ts';
import { sendAudio } from '../talker.ts';
import { boolean, filled, integer, member, number, required, shape, string, textMember } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';
import { authorizeBearer } from './chat-completions.ts';

const messages: Readonly<Record<number, string>> = {
  400: 'request body is required',
  401: 'invalid api key',
  403: 'access forbidden',
  404: 'Not Found',
  429: 'Currently at websocket limit',
};
/** Plain text, whatever the status. */
const refuse = (status: number, why: string, message?: string): Refusal =>
  new Refusal(status, message ?? messages[status] ?? 'internal error', why);
const invalid = (why: string, message?: string): Refusal => refuse(400, why, message ?? why);

interface Model {
  /** Codes of its languages; the first one is the default. */
  readonly languages: readonly string[];
  readonly formats: readonly string[];
  readonly fields: ReturnType<typeof shape>;
  /** Hz. */
  readonly rates: readonly [min: number, max: number];
  readonly defaultRate: (format: string) => number;
}

const common = {
  text: required(string),
  speaker: required(filled),
  modelId: string,
  lang: string,
  samplingRate: integer(4000, 96_000),
};
const bracketed = { inlineSpeedAlpha: string, pauseBetweenBrackets: boolean };
const all = ['mp3', 'wav', 'ogg', 'webm', 'pcm', 'mulaw'];
const coda: Model = {
  languages: 'en eng es spa fr fra pt por de ger ja jpn ar ara hi hin'.split(' '),
  formats: all,
  fields: shape({ ...common, timeScaleFactor: number(), speedAlpha: number() }),
  rates: [8000, 96_000],
  defaultRate: () => 24_000,
};
const mistv3: Model = {
  ...{ ...coda, languages: ['en', 'es', 'fr', 'de'] },
  fields: shape({ ...common, ...bracketed, timeScaleFactor: number(), speedAlpha: number() }),
};
const mistv2: Model = {
  languages: ['eng', 'spa', 'fra', 'ger'],
  formats: ['mp3', 'pcm', 'mulaw'],
  fields: shape({
    ...{ ...common, ...bracketed, speedAlpha: number() },
    ...{ phonemizeBetweenBrackets: boolean, noTextNormalization: boolean },
  }),
  rates: [4000, 44_100],
  defaultRate: (format) => (format === 'mp3' ? 22_050 : format === 'pcm' ? 16_000 : 8000),
};
/** The retired ones are served by the newest, an unknown one by `mistv3`. */
const models: Readonly<Record<string, Model>> = {
  ...{ coda, mistv3, mistv2, mist: mistv2 },
  ...{ arcana: coda, arcanav2: coda, arcanav3: coda },
};

/** Formats by what `Accept` asks for, which is also the answer's type. */
const accepted: Readonly<Record<string, string>> = {
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
  'audio/wav': 'wav',
  'audio/ogg;codecs=opus': 'ogg',
  'audio/webm;codecs=opus': 'webm',
  'audio/L16': 'pcm',
  'audio/pcm': 'pcm',
  'audio/PCMU': 'mulaw',
  'audio/x-mulaw': 'mulaw',
};

/** Whose models are known. */
const speakers: Readonly<Record<string, readonly string[]>> = {
  astra: ['coda'],
  albion: ['coda'],
  cove: ['mistv3', 'mistv2'],
};

async function handle(request: HttpRequest, { timers, realtimeFactor }: Environment): Promise<void> {
  if (!(request.headers['content-type'] ?? '').startsWith('application/json'))
    throw invalid('Content-Type must be application/json', 'request body is required');
  const body = request.json((why) => invalid(why, 'request body is required'));
  const text = member(body, 'text');
  if (text === undefined) throw invalid('text is required');
  if (typeof text !== 'string' || !text.trim()) throw invalid('text must not be empty');
  if ([...text].length > 1000) throw invalid('text is too long');
  if (!textMember(body, 'speaker')) throw invalid('speaker is required');
  const id = textMember(body, 'modelId');
  if (!Object.hasOwn(models, id)) request.log(`modelId ${id || 'absent'}: served by mistv3`);
  const model = models[id] ?? mistv3;
  const wrong = model.fields(body, '');
  if (wrong) throw invalid(wrong);
  const language = textMember(body, 'lang') || model.languages[0];
  if (!model.languages.includes(language ?? ''))
    throw invalid(`Language ${language ?? ''} is not supported for model ${id}`);
  const accept = request.headers['accept'] ?? '';
  const format = accepted[accept];
  if (format === undefined || !model.formats.includes(format)) {
    request.log(`Accept ${accept || 'absent'}: answered as JSON`);
    request.send(200, { audioContent: '' });
    return;
  }
  const rate = Number(member(body, 'samplingRate') ?? model.defaultRate(format));
  if (rate < model.rates[0] || rate > model.rates[1]) throw invalid(`samplingRate ${rate} is not for ${id}`);
  const known = speakers[textMember(body, 'speaker')];
  // A speaker of another model is not refused: somebody else speaks.
  const samples = encodeText(known?.includes(id) === false ? 'the voice of somebody else' : text, rate);
  const audio = await encode(format, samples, rate);
  await sendAudio(request, audio, {
    ...{ timers, realtimeFactor, contentType: accept },
    bytesPerSecond: (audio.length / samples.length) * rate,
  });
}

async function encode(format: string, samples: Int16Array, rate: number): Promise<Uint8Array<ArrayBuffer>> {
  if (format === 'wav') return wavFile(samples, rate);
  if (format === 'pcm' || format === 'mulaw') return writeSamples(samples, format === 'pcm' ? 'linear16' : 'mulaw');
  return compressed(format === 'ogg' ? 'opus' : format, samples, rate);
}

/** Rime: `https://users.rime.ai/v1/rime-tts`. */
export const phi: Vendor = {
  mount: 'phi',
  refuse,
  authorize: authorizeBearer((why) =>
    refuse(401, why, why.startsWith('no ') ? 'Missing Authorization header' : 'invalid api key'),
  ),
  routes: [
    { service: 'phi-tts', method: 'POST', path: '/v1/rime-tts', handle },
    {
      ...{ service: 'phi-tts', method: 'GET', path: '/data/voices/all-v2.json', open: true },
      handle: (request) =>
        request.send(200, { coda: { eng: ['astra', 'albion'] }, mistv3: { eng: ['cove'] }, mistv2: { eng: ['cove'] } }),
    },
  ],
};
