import type { Environment } from '../environment.ts';
import type { SampleEncoding } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { IdleTimer } from '../timers.ts';
import { languageOf } from '../languages.ts';
import { meanConfidence, plain, sentence, Transcriber } from '../transcriber.ts';
import type { Word } from '../transcriber.ts';
import {
  anyOf,
  arrayOf,
  boolean,
  checkQuery,
  filled,
  integer,
  member,
  number,
  object,
  oneOf,
  query as rule,
  shape,
} from '../validate.ts';
import type { SocketRoute } from '../vendor.ts';
import { refuse } from './kappa-refusal.ts';

const parameters = {
  language: (value: string): boolean => /^[a-z]{2,3}(-[A-Za-z0-9]+)*$/.test(value),
  format: rule.oneOf('simple', 'detailed'),
  profanity: rule.oneOf('masked', 'removed', 'raw'),
  wordLevelTimestamps: rule.oneOf('true'),
  initialSilenceTimeoutMs: rule.integer(0),
  endSilenceTimeoutMs: rule.integer(0),
  segmentationSilenceTimeoutMs: rule.integer(100, 5000),
  stableIntermediateThreshold: rule.integer(1),
  storeAudio: rule.oneOf('true'),
  lidEnabled: rule.oneOf('true'),
  cid: rule.filled,
  'X-ConnectionId': (value: string): boolean => /^[\dA-F]{32}$/.test(value),
  connectionId: (value: string): boolean => /^[\dA-F]{32}$/.test(value),
};
const credentials = { 'Ocp-Apim-Subscription-Key': rule.filled, Authorization: rule.filled };

const segmentation = shape({
  segmentation: shape({
    mode: oneOf('Normal', 'Disabled', 'Custom', 'Semantic'),
    segmentationSilenceTimeoutMs: integer(100, 5000),
    segmentationForcedTimeoutMs: integer(20_000, 70_000),
  }),
});
const configuration = shape({
  context: shape({
    system: shape({ name: filled, version: filled, build: filled, lang: filled }),
    os: object,
    audio: object,
  }),
  recognition: oneOf('conversation', 'interactive', 'dictation'),
});
const action = (...actions: readonly string[]) => shape({ action: oneOf(...actions) });
const contextOf = shape({
  languageId: shape({
    languages: arrayOf(filled, 1, 10),
    mode: oneOf('DetectAtAudioStart', 'DetectContinuous', 'DetectSegments'),
    onSuccess: action('Recognize', 'None'),
    onUnknown: action('RecognizeWithDefaultLanguage', 'None'),
    priority: oneOf('Auto', 'PrioritizeLatency', 'PrioritizeAccuracy'),
  }),
  phraseDetection: shape({
    ...{ mode: oneOf('Interactive', 'Conversation', 'Dictation'), language: filled, initialSilenceTimeout: integer(0) },
    speakerDiarization: shape({
      mode: oneOf('None', 'Identity', 'Anonymous'),
      audioSessionId: (value, path) =>
        /^[\dA-Fa-f]{32}$/.test(String(value)) ? undefined : `${path} must be a UUID without dashes`,
      audioOffsetMs: number(0),
      diarizeIntermediates: boolean,
    }),
    ...{ conversation: segmentation, interactive: segmentation, dictation: segmentation },
    voiceOnsetSensitivity: filled,
    enrichment: shape({ profanity: oneOf('Masked', 'Removed', 'Raw') }),
  }),
  phraseOutput: shape({
    format: oneOf('Simple', 'Detailed'),
    interimResults: shape({ resultType: oneOf('Auto', 'StableFragment', 'Hypothesis', 'None') }),
    phraseResults: shape({ resultType: oneOf('Always', 'None') }),
    detailed: shape({ options: arrayOf(oneOf('WordTimings', 'WordConfidence', 'DisplayWordTimings', 'SNR')) }),
  }),
  dgi: shape({
    groups: arrayOf(shape({ type: oneOf('Generic'), items: arrayOf(shape({ text: filled })) })),
    bias: anyOf(integer(0), boolean),
  }),
});

/** Silence that ends a phrase, and a turn, in seconds. */
const phraseEnd = 0.5;
const turnEnd = 1.5;

/** Whoever shouts is the second guest; of a single word, the service does not know yet. */
function speakerOf(words: readonly Word[]): string {
  if (words.length < 2) return 'Unknown';
  return words.every(({ text }) => text === text.toUpperCase()) ? 'Guest-2' : 'Guest-1';
}

const encodings: Readonly<Record<number, SampleEncoding>> = { 1: 'linear16', 6: 'alaw', 7: 'mulaw' };
const ticks = (seconds: number): number => Math.round(seconds * 1e7);

interface Incoming {
  readonly path: string;
  readonly requestId: string;
  readonly contentType: string | undefined;
  readonly payload: string | Uint8Array<ArrayBuffer>;
}

/** A message's headers, or what is wrong with them. */
function headersOf(lines: string): Omit<Incoming, 'payload'> | string {
  const headers = new Map(
    lines.split('\r\n').flatMap((line) => {
      const found = /^([\w-]+): (.*)$/.exec(line);
      return found ? [[found[1] ?? '', found[2] ?? ''] as const] : [];
    }),
  );
  const [path, requestId, timestamp] = ['Path', 'X-RequestId', 'X-Timestamp'].map((name) => headers.get(name) ?? '');
  if (!path) return 'a message without Path';
  if (!/^[\dA-Fa-f]{32}$/.test(requestId ?? '')) return 'X-RequestId must be a UUID without dashes';
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/.test(timestamp ?? '')) return 'X-Timestamp must be ISO 8601 in UTC';
  return { path, requestId: requestId ?? '', contentType: headers.get('Content-Type') };
}

function parse(data: string | Uint8Array<ArrayBuffer>): Incoming | string {
  if (typeof data === 'string') {
    const end = data.indexOf('\r\n\r\n');
    const headers = end < 0 ? 'a text message without a body' : headersOf(data.slice(0, end));
    return typeof headers === 'string' ? headers : { ...headers, payload: data.slice(end + 4) };
  }
  const length = data.length < 2 ? Infinity : new DataView(data.buffer, data.byteOffset).getUint16(0);
  if (2 + length > data.length) return 'a binary message shorter than its headers';
  const lines = new TextDecoder().decode(data.subarray(2, 2 + length));
  if (!lines.endsWith('\r\n') || lines.endsWith('\r\n\r\n'))
    return 'the headers of a binary message end in one line end';
  const headers = headersOf(lines);
  return typeof headers === 'string' ? headers : { ...headers, payload: data.slice(2 + length) };
}

/** Who is being transcribed, in each sandbox. */
const transcribed = new WeakMap<Environment, Set<Session>>();

class Listener {
  readonly #session: Session;
  readonly #mode: string;
  readonly #query: URLSearchParams;
  readonly #used = new Set<string>();
  readonly #idle: IdleTimer;
  readonly #environment: Environment;
  #isConfigured = false;
  #turn: string | undefined;
  #detailed = false;
  #times = false;
  #silence = phraseEnd;
  /** Longest phrase, in seconds. */
  #longest = Number.POSITIVE_INFINITY;
  #languages: readonly string[] = [];
  /** Whether speakers are told apart: in phrases, or in hypotheses too. */
  #speakers: 'no' | 'phrases' | 'all' = 'no';
  #audioSession: unknown;
  #transcriber: Transcriber | undefined;
  #speaking = false;

  constructor(session: Session, mode: string, query: URLSearchParams, environment: Environment) {
    const { limits } = environment;
    this.#environment = environment;
    this.#session = session;
    this.#mode = mode;
    this.#query = query;
    this.#idle = new IdleTimer(session.timers, limits.kappaIdleMs, () => session.close(1000, 'idle', 'no audio'));
  }

  receive(data: string | Uint8Array<ArrayBuffer>): void {
    const message = parse(data);
    const wrong = typeof message === 'string' ? message : this.#handle(message);
    if (wrong !== undefined) this.#session.close(wrong.startsWith('audio') ? 1007 : 1002, wrong.slice(0, 100), wrong);
  }

  #handle(message: Incoming): string | undefined {
    const { path, requestId, contentType, payload } = message;
    if (path === 'audio') return this.#hear(requestId.toUpperCase(), contentType, payload);
    if (typeof payload !== 'string') return `${path} is a text message`;
    if (contentType !== 'application/json') return `${path} needs Content-Type: application/json`;
    let body: unknown;
    try {
      body = JSON.parse(payload);
    } catch {
      return `${path} has no JSON body`;
    }
    if (path === 'speech.config') {
      if (this.#isConfigured) return 'speech.config comes once';
      this.#isConfigured = true;
      return configuration(body, '');
    }
    if (path === 'telemetry') return undefined;
    if (path !== 'speech.context') return `unknown path ${path}`;
    return contextOf(body, '') ?? this.#begin(requestId.toUpperCase(), body as Readonly<Record<string, unknown>>);
  }

  #begin(requestId: string, context: Readonly<Record<string, unknown>>): string | undefined {
    if (!this.#isConfigured) return 'speech.context before speech.config';
    if (this.#turn !== undefined) return 'speech.context in the middle of a turn';
    if (this.#used.has(requestId)) return 'X-RequestId was used before';
    this.#used.add(requestId);
    this.#turn = requestId;
    this.#queue();
    const output = context['phraseOutput'] as { format?: string; detailed?: { options?: string[] } } | undefined;
    const given = (context['phraseDetection'] as Readonly<Record<string, unknown>> | undefined)?.[this.#mode];
    const custom = member(given, 'segmentation');
    const speakers = member(context['phraseDetection'], 'speakerDiarization');
    const languages = member(context['languageId'], 'languages');
    const audioSession = member(speakers, 'audioSessionId');
    if (this.#audioSession !== undefined && audioSession !== this.#audioSession) return 'another audioSessionId';
    this.#audioSession = audioSession;
    this.#speakers = !speakers ? 'no' : member(speakers, 'diarizeIntermediates') === true ? 'all' : 'phrases';
    this.#languages = Array.isArray(languages) ? languages.map(String) : [];
    this.#longest = Number(member(custom, 'segmentationForcedTimeoutMs') ?? Number.POSITIVE_INFINITY) / 1000;
    this.#detailed = this.#query.get('format') === 'detailed' || output?.format === 'Detailed';
    this.#times = this.#query.has('wordLevelTimestamps') || output?.detailed?.options?.includes('WordTimings') === true;
    this.#silence = Number(member(custom, 'segmentationSilenceTimeoutMs') ?? phraseEnd * 1000) / 1000;
    this.#transcriber = undefined;
    this.#speaking = false;
    return undefined;
  }

  /** The service counts when a transcription begins, not when a socket opens. */
  #queue(): void {
    const sessions = transcribed.get(this.#environment) ?? new Set();
    transcribed.set(this.#environment, sessions.add(this.#session));
    this.#session.onClose(() => sessions.delete(this.#session));
    if (sessions.size > this.#environment.limits.kappaSttConcurrency) {
      const why = 'the number of parallel requests exceeded the number of allowed concurrent transcriptions';
      this.#session.close(4429, why, 'too many transcriptions at once');
    }
  }

  #hear(requestId: string, contentType: string | undefined, payload: Incoming['payload']): string | undefined {
    if (typeof payload === 'string') return 'audio is a binary message';
    if (!this.#used.has(requestId)) return 'audio of an unknown turn';
    // The client may not know yet that the turn has ended.
    if (requestId !== this.#turn) return undefined;
    this.#idle.touch();
    if (!this.#transcriber) return this.#open(contentType, payload);
    if (contentType !== undefined) return 'audio has a Content-Type in the first message of a turn only';
    if (payload.length > 0) this.#transcriber.push(payload);
    else this.#end();
    return undefined;
  }

  #open(contentType: string | undefined, header: Uint8Array<ArrayBuffer>): string | undefined {
    if (contentType !== 'audio/x-wav') return 'audio must begin with Content-Type: audio/x-wav';
    const view = new DataView(header.buffer, header.byteOffset, header.byteLength);
    const word = (at: number): string => String.fromCharCode(...header.subarray(at, at + 4));
    if (header.length !== 44 || word(0) !== 'RIFF' || word(8) !== 'WAVE' || word(36) !== 'data') {
      return 'audio must begin with a RIFF header of 44 bytes';
    }
    const encoding = encodings[view.getUint16(20, true)];
    const [channels, sampleRate] = [view.getUint16(22, true), view.getUint32(24, true)];
    const [byteRate, align, bits] = [view.getUint32(28, true), view.getUint16(32, true), view.getUint16(34, true)];
    if (!encoding || bits !== (encoding === 'linear16' ? 16 : 8)) return 'audio has a format that is not taken';
    if (channels !== 1 || align !== bits / 8 || byteRate !== align * sampleRate) return 'audio has a wrong RIFF header';
    this.#transcriber = new Transcriber(
      { encoding, sampleRate },
      { voice: (at) => this.#voice(at), word: () => this.#hypothesis(), step: () => this.#step() },
    );
    this.#say('turn.start', { context: { serviceTag: crypto.randomUUID().replaceAll('-', '').toUpperCase() } });
    return undefined;
  }

  #voice(at: number): void {
    if (this.#speaking) return;
    this.#speaking = true;
    this.#say('speech.startDetected', { Offset: ticks(at) });
  }

  #hypothesis(): void {
    const words = this.#transcriber?.words ?? [];
    const [first] = words;
    const last = words.at(-1);
    if (!first || !last) return;
    const text = words.map((word) => plain(word.text)).join(' ');
    const span = { Offset: ticks(first.start), Duration: ticks(last.end - first.start) };
    this.#say(this.#mode === 'dictation' ? 'speech.fragment' : 'speech.hypothesis', {
      ...{ Text: text, ...span, ...this.#languageOf(words) },
      ...(this.#speakers === 'all' && { SpeakerId: speakerOf(words) }),
    });
  }

  #languageOf(words: readonly Word[]): Record<string, unknown> {
    if (this.#languages.length === 0) return {};
    return { PrimaryLanguage: { Language: languageOf(sentence(words), this.#languages), Confidence: 'High' } };
  }

  #step(): void {
    const transcriber = this.#transcriber;
    if (!transcriber) return;
    const since = transcriber.words[0]?.start ?? transcriber.now;
    if (transcriber.now - since >= this.#longest) this.#phrase();
    if (transcriber.quiet < this.#silence) return;
    const hadWords = transcriber.words.length > 0;
    this.#phrase();
    const isOver = this.#mode === 'interactive' ? hadWords : transcriber.quiet >= turnEnd && this.#speaking;
    if (isOver && this.#transcriber) this.#endTurn();
  }

  #end(): void {
    this.#transcriber?.finish();
    this.#phrase();
    this.#endTurn();
  }

  #phrase(): void {
    const transcriber = this.#transcriber;
    const words = transcriber?.words ?? [];
    const [first] = words;
    const last = words.at(-1);
    if (!transcriber || !first || !last) return;
    const span = { Offset: ticks(first.start), Duration: ticks(last.end - first.start) };
    const display = words.map(({ text }) => text).join(' ');
    const lexical = words.map((word) => plain(word.text)).join(' ');
    const best = {
      ...{ Confidence: meanConfidence(words), Lexical: lexical, ITN: lexical, MaskedITN: lexical, Display: display },
      ...(this.#times && { Words: words.map((word) => this.#word(word)) }),
    };
    this.#say('speech.phrase', {
      ...{ RecognitionStatus: 'Success', ...span, ...this.#languageOf(words) },
      ...(this.#speakers !== 'no' && { SpeakerId: speakerOf(words) }),
      ...(this.#detailed ? { NBest: [best] } : { DisplayText: display }),
    });
    transcriber.reset();
  }

  #word({ text, start, end }: Word): Record<string, unknown> {
    return { Word: plain(text), Offset: ticks(start), Duration: ticks(end - start) };
  }

  #endTurn(): void {
    const now = this.#transcriber?.now ?? 0;
    this.#say('speech.endDetected', { Offset: ticks(now) });
    this.#say('speech.phrase', { RecognitionStatus: 'EndOfDictation', Offset: ticks(now), Duration: 0 });
    this.#say('turn.end', {});
    this.#turn = undefined;
    this.#transcriber = undefined;
  }

  #say(path: string, body: unknown): void {
    const lines = [`X-RequestId:${this.#turn ?? ''}`, 'Content-Type:application/json; charset=utf-8', `Path:${path}`];
    this.#session.send(`${lines.join('\r\n')}\r\n\r\n${JSON.stringify(body)}`);
  }
}

const route = (path: string, mode: string): SocketRoute => ({
  ...{ service: 'kappa-stt', method: 'WS', path },
  connect(upgrade: Upgrade, environment: Environment): void {
    const { query, proxied, headers } = upgrade;
    const wrong = checkQuery(query, proxied ? parameters : { ...parameters, ...credentials });
    if (wrong) throw refuse(400, wrong);
    if (!query.has('language') && !query.has('cid')) throw refuse(400, 'language is required');
    if (!query.has('X-ConnectionId') && !headers['x-connectionid']) throw refuse(400, 'X-ConnectionId is required');
    if (upgrade.protocols.length > 0) throw refuse(400, 'no subprotocol is known here');
    upgrade.accept((session) => {
      const listener = new Listener(session, mode, query, environment);
      session.onText((text) => listener.receive(text));
      session.onBytes((bytes) => listener.receive(bytes));
    });
  },
});

/** Azure AI Speech to text: the WebSocket of the official SDKs, by the older addresses and by the newer one. */
export const kappaStt: readonly SocketRoute[] = [
  ...['conversation', 'interactive', 'dictation'].map((mode) =>
    route(`/speech/recognition/${mode}/cognitiveservices/v1`, mode),
  ),
  route('/stt/speech/universal/v2', 'conversation'),
];
