import type { Call, HttpRequest } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import { compressed } from '../fixtures.ts';
import { characterMs, encodeText } from '../modem.ts';
import { wavFile, writeSamples } from '../pcm.ts';
import { sendAudio } from '../talker.ts';
import {
  anyOf,
  arrayOf,
  boolean,
  checkQuery,
  filled,
  integer,
  member,
  nothing,
  number,
  oneOf,
  query,
  required,
  shape,
  string,
  textMember,
} from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';

const trace_id = '04ee3794e2c9e4a6d5f99e77742f06fd';
const said = (status_code: number, status_msg: string): object => ({
  trace_id,
  base_resp: { status_code, status_msg },
});

/** A refusal of the gateway's; the service's own come with status 200. */
function refuse(status: number, why: string): Refusal {
  const type = status === 404 ? 'not_found_error' : status === 429 ? 'rate_limit_error' : 'api_error';
  return new Refusal(status, { error: { type, message: `${type} (${status})`, code: String(status) } }, why);
}
const decline = (code: number, why: string, message = why): Refusal => new Refusal(200, said(code, message), why);
const invalid = (why: string): Refusal => decline(2013, why, `invalid params, ${why}`);

function authorize({ headers }: Call, credentials: Credentials): void {
  const [scheme, key] = (headers['authorization'] ?? '').split(' ');
  const message = "login fail: Please carry the API secret key in the 'Authorization' field of the request header";
  if (scheme !== 'Bearer') throw decline(1004, 'no bearer token', message);
  if (!credentials.isKey(key)) throw decline(2049, 'wrong key', 'invalid api key');
}

const models = ['2.8', '2.6', '02', '01'].flatMap((version) => [`speech-${version}-hd`, `speech-${version}-turbo`]);
const emotions = 'happy sad angry fearful disgusted surprised calm neutral fluent whisper'.split(' ');
const change = integer(-100, 100);

/** The service ignores a field that it does not know; here it is refused, so that a misspelt one shows. */
const speech = shape({
  model: required(oneOf(...models)),
  text: required(filled),
  stream: boolean,
  stream_options: shape({ exclude_aggregated_audio: boolean }),
  output_format: oneOf('hex', 'url'),
  voice_setting: required(
    shape({
      voice_id: required(filled),
      speed: number(0.5, 2),
      vol: number(0.01, 10),
      pitch: integer(-12, 12),
      emotion: oneOf(...emotions),
      text_normalization: boolean,
      latex_read: boolean,
    }),
  ),
  audio_setting: shape({
    sample_rate: oneOf(8000, 16000, 22050, 24000, 32000, 44100),
    bitrate: oneOf(32000, 64000, 128000, 256000),
    format: oneOf('mp3', 'pcm', 'flac', 'wav'),
    channel: oneOf(1, 2),
    force_cbr: boolean,
  }),
  language_boost: anyOf(nothing, filled),
  pronunciation_dict: shape({ tone: arrayOf(string) }),
  voice_modify: shape({
    ...{ pitch: change, intensity: change, timbre: change },
    sound_effects: oneOf('spacious_echo', 'auditorium_echo', 'lofi_telephone', 'robotic'),
  }),
  subtitle_enable: boolean,
  subtitle_type: oneOf('sentence', 'word', 'word_streaming'),
});

async function handle(request: HttpRequest, environment: Environment): Promise<void> {
  const { timers, realtimeFactor } = environment;
  const strange = checkQuery(request.query, { GroupId: query.filled });
  if (strange) throw invalid(strange);
  const body = request.json(invalid);
  const wrong = speech(body, '');
  if (wrong) throw invalid(wrong);
  const text = textMember(body, 'text');
  if ([...text].length >= 10_000) throw invalid('text is too long');
  const settings = member(body, 'audio_setting');
  const format = textMember(settings, 'format') || 'mp3';
  const rate = Number(member(settings, 'sample_rate') ?? 32_000);
  const channels = Number(member(settings, 'channel') ?? 1);
  const streamed = member(body, 'stream') === true;
  if (streamed && format === 'wav') throw invalid('wav is not for streaming');
  if (textMember(body, 'output_format') === 'url') throw invalid('the sandbox answers in hex');
  const voice = member(body, 'voice_setting');
  if (textMember(voice, 'emotion') === 'whisper' && textMember(body, 'model').includes('2.8'))
    throw invalid('emotion whisper is not for this model');
  if (member(body, 'voice_modify') !== undefined && format === 'pcm') throw invalid('voice_modify is not for pcm');
  if (textMember(voice, 'voice_id') === 'no-such-voice') throw decline(20132, 'unknown voice', 'invalid voice id');
  const samples = encodeText(text, rate);
  const audio = await encode(format, samples, rate, channels);
  const timed = member(body, 'subtitle_enable') === true;
  const subtitles = { subtitle_file: `${environment.baseUrl()}/chi/subtitles?text=${encodeURIComponent(text)}` };
  const extra_info = {
    ...{ audio_length: Math.round((samples.length / rate) * 1000), audio_sample_rate: rate, audio_size: audio.length },
    ...{ bitrate: 128_000, word_count: text.split(/\s+/).length, invisible_character_ratio: 0 },
    ...{ usage_characters: [...text].length, audio_format: format, audio_channel: channels },
  };
  const done = (hex: string): object => ({
    data: { audio: hex, status: 2, ...(timed ? subtitles : {}) },
    ...{ extra_info, ...said(0, 'success') },
  });
  const hex = Buffer.from(audio).toString('hex');
  const headers = { 'trace-id': trace_id };
  if (!streamed) {
    await timers.sleep(realtimeFactor > 0 ? extra_info.audio_length / realtimeFactor : 0);
    request.send(200, done(hex), headers);
    return;
  }
  const excluded = member(member(body, 'stream_options'), 'exclude_aggregated_audio') === true;
  await sendAudio(request, audio, {
    ...{ timers, realtimeFactor, contentType: 'text/event-stream', headers },
    bytesPerSecond: (audio.length / samples.length) * rate,
    event: (base64): unknown => ({
      ...{ data: { audio: Buffer.from(base64, 'base64').toString('hex'), status: 1 }, ...said(0, '') },
    }),
    lastEvent: done(excluded ? '' : hex),
  });
}

async function encode(
  format: string,
  mono: Int16Array,
  rate: number,
  channels: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (format === 'wav') return wavFile(mono, rate);
  if (format !== 'pcm') return compressed(format, mono, rate);
  const samples = channels === 1 ? mono : Int16Array.from({ length: mono.length * 2 }, (_, at) => mono[at >> 1] ?? 0);
  return writeSamples(samples, 'linear16');
}

/** When each word sounds, blanks among them. */
function subtitlesOf(text: string): unknown {
  const encoder = new TextEncoder();
  const ms = (part: string): number => encoder.encode(part).length * characterMs;
  const timestamped_words = [...text.matchAll(/\S+|\s+/g)].map(({ 0: word, index }) => ({
    ...{ word, word_begin: index, word_end: index + word.length },
    ...{ time_begin: ms(text.slice(0, index)), time_end: ms(text.slice(0, index) + word) },
  }));
  return [{ text, time_begin: 0, time_end: ms(text), is_final_segment: true, timestamped_words }];
}

/** MiniMax: `https://api.minimax.io/v1/t2a_v2`. */
export const chi: Vendor = {
  mount: 'chi',
  refuse,
  authorize,
  routes: [
    {
      ...{ service: 'chi-tts', method: 'POST', path: '/v1/t2a_v2', handle },
      midStreamError: `data: ${JSON.stringify(said(1013, 'internal service error'))}\n\n`,
    },
    {
      ...{ service: 'chi-tts', method: 'POST', path: '/v1/get_voice' },
      handle: (request) =>
        request.send(200, {
          system_voice: [{ voice_id: 'English_expressive_narrator', voice_name: 'Narrator', description: [] }],
          ...{ voice_cloning: [], voice_generation: [], ...said(0, 'success') },
        }),
    },
    {
      ...{ service: 'chi-subtitles', method: 'GET', path: '/subtitles', open: true },
      handle: (request) => request.send(200, subtitlesOf(request.query.get('text') ?? '')),
    },
  ],
};
