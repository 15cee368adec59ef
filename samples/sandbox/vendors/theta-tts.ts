import type { HttpRequest } from '../call.ts';
import type { Environment } from '../environment.ts';
import { compressed } from '../fixtures.ts';
import { encodeText } from '../modem.ts';
import { concatBytes, wavHeader, writeSamples } from '../pcm.ts';
import { sendAudio } from '../talker.ts';
import { anyOf, filled, member, number, oneOf, required, shape, string, textMember } from '../validate.ts';
import type { HttpRoute } from '../vendor.ts';
import { openAiRefusal } from './chat-completions.ts';

const sampleRate = 24000;
const longest = 4096;
const oldVoices = ['nova', 'shimmer', 'echo', 'onyx', 'fable', 'alloy', 'ash', 'sage', 'coral'];
const voices = [...oldVoices, 'ballad', 'verse', 'marin', 'cedar'];
const mediaTypes: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

const speech = shape({
  model: required(filled),
  input: required(filled),
  voice: required(anyOf(filled, shape({ id: required(filled) }))),
  response_format: oneOf(...Object.keys(mediaTypes)),
  speed: number(0.25, 4),
  instructions: string,
  stream_format: oneOf('audio', 'sse'),
});

/** A broken rule, as the service lists it in its message. */
function listed(type: string, field: string, message: string): string {
  return `[{'type': '${type}', 'loc': ('body', '${field}'), 'msg': "${message}"}]`;
}

function quoted(words: readonly string[], before: string): string {
  const all = words.map((word) => `'${word}'`);
  return `${all.slice(0, -1).join(', ')} ${before} ${all.at(-1) ?? ''}`;
}

async function handle(request: HttpRequest, { timers, realtimeFactor }: Environment): Promise<void> {
  const invalid = (why: string, param?: string): ReturnType<typeof openAiRefusal> =>
    openAiRefusal(400, why, { message: why, param: param ?? null });
  const body = request.json(invalid);
  const wrong = speech(body, '');
  if (wrong) throw invalid(wrong);
  const model = textMember(body, 'model');
  const input = textMember(body, 'input');
  if (!/^(tts-1(-hd)?|gpt-4o-mini-tts(-[\d-]+)?)$/.test(model)) {
    throw openAiRefusal(404, `unknown model ${model}`, {
      message: `The model \`${model}\` does not exist`,
      code: 'model_not_found',
    });
  }
  const isOld = model.startsWith('tts-1');
  if ([...input].length > longest) {
    throw invalid(listed('string_too_long', 'input', `String should have at most ${longest} characters`));
  }
  const voice = member(body, 'voice');
  if (isOld && typeof voice === 'string' && !oldVoices.includes(voice)) {
    throw invalid(listed('enum', 'voice', `Input should be ${quoted(oldVoices, 'or')}`));
  }
  if (typeof voice === 'string' && !voices.includes(voice)) {
    throw invalid(`Invalid value: '${voice}'. Supported values are: ${quoted(voices, 'and')}.`, 'voice');
  }
  const format = textMember(body, 'response_format') || 'mp3';
  const sse = textMember(body, 'stream_format') === 'sse';
  if (isOld && sse) throw invalid(`stream_format sse is not for ${model}`, 'stream_format');
  const samples = encodeText(input, sampleRate);
  const pcm = writeSamples(samples, 'linear16');
  const audio =
    format === 'pcm'
      ? pcm
      : format === 'wav'
        ? concatBytes([wavHeader(sampleRate), pcm])
        : await compressed(format, samples, sampleRate);
  await sendAudio(request, audio, {
    ...{
      timers,
      realtimeFactor,
      contentType: mediaTypes[format] ?? '',
      headers: { 'x-request-id': `req_${crypto.randomUUID().replaceAll('-', '')}` },
      bytesPerSecond: (audio.length / samples.length) * sampleRate,
    },
    ...(sse ? { event: (base64: string): unknown => ({ type: 'speech.audio.delta', audio: base64 }) } : {}),
    ...(sse
      ? { lastEvent: { type: 'speech.audio.done', usage: { input_tokens: 14, output_tokens: 101, total_tokens: 115 } } }
      : {}),
  });
}

/** OpenAI speech: `https://api.openai.com/v1/audio/speech`. */
export const thetaTts: HttpRoute = { service: 'theta-tts', method: 'POST', path: '/audio/speech', handle };
