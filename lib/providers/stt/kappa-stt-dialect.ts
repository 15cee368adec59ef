import type { ConfigRules } from '../../core/config-rule.ts';
import { asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { Query } from '../../core/remote-provider.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { readUsp, riffHeader, uspAudio, uspId, uspText } from './kappa-stt-messages.ts';
import type { SocketClose } from '../../transport/reconnecting-socket.ts';
import type { KappaSTTConfig } from './kappa-stt.ts';
import {
  completed,
  heard,
  silenceInGaps,
  type Failures,
  type STTContext,
  type STTDialect,
  type STTEffect,
  type STTFault,
  type STTStep,
} from './stt-wire.ts';
import type { STTHost } from './stt-service.ts';

const modes = { conversation: 'Conversation', interactive: 'Interactive', dictation: 'Dictation' } as const;
const segmentations: Readonly<Record<string, string>> = { default: 'Normal', time: 'Custom', semantic: 'Semantic' };

/** What the service's close codes and phrase statuses mean. After any other, it reconnects. */
const kappaFailures: Failures = {
  1002: { code: 'protocol', hint: 'it considers a message a protocol violation' },
  1003: { code: 'unsupported_format', hint: 'it cannot read the audio' },
  1007: { code: 'unsupported_format', hint: 'it cannot read the audio: does its format match the configuration?' },
  4000: { code: 'unsupported_format', hint: 'it cannot read the audio' },
  Error: { code: 'server', recoverable: true, hint: 'it failed' },
  TooManyRequests: { code: 'rate_limited', status: 429, recoverable: true, hint: 'too many sessions at once' },
  BadRequest: { code: 'configuration', status: 400, hint: 'check the configuration' },
  Forbidden: { code: 'quota', status: 403, hint: 'the free quota is used up' },
  QuotaExceeded: { code: 'quota', hint: 'the quota is used up' },
};

/** What a close means: 1007 stands for several failures, which only the reason tells apart. */
function closeOf({ code, reason }: SocketClose): STTFault | undefined {
  const kindOf = (): string | number => {
    if (code === 4429) return 'TooManyRequests';
    if (code !== 1007 || reason === '') return code;
    if (/quota/i.test(reason)) return 'QuotaExceeded';
    return /audio|format/i.test(reason) ? code : 'BadRequest';
  };
  const kind = kindOf();
  return Object.hasOwn(kappaFailures, kind) ? { kind, sentence: reason || undefined } : undefined;
}

/** The query parameters. */
function kappaQuery(config: KappaSTTConfig, rules: ConfigRules): Query {
  const { language, ...others } = wireParameters(config, rules);
  return {
    // A custom model has its own language.
    language: config.customModelId === undefined ? language : undefined,
    ...others,
    wordLevelTimestamps: hasWordTimes(config) ? true : undefined,
    lidEnabled: config.languages ? true : undefined,
  };
}

/** What ends a phrase; `undefined` for the service's own way. */
function segmentationOf(config: KappaSTTConfig): WireObject | undefined {
  const { segmentationSilenceTimeoutMs: silenceMs, segmentationMaximumTimeMs: maximumMs } = config;
  const mode = (silenceMs ?? maximumMs) === undefined ? config.segmentationStrategy : 'Custom';
  if (mode === undefined) return undefined;
  const timeouts = { segmentationSilenceTimeoutMs: silenceMs, segmentationForcedTimeoutMs: maximumMs };
  return { mode: segmentations[mode] ?? mode, ...timeouts };
}

/** A stretch of audio in which the service tells speakers apart, across connections. */
interface KappaSpeakers {
  readonly audioSessionId: string;
  /** Where the turn starts in it, in milliseconds. */
  readonly audioOffsetMs: number;
}

/** Sent with each turn. */
function kappaContext(config: KappaSTTConfig, speakers: KappaSpeakers): WireObject {
  const { language = 'en-US', recognitionMode = 'conversation', outputFormat = 'simple', phrases = [] } = config;
  const { initialSilenceTimeoutMs, profanity, languages, languageIdentification = 'continuous' } = config;
  const segmentation = segmentationOf(config);
  return {
    ...(languages && {
      languageId: {
        languages,
        mode: languageIdentification === 'continuous' ? 'DetectContinuous' : 'DetectAtAudioStart',
        onSuccess: { action: 'Recognize' },
        onUnknown: { action: 'None' },
        priority: 'PrioritizeLatency',
      },
    }),
    phraseDetection: {
      mode: modes[recognitionMode],
      language: languages ? undefined : language,
      initialSilenceTimeout: initialSilenceTimeoutMs,
      ...(segmentation && { [recognitionMode]: { segmentation } }),
      ...(config.enableSpeakerDiarization && {
        speakerDiarization: {
          mode: 'Anonymous',
          ...speakers,
          diarizeIntermediates: config.interimSpeakers ?? false,
        },
      }),
      enrichment: { profanity: profanity && profanity.charAt(0).toUpperCase() + profanity.slice(1) },
    },
    phraseOutput: {
      format: outputFormat === 'detailed' ? 'Detailed' : 'Simple',
      ...(languages && { interimResults: { resultType: 'Auto' }, phraseResults: { resultType: 'Always' } }),
      ...(hasWordTimes(config) && { detailed: { options: ['WordTimings'] } }),
    },
    ...(phrases.length > 0 && {
      dgi: { groups: [{ type: 'Generic', items: phrases.map((text) => ({ text })) }], bias: 1 },
    }),
    ...config.extraBody,
  };
}

function hasWordTimes({ outputFormat, wordLevelTimestamps = true }: KappaSTTConfig): boolean {
  return outputFormat === 'detailed' && wordLevelTimestamps;
}

/** A recognized phrase, final or not. */
interface KappaPhrase {
  /** The service's recognition status; empty for a hypothesis. */
  readonly status: string;
  readonly text: string;
  /** Its end, in milliseconds of the turn; NaN if unknown. */
  readonly endMs: number;
  /** Its words, with `start` and `end` in milliseconds of the turn. */
  readonly words: readonly WireObject[];
  readonly confidence: number | undefined;
  readonly language: string | undefined;
  readonly speaker: string | undefined;
  /** All alternatives, best first. */
  readonly nBest: readonly WireObject[];
}

interface KappaTurn {
  /** Its id, which every message carries. */
  readonly id: string;
  /** Milliseconds of audio that were not final when it began. */
  readonly pendingMs: number;
  /** Words not yet confirmed by a phrase. */
  readonly hypothesis: KappaPhrase | undefined;
  /** Whether the application has ended it. */
  readonly isCut: boolean;
  /** Whether the client has introduced itself on this connection. */
  readonly isIntroduced: boolean;
  /** Identifies the audio whose speakers are told apart, across connections. */
  readonly audioSessionId: string;
}

type Context = STTContext<KappaSTTConfig>;
type Step = STTStep<KappaTurn>;

/** Trailing audio too short to hold a word, in milliseconds. */
const tailMs = 50;

/** The wire's 100 ns ticks per millisecond. */
const ticksPerMs = 10_000;

const gapMs = 500;

const universalPath = '/stt/speech/universal/v2';

const [endingMs, idleMs] = [3_000, 60_000];

/** How Azure is spoken to; `rules` name its query parameters. */
export const kappaDialect = (
  host: STTHost<KappaSTTConfig>,
  rules: ConfigRules,
): STTDialect<KappaSTTConfig, KappaTurn> => ({
  async request() {
    const config = host.config();
    const { recognitionMode = 'conversation', languages } = config;
    // The newer address has no mode: the messages specify it. Only there, languages are identified continuously.
    const isWhole = host.socketUrl('').pathname.endsWith(universalPath);
    const isUniversal = languages !== undefined && recognitionMode !== 'dictation';
    const ownPath = isUniversal ? universalPath : `/speech/recognition/${recognitionMode}/cognitiveservices/v1`;
    const url = host.socketUrl(isWhole ? '' : ownPath, { ...kappaQuery(config, rules), 'X-ConnectionId': uspId() });
    return { url, ...(await host.socketCredentials()) };
  },
  failures: kappaFailures,
  closes: closeOf,
  endsAudio: true,
  catchUpSpeed: 2,
  endingMs: ({ segmentationSilenceTimeoutMs = 0 }) => Math.max(endingMs, segmentationSilenceTimeoutMs),
  // An audio message of no length ends the turn, and brings its last result.
  commands: { finalize: (state) => [{ ...state, isCut: true }, { type: 'end-audio' }] },
  finalMs: 3_000,
  // Without the turn's end, no other turn can begin on this connection.
  overdue: () => [{ type: 'reconnect' }],
  gapMs,
  gap: silenceInGaps(gapMs, endingMs, idleMs),
  idParameter: 'X-ConnectionId',
  start: () => ({
    ...{ id: '', pendingMs: 0, hypothesis: undefined },
    ...{ isCut: false, isIntroduced: false, audioSessionId: '' },
  }),
  read: {
    'turn.start': (state) => [state, { type: 'log', text: 'a turn begins' }],
    'turn.end': onTurnEnd,
    'speech.startdetected': (state) => [state, { type: 'voice', is: 'started' }],
    'speech.enddetected': (state) => [state, { type: 'voice', is: 'ended' }],
    'speech.hypothesis': onHypothesis,
    'speech.fragment': onHypothesis,
    'speech.phrase': onPhrase,
  },
  // The key's own header, or a bearer; in browsers the same in the query.
  credentials(key, _config, authType) {
    const credential: Readonly<Record<string, string>> =
      authType === 'bearer' ? { Authorization: `Bearer ${key}` } : { 'Ocp-Apim-Subscription-Key': key };
    return { headers: credential, query: credential };
  },
  decode(data) {
    const message = readUsp(data);
    return message && { ...message };
  },
  // Messages of an earlier turn are late.
  typeOf: ({ path, requestId }, { id }) =>
    requestId === '' || requestId === id ? asString(path) : 'of an earlier turn',
  connecting: (state) => [{ ...state, isIntroduced: false }],
  begin,
  encode: (frame, { id }, { now }) => uspAudio({ path: 'audio', requestId: id, now }, frame),
  end: (state, context) => [state, ...(state.hypothesis ? complete(state.hypothesis, context) : [])],
});

/** Starts a turn: client, turn settings, and the start of its audio. */
function begin(state: KappaTurn, context: Context, id: string): Step {
  const { config, format, now, pendingMs } = context;
  const { recognitionMode = 'conversation' } = config;
  const requestId = id.toUpperCase();
  const text = (path: string, body: WireObject): STTEffect => ({
    type: 'send',
    message: uspText({ path, requestId, now }, body),
  });
  const system = { name: 'rxvoice', version: '1', build: 'JavaScript', lang: 'JavaScript' };
  const introduction = text('speech.config', { context: { system }, recognition: recognitionMode });
  const header = uspAudio({ path: 'audio', requestId, now, contentType: 'audio/x-wav' }, riffHeader(format));
  const audioSessionId = state.audioSessionId || requestId;
  const speakers: KappaSpeakers = { audioSessionId, audioOffsetMs: Math.round(context.toAudioMs(0)) };
  return [
    { id: requestId, pendingMs, hypothesis: undefined, isCut: false, isIntroduced: true, audioSessionId },
    ...(state.isIntroduced ? [] : [introduction]),
    text('speech.context', kappaContext(config, speakers)),
    { type: 'send', message: header },
  ];
}

/** A turn may end while audio is in flight: the next one receives what it missed. */
function onTurnEnd(state: KappaTurn, { requestId }: WireObject, { isEnding, pendingMs }: Context): Step {
  if (requestId !== state.id) return [state];
  const isStuck = pendingMs >= state.pendingMs;
  const answer: readonly STTEffect[] = state.isCut ? [{ type: 'reset' }] : [];
  return [state, ...answer, { type: isEnding && (isStuck || pendingMs < tailMs) ? 'heard-all' : 'begin-again' }];
}

function onHypothesis(state: KappaTurn, { body }: WireObject): Step {
  const hypothesis = readPhrase(body);
  const { text, language, speaker } = hypothesis;
  return text ? [{ ...state, hypothesis }, ...heard({ text, language, speaker })] : [state];
}

function onPhrase(state: KappaTurn, { body }: WireObject, context: Context): Step {
  const phrase = readPhrase(body);
  const { status: kind, text, endMs } = phrase;
  if (Object.hasOwn(kappaFailures, kind)) return [state, { type: 'failure', kind }];
  const isTimed = Number.isFinite(endMs);
  const isRepeated = isTimed && context.isFinal(endMs);
  return [
    { ...state, hypothesis: undefined },
    ...(isTimed ? [{ type: 'finalized', ms: endMs } as const] : []),
    ...(kind === 'Success' && text && !isRepeated ? complete(phrase, context) : []),
  ];
}

function complete(phrase: KappaPhrase, context: Context): readonly STTEffect[] {
  const { text, confidence, language, speaker, words, nBest } = phrase;
  return completed({
    text,
    confidence,
    language,
    speaker,
    ...(words.length > 0 && { words: context.words(words, ({ word }) => asString(word), 1) }),
    ...(nBest.length > 0 && { fields: { nBest } }),
  });
}

/** The service's name for a speaker that it does not know yet. */
const unknownSpeaker = 'Unknown';

/** Reads a `speech.hypothesis`, a `speech.fragment` or a `speech.phrase`. */
function readPhrase(value: unknown): KappaPhrase {
  const body = asObject(value) ?? {};
  const nBest = asObjects(body['NBest']);
  const [best = {}] = nBest;
  const named = asString(body['SpeakerId']);
  const speaker = named === unknownSpeaker ? undefined : named;
  const text =
    asString(best['Display']) ??
    asString(best['DisplayText']) ??
    asString(body['DisplayText']) ??
    asString(body['Text']);
  return {
    status: asString(body['RecognitionStatus']) ?? '',
    text: text?.trim() ?? '',
    endMs: msOf(body['Offset']) + msOf(body['Duration']),
    words: asObjects(best['Words']).map(
      ({ Word: word, Offset: offset, Duration: duration, Confidence: confidence }) => {
        const start = msOf(offset);
        return { word, start, end: start + msOf(duration), confidence, speaker };
      },
    ),
    confidence: asNumber(best['Confidence']),
    language: asString(asObject(body['PrimaryLanguage'])?.['Language']),
    speaker,
    nBest,
  };
}

/** Converts the wire's time, which may be a string, to milliseconds; NaN for anything else. */
function msOf(ticks: unknown): number {
  return typeof ticks === 'number' || (typeof ticks === 'string' && ticks !== '') ? Number(ticks) / ticksPerMs : NaN;
}
