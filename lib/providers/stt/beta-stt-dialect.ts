import { type WireObject, asNumber, asObjects, asString } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { Query } from '../../core/remote-provider.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import type { BetaFacts, BetaSTTConfig } from './beta-stt.ts';
import { nameOf } from './named-encodings.ts';
import {
  type Failures,
  type STTContext,
  type STTDialect,
  type STTEffect,
  type STTStep,
  type Said,
  completed,
  heard,
  withFinished,
} from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';

interface BetaTurns {
  /** The turns that ended on this connection, the newest first. */
  readonly finished: readonly number[];
  /** Whether the newest one's formatted version is still to come. */
  readonly isUnformatted: boolean;
}

type Context = STTContext<BetaSTTConfig>;
type Step = STTStep<BetaTurns>;

const lists: ReadonlySet<string> = new Set(['keyterms_prompt', 'language_codes']);

/** Longest word to listen for, in characters. */
const maxTermLength = 50;

/** Longest context, in characters: more of it ends the session. Source: the vendor's part of LiveKit's plugin. */
const maxContextLength = 1_750;

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

/** How AssemblyAI is spoken to. */
export const betaDialect = (facts: BetaFacts): STTDialect<BetaSTTConfig, BetaTurns> => ({
  path: '/v3/ws',
  // They are the heartbeats: of a room without words, it says nothing else.
  promisesMessages: (config) => hasHeartbeat(facts, config),
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
    Turn: (state, message, context) => onTurn(facts, state, message, context),
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
    encoding: nameOf(facts.encodings, encoding),
    ...betaQuery(facts, config),
  }),
  // The bare key as header; in browsers, a temporary token in the query.
  credentials: (key) => ({ headers: { Authorization: key }, query: { token: key } }),
  // Older servers send errors without a type.
  typeOf: ({ type, error }) => asString(type) ?? (error === undefined ? undefined : 'Error'),
  isReady: ({ type }) => type === 'Begin',
  begin(state) {
    const [, ...effects] = release(state);
    return [{ finished: [], isUnformatted: false }, ...effects];
  },
  reconfigure(state, changed, { config }) {
    const update = betaUpdate(facts, config, Object.keys(changed));
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
});

/** Whether the service sends heartbeats: what its docs say of the Universal-3 family. */
function hasHeartbeat({ isUniversal3 }: BetaFacts, config: BetaSTTConfig): boolean {
  return isUniversal3(config) && String(config.parameters?.['session_heartbeat'] ?? true) === 'true';
}

/** The keys that are set, under the service's names. */
function settings({ rules, isUniversal3 }: BetaFacts, config: BetaSTTConfig): Record<string, unknown> {
  const { language, wordBoost, agentContext } = config;
  const { languages = language === undefined ? undefined : [primaryLanguage(language)] } = config;
  const values = {
    ...config,
    wordBoost: wordBoost?.filter(({ length }) => length <= maxTermLength),
    languages: isUniversal3(config) ? languages : undefined,
    // A question at its end says the most about what comes next.
    agentContext: agentContext && Array.from(agentContext).slice(-maxContextLength).join(''),
  };
  return wireParameters(values, rules);
}

/** The query parameters; a list is one value. */
function betaQuery(facts: BetaFacts, config: BetaSTTConfig): Query {
  const said = Object.entries(settings(facts, config)).map(([name, value]) => [
    name,
    Array.isArray(value) ? JSON.stringify(value) : String(value),
  ]);
  const heartbeat = hasHeartbeat(facts, config) ? { session_heartbeat: true } : {};
  return { ...(Object.fromEntries(said) as Query), ...heartbeat, ...config.parameters };
}

/** The message that updates a running session; `undefined` when no message can. */
function betaUpdate(facts: BetaFacts, config: BetaSTTConfig, changed: readonly string[]): WireObject | undefined {
  const update: WireObject = {};
  const now = settings(facts, config);
  for (const key of changed) {
    // The other models have no language setting.
    if (key === 'language' && !facts.isUniversal3(config)) continue;
    const { wire: name, live = false } = ownEntry(facts.rules, key === 'language' ? 'languages' : key) ?? {};
    if (!live || typeof name !== 'string') return undefined;
    // A list can be emptied; other values cannot be unset by a message.
    const value = now[name] ?? (lists.has(name) ? [] : undefined);
    if (value === undefined) return undefined;
    update[name] = value;
  }
  return update;
}

function onTurn(facts: BetaFacts, state: BetaTurns, message: WireObject, context: Context): Step {
  const { config } = context;
  const order = asNumber(message['turn_order']);
  const turn = turnOf(facts, message, context);
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
  const isAwaited = config.formatTurns === true && facts.modelOf(config) === 'universal-streaming-english';
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

function turnOf({ isUniversal3 }: BetaFacts, message: WireObject, { config, words: wordsOf }: Context): Said {
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
