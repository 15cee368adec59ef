import type { ConfigRules } from '../../core/config-rule.ts';
import { type WireObject, asArray, asNumber, asString, wireWord } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { Query } from '../../core/remote-provider.ts';
import type { SpeechEvent } from '../../core/roles.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import {
  type ResultKind,
  type STTContext,
  type STTEffect,
  type STTStep,
  type STTWire,
  type Said,
  withFinished,
} from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';

/** Additional options of {@link AlphaFlux}. */
export interface AlphaFluxExtras {
  /** Silence that ends a turn regardless of confidence, 500 to 60,000 ms. Default: the service's, 5,000. */
  readonly eotTimeoutMs?: number;
  /** Words to listen for, at most 100. */
  readonly keyterms?: readonly string[];
  /** Languages to expect, ISO 639-1; `flux-general-multi` only. */
  readonly languageHints?: readonly string[];
  /** Additional parameters, as in the service's docs. */
  readonly parameters?: Query;
}

/** How the service detects turns. */
export interface AlphaFluxOptions extends AlphaFluxExtras {
  /** Default: `flux-general-en`. The other: `flux-general-multi`. */
  readonly model?: string;
  /**
   * Confidence required to announce an end of turn early, 0.3 to 0.9 and at most `eotThreshold`; such results have
   * `isPreflight`. Default: no early announcements.
   */
  readonly eagerEotThreshold?: number;
  /** Confidence required to end a turn, 0.5 to 1. Default: the service's, 0.7. */
  readonly eotThreshold?: number;
}

/** Option changes during a session: the service accepts one message at a time. */
interface AlphaFluxChanges {
  /** Options in force at the service. */
  readonly told: AlphaFluxOptions;
  /** Options to bring into force. */
  readonly wanted: AlphaFluxOptions;
  /** Keep-alives since the last unanswered change; `undefined` when none is pending. */
  readonly waits: number | undefined;
}

type ChangesStep = STTStep<AlphaFluxChanges>;

/** Before any connection. */
const fresh: AlphaFluxChanges = { told: {}, wanted: {}, waits: undefined };

const thresholds = ['eagerEotThreshold', 'eotThreshold', 'eotTimeoutMs'] as const;
const thresholdRules: ConfigRules = Object.fromEntries(thresholds.map((key) => [key, { wire: true }]));

/** A connection is opened with these options. */
function asked(changes: AlphaFluxChanges, options: AlphaFluxOptions = {}): AlphaFluxChanges {
  return { ...changes, told: options };
}

/** Whether a message can convey these options. */
function canTell({ told }: AlphaFluxChanges, options: AlphaFluxOptions = {}): boolean {
  const { model, parameters } = options;
  const isFixed = !differing({ model: told.model, parameters: told.parameters }, { model, parameters });
  // A message cannot unset a threshold.
  return isFixed && thresholds.every((key) => told[key] === undefined || options[key] !== undefined);
}

/** Sends what has changed, once the service has answered the change before. */
function tellChanges({ told, waits }: AlphaFluxChanges, wanted: AlphaFluxOptions = {}): ChangesStep {
  if (waits !== undefined) return [{ told, wanted, waits }];
  const changed = differing(wireParameters(told, thresholdRules), wireParameters(wanted, thresholdRules));
  const lists = differing(listsOf(told), listsOf(wanted));
  if (!changed && !lists) return [{ told, wanted, waits }];
  const message = { type: 'Configure', ...(changed && { thresholds: changed }), ...lists };
  return [
    { told: wanted, wanted, waits: 0 },
    { type: 'send', message },
  ];
}

/** The service has answered; an unexpected answer is ignored. */
function onAnswer(changes: AlphaFluxChanges): ChangesStep {
  return changes.waits === undefined ? [changes] : tellChanges({ ...changes, waits: undefined }, changes.wanted);
}

/** On a keep-alive; an answer is not awaited beyond the second. */
function onTick(changes: AlphaFluxChanges): ChangesStep {
  const { waits } = changes;
  if (waits === undefined) return [changes];
  return waits > 0 ? onAnswer(changes) : [{ ...changes, waits: waits + 1 }];
}

function listsOf({ keyterms = [], languageHints = [] }: AlphaFluxOptions): WireObject {
  return { keyterms, language_hints: languageHints };
}

/** The entries that differ; `undefined` if none do. */
function differing(before: WireObject, after: WireObject): WireObject | undefined {
  const changed = Object.entries(after).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key]));
  return changed.length > 0 ? Object.fromEntries(changed) : undefined;
}

/** Configuration of {@link AlphaFlux}. The model determines the language; interim results cannot be turned off. */
export interface AlphaFluxConfig extends StreamingSTTConfig {
  /** Requested options. Default: the service's own. */
  readonly options?: AlphaFluxOptions;
}

const english = 'flux-general-en';

const rules: ConfigRules = {
  language: { type: 'text' },
  'options.model': { known: [english, 'flux-general-multi'], wire: 'model', default: english },
  'options.eagerEotThreshold': { min: 0.3, max: 0.9, wire: 'eager_eot_threshold' },
  'options.eotThreshold': { min: 0.5, max: 1, wire: 'eot_threshold' },
  'options.eotTimeoutMs': { min: 500, max: 60_000, integer: true, wire: 'eot_timeout_ms' },
  'options.keyterms': { type: 'texts', maxLength: 100, wire: 'keyterm' },
  'options.languageHints': { type: 'texts', wire: 'language_hint' },
  'options.parameters': {},
};

/** Turn events: what each means for the voice and for the words. */
const events: Readonly<Record<string, readonly [SpeechEvent['type'] | undefined, ResultKind]>> = {
  StartOfTurn: ['started', 'interim'],
  Update: [undefined, 'interim'],
  EagerEndOfTurn: ['ended', 'preflight'],
  TurnResumed: ['resumed', 'interim'],
  EndOfTurn: ['ended', 'complete'],
};

const sampleRates = [16_000, 8_000, 24_000, 44_100, 48_000];

/** Audio before a turn that may contain its first sound, in milliseconds. */
const leadMs = 1_000;

const [gapMs, keepAliveMs] = [500, 5_000];

interface AlphaFluxTurns {
  /** Whether the runtime supports pings. */
  readonly canPing: boolean;
  /** Whether a turn is in progress. */
  readonly isOpen: boolean;
  /** The newest turns that ended on this connection. */
  readonly finished: readonly number[];
  readonly changes: AlphaFluxChanges;
}

type Context = STTContext<AlphaFluxConfig>;
type Step = STTStep<AlphaFluxTurns>;

/** Deepgram Flux's wire. */
export const alphaFluxWire: STTWire<AlphaFluxConfig, AlphaFluxTurns> = {
  name: 'AlphaFlux',
  baseUrl: () => 'https://api.deepgram.com',
  path: '/v2/listen',
  accepts: () => (['linear16', 'linear32', 'mulaw', 'alaw'] as const).map((encoding) => ({ encoding, sampleRates })),
  rules,
  reportsSpeechEnd: true,
  // An update comes with every quarter of a second of audio.
  promisesMessages: () => true,
  failures: {
    UNPARSABLE_CLIENT_MESSAGE: { code: 'protocol', hint: 'it did not understand a message' },
    INACTIVE_CLIENT: { code: 'timeout', recoverable: true, hint: 'it received nothing for a minute' },
    INTERNAL_SERVER_ERROR: { code: 'server', recoverable: true, hint: 'reconnecting' },
  },
  requestIdOf: ({ request_id: id }) => id,
  start: () => ({ canPing: true, isOpen: false, finished: [], changes: fresh }),
  read: {
    TurnInfo: onTurn,
    ConfigureSuccess: (state) => withChanges(state, onAnswer(state.changes)),
    ConfigureFailure: onRefused,
    Warning: (state, { code }) => {
      const log: STTEffect = { type: 'log', text: wireWord(code) };
      const isIdle = code === 'FORCE_END_TURN_NO_ACTIVE_TURN';
      return isIdle ? [state, log, { type: 'reset' }] : [state, log];
    },
    Error: (state, { code, description }) => [
      state,
      { type: 'failure', kind: wireWord(code), sentence: asString(description) },
    ],
  },
  commands: { finalize: (state) => [state, { type: 'send-after-audio', message: { type: 'ForceEndTurn' } }] },

  query: ({ config, format: { encoding, sampleRate } }) => ({
    encoding,
    sample_rate: sampleRate,
    ...wireParameters(config, rules),
    ...config.options?.parameters,
  }),
  conflict({ language = 'en', options = {} }) {
    const { model = english, eagerEotThreshold = 0, eotThreshold = 0.7, languageHints = [] } = options;
    if (model === english && primaryLanguage(language) !== 'en') {
      return `options.model ${english} hears English, not ${language}: set it to flux-general-multi`;
    }
    if (eagerEotThreshold > eotThreshold) {
      return `options.eagerEotThreshold must be at most eotThreshold (${eotThreshold}), not ${eagerEotThreshold}`;
    }
    return languageHints.length > 0 && model === english
      ? `options.languageHints is for flux-general-multi, not ${model}`
      : undefined;
  },
  connecting: (state, { config }) => [{ ...state, changes: asked(state.changes, config.options) }],
  isReady: ({ type }) => type === 'Connected',
  begin: (state, { config }) =>
    withChanges(
      { ...state, isOpen: false, finished: [] },
      tellChanges({ ...state.changes, waits: undefined }, config.options),
    ),
  reconfigure(state, changed, { config }) {
    if ('proxyUrl' in changed || 'endpoint' in changed || !canTell(state.changes, config.options)) return undefined;
    return withChanges(state, tellChanges(state.changes, config.options));
  },
  keepAlive: () => ({ intervalMs: keepAliveMs }),
  tick: (state, _context, canPing) => withChanges({ ...state, canPing }, onTick(state.changes)),
  gapMs,
  // A turn ends only while audio continues, and a browser cannot ping.
  gap: (state, quietMs) =>
    state.isOpen || (!state.canPing && quietMs % keepAliveMs === 0) ? [state, { type: 'silence', ms: gapMs }] : [state],
  farewell: ({ isOpen }) => [...(isOpen ? ['{"type":"ForceEndTurn"}'] : []), '{"type":"CloseStream"}'],
};

/**
 * Deepgram Flux, API V2, at `wss://api.deepgram.com/v2/listen`: the service detects turns, and announces their likely
 * end early (`isPreflight`) if `eagerEotThreshold` is set. See https://developers.deepgram.com/docs/flux/quickstart.
 */
export class AlphaFlux extends StreamingSTT<AlphaFluxConfig, AlphaFluxTurns> {
  constructor(config: AlphaFluxConfig, logger?: Logger) {
    super(alphaFluxWire, config, logger);
  }
}

function withChanges(state: AlphaFluxTurns, [changes, ...effects]: STTStep<AlphaFluxChanges>): Step {
  return [{ ...state, changes }, ...effects];
}

function onRefused(state: AlphaFluxTurns, { code }: WireObject): Step {
  if (state.changes.waits === undefined) return [state];
  const text = `the service kept its previous options (${wireWord(code)})`;
  const refused: STTEffect = { type: 'warning', text, code: 'configuration', always: true };
  return [...withChanges(state, onAnswer(state.changes)), refused];
}

function onTurn(state: AlphaFluxTurns, message: WireObject, context: Context): Step {
  const turn = asNumber(message['turn_index']);
  const endMs = (asNumber(message['audio_window_end']) ?? 0) * 1_000;
  const event = asString(message['event']);
  if (turn !== undefined && state.finished.includes(turn)) return [state];
  if (event === 'Update' && !state.isOpen) return [state, { type: 'finalized', ms: endMs - leadMs }];
  const [speech, kind] = ownEntry(events, event) ?? [];
  if (kind === undefined) return [state];
  const said = saidIn(message, context);
  // The service answers every request to end a turn.
  const isAsked = kind === 'complete' && message['trigger'] === 'manual';
  const told: STTEffect[] = [
    ...(speech ? [{ type: 'voice', is: speech } as const] : []),
    ...(said.text || isAsked ? [{ type: 'result', kind, ...said } as const] : []),
  ];
  if (kind !== 'complete') return [{ ...state, isOpen: true }, ...told];
  const over: Step = [{ ...state, isOpen: false, finished: withFinished(state.finished, turn) }, ...told];
  return [...over, { type: 'reset' }, { type: 'finalized', ms: endMs }];
}

function saidIn(message: WireObject, { config, words: wordsOf }: Context): Said {
  const words = wordsOf(message['words'], ({ word }) => asString(word));
  const isEnglish = (config.options?.model ?? english) === english;
  return {
    text: asString(message['transcript'])?.trim() ?? '',
    words,
    confidence: meanConfidence(words),
    language: asString(asArray(message['languages'])[0]) ?? (isEnglish ? 'en' : undefined),
  };
}
