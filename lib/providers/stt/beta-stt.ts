import { type ConfigRule, wireParameters } from '../../core/config-rule.ts';
import { type WireObject, asNumber, asObjects, asString, ownEntry } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { Query } from '../../core/remote-provider.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
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
} from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';

/** Configuration of {@link BetaSTT}. `language` is BCP 47. */
export interface BetaSTTConfig extends BetaSTTOptions {
  /** Hz. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Words to listen for, at most 100; those of more than 50 characters are left out. */
  readonly wordBoost?: readonly string[];
}

/** The service's names of the encodings that it takes. */
const betaEncodings: NamedEncodings = { pcm_s16le: 'linear16', pcm_mulaw: 'mulaw' };

/** What {@link BetaSTT} takes beside SPEC.md's keys. What is for the Universal-3 family is refused by the other models. */
export interface BetaSTTOptions extends StreamingSTTConfig {
  /**
   * Default: `universal-3-5-pro`. Others: `u3-rt-pro`, `universal-3-6`, `universal-3-6-pro`,
   * `universal-streaming-english`, `universal-streaming-multilingual`, `whisper-rt`.
   */
  readonly model?: string;
  /** Languages to expect, ISO 639-1, at most 10, or `multi` alone; Universal-3 family. Default: `language`, where set. */
  readonly languages?: readonly string[];
  /** Whether results tell the language. Default: false. */
  readonly languageDetection?: boolean;
  /** Whether the English model writes with punctuation and capitals, which the others always do; costs time. Default: false. */
  readonly formatTurns?: boolean;
  /** How sure the service must be of an end of turn, 0 to 1; Universal-Streaming models. Default: the service's, 0.4. */
  readonly endOfTurnConfidenceThreshold?: number;
  /** Milliseconds of silence that end a turn which sounds complete. Default: the service's, 400; Universal-3: 100. */
  readonly minTurnSilence?: number;
  /** Milliseconds of silence that end any turn. Default: the service's, 1,280; Universal-3: 1,000. */
  readonly maxTurnSilence?: number;
  /** How sure the service must be of a voice, 0 to 1. Default: the service's, 0.4; Universal-3: 0.3. */
  readonly vadThreshold?: number;
  /** Seconds without audio after which the service ends the session, 5 to 3,600; a keep-alive prevents it. Default: never. */
  readonly inactivityTimeout?: number;
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly speakerLabels?: boolean;
  /** Most speakers to tell apart. */
  readonly maxSpeakers?: number;
  /** Default: false. */
  readonly filterProfanity?: boolean;
  /** What the conversation is about; Universal-3 family. */
  readonly prompt?: string;
  /** What the agent has said last; Universal-3 family. */
  readonly agentContext?: string;
  /** What counts most; Universal-3 family. Default: the service's. */
  readonly mode?: 'min_latency' | 'balanced' | 'max_accuracy';
  /** Whether partial results come steadily, not just at pauses; Universal-3 family. Default: false. */
  readonly continuousPartials?: boolean;
  /** Milliseconds of voice before the service tells it, 0 to 1,000; Universal-3 family. */
  readonly interruptionDelay?: number;
  /** Further parameters of the service, as they stand in its docs. */
  readonly parameters?: Query;
}

/** What a key may hold (the vendor's limits), and how the service is told. */
interface BetaRule extends ConfigRule {
  /** Whether a running session takes another value. */
  readonly live?: boolean;
  /** For the Universal-3 family alone. */
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
  mode: { oneOf: ['min_latency', 'balanced', 'max_accuracy'], wire: 'mode', u3: true },
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

/** The model that is asked for. */
function betaModel({ model = 'universal-3-5-pro' }: BetaSTTConfig): string {
  return model;
}

/** Whether that is one of the Universal-3 family. */
function isUniversal3(config: BetaSTTConfig): boolean {
  return /^(u3|universal-3)/.test(betaModel(config));
}

/** What does not go together, as a sentence for people. */
function betaConflict(config: BetaSTTConfig): string | undefined {
  const { language, languages = [], maxSpeakers, speakerLabels } = config;
  const model = betaModel(config);
  const known = languagesOf[model];
  if (language !== undefined && known && !known.includes(primaryLanguage(language))) {
    return `${model} knows ${known.join(', ')}, not ${language}: take another model`;
  }
  if (languages.length > 1 && languages.includes('multi')) return 'languages has multi, which must stand alone';
  if (maxSpeakers !== undefined && !speakerLabels) return 'maxSpeakers needs speakerLabels';
  const misplaced = Object.entries(betaRules).find(
    ([key, { u3 }]) => u3 && !isUniversal3(config) && Reflect.get(config, key) !== undefined,
  );
  return misplaced && `${misplaced[0]} is for the Universal-3 family, not ${model}`;
}

/** The keys that are set, as the service names them. */
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

/** What the address says of them: a list is one value. */
function betaQuery(config: BetaSTTConfig): Query {
  const said = Object.entries(settings(config)).map(([name, value]) => [
    name,
    Array.isArray(value) ? JSON.stringify(value) : String(value),
  ]);
  return { ...(Object.fromEntries(said) as Query), ...config.parameters };
}

/** What tells a running session of changed keys; `undefined` when no message can. */
function betaUpdate(config: BetaSTTConfig, changed: readonly string[]): WireObject | undefined {
  const update: WireObject = {};
  const now = settings(config);
  for (const key of changed) {
    // The other models are told no language.
    if (key === 'language' && !isUniversal3(config)) continue;
    const { wire: name, live = false } = ownEntry(betaRules, key === 'language' ? 'languages' : key) ?? {};
    if (!live || typeof name !== 'string') return undefined;
    // A list can be emptied; no message takes any other value back.
    const value = now[name] ?? (lists.has(name) ? [] : undefined);
    if (value === undefined) return undefined;
    update[name] = value;
  }
  return update;
}

/** What error and close codes mean. */
const betaFailures: Failures = {
  1008: { code: 'unauthorized', hint: 'check the credential, its balance and its rights' },
  1013: { code: 'overloaded', recoverable: true, hint: 'another connection follows' },
  3005: { code: 'server', recoverable: true, hint: 'another connection follows' },
  3006: { code: 'configuration', hint: 'it takes no such message or parameter' },
  3007: { code: 'protocol', hint: 'audio came faster than it sounds, or in pieces of the wrong length' },
  3008: { code: 'server', recoverable: true, hint: 'the session was too long, another begins' },
  3009: { code: 'rate_limited', recoverable: true, hint: 'too many sessions at once' },
  4000: { code: 'configuration', hint: 'check sampleRate' },
  4001: { code: 'unauthorized', hint: 'check the credential' },
  4002: { code: 'quota', hint: 'the account has no balance' },
  4003: { code: 'forbidden', hint: 'the account has not paid for this' },
  4008: { code: 'server', recoverable: true, hint: 'the session has ended, another begins' },
  4010: { code: 'server', recoverable: true, hint: 'the session has ended, another begins' },
  4029: { code: 'rate_limited', recoverable: true, hint: 'too much at once' },
  4031: { code: 'server', recoverable: true, hint: 'the session was idle, another begins' },
  4032: { code: 'protocol', hint: 'audio came in pieces that are too short' },
  4033: { code: 'protocol', hint: 'audio came in pieces that are too long' },
  4100: { code: 'protocol', hint: 'it does not understand a message' },
  4101: { code: 'protocol', hint: 'it does not take a message' },
  4102: { code: 'rate_limited', recoverable: true, hint: 'too many sessions at once' },
  4103: { code: 'protocol', hint: 'the session goes on elsewhere' },
};

const keepAliveMs = 8_000;

interface BetaTurns {
  /** The last turn of this connection that is over. */
  readonly lastTurn: number;
  /** Whether that one is to come again, formatted. */
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
  minFrameMs: 50,
  catchUpSpeed: 1.25,
  failures: betaFailures,
  start: () => ({ lastTurn: -1, isUnformatted: false }),
  read: {
    Begin: (state, { id }) => [state, { type: 'log', text: `session ${asString(id) ?? 'without an id'} begins` }],
    SpeechStarted: (state) => [state, { type: 'voice', is: 'started' }],
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
  // Older servers say no type beside an error.
  typeOf: ({ type, error }) => asString(type) ?? (error === undefined ? undefined : 'Error'),
  isReady: ({ type }) => type === 'Begin',
  begin(state) {
    const [, ...effects] = release(state);
    return [{ lastTurn: -1, isUnformatted: false }, ...effects];
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

  /** Ends the speaker's turn: its complete result follows. */
  finalize(): void {
    this.tell('finalize');
  }
}

function onTurn(state: BetaTurns, message: WireObject, context: Context): Step {
  const { config } = context;
  const order = asNumber(message['turn_order']) ?? state.lastTurn + 1;
  const turn = turnOf(message, context);
  const isFormatted = message['turn_is_formatted'] === true;
  if (order <= state.lastTurn) {
    return order === state.lastTurn && state.isUnformatted && isFormatted ? complete(state, turn) : [state];
  }
  const [released, ...effects] = release(state);
  if (message['end_of_turn'] !== true) return [released, ...effects, ...(turn.text ? heard(turn) : [])];
  const over = { ...released, lastTurn: order };
  const ends = asObjects(message['words']).map(({ end }) => asNumber(end) ?? 0);
  const final: STTEffect = { type: 'finalized', ms: Math.max(...ends, 0) };
  // The other models write so from the first, and may never say so.
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

/** A turn that was to come again, formatted, will not. */
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
  // The other models keep what may change out of the transcript of a turn that goes on.
  const isWhole = isUniversal3(config) || message['end_of_turn'] === true;
  return {
    text: isWhole && transcript ? transcript : words.map(({ text }) => text).join(' '),
    ...{ words, confidence: meanConfidence(words), language: asString(message['language_code']) },
  };
}

function faultOf(kind: number | string, sentence: string = ''): { kind: number | string; sentence: string } {
  // Older servers tell too many sessions by the code of a wrong credential.
  return { kind: /concurrent|too many/i.test(sentence) ? 3009 : kind, sentence };
}
