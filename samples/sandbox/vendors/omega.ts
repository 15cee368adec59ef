import { checkAwsSignature } from '../aws.ts';
import type { Call, HttpRequest } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import { compressed } from '../fixtures.ts';
import { characterMs, encodeText } from '../modem.ts';
import { writeSamples } from '../pcm.ts';
import { sendAudio } from '../talker.ts';
import { arrayOf, filled, member, oneOf, required, shape, string, textMember } from '../validate.ts';
import type { Check } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';
import { elementsOf, parseXml, spokenOf } from '../xml.ts';

const mount = 'omega';

function refuse(status: number, why: string, type?: string, message = why): Refusal {
  const usual = status === 429 || status === 400 ? 'ThrottlingException' : 'ServiceFailureException';
  return new Refusal(status, { message }, why, {
    'x-amzn-errortype': type ?? usual,
    'x-amzn-requestid': crypto.randomUUID(),
    date: new Date().toUTCString(),
  });
}
const invalid = (why: string): Refusal => refuse(400, why, 'ValidationException');

function authorize(call: Call, credentials: Credentials): void {
  const wrong = checkAwsSignature(call, credentials, { service: 'polly', mount });
  if (wrong) throw refuse(403, wrong.message, wrong.type);
}

const musicRates = ['8000', '16000', '22050', '24000', '44100', '48000'];
interface Format {
  readonly rates: readonly string[];
  readonly rate: number;
  readonly contentType: string;
  readonly encode: (samples: Int16Array, rate: number) => Uint8Array | Promise<Uint8Array>;
}
const formats: Readonly<Record<string, Format>> = {
  mp3: {
    ...{ rates: musicRates, rate: 24_000, contentType: 'audio/mpeg' },
    encode: (samples, rate) => compressed('mp3', samples, rate),
  },
  ogg_opus: {
    ...{ rates: ['48000'], rate: 48_000, contentType: 'audio/ogg' },
    encode: (samples, rate) => compressed('opus', samples, rate),
  },
  pcm: {
    ...{ rates: ['8000', '16000'], rate: 16_000, contentType: 'audio/pcm' },
    encode: (samples) => writeSamples(samples, 'linear16'),
  },
  mulaw: {
    ...{ rates: ['8000'], rate: 8000, contentType: 'audio/mulaw' },
    encode: (samples) => writeSamples(samples, 'mulaw'),
  },
  alaw: {
    ...{ rates: ['8000'], rate: 8000, contentType: 'audio/alaw' },
    encode: (samples) => writeSamples(samples, 'alaw'),
  },
};
const engines = ['standard', 'neural', 'long-form', 'generative'];
const voices: Readonly<Record<string, readonly string[]>> = {
  Joanna: ['standard', 'neural', 'generative'],
  Matthew: engines,
  Nicole: ['standard'],
};
const lexicon: Check = (value, path) =>
  typeof value === 'string' && /^[0-9A-Za-z]{1,20}$/.test(value) ? undefined : `${path} must match [0-9A-Za-z]{1,20}`;

const speech = shape({
  Engine: oneOf(...engines),
  LanguageCode: filled,
  LexiconNames: arrayOf(lexicon, 0, 5),
  OutputFormat: required(oneOf(...Object.keys(formats), 'ogg_vorbis', 'json')),
  SampleRate: oneOf(...musicRates),
  SpeechMarkTypes: arrayOf(oneOf('sentence', 'ssml', 'viseme', 'word'), 0, 4),
  Text: required(string),
  TextType: oneOf('ssml', 'text'),
  VoiceId: required(oneOf(...Object.keys(voices))),
});

/** Elements that only the oldest engine takes. */
const onlyStandard = new Set(['emphasis', 'amazon:auto-breaths', 'amazon:breath']);

/** What is said of a text; SSML must be well-formed, with the elements of the service. */
function spoken(text: string, type: string, engine: string): string {
  if (text.length > 6000) throw refuse(400, 'more than 6000 characters', 'TextLengthExceededException');
  let said = text;
  if (type === 'ssml') {
    try {
      const document = parseXml(text);
      if (document.name !== 'speak') throw new Error(`the root is ${document.name}`);
      const strange = elementsOf(document).find(({ name }) => engine !== 'standard' && onlyStandard.has(name));
      if (strange) throw new Error(`${engine} has no ${strange.name}`);
      said = spokenOf(document);
    } catch (error) {
      throw refuse(400, String(error), 'InvalidSsmlException', 'Invalid SSML request');
    }
  }
  if (said.length > 3000)
    throw refuse(400, 'more than 3000 billed', 'TextLengthExceededException', 'Maximum text length has been exceeded');
  return said;
}

/** The time of each word, with its place in the bytes of the text. */
function marksOf(said: string, text: string): string {
  const bytes = (part: string): number => new TextEncoder().encode(part).length;
  let from = 0;
  const lines = [...said.matchAll(/[\p{L}\p{N}']+/gu)].map(({ 0: value, index }) => {
    const at = text.indexOf(value, from);
    from = at + value.length;
    const start = bytes(text.slice(0, at));
    return { time: bytes(said.slice(0, index)) * characterMs, type: 'word', start, end: start + bytes(value), value };
  });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

async function handle(request: HttpRequest, { timers, realtimeFactor }: Environment): Promise<void> {
  if (request.headers['content-type'] !== 'application/json') throw invalid('Content-Type must be application/json');
  const body = request.json(invalid);
  const wrong = speech(body, '');
  if (wrong) throw invalid(wrong);
  const engine = textMember(body, 'Engine') || 'standard';
  if (!voices[textMember(body, 'VoiceId')]?.includes(engine))
    throw invalid(`This voice does not support the selected engine: ${engine}`);
  if (member(body, 'LexiconNames') !== undefined && JSON.stringify(member(body, 'LexiconNames')).includes('missing'))
    throw refuse(404, 'unknown lexicon', 'LexiconNotFoundException', 'Lexicon not found');
  const text = textMember(body, 'Text');
  const said = spoken(text, textMember(body, 'TextType') || 'text', engine);
  const headers = { 'x-amzn-requestcharacters': String(said.length), 'x-amzn-requestid': crypto.randomUUID() };
  const marks = member(body, 'SpeechMarkTypes');
  const output = textMember(body, 'OutputFormat');
  if ((output === 'json') !== (marks !== undefined))
    throw refuse(
      400,
      'marks and format',
      'MarksNotSupportedForFormatException',
      'Speech marks are not supported for this format',
    );
  if (output === 'json') {
    const lines = new TextEncoder().encode(marksOf(said, text));
    request.send(200, lines, { 'content-type': 'application/x-json-stream', ...headers });
    return;
  }
  const format = formats[output];
  if (!format) throw invalid('the sandbox makes no Vorbis');
  const asked = textMember(body, 'SampleRate');
  if (asked && !format.rates.includes(asked))
    throw refuse(400, `${asked} for ${output}`, 'InvalidSampleRateException', 'Unsupported sample rate');
  const rate = asked ? Number(asked) : output === 'mp3' && engine === 'standard' ? 22_050 : format.rate;
  const samples = encodeText(said, rate);
  const audio = await format.encode(samples, rate);
  await sendAudio(request, audio, {
    ...{ timers, realtimeFactor, contentType: format.contentType, headers },
    bytesPerSecond: (audio.length / Math.max(1, samples.length)) * rate,
  });
}

/** Amazon Polly: `https://polly.<region>.amazonaws.com/v1/speech`. */
export const omega: Vendor = {
  mount,
  refuse,
  authorize,
  routes: [{ service: 'omega-tts', method: 'POST', path: '/v1/speech', handle }],
};
