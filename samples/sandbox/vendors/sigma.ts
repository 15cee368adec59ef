import type { Call, HttpRequest } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import { compressed } from '../fixtures.ts';
import { durationMs, encodeText } from '../modem.ts';
import { wavFile, writeSamples } from '../pcm.ts';
import { sendAudio, wordsOf } from '../talker.ts';
import { boolean, checkQuery, filled, integer, isObject, member, number, oneOf, query as rule } from '../validate.ts';
import { required, shape, textMember } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { HttpRoute, Vendor } from '../vendor.ts';

const messages: Readonly<Record<number, string>> = {
  400: 'Invalid request',
  402: 'Character limit exceeded',
  403: 'Invalid api-key provided',
  404: 'Not found',
  429: 'Concurrency limit exceeded',
};
const refuse = (status: number, why: string, message?: string): Refusal =>
  new Refusal(status, { errorMessage: message ?? messages[status] ?? 'Internal error', errorCode: status }, why);
const invalid = (why: string): Refusal => refuse(400, why, why);

function authorize({ headers }: Call, credentials: Credentials): void {
  if (headers['authorization'] !== undefined) throw refuse(403, 'Authorization is not a header of this API');
  if (!credentials.isKey(headers['api-key'])) throw refuse(403, 'api-key is wrong or absent');
}

const rates = [8000, 24000, 44100, 48000];
const change = integer(-50, 50);
const common = {
  text: required(filled),
  voiceId: required(filled),
  format: oneOf('MP3', 'WAV', 'FLAC', 'ALAW', 'ULAW', 'PCM', 'OGG'),
  channelType: oneOf('MONO', 'STEREO'),
  ...{ style: filled, rate: change, pitch: change, variation: integer(0, 5), locale: filled },
  pronunciationDictionary: (value: unknown): string | undefined =>
    isObject(value)
      ? Object.values(value)
          .map((each) =>
            shape({ type: required(oneOf('IPA', 'SAY_AS')), pronunciation: required(filled) })(each, 'pronunciation'),
          )
          .find((wrong) => wrong !== undefined)
      : 'pronunciationDictionary must be an object',
};
const generation = shape({
  ...common,
  modelVersion: oneOf('GEN2'),
  sampleRate: oneOf(...rates),
  ...{ encodeAsBase64: boolean, audioDuration: number(0), wordDurationsAsOriginalText: boolean },
});
const streamed = shape({ ...common, model: oneOf('GEN2', 'FALCON', 'falcon-2'), sampleRate: oneOf(...rates, 16000) });

/** Voices, and their styles. */
const voices: Readonly<Record<string, { readonly models: readonly string[]; readonly styles: readonly string[] }>> = {
  'en-US-natalie': { models: ['GEN2', 'FALCON'], styles: ['Promo', 'Conversational'] },
  'en-US-miles': { models: ['GEN2'], styles: ['Narration'] },
  'en-US-matthew': { models: ['FALCON'], styles: ['Conversational'] },
};

async function encode(format: string, samples: Int16Array, rate: number): Promise<Uint8Array<ArrayBuffer>> {
  if (format === 'WAV') return wavFile(samples, rate);
  if (format === 'MP3' || format === 'FLAC' || format === 'OGG')
    return compressed(format === 'OGG' ? 'opus' : format.toLowerCase(), samples, rate);
  return writeSamples(samples, format === 'ALAW' ? 'alaw' : format === 'ULAW' ? 'mulaw' : 'linear16');
}

const running = new WeakMap<Environment, number>();

async function speak(request: HttpRequest, environment: Environment, isStream: boolean): Promise<void> {
  const { timers, realtimeFactor, limits } = environment;
  if (!(request.headers['content-type'] ?? '').startsWith('application/json'))
    throw invalid('Content-Type must be application/json');
  const body = request.json(invalid);
  const wrong = (isStream ? streamed : generation)(body, '');
  if (wrong) throw invalid(wrong);
  const model = isStream ? textMember(body, 'model') || 'FALCON' : 'GEN2';
  const voice = voices[textMember(body, 'voiceId')] ?? voices[`en-US-${textMember(body, 'voiceId')}`];
  if (!voice?.models.includes(model.startsWith('falcon') ? 'FALCON' : model))
    throw invalid(`Invalid voice_id for ${model}`);
  const style = textMember(body, 'style');
  if (style && !voice.styles.includes(style)) throw invalid(`Invalid style ${style}`);
  const format = textMember(body, 'format') || 'WAV';
  const isG711 = format === 'ALAW' || format === 'ULAW';
  const rate = Number(member(body, 'sampleRate') ?? (model === 'GEN2' ? 44100 : 24000));
  if (isG711 && (rate !== 8000 || textMember(body, 'channelType') === 'STEREO'))
    throw invalid(`${format} is 8000 Hz and mono only`);
  if (textMember(body, 'channelType') === 'STEREO') throw refuse(501, 'the sandbox speaks mono only');
  const text = textMember(body, 'text');
  if (text.length > 3000) throw invalid('text is longer than 3000 characters');

  const inFlight = running.get(environment) ?? 0;
  if (inFlight >= limits.sigmaConcurrency) throw refuse(429, `${inFlight} requests in flight`);
  running.set(environment, inFlight + 1);
  try {
    const samples = encodeText(text, rate);
    const audio = await encode(format, samples, rate);
    const bytesPerSecond = (audio.length / samples.length) * rate;
    if (isStream) {
      await sendAudio(request, audio, {
        timers,
        realtimeFactor,
        contentType: 'application/octet-stream',
        bytesPerSecond,
      });
      return;
    }
    await timers.sleep(realtimeFactor > 0 ? durationMs(text) / realtimeFactor : 0);
    const isEncoded = member(body, 'encodeAsBase64') === true;
    const words = wordsOf({ text, startMs: 0, endMs: Infinity });
    request.send(200, {
      audioFile: isEncoded ? '' : 'https://murf.ai/user-upload/one-day-temp/abc.mp3?signature=s',
      ...(isEncoded && { encodedAudio: Buffer.from(audio).toString('base64') }),
      audioLengthInSeconds: durationMs(text) / 1000,
      ...{ consumedCharacterCount: text.length, remainingCharacterCount: 99_988, warning: '' },
      wordDurations: words.map(({ word, startMs, endMs }) => ({ word, startMs, endMs })),
    });
  } finally {
    running.set(environment, (running.get(environment) ?? 1) - 1);
  }
}

function list(request: HttpRequest): void {
  const wrong = checkQuery(request.query, { model: rule.oneOf('GEN2', 'FALCON') });
  if (wrong) throw invalid(wrong);
  const model = request.query.get('model') ?? 'GEN2';
  const listed = Object.entries(voices).filter(([, { models }]) => models.includes(model));
  request.send(
    200,
    listed.map(([voiceId, { styles }]) => ({
      ...{
        voiceId,
        displayName: `${voiceId.slice(6)} (F)`,
        gender: 'Female',
        locale: 'en-US',
        description: 'Young Adult',
      },
      supportedLocales: { 'en-US': { detail: 'English (US & Canada)', availableStyles: styles } },
      ...{ accent: 'US & Canada', displayLanguage: 'English', availableStyles: styles },
    })),
  );
}

const route = (path: string, isStream: boolean): HttpRoute => ({
  ...{ service: 'sigma-tts', method: 'POST', path },
  handle: (request, environment) => speak(request, environment, isStream),
});

/** Murf: `https://api.murf.ai/v1/speech/…`, `https://global.api.murf.ai/v1/speech/stream`. */
export const sigma: Vendor = {
  ...{ mount: 'sigma', refuse, authorize },
  routes: [
    route('/v1/speech/generate', false),
    route('/v1/speech/stream', true),
    { service: 'sigma-tts', method: 'GET', path: '/v1/speech/voices', handle: list },
  ],
};
