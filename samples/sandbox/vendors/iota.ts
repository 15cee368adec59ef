import type { Call, HttpRequest } from '../call.ts';
import type { Credentials } from '../environment.ts';
import { readSamples, readWav } from '../pcm.ts';
import { meanConfidence, plain, sentence, Transcriber } from '../transcriber.ts';
import type { Word } from '../transcriber.ts';
import {
  anyOf,
  anything,
  arrayOf,
  boolean,
  filled,
  integer,
  member,
  number,
  object,
  oneOf,
  required,
  shape,
  string,
  textMember,
} from '../validate.ts';
import type { Refusal, Vendor } from '../vendor.ts';
import { refuse } from './iota-refusal.ts';
import { iotaTts } from './iota-tts.ts';

const invalid = (why: string): Refusal => refuse(400, why, why);

function authorize({ headers, query }: Call, credentials: Credentials): void {
  const key = headers['x-goog-api-key'] ?? query.get('key') ?? undefined;
  if (key === undefined) throw refuse(401, 'no X-goog-api-key header');
  if (credentials.isKey(key)) return;
  const info = { reason: 'API_KEY_INVALID', domain: 'googleapis.com', metadata: { service: 'speech.googleapis.com' } };
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', ...info }];
  throw refuse(400, 'wrong key', 'API key not valid. Please pass a valid API key.', details);
}

const encodings = [
  'LINEAR16',
  'FLAC',
  'MULAW',
  'AMR',
  'AMR_WB',
  'OGG_OPUS',
  'SPEEX_WITH_HEADER_BYTE',
  'MP3',
  'WEBM_OPUS',
];
const recognition = shape({
  config: required(
    shape({
      languageCode: required(filled),
      encoding: oneOf(...encodings),
      sampleRateHertz: integer(8000, 48000),
      audioChannelCount: integer(1, 8),
      enableSeparateRecognitionPerChannel: boolean,
      alternativeLanguageCodes: arrayOf(filled, 0, 3),
      maxAlternatives: integer(0, 30),
      profanityFilter: boolean,
      speechContexts: arrayOf(shape({ phrases: arrayOf(string, 0, 5000), boost: number() })),
      adaptation: object,
      enableWordTimeOffsets: boolean,
      enableWordConfidence: boolean,
      enableAutomaticPunctuation: boolean,
      enableSpokenPunctuation: boolean,
      enableSpokenEmojis: boolean,
      diarizationConfig: shape({
        enableSpeakerDiarization: boolean,
        minSpeakerCount: integer(1),
        maxSpeakerCount: integer(1),
      }),
      metadata: anything,
      model: string,
      useEnhanced: boolean,
    }),
  ),
  audio: required(anyOf(shape({ content: required(string) }), shape({ uri: required(filled) }))),
});
const largest = 10 * 1024 * 1024;
const longest = 60;
/** A pause that parts two results, in seconds. */
const pause = 1;

interface Recording {
  readonly samples: Int16Array<ArrayBuffer>;
  readonly sampleRate: number;
}

function open(config: unknown, content: Uint8Array<ArrayBuffer>): Recording {
  const encoding = textMember(config, 'encoding');
  const rate = Number(member(config, 'sampleRateHertz') ?? 0);
  const wav = readWav(content);
  if (wav) {
    const stated = encoding && encoding !== 'LINEAR16' && encoding !== 'MULAW';
    if (stated) throw invalid(`encoding must either be unspecified or match the WAV header, not ${encoding}`);
    if (rate && rate !== wav.sampleRate)
      throw invalid('sample_rate_hertz in the WAV header must either be unspecified or match');
    return wav;
  }
  if (!encoding) throw invalid('Invalid recognition `config`: bad encoding..');
  if (!rate) throw invalid('Invalid recognition `config`: bad sample rate hertz.');
  if (encoding !== 'LINEAR16' && encoding !== 'MULAW')
    throw invalid(`the sandbox cannot decode ${encoding}: it hears LINEAR16, MULAW and WAV`);
  return { samples: readSamples(content, encoding === 'MULAW' ? 'mulaw' : 'linear16'), sampleRate: rate };
}

function listen({ samples, sampleRate }: Recording): readonly Word[] {
  const transcriber = new Transcriber({ encoding: 'linear16', sampleRate }, {});
  transcriber.push(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
  transcriber.finish();
  return transcriber.words;
}

/** The words in groups that pauses part. */
function portions(words: readonly Word[]): Word[][] {
  const groups: Word[][] = [];
  for (const word of words) {
    const group = groups.at(-1);
    const before = group?.at(-1);
    if (group && before && word.start - before.end < pause) group.push(word);
    else groups.push([word]);
  }
  return groups;
}

const duration = (seconds: number): string => `${Number(seconds.toFixed(3))}s`;

function handle(request: HttpRequest): void {
  if (request.body.length > largest) throw refuse(413, `body of ${request.body.length} bytes`);
  const body = request.json(invalid);
  const wrong = recognition(body, '');
  if (wrong) throw invalid(wrong);
  const config = member(body, 'config');
  const base64 = textMember(member(body, 'audio'), 'content');
  if (!base64) throw invalid('RecognitionAudio not set: the sandbox reads audio.content');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64) || base64.length % 4 !== 0)
    throw invalid('audio.content is not base64 with padding');
  const recording = open(config, new Uint8Array(Buffer.from(base64, 'base64')));
  const seconds = recording.samples.length / recording.sampleRate;
  if (seconds > longest) {
    throw invalid("Sync input too long. For audio longer than 1 min use LongRunningRecognize with a 'uri' parameter.");
  }
  const on = (name: string): boolean => member(config, name) === true;
  const punctuated = on('enableAutomaticPunctuation');
  const results = portions(listen(recording)).map((words, index) => {
    const text = punctuated ? sentence(words) : words.map((word) => plain(word.text)).join(' ');
    const timed = words.map((word) => ({
      ...{
        startTime: duration(word.start),
        endTime: duration(word.end),
        word: punctuated ? word.text : plain(word.text),
      },
      ...(on('enableWordConfidence') ? { confidence: word.confidence } : {}),
    }));
    const alternative = { transcript: (index === 0 ? '' : ' ') + text, confidence: meanConfidence(words) };
    return {
      alternatives: [{ ...alternative, ...(on('enableWordTimeOffsets') ? { words: timed } : {}) }],
      ...{
        resultEndTime: duration(words.at(-1)?.end ?? 0),
        languageCode: textMember(config, 'languageCode').toLowerCase(),
      },
    };
  });
  request.send(
    200,
    {
      ...(results.length > 0 ? { results } : {}),
      totalBilledTime: `${Math.ceil(seconds)}s`,
      requestId: String(Date.now()),
    },
    { 'content-type': 'application/json; charset=UTF-8' },
  );
}

/**
 * Google Cloud, V1: `https://speech.googleapis.com/v1/speech:recognize` and
 * `https://texttospeech.googleapis.com/v1/text:synthesize`.
 */
export const iota: Vendor = {
  mount: 'iota',
  refuse,
  authorize,
  routes: [{ service: 'iota-stt', method: 'POST', path: '/v1/speech:recognize', handle }, ...iotaTts],
};
