import type { HttpRequest } from '../call.ts';
import type { Environment } from '../environment.ts';
import { compressed } from '../fixtures.ts';
import { encodeText } from '../modem.ts';
import { g711File, wavFile, writeSamples } from '../pcm.ts';
import { sendAudio } from '../talker.ts';
import type { HttpRoute } from '../vendor.ts';
import { elementsOf, parseXml, spokenOf } from '../xml.ts';
import type { XmlElement } from '../xml.ts';
import { refuse } from './kappa-refusal.ts';

type Encoder = (samples: Int16Array, rate: number) => Uint8Array | Promise<Uint8Array>;
interface Format {
  readonly rate: number;
  readonly contentType: string;
  readonly encode: Encoder;
  /** Finished before it is sent. */
  readonly whole?: boolean;
}

const rates: Readonly<Record<string, number>> = {
  ...{ '8khz': 8000, '16khz': 16_000, '22050hz': 22_050, '24khz': 24_000, '44100hz': 44_100, '48khz': 48_000 },
};
const family = (
  ids: readonly string[],
  contentType: string,
  encode: Encoder,
  whole?: boolean,
): Record<string, Format> =>
  Object.fromEntries(
    ids.map((id) => {
      const rate = rates[/-(\d+k?hz)-/.exec(id)?.[1] ?? ''] ?? 0;
      return [id, { rate, contentType, encode, ...(whole && { whole }) }];
    }),
  );
const each = (names: string, id: (rate: string) => string): readonly string[] => names.split(' ').map(id);
const file =
  (format: string): Encoder =>
  (samples, rate) =>
    compressed(format, samples, rate);

const mp3 = '16khz-32 16khz-64 16khz-128 24khz-48 24khz-96 24khz-160 48khz-96 48khz-192'
  .split(' ')
  .map((id) => `audio-${id}kbitrate-mono-mp3`);
const allRates = '8khz 22050hz 24khz 44100hz 48khz';
const opus = ['24khz-16bit', '16khz-16bit'];
/** The formats that are known here; the bare Opus frames and the codecs of old phones are not made. */
const formats: Readonly<Record<string, Format>> = {
  ...family(mp3, 'audio/mpeg', file('mp3')),
  ...family(
    each(`${allRates} 16khz`, (rate) => `raw-${rate}-16bit-mono-pcm`),
    'audio/basic',
    (samples) => writeSamples(samples, 'linear16'),
  ),
  ...family(['raw-8khz-8bit-mono-mulaw'], 'audio/basic', (samples) => writeSamples(samples, 'mulaw')),
  ...family(['raw-8khz-8bit-mono-alaw'], 'audio/basic', (samples) => writeSamples(samples, 'alaw')),
  ...family(
    each(allRates, (rate) => `riff-${rate}-16bit-mono-pcm`),
    'audio/x-wav',
    wavFile,
    true,
  ),
  ...family(['riff-8khz-8bit-mono-mulaw'], 'audio/x-wav', (samples, rate) => g711File(samples, rate, 'mulaw'), true),
  ...family(['riff-8khz-8bit-mono-alaw'], 'audio/x-wav', (samples, rate) => g711File(samples, rate, 'alaw'), true),
  ...family(
    [...opus, '48khz-16bit'].map((id) => `ogg-${id}-mono-opus`),
    'audio/ogg',
    file('opus'),
  ),
  ...family(
    [...opus, '24khz-16bit-24kbps'].map((id) => `webm-${id}-mono-opus`),
    'audio/webm',
    file('webm'),
  ),
};

const voices = ['en-US-JennyNeural', 'en-US-Ava:DragonHDLatestNeural', 'de-DE-KatjaNeural', 'zh-CN-XiaoxiaoNeural'];
const values: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  speak: {
    version: /^1\.0$/,
    xmlns: /^http:\/\/www\.w3\.org\/2001\/10\/synthesis$/,
    'xml:lang': /^[a-z]{2,3}(-\w+)*$/,
  },
  voice: { name: /./ },
  prosody: {
    rate: /^([+-]?\d+(\.\d+)?%?|(x-)?slow|medium|(x-)?fast|default)$/,
    pitch: /^([+-]\d+(\.\d+)?(st|Hz|%)|\d+Hz|(x-)?low|medium|(x-)?high|default)$/,
    volume: /^([+-]?\d+(\.\d+)?%?|silent|(x-)?(soft|loud)|medium|default)$/,
  },
  'mstts:express-as': { style: /./, styledegree: /^\d+(\.\d+)?$/, role: /^\w+$/ },
  break: { time: /^\d+m?s$/, strength: /^[\w-]+$/ },
  emphasis: { level: /^(reduced|none|moderate|strong)$/ },
  lang: { 'xml:lang': /^[a-z]{2,3}(-\w+)+$/ },
  'mstts:silence': { type: /^[A-Za-z]+(-exact)?$/, value: /^\d+m?s$/ },
  bookmark: { mark: /./ },
  phoneme: { alphabet: /^(ipa|sapi|ups|x-sampa)$/, ph: /./ },
  'say-as': { 'interpret-as': /^[\w-]+$/, format: /./, detail: /./ },
  sub: { alias: /./ },
  ...{ p: {}, s: {} },
};

const words = ['break', 'phoneme', 'prosody', 'say-as', 'sub'];
const spoken = [...words, 'emphasis', 'lang', 'mstts:express-as', 'mstts:silence', 'bookmark', 'p', 's'];
/** The elements that each may contain, by the vendor's list; the others contain text alone or nothing. */
const contents: Readonly<Record<string, readonly string[]>> = {
  ...{ speak: ['voice'], voice: spoken, lang: spoken },
  ...{ prosody: [...words, 'p', 's'], emphasis: [...words, 'emphasis', 'lang'] },
  'mstts:express-as': [...words, 'emphasis', 'lang'],
  p: [...words, 'mstts:express-as', 's'],
  s: [...words, 'mstts:express-as'],
};

/** What is wrong with a document, in words for the log. */
function wrongIn(speak: XmlElement): string | undefined {
  if (speak.name !== 'speak') return 'the root is not speak';
  const missing = ['version', 'xmlns', 'xml:lang'].find((name) => speak.attributes[name] === undefined);
  if (missing !== undefined) return `speak has no ${missing}`;
  const all = elementsOf(speak);
  if (
    all.some(({ name }) => name.startsWith('mstts:')) &&
    !/^https?:\/\/www\.w3\.org\/2001\/mstts$/.test(speak.attributes['xmlns:mstts'] ?? '')
  )
    return 'the namespace mstts is not declared';
  if (!all.some(({ name }) => name === 'voice')) return 'there is no voice';
  if (speak.children.some((child) => typeof child === 'string' && child.trim())) return 'text outside of a voice';
  for (const element of all) {
    const rules = values[element.name];
    if (!rules) return `unknown element ${element.name}`;
    const stray = element.children.find(
      (child) => typeof child !== 'string' && !contents[element.name]?.includes(child.name),
    );
    if (typeof stray === 'object') return `${element.name} should not contain ${stray.name}`;
    if (element.name === 'prosody' && elementsOf(element).some(({ name }) => name === 'mstts:express-as'))
      return 'express-as within prosody';
    for (const [name, value] of Object.entries(element.attributes)) {
      if (name === 'xmlns:mstts') continue;
      if (!rules[name]?.test(value)) return `${element.name} cannot have ${name}="${value}"`;
    }
  }
  const strange = all.find(({ name, attributes }) => name === 'voice' && !voices.includes(attributes['name'] ?? ''));
  return strange && `unknown voice ${strange.attributes['name'] ?? ''}`;
}

async function handle(request: HttpRequest, { timers, realtimeFactor }: Environment): Promise<void> {
  const { headers } = request;
  if (headers['content-type'] !== 'application/ssml+xml')
    throw refuse(415, `Content-Type is ${headers['content-type'] ?? 'absent'}`);
  if (!headers['user-agent']) throw refuse(400, 'no User-Agent');
  const id = headers['x-microsoft-outputformat'] ?? '';
  const format = Object.hasOwn(formats, id) ? formats[id] : undefined;
  if (!format) throw refuse(400, `X-Microsoft-OutputFormat is ${id || 'absent'}`);
  let document: XmlElement;
  try {
    document = parseXml(new TextDecoder('utf-8', { fatal: true }).decode(request.body));
  } catch (error) {
    throw refuse(400, `not SSML: ${String(error)}`);
  }
  const wrong = wrongIn(document);
  if (wrong !== undefined) throw refuse(400, wrong);
  const samples = encodeText(spokenOf(document), format.rate);
  const audio = samples.length > 0 ? await format.encode(samples, format.rate) : new Uint8Array(0);
  await sendAudio(request, audio, {
    ...{ timers, realtimeFactor, contentType: format.contentType, whole: format.whole ?? false },
    bytesPerSecond: (audio.length / Math.max(1, samples.length)) * format.rate,
  });
}

/** Azure AI Speech, text-to-speech by requests. */
export const kappaTts: readonly HttpRoute[] = [
  { service: 'kappa-tts', method: 'POST', path: '/cognitiveservices/v1', handle },
  {
    ...{ service: 'kappa-tts', method: 'GET', path: '/cognitiveservices/voices/list' },
    handle: (request) =>
      request.send(
        200,
        voices.map((ShortName) => ({ ShortName, Locale: ShortName.slice(0, 5), SampleRateHertz: '24000' })),
      ),
  },
];
