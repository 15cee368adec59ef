import type { ConfigRule } from '../../core/config-rule.ts';
import { type WireObject, asNumber, asObjects, asString, ownEntry } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { Query } from '../../core/remote-provider.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { type NamedEncodings, formatsOf, nameOf } from './named-encodings.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import {
  type Failures,
  type STTContext,
  type STTEffect,
  type STTStep,
  type STTWire,
  type Said,
  completed,
  heard,
  withFinished,
} from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';

/** Configuration of {@link BetaSTT}. `language` is BCP 47. */
export interface BetaSTTConfig extends BetaSTTOptions {
  /** Sample rate in Hz. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Words to listen for, at most 100; those over 50 characters are skipped. */
  readonly wordBoost?: readonly string[];
}

/** The service's names for the encodings it supports. */
const betaEncodings: NamedEncodings = { pcm_s16le: 'linear16', pcm_mulaw: 'mulaw' };

/** Additional options of {@link BetaSTT}. Options for the Universal-3 family are rejected with other models. */
export interface BetaSTTOptions extends StreamingSTTConfig {
  /**
   * Default: `universal-3-5-pro`. Others: `u3-rt-pro`, `universal-3-6`, `universal-3-6-pro`,
   * `universal-streaming-english`, `universal-streaming-multilingual`, `whisper-rt`.
   */
  readonly model?: string;
  /** Languages to expect, ISO 639-1, at most 10, or `multi` alone; Universal-3 family. Default: `language`, where set. */
  readonly languages?: readonly string[];
  /** Whether results include the language. Default: false. */
  readonly languageDetection?: boolean;
  /** Whether the English model adds punctuation and capitals, at some latency; the others always do. Default: false. */
  readonly formatTurns?: boolean;
  /** Confidence required to end a turn, 0 to 1; Universal-Streaming models. Default: the service's, 0.4. */
  readonly endOfTurnConfidenceThreshold?: number;
  /** Silence that ends a turn which sounds complete, in milliseconds. Default: the service's, 400; Universal-3: 100. */
  readonly minTurnSilence?: number;
  /** Silence that ends any turn, in milliseconds. Default: the service's, 1,280; Universal-3: 1,000. */
  readonly maxTurnSilence?: number;
  /** Confidence required to detect speech, 0 to 1. Default: the service's, 0.4; Universal-3: 0.3. */
  readonly vadThreshold?: number;
  /** Seconds without audio after which the service ends the session, 5 to 3,600; a keep-alive prevents it. Default: never. */
  readonly inactivityTimeout?: number;
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly speakerLabels?: boolean;
  /** Maximum number of speakers to tell apart. */
  readonly maxSpeakers?: number;
  /** Default: false. */
  readonly filterProfanity?: boolean;
  /** What the conversation is about; Universal-3 family. */
  readonly prompt?: string;
  /** What the agent said last; Universal-3 family. */
  readonly agentContext?: string;
  /** What to optimize for; Universal-3 family. Default: the service's. */
  readonly mode?: 'min_latency' | 'balanced' | 'max_accuracy' | (string & {});
  /** Whether partial results arrive steadily, not just at pauses; Universal-3 family. Default: false. */
  readonly continuousPartials?: boolean;
  /** Milliseconds of speech before the service reports it, 0 to 1,000; Universal-3 family. */
  readonly interruptionDelay?: number;
  /** Additional parameters, as in the service's docs. */
  readonly parameters?: Query;
}

/** A key's rule (the vendor's limits), and how it is sent. */
interface BetaRule extends ConfigRule {
  /** Whether it can change during a session. */
  readonly live?: boolean;
  /** Whether it is only for the Universal-3 family. */
  readonly u3?: boolean;
}

/** The keys, with their names on the wire. */
export const betaRules: Readonly<Record<string, BetaRule>> = {
  model: { type: 'text', wire: 'speech_model', default: 'universal-3-5-pro' },
  language: { type: 'text' },
  sampleRate: { min: 1, integer: true },
  wordBoost: { type: 'texts', maxLength: 100, wire: 'keyterms_prompt', live: true },
  languages: { type: 'texts', maxLength: 10, wire: 'language_codes', live: true, u3: true },
  languageDetection: { type: 'boolean', wire: 'language_detection' },
  formatTurns: { type: 'boolean', wire: 'format_turns', live: true },
  endOfTurnConfidenceThreshold: { min: 0, max: 1, wire: 'end_of_turn_confidence_threshold', live: true },
  minTurnSilence: { min: 0, integer: true, wire: 'min_turn_silence', live: true },
  maxTurnSilence: { min: 0, integer: true, wire: 'max_turn_silence', live: true },
  vadThreshold: { min: 0, max: 1, wire: 'vad_threshold', live: true },
  inactivityTimeout: { min: 5, max: 3_600, integer: true, wire: 'inactivity_timeout' },
  speakerLabels: { type: 'boolean', wire: 'speaker_labels' },
  maxSpeakers: { min: 1, integer: true, wire: 'max_speakers' },
  filterProfanity: { type: 'boolean', wire: 'filter_profanity', live: true },
  prompt: { type: 'text', wire: 'prompt', live: true, u3: true },
  agentContext: { type: 'text', wire: 'agent_context', live: true, u3: true },
  mode: { known: ['min_latency', 'balanced', 'max_accuracy'], wire: 'mode', u3: true },
  continuousPartials: { type: 'boolean', wire: 'continuous_partials', u3: true },
  interruptionDelay: { min: 0, max: 1_000, integer: true, wire: 'interruption_delay', live: true, u3: true },
};

const lists: ReadonlySet<string> = new Set(['keyterms_prompt', 'language_codes']);

/** Longest word to listen for, in characters. */
const maxTermLength = 50;

/** Languages of the Universal-Streaming models. */
const languagesOf: Readonly<Record<string, readonly string[]>> = {
  'universal-streaming-english': ['en'],
  'universal-streaming-multilingual': ['en', 'es', 'de', 'fr', 'pt', 'it'],
};

/** The requested model. */
function betaModel({ model = 'universal-3-5-pro' }: BetaSTTConfig): string {
  return model;
}

/** Whether it belongs to the Universal-3 family. */
function isUniversal3(config: BetaSTTConfig): boolean {
  return /^(u3|universal-3)/.test(betaModel(config));
}

/** Whether the service sends heartbeats: what its docs say of the Universal-3 family. */
function hasHeartbeat(config: BetaSTTConfig): boolean {
  return isUniversal3(config) && String(config.parameters?.['session_heartbeat'] ?? true) === 'true';
}

/** A conflict between keys, as a sentence; `undefined` if there is none. */
function betaConflict(config: BetaSTTConfig): string | undefined {
  const { language, languages = [], maxSpeakers, speakerLabels } = config;
  const model = betaModel(config);
  const known = languagesOf[model];
  if (language !== undefined && known && !known.includes(primaryLanguage(language))) {
    return `${model} supports ${known.join(', ')}, not ${language}: use another model`;
  }
  if (languages.length > 1 && languages.includes('multi')) return 'multi must be the only entry in languages';
  if (maxSpeakers !== undefined && !speakerLabels) return 'maxSpeakers needs speakerLabels';
  const misplaced = Object.entries(betaRules).find(
    ([key, { u3 }]) => u3 && !isUniversal3(config) && Reflect.get(config, key) !== undefined,
  );
  return misplaced && `${misplaced[0]} is for the Universal-3 family, not ${model}`;
}

/** The keys that are set, under the service's names. */
function settings(config: BetaSTTConfig): Record<string, unknown> {
  const { language, wordBoost } = config;
  const { languages = language === undefined ? undefined : [primaryLanguage(language)] } = config;
  const values = {
    ...config,
    wordBoost: wordBoost?.filter(({ length }) => length <= maxTermLength),
    languages: isUniversal3(config) ? languages : undefined,
  };
  return wireParameters(values, betaRules);
}

/** The query parameters; a list is one value. */
function betaQuery(config: BetaSTTConfig): Query {
  const said = Object.entries(settings(config)).map(([name, value]) => [
    name,
    Array.isArray(value) ? JSON.stringify(value) : String(value),
  ]);
  const heartbeat = hasHeartbeat(config) ? { session_heartbeat: true } : {};
  return { ...(Object.fromEntries(said) as Query), ...heartbeat, ...config.parameters };
}

/** The message that updates a running session; `undefined` when no message can. */
function betaUpdate(config: BetaSTTConfig, changed: readonly string[]): WireObject | undefined {
  const update: WireObject = {};
  const now = settings(config);
  for (const key of changed) {
    // The other models have no language setting.
    if (key === 'language' && !isUniversal3(config)) continue;
    const { wire: name, live = false } = ownEntry(betaRules, key === 'language' ? 'languages' : key) ?? {};
    if (!live || typeof name !== 'string') return undefined;
    // A list can be emptied; other values cannot be unset by a message.
    const value = now[name] ?? (lists.has(name) ? [] : undefined);
    if (value === undefined) return undefined;
    update[name] = value;
  }
  return update;
}

/** What the error and close codes mean. */
const betaFailures: Failures = {
  1008: { code: 'unauthorized', hint: 'check the credential, its balance and its permissions' },
  1013: { code: 'overloaded', recoverable: true, hint: 'reconnecting' },
  3005: { code: 'server', recoverable: true, hint: 'reconnecting' },
  3006: { code: 'configuration', hint: 'it does not know a message or parameter' },
  3007: { code: 'protocol', hint: 'audio arrived faster than real time, or in chunks of the wrong length' },
  3008: { code: 'server', recoverable: true, hint: 'the session reached its time limit; starting another' },
  3009: { code: 'rate_limited', recoverable: true, hint: 'too many sessions at once' },
  4000: { code: 'configuration', hint: 'check sampleRate' },
  4001: { code: 'unauthorized', hint: 'check the credential' },
  4002: { code: 'quota', hint: "the account's balance is used up" },
  4003: { code: 'forbidden', hint: 'this needs a paid account' },
  4008: { code: 'server', recoverable: true, hint: 'the session has ended; starting another' },
  4010: { code: 'server', recoverable: true, hint: 'the session has ended; starting another' },
  4029: { code: 'rate_limited', recoverable: true, hint: 'too many requests' },
  4031: { code: 'server', recoverable: true, hint: 'the session was idle; starting another' },
  4032: { code: 'protocol', hint: 'audio chunks were too short' },
  4033: { code: 'protocol', hint: 'audio chunks were too long' },
  4100: { code: 'protocol', hint: 'it did not understand a message' },
  4101: { code: 'protocol', hint: 'it rejected a message' },
  4102: { code: 'rate_limited', recoverable: true, hint: 'too many sessions at once' },
  4103: { code: 'protocol', hint: 'the session continues on another connection' },
};

const keepAliveMs = 8_000;

interface BetaTurns {
  /** The turns that ended on this connection, the newest first. */
  readonly finished: readonly number[];
  /** Whether the newest one's formatted version is still to come. */
  readonly isUnformatted: boolean;
}

type Context = STTContext<BetaSTTConfig>;
type Step = STTStep<BetaTurns>;

/** AssemblyAI's wire. */
export const betaWire: STTWire<BetaSTTConfig, BetaTurns> = {
  name: 'BetaSTT',
  baseUrl: () => 'https://streaming.assemblyai.com',
  path: '/v3/ws',
  // Linear16 and mulaw, at the configured or at any sample rate.
  accepts: ({ sampleRate }) => formatsOf(betaEncodings, { ...(sampleRate !== undefined && { sampleRate }) }),
  rules: betaRules,
  ownKeys: ['interimResults'],
  // They are the heartbeats: of a room without words, it says nothing else.
  promisesMessages: hasHeartbeat,
  minFrameMs: 50,
  catchUpSpeed: 1.25,
  endingMs: ({ minTurnSilence = 0, maxTurnSilence = 1_280 }) => Math.max(minTurnSilence, maxTurnSilence),
  failures: betaFailures,
  requestIdOf: ({ type, id }) => (type === 'Begin' ? id : undefined),
  start: () => ({ finished: [], isUnformatted: false }),
  read: {
    Begin: (state, { id }) => [state, { type: 'log', text: `session ${asString(id) ?? 'without an id'} begins` }],
    Heartbeat: (state) => [state],
    SpeechStarted: (state, { timestamp: ms }) => [state, { type: 'voice', is: 'started', ms: asNumber(ms) }],
    Turn: onTurn,
    Termination: release,
    Warning: (state, { warning_code: code }) => [
      state,
      { type: 'warning', text: `the service warns (${asNumber(code) ?? 'without a code'})` },
    ],
    Error: (state, { error_code: code, error }) => [
      state,
      { type: 'failure', ...faultOf(asNumber(code) ?? 'an error', asString(error)) },
    ],
  },
  commands: { finalize: (state) => [state, { type: 'send-after-audio', message: { type: 'ForceEndpoint' } }] },

  query: ({ config, format: { encoding, sampleRate } }) => ({
    sample_rate: sampleRate,
    encoding: nameOf(betaEncodings, encoding),
    ...betaQuery(config),
  }),
  // The bare key as header; in browsers, a temporary token in the query.
  credentials: (key) => ({ headers: { Authorization: key }, query: { token: key } }),
  conflict: betaConflict,
  // Older servers send errors without a type.
  typeOf: ({ type, error }) => asString(type) ?? (error === undefined ? undefined : 'Error'),
  isReady: ({ type }) => type === 'Begin',
  begin(state) {
    const [, ...effects] = release(state);
    return [{ finished: [], isUnformatted: false }, ...effects];
  },
  reconfigure(state, changed, { config }) {
    const update = betaUpdate(config, Object.keys(changed));
    if (!update) return undefined;
    const isTold = Object.keys(update).length > 0;
    return isTold ? [state, { type: 'send', message: { type: 'UpdateConfiguration', ...update } }] : [state];
  },
  keepAlive: ({ inactivityTimeout = Infinity }) => ({ intervalMs: Math.min(keepAliveMs, inactivityTimeout * 500) }),
  tick: (state, { config }) =>
    config.inactivityTimeout === undefined ? [state] : [state, { type: 'send', message: { type: 'KeepAlive' } }],
  closes: ({ code, reason }) => (code in betaFailures ? faultOf(code, reason) : undefined),
  farewell: () => ['{"type":"Terminate"}'],
  isLast: ({ type }) => type === 'Termination',
};

/**
 * AssemblyAI streaming transcription, API v3, at `wss://streaming.assemblyai.com/v3/ws`: turns, with word times and
 * confidence. See https://www.assemblyai.com/docs/speech-to-text/universal-streaming.
 */
export class BetaSTT extends StreamingSTT<BetaSTTConfig, BetaTurns> {
  constructor(config: BetaSTTConfig, logger?: Logger) {
    super(betaWire, config, logger);
  }
}

function onTurn(state: BetaTurns, message: WireObject, context: Context): Step {
  const { config } = context;
  const order = asNumber(message['turn_order']);
  const turn = turnOf(message, context);
  const isFormatted = message['turn_is_formatted'] === true;
  if (order !== undefined && state.finished.includes(order)) {
    return order === state.finished[0] && state.isUnformatted && isFormatted ? complete(state, turn) : [state];
  }
  const [released, ...effects] = release(state);
  if (message['end_of_turn'] !== true) return [released, ...effects, ...(turn.text ? heard(turn) : [])];
  const over = { ...released, finished: withFinished(state.finished, order) };
  const ends = asObjects(message['words']).map(({ end }) => asNumber(end) ?? 0);
  const final: STTEffect = { type: 'finalized', ms: Math.max(...ends, 0) };
  // The other models always format, and may never flag it.
  const isAwaited = config.formatTurns === true && betaModel(config) === 'universal-streaming-english';
  const [last, ...told]: Step =
    isAwaited && !isFormatted && turn.text
      ? [
          { ...over, isUnformatted: true },
          { type: 'result', kind: 'segment', ...turn },
        ]
      : complete(over, turn);
  return [last, ...effects, final, ...told];
}

function complete(state: BetaTurns, turn: Said): Step {
  const effects: readonly STTEffect[] = turn.text ? completed(turn) : [{ type: 'reset' }];
  return [{ ...state, isUnformatted: false }, ...effects];
}

/** The formatted version of a turn will not arrive. */
function release(state: BetaTurns): Step {
  return state.isUnformatted ? [{ ...state, isUnformatted: false }, { type: 'finish' }] : [state];
}

function turnOf(message: WireObject, { config, words: wordsOf }: Context): Said {
  const ofSpeaker = ({ speaker, speaker_label: label = speaker, ...word }: WireObject): WireObject => ({
    ...word,
    ...(asString(label) !== 'UNKNOWN' && { speaker: label }),
  });
  const words = wordsOf(asObjects(message['words']).map(ofSpeaker), ({ text }) => asString(text), 1);
  const transcript = asString(message['transcript'])?.trim() ?? '';
  // The other models leave words that may change out of an open turn's transcript.
  const isWhole = isUniversal3(config) || message['end_of_turn'] === true;
  return {
    text: isWhole && transcript ? transcript : words.map(({ text }) => text).join(' '),
    words,
    confidence: meanConfidence(words),
    language: asString(message['language_code']),
  };
}

function faultOf(kind: number | string, sentence: string = ''): { kind: number | string; sentence: string } {
  // Older servers report too many sessions with the code for a wrong credential.
  return { kind: /concurrent|too many/i.test(sentence) ? 3009 : kind, sentence };
}
