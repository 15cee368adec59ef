import type { HttpRequest } from '../call.ts';
import type { Environment } from '../environment.ts';
import { compressed } from '../fixtures.ts';
import { encodeText } from '../modem.ts';
import { g711File, wavFile } from '../pcm.ts';
import { arrayOf, filled, integer, member, number, oneOf, required, shape, string, textMember } from '../validate.ts';
import type { HttpRoute, Refusal } from '../vendor.ts';
import { parseXml, spokenOf } from '../xml.ts';
import { refuse } from './iota-refusal.ts';

const invalid = (why: string): Refusal => refuse(400, why, why);

const encodings: Readonly<Record<string, (samples: Int16Array, rate: number) => Uint8Array | Promise<Uint8Array>>> = {
  LINEAR16: wavFile,
  MULAW: (samples, rate) => g711File(samples, rate, 'mulaw'),
  ALAW: (samples, rate) => g711File(samples, rate, 'alaw'),
  MP3: (samples, rate) => compressed('mp3', samples, rate),
  OGG_OPUS: (samples, rate) => compressed('opus', samples, rate),
};

/** Enumerations of the wire, in the order of their numbers: a number stands for its name, too (proto3's JSON). */
const genders = ['SSML_VOICE_GENDER_UNSPECIFIED', 'MALE', 'FEMALE', 'NEUTRAL'];
const numbered = ['AUDIO_ENCODING_UNSPECIFIED', 'LINEAR16', 'MP3', 'OGG_OPUS', 'MP3_64_KBPS', 'MULAW', 'ALAW'];

function encodingOf(audioConfig: unknown): string {
  const value = member(audioConfig, 'audioEncoding');
  return typeof value === 'number' ? (numbered[value] ?? '') : String(value);
}

const synthesis = shape({
  input: required(shape({ text: string, ssml: string, prompt: string })),
  voice: required(
    shape({
      languageCode: required(filled),
      name: filled,
      ssmlGender: oneOf(...genders.slice(1), 1, 2, 3),
      modelName: filled,
    }),
  ),
  audioConfig: required(
    shape({
      audioEncoding: required(oneOf(...Object.keys(encodings), 1, 2, 3, 5, 6)),
      speakingRate: number(0.25, 2),
      pitch: number(-20, 20),
      volumeGainDb: number(-96, 16),
      sampleRateHertz: integer(8000, 48_000),
      effectsProfileId: arrayOf(string),
    }),
  ),
});

/** What is to be said, of a text or of SSML. */
function textOf(input: unknown): string {
  const given = ['text', 'ssml'].filter((name) => member(input, name) !== undefined);
  if (given.length !== 1) throw invalid('Exactly one of input.text and input.ssml must be set.');
  const source = textMember(input, given[0] ?? '');
  if (new TextEncoder().encode(source).length > 5000)
    throw invalid('Either `input.text` or `input.ssml` is longer than the limit of 5000 bytes.');
  if (given[0] === 'text') return source;
  try {
    const document = parseXml(source.trim());
    if (document.name !== 'speak') throw new Error(`the root is ${document.name}`);
    return spokenOf(document);
  } catch (error) {
    throw refuse(400, String(error), 'Invalid SSML. Newer voices like Neural2 require valid SSML.');
  }
}

async function handle(request: HttpRequest, { timers, realtimeFactor }: Environment): Promise<void> {
  const body = request.json(invalid);
  const wrong = synthesis(body, '');
  if (wrong) throw invalid(wrong);
  const [voice, audioConfig] = [member(body, 'voice'), member(body, 'audioConfig')];
  const name = textMember(voice, 'name');
  if (name.endsWith('-Nope')) throw invalid(`Voice '${name}' does not exist. Is it misspelled?`);
  if (name && !name.startsWith(`${textMember(voice, 'languageCode')}-`))
    throw invalid(`Requested language code '${textMember(voice, 'languageCode')}' doesn't match the voice '${name}'.`);
  if (name.includes('-Chirp3-HD-') && member(audioConfig, 'pitch') !== undefined)
    throw invalid('This voice does not support pitch parameters at this time.');
  const text = textOf(member(body, 'input'));
  const rate = Number(member(audioConfig, 'sampleRateHertz') ?? 24_000);
  const samples = encodeText(text, rate);
  await timers.sleep(realtimeFactor > 0 ? ((samples.length / rate) * 1000) / realtimeFactor : 0);
  const audio = text ? await encodings[encodingOf(audioConfig)]?.(samples, rate) : undefined;
  // What is empty is left out.
  const answer = audio ? { audioContent: Buffer.from(audio).toString('base64') } : {};
  request.send(200, answer, { 'content-type': 'application/json; charset=UTF-8' });
}

const voices = ['en-US-Neural2-F', 'de-DE-Neural2-B', 'cmn-CN-Wavenet-A'].map((name) => ({
  languageCodes: [name.split('-').slice(0, 2).join('-')],
  ...{ name, ssmlGender: 'FEMALE', naturalSampleRateHertz: 24_000 },
}));

/** Google Cloud Text-to-Speech, V1. */
export const iotaTts: readonly HttpRoute[] = [
  { service: 'iota-tts', method: 'POST', path: '/v1/text:synthesize', handle },
  { service: 'iota-tts', method: 'GET', path: '/v1/voices', handle: (request) => request.send(200, { voices }) },
];
