import { durationMs, isPcmLike } from '../../audio/formats.ts';
import { decodeBase64 } from '../../core/base64.ts';
import type { VoiceError } from '../../core/errors.ts';
import { asArray, asNumber, asObject, asString, type WireObject } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { Step } from '../../stream/fold.ts';
import type { HttpErrorFacts, HttpFailure } from '../../transport/http-error.ts';
import { dialogueKeeper, gammaDialogue, locatorsOf } from './gamma-dialogue.ts';
import type { GammaTTSConfig } from './gamma-tts.ts';
import { byId } from './sockets/by-id.ts';
import type { SocketDialect } from './sockets/socket-wire.ts';
import type { ContextVoice, ReadEffect, Reading } from './sockets/speech-wire.ts';
import type { WireErrors } from './voice-service.ts';
import {
  type CharacterTimes,
  type CharacterWords,
  endCharacters,
  hearCharacters,
  noCharacters,
} from './words/character-words.ts';

/** What the service's error names mean. */
const errors: Readonly<Record<string, HttpErrorFacts>> = {
  input_timeout_exceeded: { code: 'connection', recoverable: true },
  max_active_conversations: { code: 'rate_limited', recoverable: true },
  too_many_contexts: { code: 'rate_limited', recoverable: true },
  too_many_concurrent_requests: { code: 'rate_limited', recoverable: true },
  system_busy: { code: 'overloaded', recoverable: true },
  invalid_input_message: { code: 'protocol', recoverable: false },
  invalid_api_key: { code: 'unauthorized', recoverable: false },
  authentication_required: { code: 'unauthorized', recoverable: false },
  voice_not_found: { code: 'not_found', recoverable: false },
  voice_id_does_not_exist: { code: 'not_found', recoverable: false },
  max_character_limit_exceeded: { code: 'configuration', recoverable: false },
  quota_exceeded: { code: 'quota', recoverable: false },
};
/** The error names behind sentences: the reason of a close has no name. */
const sentences: readonly (readonly [sentence: RegExp, name: string])[] = [
  [/new text input within the timeout/i, 'input_timeout_exceeded'],
  [/simultaneous contexts/i, 'max_active_conversations'],
  [/too many concurrent requests/i, 'too_many_concurrent_requests'],
];
/** How the service ends a connection that it refuses: asked again, it refuses again. */
const policyViolation = 1008;

/** The state of a context. */
interface Heard {
  /** Whether the times of the text as it is spoken are the right ones. */
  readonly isNormalized: boolean;
  readonly words: CharacterWords;
  readonly audioBytes: number;
}

function isAutomatic({ autoMode, chunkLengthSchedule }: GammaTTSConfig): boolean {
  return autoMode ?? chunkLengthSchedule === undefined;
}

function voiceOf(config: GammaTTSConfig): ContextVoice {
  const { stability, similarityBoost, style, useSpeakerBoost, speed, chunkLengthSchedule } = config;
  const isBalanced = stability !== undefined || similarityBoost !== undefined;
  const settings = {
    ...(isBalanced && { stability: stability ?? 0.5, similarity_boost: similarityBoost ?? 0.75 }),
    style,
    use_speaker_boost: useSpeakerBoost,
    speed,
  };
  const opening = {
    text: ' ',
    voice_settings: Object.values(settings).some((value) => value !== undefined) ? settings : undefined,
    generation_config: chunkLengthSchedule && { chunk_length_schedule: chunkLengthSchedule },
    pronunciation_dictionary_locators: locatorsOf(config),
    ...config.extraBody,
  };
  // With dictionaries, `alignment` begins anew in each message (pipecat issue 4316); without them, it has the text as
  // it was written, where the other has Chinese in Latin letters.
  const isNormalized = (config.pronunciationDictionaries?.length ?? 0) > 0;
  return (id) => {
    const message = (body: object): string => JSON.stringify({ ...body, context_id: id });
    return {
      start: { ...start, isNormalized },
      opening: [message(opening)],
      say: (text) => message({ text }),
      ending: [message({ flush: true }), message({ close_context: true })],
      cancel: message({ close_context: true }),
    };
  };
}

/** The service's error name, if a message is an error. */
function errorWord(message: WireObject): string | undefined {
  if (message['audio']) return undefined;
  const isCoded = asNumber(message['code']) !== undefined;
  const word = asString(message['error']) ?? (isCoded ? asString(message['message']) : undefined);
  return word === '' ? undefined : word;
}

/** The error in a message, or in the reason of a close: the vendor's sentence is its cause. */
function errorOf(message: WireObject, { refusal }: WireErrors): VoiceError | undefined {
  return errorWord(message) === undefined ? undefined : refusal(message, { status: asNumber(message['code']) });
}

function factsOf({ status, reason, json }: HttpFailure): HttpErrorFacts | undefined {
  const word = asString(asObject(json)?.['error']) ?? reason ?? '';
  const name =
    Object.keys(errors).find((each) => word.includes(each)) ?? sentences.find(([sentence]) => sentence.test(word))?.[1];
  if (name !== undefined) return { ...ownEntry(errors, name), reason: name };
  return status === policyViolation ? { code: 'server', recoverable: false } : undefined;
}

const start: Heard = { isNormalized: false, words: noCharacters, audioBytes: 0 };

function hear(state: Heard, message: WireObject, { format }: Reading): Step<Heard, ReadEffect> {
  const { isNormalized, words, audioBytes } = state;
  const data = decodeBase64(asString(message['audio']) ?? '');
  const isFinal = message['isFinal'] === true || message['is_final'] === true;
  const written = asObject(message['alignment']);
  const spoken = asObject(message['normalizedAlignment']);
  const times = timesOf(isNormalized ? (spoken ?? written) : (written ?? spoken));
  const audioMs = isPcmLike(format.encoding) ? durationMs(audioBytes, format) : undefined;
  const [heard, ...told] = times ? hearCharacters(words, times, audioMs) : [words];
  const [rest, ...last] = isFinal ? endCharacters(heard) : [heard];
  return [
    { isNormalized, words: rest, audioBytes: audioBytes + (data?.length ?? 0) },
    { type: 'audio', data },
    ...[...told, ...last].map((word) => ({ type: 'word', ...word }) as const),
    ...(isFinal ? [{ type: 'end' } as const] : []),
  ];
}

/** A day, in milliseconds: no valid time is later. */
const latestMs = 86_400_000;

/** The vendor's documentation and its clients disagree on the names; dialogue has others. */
function timesOf(alignment: WireObject | undefined): CharacterTimes | undefined {
  if (!alignment) return undefined;
  const numbers = (...keys: readonly string[]): number[] =>
    asArray(keys.map((key) => alignment[key]).find(Array.isArray)).map((value) =>
      Math.min(asNumber(value) ?? 0, latestMs),
    );
  return {
    characters: asArray(alignment['chars']).map((character) => asString(character) ?? ''),
    startMs: numbers('charStartTimesMs', 'charsStartTimesMs', 'char_start_times_ms'),
    durationMs: numbers('charDurationsMs', 'charsDurationsMs', 'char_durations_ms'),
  };
}

/** What both sockets of ElevenLabs say and mean. */
const common = {
  farewell: ['{"close_socket":true}'],
  start,
  typeOf: (message) => {
    if (errorWord(message) !== undefined) return 'error';
    return message['is_final_audio_for_turn'] === true ? 'spoken' : 'speech';
  },
  read: {
    speech: hear,
    spoken: (state) => [state, { type: 'spoken' }],
    error: (state, message, { errors }) => {
      const error = errorOf(message, errors);
      return error ? [state, { type: 'error', error }] : [state];
    },
  },
  // Its error name is more specific than the status.
  errorOf: factsOf,
  // Without a reason, a message before it may have told.
  closeError: ({ reason, code }, { refusal }) =>
    reason ? refusal({ error: reason, code }, { status: code }) : undefined,
} satisfies Partial<SocketDialect<GammaTTSConfig, Heard>>;

/** How the models of text-to-speech are spoken with. */
const gammaSpeech = (
  modelOf: (config: GammaTTSConfig) => string,
): Pick<SocketDialect<GammaTTSConfig, unknown>, 'address' | 'attribution' | 'voice' | 'keepAlive'> => ({
  address: (config) => ({
    path: `/v1/text-to-speech/${encodeURIComponent(config.voiceId)}/multi-stream-input`,
    query: {
      model_id: modelOf(config),
      output_format: config.outputFormat ?? 'pcm_16000',
      sync_alignment: true,
      inactivity_timeout: config.inactivityTimeout ?? 180,
      auto_mode: isAutomatic(config) || undefined,
      language_code: config.language,
      apply_text_normalization: config.applyTextNormalization,
      enable_ssml_parsing: config.enableSsmlParsing,
      enable_logging: config.enableLogging,
      seed: config.seed,
    },
  }),
  attribution: (_config, live) =>
    byId({
      contextOf: (message) => asString(message['contextId']) ?? asString(message['context_id']),
      maxContexts: () => 5,
      endsCancelled: true,
      speaksAtOnce: () => isAutomatic(live()),
    }),
  voice: voiceOf,
  keepAlive: (id) => JSON.stringify({ text: '', context_id: id }),
});

/** How ElevenLabs is spoken with. */
export const gammaDialects = (models: {
  /** The service's name of the configured model. */
  readonly modelOf: (config: GammaTTSConfig) => string;
  /** Whether it speaks dialogue only. */
  readonly isDialogue: (config: GammaTTSConfig) => boolean;
}): ((config: GammaTTSConfig) => SocketDialect<GammaTTSConfig, Heard>) => {
  const speech = { ...common, ...gammaSpeech(models.modelOf) };
  const dialogue = { ...common, ...gammaDialogue(models.modelOf) };
  return (config) => (models.isDialogue(config) ? { ...dialogue, keeper: dialogueKeeper(config) } : speech);
};
