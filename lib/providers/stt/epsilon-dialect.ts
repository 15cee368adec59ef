import { firstValueFrom, takeUntil } from 'rxjs';
import { bytesPerMs, frameBytes } from '../../audio/formats.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { asArray, asNumber, asObject, asObjects, asString, wireWord, type WireObject } from '../../core/guard.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { fromAbort } from '../../stream/bridge.ts';
import { httpRequest, readJson } from '../../transport/http.ts';
import type { SocketRequest, SocketRequestContext } from '../../transport/reconnecting-socket.ts';
import type { EpsilonFacts, EpsilonSTTConfig } from './epsilon-stt.ts';
import { completed, onChannel, type STTContext, type STTDialect, type STTEffect, type STTStep } from './stt-wire.ts';
import type { STTHost } from './stt-service.ts';
import { newWords } from './stt-words.ts';

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

/** How Gladia is spoken to. */
export const epsilonDialect = (
  host: STTHost<EpsilonSTTConfig>,
  { rules, endingSeconds }: EpsilonFacts,
): STTDialect<EpsilonSTTConfig, EpsilonSession> => ({
  request: (context) => openSession(context, host, rules),
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
});

/** Opens a session; the token is in its address. */
async function openSession(
  { signal }: SocketRequestContext,
  host: STTHost<EpsilonSTTConfig>,
  rules: ConfigRules,
): Promise<SocketRequest> {
  const config = host.config();
  const { codeSwitching = false, language, languages = [language ?? []].flat(), region } = config;
  if (codeSwitching && languages.length === 0) {
    host.warn('codeSwitching without languages picks among a hundred and makes mistakes: set languages');
  }
  const url = host.url('/v2/live', { region });
  url.protocol = url.protocol.replace(/^ws/, 'http');
  const key = host.isProxyMode() ? undefined : await host.credential();
  const request$ = httpRequest({
    ...host.transport(),
    url,
    headers: { 'x-gladia-key': key },
    json: sessionOf(config, host.format(), rules),
  });
  // It may have been given up while the credential was awaited.
  const answer = await firstValueFrom(request$.pipe(readJson(), takeUntil(fromAbort(signal))), {
    defaultValue: undefined,
  });
  const address = asString(asObject(answer)?.['url']);
  if (!address) throw host.error('the service returned no session', { code: 'protocol' });
  const session = new URL(address, url);
  session.protocol = session.protocol.replace(/^http/, 'ws');
  host.assertSecure(session);
  // The token grants access to the session: it must not appear in any text.
  await host.remember(session.searchParams.get('token') ?? session.search);
  return { url: session };
}

/** The session request. */
function sessionOf(
  config: EpsilonSTTConfig,
  { encoding, sampleRate, channels }: AudioMetadata,
  rules: ConfigRules,
): WireObject {
  const { customVocabulary, codeSwitching, language, interimResults = true } = config;
  const { languages = language ? [primaryLanguage(language)] : undefined } = config;
  return {
    ...wireParameters(config, rules),
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
