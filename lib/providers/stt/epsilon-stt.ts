import { firstValueFrom, fromEvent, takeUntil } from 'rxjs';
import { bytesPerMs, frameBytes } from '../../audio/formats.ts';
import type { AudioEncoding, AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { asArray, asNumber, asObject, asObjects, asString, wireWord, type WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { httpRequest, readJson } from '../../transport/http.ts';
import type { SocketRequest, SocketRequestContext } from '../../transport/reconnecting-socket.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import { completed, onChannel, type STTContext, type STTEffect, type STTStep, type STTWire } from './stt-wire.ts';
import { newWords } from './stt-words.ts';

/** The service's names for the encodings it supports. */
const encodings: Readonly<Record<EpsilonEncoding, AudioEncoding>> = {
  'wav/pcm': 'linear16',
  'wav/ulaw': 'mulaw',
  'wav/alaw': 'alaw',
};

/** The sample rates it supports, in Hz. */
const sampleRates = [16_000, 8_000, 32_000, 44_100, 48_000];

/** Audio formats of {@link EpsilonSTT}. */
export type EpsilonEncoding = 'wav/pcm' | 'wav/ulaw' | 'wav/alaw';

/** A word to listen for, with its weight. */
export interface EpsilonVocabulary {
  /** Its spelling. */
  readonly value: string;
  /** Its weight, 0 to 1. Default: the service's. */
  readonly intensity?: number;
  /** Its pronunciations, written as they sound. */
  readonly pronunciations?: readonly string[];
  /** Its language, ISO 639-1. */
  readonly language?: string;
}

/** Additional options of {@link EpsilonSTT}. */
export interface EpsilonSTTOptions {
  /** Additional fields of the request for a session, under the service's own names; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** The number of channels; the service bills each. Default: 1. */
  readonly channels?: number;
  /** Seconds after which an utterance ends even in mid-speech, 5 to 60. Default: 60; the service's own is 5. */
  readonly maximumDurationWithoutEndpointing?: number;
  /** Words to listen for, such as names. Default: none. */
  readonly customVocabulary?: readonly (string | EpsilonVocabulary)[];
  /** Where the service runs. Default: the service's. */
  readonly region?: 'eu-west' | 'us-west' | (string & {});
}

/** Configuration of {@link EpsilonSTT}. */
export interface EpsilonSTTConfig extends StreamingSTTConfig, EpsilonSTTOptions {
  /** The default is the only model for live audio. Default: `solaria-1`. */
  readonly model?: string;
  /** Audio format; `wav/pcm` is linear16. Default: `wav/pcm`. */
  readonly encoding?: EpsilonEncoding;
  /** Hz; audio at other rates is converted. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Languages to expect, ISO 639-1; if none, the service detects it. Default: `language` if set. */
  readonly languages?: readonly string[];
  /** Seconds of silence that end an utterance, 0.01 to 10. Default: 0.3; the service's own is 0.05, shorter than a breath. */
  readonly endpointing?: number;
  /** Whether the speaker may switch languages; set `languages` too. Default: false. */
  readonly codeSwitching?: boolean;
}

/** Silence that ends an utterance of a conversation, in seconds. */
const endingSeconds = 0.3;

/** Rules for the keys, and their names in the session request. */
export const epsilonSTTRules: ConfigRules = {
  model: { type: 'text', wire: 'model', default: 'solaria-1' },
  encoding: { oneOf: Object.keys(encodings), wire: 'encoding', default: 'wav/pcm' },
  sampleRate: { oneOf: sampleRates },
  channels: { min: 1, max: 8, integer: true },
  languages: { type: 'texts' },
  codeSwitching: { type: 'boolean' },
  endpointing: { min: 0.01, max: 10, wire: 'endpointing', default: endingSeconds },
  maximumDurationWithoutEndpointing: { min: 5, max: 60, wire: true, default: 60 },
  region: { known: ['eu-west', 'us-west'] },
};

/** The state of one of the service's sessions. */
interface EpsilonSession {
  /** Bytes of the session's audio that the service has acknowledged. */
  readonly acknowledged: number;
  /** The byte that this connection counts from, which may be 0 after a reconnect; `undefined` until it counts. */
  readonly base: number | undefined;
  /** The most recent utterances to end, to recognize their late results. */
  readonly finished: readonly string[];
  /** The channels that have a voice; audio that is transcribed as one is channel 0. */
  readonly voices: readonly number[];
  /** Those whose words are not final. */
  readonly unfinished: readonly number[];
}

type Context = STTContext<EpsilonSTTConfig>;
type Step = STTStep<EpsilonSession>;

const remembered = 8;

/** How late the service may tell of a voice, in milliseconds. */
const leadMs = 1_000;

const fresh: EpsilonSession = { acknowledged: 0, base: undefined, finished: [], voices: [], unfinished: [] };

const stop: WireObject = { type: 'stop_recording' };

/** Gladia's wire. */
export const epsilonWire: STTWire<EpsilonSTTConfig, EpsilonSession> = {
  name: 'EpsilonSTT',
  baseUrl: () => 'https://api.gladia.io',
  accepts: ({ encoding = 'wav/pcm', sampleRate, channels = 1 }) => [
    { encoding: encodings[encoding], sampleRates: sampleRate ? [sampleRate] : sampleRates, channels: [channels] },
  ],
  rules: epsilonSTTRules,
  reportsSpeechEnd: true,
  pauseMs: ({ endpointing = endingSeconds }) => endpointing * 1_000,
  keepsAddress: true,
  // It acknowledges audio.
  promisesMessages: () => true,
  requestIdOf: ({ session_id: id }) => id,
  start: () => fresh,
  read: {
    audio_chunk: onAcknowledged,
    speech_start: (state, { data }, context) => {
      const channel = channelOf(data, context);
      return [
        { ...state, voices: [...without(state.voices, channel), channel ?? 0] },
        { type: 'voice', is: 'started', ms: momentOf(data), channel },
      ];
    },
    speech_end: (state, { data }, context) => {
      const channel = channelOf(data, context);
      return [
        { ...state, voices: without(state.voices, channel) },
        { type: 'voice', is: 'ended', ms: momentOf(data), channel },
      ];
    },
    transcript: onTranscript,
  },
  each(state, { error }) {
    const failure = asObject(error);
    if (!failure) return [state];
    const text = `the service reports ${wireWord(failure['exception'] ?? failure['status_code'])}`;
    return [state, { type: 'warning', text }];
  },

  // Nobody can ask the service for a final: silence that comes at once ends the utterance.
  commands: {
    finalize: (state, { config: { endpointing = endingSeconds } }) => [
      state,
      { type: 'silence-after-audio', ms: endpointing * 1_000 + 200 },
    ],
  },
  finalMs: 2_500,
  resumesAtMs: ({ acknowledged }, { isResumed, toAudioMs, format }) =>
    isResumed ? toAudioMs(acknowledged / bytesPerMs(format)) : undefined,
  begin: (state, { isResumed }) => [isResumed ? { ...state, base: undefined } : fresh],
  // The service ends a session that receives nothing for some 30 s.
  keepAlive: () => ({ whenQuiet: true }),
  tick: (state) => [state, { type: 'send', message: { type: 'audio_chunk', data: { chunk: '' } } }],
  // A session's settings are fixed: a new one takes the change.
  reconfigure: (state) => [state, { type: 'send', message: stop }, { type: 'forget-address' }, { type: 'reconnect' }],
  forgets: ({ code }) => code === 1000 || code === 1001 || (code >= 4400 && code < 4500),
  farewell: () => [JSON.stringify(stop)],
  isLast: ({ type }) => type === 'end_recording' || type === 'end_session',
};

/**
 * Gladia live transcription, API v2, at `https://api.gladia.io/v2/live`: a POST opens a session, whose WebSocket
 * resumes where it was after a loss. Only final results have words and confidence. See
 * https://docs.gladia.io/chapters/live-stt/quickstart.
 */
export class EpsilonSTT extends StreamingSTT<EpsilonSTTConfig, EpsilonSession> {
  constructor(config: EpsilonSTTConfig, logger?: Logger) {
    super(epsilonWire, config, logger);
  }

  /** Opens a session; the token is in its address. */
  protected override async request({ signal }: SocketRequestContext): Promise<SocketRequest> {
    const { codeSwitching = false, language, languages = [language ?? []].flat(), region } = this.config;
    if (codeSwitching && languages.length === 0) {
      this.logger.warn(
        `${this.name}: codeSwitching without languages picks among a hundred and makes mistakes: set languages`,
      );
    }
    const url = this.resolveUrl('/v2/live', { region });
    url.protocol = url.protocol.replace(/^ws/, 'http');
    const key = this.isProxyMode ? undefined : await this.resolveApiKey();
    const request$ = httpRequest({
      ...this.transportOptions,
      url,
      headers: { 'x-gladia-key': key },
      json: sessionOf(this.config, this.format),
    });
    const answer = await firstValueFrom(request$.pipe(readJson(), takeUntil(fromEvent(signal, 'abort'))), {
      defaultValue: undefined,
    });
    const address = asString(asObject(answer)?.['url']);
    if (!address) throw this.error(`${this.name}: the service returned no session`, { code: 'protocol' });
    const session = new URL(address, url);
    session.protocol = session.protocol.replace(/^http/, 'ws');
    this.assertSecure(session);
    // The token grants access to the session: it must not appear in any text.
    await this.freshCredential(session.searchParams.get('token') ?? session.search);
    return { url: session };
  }
}

/** The session request. */
function sessionOf(config: EpsilonSTTConfig, { encoding, sampleRate, channels }: AudioMetadata): WireObject {
  const { customVocabulary, codeSwitching, language, interimResults = true } = config;
  const { languages = language ? [primaryLanguage(language)] : undefined } = config;
  return {
    ...wireParameters(config, epsilonSTTRules),
    sample_rate: sampleRate,
    channels,
    bit_depth: encoding === 'linear16' ? 16 : 8,
    ...((languages ?? codeSwitching) !== undefined && {
      language_config: { languages, code_switching: codeSwitching },
    }),
    ...(customVocabulary && {
      realtime_processing: { custom_vocabulary: true, custom_vocabulary_config: { vocabulary: customVocabulary } },
    }),
    messages_config: {
      receive_partial_transcripts: interimResults,
      receive_final_transcripts: true,
      receive_speech_events: true,
      receive_acknowledgments: true,
      receive_errors: true,
      receive_lifecycle_events: true,
      receive_pre_processing_events: false,
      receive_realtime_processing_events: false,
      receive_post_processing_events: false,
    },
    ...config.extraBody,
  };
}

function onAcknowledged(state: EpsilonSession, { data }: WireObject, { format }: Context): Step {
  const [from, to] = asArray(asObject(data)?.['byte_range']).map(asNumber);
  if (from === undefined || to === undefined) return [state];
  const { acknowledged, base = from < acknowledged ? acknowledged : 0 } = state;
  const bytes = base + to;
  return [{ ...state, base, acknowledged: Math.max(acknowledged, bytes - (bytes % frameBytes(format))) }];
}

/** When a voice started or ended, in milliseconds. */
function momentOf(data: unknown): number | undefined {
  const seconds = asNumber(asObject(data)?.['time']);
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** The channel that a message is about; `undefined` where there is one. */
function channelOf(data: unknown, { format: { channels } }: Context): number | undefined {
  const channel = asNumber(asObject(data)?.['channel']) ?? 0;
  if (channels === 1) return undefined;
  return Number.isInteger(channel) && channel >= 0 && channel < channels ? channel : 0;
}

function without(channels: readonly number[], channel: number = 0): readonly number[] {
  return channels.filter((each) => each !== channel);
}

function onTranscript(state: EpsilonSession, { data }: WireObject, context: Context): Step {
  const { id, is_final: isFinal, utterance } = asObject(data) ?? {};
  const { text: given, language: spoken, ...details } = asObject(utterance) ?? {};
  const channel = channelOf(utterance, context);
  const heard = newWords(asObjects(details['words']), context.isFinal, channel);
  const isWhole = heard.length === asArray(details['words']).length;
  const text = isWhole ? asString(given)?.trim() : textOf(heard);
  const [language, name] = [asString(spoken), asString(id)];
  if (name !== undefined && state.finished.includes(name)) return [state];
  if (!text) return isWhole ? [state] : [state, { type: 'reset', channel }];
  if (isFinal !== true) {
    const unfinished = [...without(state.unfinished, channel), channel ?? 0];
    // A final result can arrive in mid-speech.
    const voice: readonly STTEffect[] = state.voices.includes(channel ?? 0) ? [{ type: 'voice', is: 'started' }] : [];
    return [
      { ...state, unfinished },
      ...onChannel(channel, [...voice, { type: 'result', kind: 'interim', text, language }]),
    ];
  }
  const finished = name === undefined ? state.finished : [name, ...state.finished].slice(0, remembered);
  const next: EpsilonSession = { ...state, finished, unfinished: without(state.unfinished, channel) };
  // Channels stand for speakers.
  const { speaker = channel } = details;
  const words = context
    .words(heard, ({ word }) => asString(word))
    .map((word) =>
      typeof speaker === 'number' || typeof speaker === 'string' ? { ...word, speaker: String(speaker) } : word,
    );
  return [
    next,
    ...onChannel(channel, completed({ text, language, words, confidence: asNumber(details['confidence']) })),
    ...finalized(next, (asNumber(details['end']) ?? NaN) * 1_000, channel, context),
  ];
}

const textOf = (words: readonly WireObject[]): string =>
  words
    .map(({ word }) => asString(word) ?? '')
    .join('')
    .trim();

/** What is final of a channel, and of those that nobody speaks on: the service says nothing about them. */
function finalized(
  { voices, unfinished }: EpsilonSession,
  endMs: number,
  channel: number | undefined,
  { format: { channels } }: Context,
): readonly STTEffect[] {
  if (Number.isNaN(endMs)) return [];
  if (channel === undefined) return [{ type: 'finalized', ms: endMs }];
  const busy = new Set([...voices, ...unfinished, channel]);
  const silent = Array.from({ length: channels }, (_, each) => each).filter((each) => !busy.has(each));
  return [
    { type: 'finalized', ms: endMs, channel },
    ...silent.map((each) => ({ type: 'finalized', ms: endMs - leadMs, channel: each }) as const),
  ];
}
