import { catchError, concatMap, EMPTY, mergeMap, type Observable, of } from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { messageOf } from '../../core/errors.ts';
import { asNumber, asObject, asObjects, asString, ownEntry, type WireObject } from '../../core/guard.ts';
import { decodeHex } from '../../core/hex.ts';
import type { Logger } from '../../core/logger.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import type { HttpErrorFacts } from '../../transport/http-error.ts';
import type { HttpResponse } from '../../transport/http.ts';
import { mediaType } from '../../transport/media-type.ts';
import { chiTTS } from '../retiring.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests } from './requests/by-requests.ts';
import { wordEvent } from './words/word-event.ts';
import type { RequestContext, RequestTTSConfig, RequestWire, SpeechRequest } from './requests/request-wire.ts';
import type { SynthesisEvent } from './utterance.ts';

/** A model of {@link ChiTTS}: `-hd` sounds best, `-turbo` answers soonest; others are passed through. */
export type ChiTTSModel =
  | 'speech-2.8-hd'
  | 'speech-2.8-turbo'
  | 'speech-2.6-hd'
  | 'speech-2.6-turbo'
  | 'speech-02-hd'
  | 'speech-02-turbo'
  | 'speech-01-hd'
  | 'speech-01-turbo'
  | (string & {});

/** A format of {@link ChiTTS}. */
export type ChiTTSFormat = 'mp3' | 'wav' | 'flac' | 'pcm';

/** An emotion of {@link ChiTTS}; `whisper` is not for the 2.8 models. */
export type ChiTTSEmotion =
  | 'happy'
  | 'sad'
  | 'angry'
  | 'fearful'
  | 'disgusted'
  | 'surprised'
  | 'calm'
  | 'neutral'
  | 'fluent'
  | 'whisper'
  | (string & {});

/** How {@link ChiTTS} changes a voice; not for `pcm`. */
export interface ChiTTSVoiceModify {
  /** -100 (deep) to 100 (bright). */
  readonly pitch?: number;
  /** -100 (strong) to 100 (soft). */
  readonly intensity?: number;
  /** -100 (full) to 100 (crisp). */
  readonly timbre?: number;
  /** An effect. */
  readonly soundEffects?: 'spacious_echo' | 'auditorium_echo' | 'lofi_telephone' | 'robotic';
}

/** Configuration of {@link ChiTTS}. Anything omitted is left to the service. */
export interface ChiTTSConfig extends RequestTTSConfig {
  /** A system voice, such as `English_expressive_narrator`, or a clone. Required. */
  readonly voiceId: string;
  /** Default: `speech-2.8-turbo`. */
  readonly model?: ChiTTSModel;
  /**
   * Default: `mp3`; `pcm` (with `voiceModify`, `wav`) for an output that cannot decode, such as a phone.
   * `wav` does not stream.
   */
  readonly audioFormat?: ChiTTSFormat | 'auto';
  /** Default: chosen by the service from the text. */
  readonly emotion?: ChiTTSEmotion;
  /** 0.5 to 2. Default: the service's, 1. */
  readonly speed?: number;
  /** Above 0, to 10. Default: the service's, 1. */
  readonly volume?: number;
  /** -12 to 12, whole semitones. Default: the service's, 0. */
  readonly pitch?: number;
  /** The account's group, sent as the query parameter `GroupId`; only older hosts need it. */
  readonly groupId?: string;
  /** 8000, 16000, 22050, 24000, 32000 or 44100 Hz. Default: 32000. */
  readonly sampleRate?: 8000 | 16000 | 22050 | 24000 | 32000 | 44100;
  /** bit/s, of `mp3`: 32000, 64000, 128000 or 256000. Default: the service's, 128000. */
  readonly bitrate?: number;
  /** 1 is mono, 2 stereo. Default: 1. */
  readonly channels?: 1 | 2;
  /** The language by its English name, such as `French` or `Chinese,Yue`, or `auto`. */
  readonly languageBoost?: string;
  /** Pronunciations such as `omg/oh my god`. */
  readonly pronunciationDict?: readonly string[];
  /** Whether numbers and dates are spelled out with more care, which takes longer. Default: the service's, false. */
  readonly textNormalization?: boolean;
  /** Whether formulas in LaTeX are read. Default: the service's, false. */
  readonly latexRead?: boolean;
  /** Changes the voice; not for `pcm`. */
  readonly voiceModify?: ChiTTSVoiceModify;
  /**
   * Whether `words$` has the service's own times instead of estimates: one more download per request; `pcm` and `wav`
   * only. Default: false.
   */
  readonly wordTimings?: boolean;
}

type Context = RequestContext<ChiTTSConfig>;

const formats: Readonly<Record<ChiTTSFormat, Omit<AudioMetadata, 'sampleRate' | 'channels'>>> = {
  mp3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
  wav: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
  flac: { encoding: 'flac', container: 'flac', mimeType: 'audio/flac' },
  pcm: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
};

const facts = (
  codes: readonly number[],
  code: HttpErrorFacts['code'],
  recoverable: boolean = false,
): Record<string, HttpErrorFacts> => Object.fromEntries(codes.map((each) => [each, { code, recoverable }]));

/** What `base_resp.status_code` means, whatever the HTTP status, which is mostly 200. */
const meanings: Readonly<Record<string, HttpErrorFacts>> = {
  ...facts([1000, 1001, 1013, 1024, 1033], 'server', true),
  ...facts([1002, 1039, 1041], 'rate_limited', true),
  ...facts([1004, 2049], 'unauthorized'),
  ...facts([1008, 1028, 1030], 'quota'),
  ...facts([1026, 1027, 1042, 2013, 20132], 'configuration'),
  ...facts([2038, 2042, 2061], 'forbidden'),
};

const change = { min: -100, max: 100, wire: true } as const;

const voiceRules: ConfigRules = {
  voiceId: { required: true, wire: true },
  // The service's default behavior has no name on the wire.
  emotion: { wire: true, toWire: (emotion) => (emotion === 'auto' ? undefined : asString(emotion)) },
  speed: { min: 0.5, max: 2, wire: true },
  volume: { min: 0.01, max: 10, wire: 'vol' },
  pitch: { min: -12, max: 12, integer: true, wire: true },
  textNormalization: { wire: true },
  latexRead: { wire: true },
};

const audioRules: ConfigRules = {
  audioFormat: { oneOf: Object.keys(formats), default: 'mp3', wire: 'format' },
  sampleRate: { oneOf: [8000, 16000, 22050, 24000, 32000, 44100], wire: true },
  bitrate: { known: [32000, 64000, 128000, 256000], wire: true },
  channels: { oneOf: [1, 2], wire: 'channel' },
};

const modifyRules: ConfigRules = {
  'voiceModify.pitch': change,
  'voiceModify.intensity': change,
  'voiceModify.timbre': change,
  'voiceModify.soundEffects': { wire: true },
};

const requestRules: ConfigRules = {
  model: { default: 'speech-2.8-turbo', wire: true },
  languageBoost: { wire: true },
  groupId: { type: 'text' },
  pronunciationDict: { type: 'texts' },
};

/** MiniMax's parameters. */
export const chiTTSRules: ConfigRules = { ...voiceRules, ...audioRules, ...modifyRules, ...requestRules };

const formatOf = ({ audioFormat = 'auto' }: ChiTTSConfig): ChiTTSFormat =>
  audioFormat === 'auto' ? 'mp3' : audioFormat;
const isStreamed = (config: ChiTTSConfig): boolean => formatOf(config) !== 'wav';

const wire: RequestWire<ChiTTSConfig> = {
  name: 'ChiTTS',
  baseUrl: 'https://api.minimax.io',
  authType: 'bearer',
  rules: () => chiTTSRules,
  retiring: chiTTS,
  problem: (config) => {
    // The end of a compressed sentence is unknown here, and so is when the next one's words sound.
    const lacksTimes = config.wordTimings && ownEntry(formats, formatOf(config))?.bitDepth === undefined;
    return lacksTimes ? 'wordTimings requires audioFormat pcm or wav' : undefined;
  },
  // What changes the voice refuses raw samples.
  openFormat: ({ voiceModify }) => ({ key: 'audioFormat', samples: voiceModify ? 'wav' : 'pcm' }),
  format: (config) => {
    const { sampleRate = 32_000, channels = 1 } = config;
    return { sampleRate, channels, ...formats[formatOf(config)] };
  },
  // Longer texts should stream, which WAV files do not.
  normalizesText: ({ textNormalization = false }) => textNormalization,
  maxTextLength: (config) => (isStreamed(config) ? 9_999 : 3_000),
  // The service's own, and the storage that it uses.
  fileHosts: /^(.+\.)?(minimaxi?\.(io|cn|com|chat)|minimax-[\w-]+\.oss-[\w-]+\.aliyuncs\.com)$/,
  request: requestFor,
  read: readAnswer,
  errorOf: ({ json }) => {
    const answer = asObject(json) ?? {};
    const code = codeOf(answer);
    if (code === undefined) return undefined;
    const message = asString(asObject(answer['base_resp'])?.['status_msg']);
    return { code: 'server', ...ownEntry(meanings, String(code)), reason: String(code), message };
  },
};

/**
 * MiniMax text-to-speech (T2A v2, `POST /v1/t2a_v2`), `https://api.minimax.io`,
 * https://platform.minimax.io/docs/api-reference/speech-t2a-http
 *
 * Requests hold fewer than 10,000 characters; longer texts are split at sentences.
 */
export class ChiTTS extends RemoteTTS<ChiTTSConfig> {
  constructor(config: ChiTTSConfig, logger?: Logger) {
    super(byRequests(wire), config, logger);
  }
}

function codeOf(message: WireObject): number | undefined {
  return asNumber(asObject(message['base_resp'])?.['status_code']);
}

function requestFor(text: string, { config }: Context): SpeechRequest {
  const { groupId, sampleRate = 32_000, pronunciationDict, voiceModify, wordTimings } = config;
  return {
    path: '/v1/t2a_v2',
    query: { GroupId: groupId },
    json: {
      text,
      stream: isStreamed(config),
      ...wireParameters(config, requestRules),
      // Without it, the last event repeats all the audio.
      ...(isStreamed(config) && { stream_options: { exclude_aggregated_audio: true } }),
      voice_setting: wireParameters(config, voiceRules),
      audio_setting: {
        // Raw samples do not include their rate.
        ...(formatOf(config) === 'pcm' && { sample_rate: sampleRate }),
        ...wireParameters(config, audioRules),
      },
      pronunciation_dict: pronunciationDict && { tone: pronunciationDict },
      voice_modify: voiceModify && wireParameters(config, modifyRules),
      ...(wordTimings && { subtitle_enable: true, subtitle_type: 'word' }),
    },
  };
}

/** Reads events, or one object; any other response is audio. */
function readAnswer(response: HttpResponse, context: Context): Observable<SynthesisEvent> {
  const { answers, config, error, refusal, warn } = context;
  if (!['application/json', 'text/event-stream'].includes(mediaType(response.headers))) {
    return answers.audio(response);
  }
  return answers
    .objects<boolean, SynthesisEvent | { readonly type: 'subtitles'; readonly address: string }>(response, {
      start: false,
      read: (isHeard, message) => {
        if ((codeOf(message) ?? 0) !== 0 || asObject(message['error'])) {
          throw refusal(message, response);
        }
        const data = asObject(message['data']);
        if (!data) warn('ignored a message without data');
        // The last event may repeat all the audio.
        const isRepeated = data?.['status'] === 2 && isHeard;
        const audio = decodeHex(isRepeated ? '' : (asString(data?.['audio']) ?? ''));
        if (!audio) throw error('the audio is not hexadecimal', { code: 'protocol' });
        const address = config.wordTimings ? asString(data?.['subtitle_file']) : undefined;
        return [
          isHeard || audio.length > 0,
          ...(audio.length > 0 ? [{ type: 'audio', data: audio } as const] : []),
          ...(address === undefined ? [] : [{ type: 'subtitles', address } as const]),
        ];
      },
      end: (isHeard) => {
        if (isHeard) return [];
        // Seen when the service is busy.
        throw error('the answer has no audio', { code: 'protocol', recoverable: true });
      },
    })
    .pipe(concatMap((event) => (event.type === 'subtitles' ? wordsAt(event.address, context) : of(event))));
}

/** Word times, from a file of the service; without it, words are estimated. */
function wordsAt(address: string, context: Context): Observable<SynthesisEvent> {
  return context.download(address).pipe(
    mergeMap((response) => context.answers.json(response)),
    mergeMap((segments) =>
      asObjects(segments)
        .flatMap(({ timestamped_words }) => asObjects(timestamped_words))
        .flatMap(({ word, time_begin, time_end }) => wordEvent(word, time_begin, time_end)),
    ),
    catchError((error: unknown) => {
      context.warn(`no word times: ${messageOf(error)}`);
      return EMPTY;
    }),
  );
}
