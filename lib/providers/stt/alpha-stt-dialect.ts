import { describeFormat } from '../../audio/described.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { asArray, asNumber, asObject, asObjects, asString, wireWord, type WireObject } from '../../core/guard.ts';
import type { Query } from '../../core/remote-provider.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import type { AlphaSTTConfig } from './alpha-stt.ts';
import { endless, isEndless, onChannel } from './stt-wire.ts';
import type { ResultKind, Said, STTContext, STTDialect, STTEffect, STTReader, STTStep } from './stt-wire.ts';
import { meanConfidence, newWords } from './stt-words.ts';

interface AlphaSession {
  /** The utterance of each channel; audio that is transcribed as one is channel 0. */
  readonly channels: Readonly<Record<number, AlphaUtterance>>;
  /** What the connection was asked for, and told since. */
  readonly told: Query;
}

/** The utterance so far, on a connection. */
interface AlphaUtterance {
  /** Final segments. */
  readonly segments: readonly Said[];
  /** The interim result after them. */
  readonly interim: Said | undefined;
}

type Context = STTContext<AlphaSTTConfig>;
type Step = STTStep<AlphaSession>;
type UtteranceStep = STTStep<AlphaUtterance>;

/** Reads a message about an utterance; `channel` is defined where channels are transcribed apart. */
type UtteranceReader = (
  utterance: AlphaUtterance,
  message: WireObject,
  context: Context,
  channel: number | undefined,
) => UtteranceStep;

const nothing: AlphaUtterance = { segments: [], interim: undefined };

/** Most segments of an utterance. */
const maxSegments = 256;

/** How Deepgram's V1 is spoken to. */
export const alphaDialect = (rules: ConfigRules): STTDialect<AlphaSTTConfig, AlphaSession> => ({
  path: '/v1/listen',
  // Interim results come about once a second, without words in silence.
  promisesMessages: ({ interimResults = true, options }) => interimResults || options?.utteranceEndMs !== false,
  start: () => ({ channels: {}, told: {} }),
  requestIdOf: ({ request_id: id, metadata }) => id ?? asObject(metadata)?.['request_id'],
  read: {
    SpeechStarted: onChannels((utterance, { timestamp }) => {
      const seconds = asNumber(timestamp);
      return [utterance, { type: 'voice', is: 'started', ms: seconds === undefined ? undefined : seconds * 1_000 }];
    }),
    Results: onChannels(onResults),
    UtteranceEnd: onChannels(onUtteranceEnd),
    Metadata: (state, { request_id: id }) => [
      state,
      { type: 'log', text: `request ${asString(id) ?? 'without an id'} ended` },
    ],
    ConfigureSuccess: (state) => [state],
    ConfigureFailure: (state, { code }) => onRefused(state, code),
    Error: (state, message) =>
      refusesChange(message)
        ? onRefused(state, message['code'] ?? message['variant'])
        : [state, { type: 'log', text: `the service reports ${wireWord(message['variant'])}` }],
  },
  // A voice may interrupt the agent: it does not wait for its words.
  each: (state, message) => (isVoice(state, message) ? [state, { type: 'voice', is: 'started' }] : [state]),
  commands: { finalize: (state) => [state, finalize()] },

  query: (context) => queryOf(rules, context),
  connecting: (state, context) => [{ ...state, told: wantedOf(rules, context) }],
  // Options may have changed since the connection was asked for.
  begin: (state, context) => retold(rules, state, context) ?? [state],
  reconfigure(state, changed, context) {
    const step = Object.keys(changed).every((key) => queryKeys.has(key)) ? retold(rules, state, context) : undefined;
    return step && context.audioEndMs === undefined ? [state] : step;
  },
  keepAlive: () => ({ intervalMs: 4_000 }),
  // The service closes a connection that has never received audio, keep-alives or not.
  tick: (state, { sentMs }) => [
    state,
    sentMs > 0 ? { type: 'send', message: { type: 'KeepAlive' } } : { type: 'silence', ms: 100 },
  ],
  closes({ code, reason }, { format }) {
    if (code !== 1008 || !/data-?0000/i.test(reason)) return undefined;
    const message = `the service cannot decode the audio as ${describeFormat(format)}`;
    return { message, code: 'unsupported_format', status: code };
  },
  farewell: () => ['{"type":"CloseStream"}'],
  end: ({ channels, ...state }, { config }) => [
    { ...state, channels: {} },
    ...Object.entries(channels).flatMap(([channel, { segments, interim }]) => {
      const [, ...effects] = complete({ segments: interim ? [...segments, interim] : segments, interim });
      return onChannel(config.options?.multichannel ? Number(channel) : undefined, effects);
    }),
  ],
});

/** Keys that the query conveys. */
const queryKeys: ReadonlySet<string> = new Set<keyof AlphaSTTConfig>([
  'options',
  'language',
  'interimResults',
  'extraQuery',
]);

function queryOf(rules: ConfigRules, { config, format: { encoding, sampleRate, channels } }: Context): Query {
  const { interimResults = true, options = {} } = config;
  const { utteranceEndMs = interimResults && 1_000, parameters } = options;
  const { model, language, ...others } = wireParameters(config, rules);
  return {
    model,
    language,
    encoding,
    sample_rate: sampleRate,
    channels,
    ...others,
    // The service detects the end of an utterance from its interim results.
    interim_results: interimResults || utteranceEndMs !== false,
    utterance_end_ms: utteranceEndMs === false ? undefined : utteranceEndMs,
    ...parameters,
  };
}

/** What the next connection would be asked for. */
function wantedOf(rules: ConfigRules, context: Context): Query {
  return { ...queryOf(rules, context), ...context.config.extraQuery };
}

/** Regions whose connections keep the key terms that they were opened with. */
const fixedRegions = /\/\/api\.(eu|au|in)\.deepgram\.com/i;

/** Most tokens of all key terms: more of them would leave a running connection mute. */
const maxTokens = 500;

/**
 * Tells a connection what has changed, if it can change that (https://developers.deepgram.com/docs/configure);
 * `undefined` if not.
 */
function retold(rules: ConfigRules, state: AlphaSession, context: Context): Step | undefined {
  const { told } = state;
  const wanted = wantedOf(rules, context);
  const changed = Object.keys({ ...told, ...wanted }).filter(
    (key) => JSON.stringify(told[key]) !== JSON.stringify(wanted[key]),
  );
  const [hasTerms, hasNumerals] = [changed.includes('keyterm'), changed.includes('numerals')];
  const keyterms = [wanted['keyterm'] ?? []].flat().map(String);
  if (changed.some((key) => key !== 'keyterm' && key !== 'numerals')) return undefined;
  if (hasTerms && !takesTerms(keyterms, context.config)) return undefined;
  if (changed.length === 0) return [state];
  const message = {
    type: 'Configure',
    ...(hasTerms && { keyterms }),
    ...(hasNumerals && { features: { numerals: String(wanted['numerals']) === 'true' } }),
  };
  return [
    { ...state, told: wanted },
    { type: 'send', message },
  ];
}

/** Whether a running connection can have these key terms. */
function takesTerms(keyterms: readonly string[], { proxyUrl, endpoint }: AlphaSTTConfig): boolean {
  // How the service counts tokens is its own; none is shorter than a byte.
  const mostTokens = new TextEncoder().encode(keyterms.join(' ')).length;
  return mostTokens <= maxTokens && !fixedRegions.test(String([proxyUrl, endpoint].find(Boolean) ?? ''));
}

/** The service keeps its options on this connection: another one will have the new ones. */
function onRefused(state: AlphaSession, code: unknown): Step {
  const text = `the service cannot change this connection (${wireWord(code)}): reconnecting`;
  return [state, { type: 'log', text }, { type: 'reconnect' }];
}

/** Whether an error is about a `Configure`, and about nothing else. */
function refusesChange({ variant, message }: WireObject): boolean {
  if (variant === 'InvalidConfigureMessage') return true;
  return variant === 'SchemaError' && /"type":\s*"Configure"/.test(asString(message) ?? '');
}

/** Reads a message with its channel's utterance. */
function onChannels(read: UtteranceReader): STTReader<AlphaSTTConfig, AlphaSession> {
  return (state, message, context) => {
    const channel = state.told['multichannel'] === true ? channelOf(message) : undefined;
    const at = channel ?? 0;
    const isOurs = channel === undefined || (Number.isInteger(at) && at >= 0 && at < context.format.channels);
    if (!isOurs) return [state];
    const before = state.channels[at] ?? nothing;
    const [utterance, ...effects] = read(before, message, context, channel);
    const channels = channel === undefined ? { 0: utterance } : { ...state.channels, [at]: utterance };
    return [{ channels, told: state.told }, ...onChannel(channel, effects)];
  };
}

/**
 * Whether a message has words that someone is saying. Never where channels are transcribed apart: a message may repeat
 * words there, and only reading them tells.
 */
function isVoice({ told }: AlphaSession, message: WireObject): boolean {
  if (message['type'] !== 'Results' || message['is_final'] === true || told['multichannel'] === true) return false;
  return textOf(alternativeOf(message)) !== '';
}

/** The channel of a message. Results have it in a field of its own: their `channel` is what was said. */
function channelOf({ channel_index: index, channel }: WireObject): number {
  return asNumber(asArray(index)[0]) ?? asNumber(asArray(channel)[0]) ?? 0;
}

/** The words stopped; of which utterance, only the time of the last word says. */
function onUtteranceEnd(
  utterance: AlphaUtterance,
  { last_word_end: seconds }: WireObject,
  context: Context,
  channel: number | undefined,
): UtteranceStep {
  const { segments, interim } = utterance;
  const lastMs = context.toAudioMs((asNumber(seconds) ?? Infinity) * 1_000);
  const [first] = interim?.words ?? [];
  const isLate = first?.startMs !== undefined && lastMs <= first.startMs;
  if (isLate) return segments.length === 0 ? [utterance] : endedBefore(utterance);
  // Its words are no more final than the interim result that contains them.
  return segments.length === 0 && interim ? [utterance, finalize(channel)] : complete(utterance);
}

/** The final segments were an utterance; the interim result belongs to the next. */
function endedBefore(utterance: AlphaUtterance): UtteranceStep {
  const { interim } = utterance;
  const [over, ...effects] = complete(utterance);
  const again: readonly STTEffect[] = interim ? [{ type: 'voice', is: 'started' }, result('interim', [interim])] : [];
  return [{ ...over, interim }, ...effects, ...again];
}

/** Asks for final results: of one channel, or of all. */
function finalize(channel?: number): STTEffect {
  return { type: 'send-after-audio', message: { type: 'Finalize', channel } };
}

function onResults(
  utterance: AlphaUtterance,
  message: WireObject,
  context: Context,
  channel: number | undefined,
): UtteranceStep {
  const segment = segmentOf(message, context, channel);
  const hasText = segment.text !== '';
  if (message['is_final'] !== true) {
    if (!hasText) return [utterance];
    const { segments } = utterance;
    return [
      { segments, interim: segment },
      { type: 'voice', is: 'started' },
      result('interim', segments.length === 0 ? [segment] : [...segments, segment]),
    ];
  }
  const [start, duration] = [asNumber(message['start']), asNumber(message['duration'])];
  const endMs = start === undefined || duration === undefined ? undefined : (start + duration) * 1_000;
  if (endMs !== undefined && context.isFinal(endMs, channel) && hasText) return [utterance];
  const segments = hasText ? [...utterance.segments, segment] : utterance.segments;
  const next: AlphaUtterance = { segments, interim: undefined };
  const isAsked = message['from_finalize'] === true;
  const isTooLong = isEndless(segments, maxSegments);
  const isOver = isAsked || message['speech_final'] === true || isTooLong;
  const [last, ...effects]: UtteranceStep =
    isOver || neverEnds(context.config)
      ? complete(next, isAsked)
      : [next, ...(hasText ? [result('segment', segments)] : [])];
  const settled: readonly STTEffect[] = endMs === undefined ? [] : [{ type: 'finalized', ms: endMs }];
  return [last, ...settled, ...effects, ...(isTooLong ? [endless] : [])];
}

function segmentOf(message: WireObject, context: Context, channel: number | undefined): Said {
  const alternative = alternativeOf(message);
  const said = asObjects(alternative['words']);
  const heard = newWords(said, context.isFinal, channel);
  const words = context.words(heard, (word) => asString(word['punctuated_word']) ?? asString(word['word']));
  const isWhole = heard.length === said.length;
  return {
    text: isWhole ? textOf(alternative) : words.map(({ text }) => text).join(' '),
    words,
    confidence: asNumber(alternative['confidence']),
    language: asString(asArray(alternative['languages'])[0]),
  };
}

function alternativeOf({ channel }: WireObject): WireObject {
  return asObject(asArray(asObject(channel)?.['alternatives'])[0]) ?? {};
}

function textOf({ transcript }: WireObject): string {
  return asString(transcript)?.trim() ?? '';
}

function complete(utterance: AlphaUtterance, evenEmpty: boolean = false): UtteranceStep {
  const { segments } = utterance;
  const said = segments.length > 0 || evenEmpty ? [result('complete', segments)] : [];
  return [nothing, { type: 'voice', is: 'ended' }, ...said];
}

function result(kind: ResultKind, segments: readonly Said[]): STTEffect {
  const [only] = segments;
  // Most results are one segment: nothing to join.
  if (only && segments.length === 1) {
    const { text, words, confidence, language } = only;
    return { type: 'result', kind, text, words, confidence, language };
  }
  const words = segments.flatMap((segment) => segment.words ?? []);
  const text = segments.map((segment) => segment.text).join(' ');
  const { language, confidence } = segments.at(-1) ?? {};
  return { type: 'result', kind, text, words, confidence: meanConfidence(words) ?? confidence, language };
}

/** Whether the service never ends an utterance on its own. */
function neverEnds({ interimResults = true, options = {} }: AlphaSTTConfig): boolean {
  const { endpointing, utteranceEndMs = interimResults } = options;
  return endpointing === false && utteranceEndMs === false;
}
