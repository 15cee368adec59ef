import type { Call, HttpRequest } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import { bytesPerSample } from '../pcm.ts';
import { languageOf } from '../languages.ts';
import type { AudioSettings, Word } from '../transcriber.ts';
import { plain, round, sentence, Transcriber } from '../transcriber.ts';
import type { Session, Upgrade } from '../session.ts';
import { IdleTimer } from '../timers.ts';
import {
  anything,
  arrayOf,
  boolean,
  checkQuery,
  filled,
  integer,
  isObject,
  number,
  oneOf,
  query as rule,
  required,
  shape,
  string,
  textMember,
} from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';

const u3 = ['u3-rt-pro', 'universal-3-5-pro', 'universal-3-6', 'universal-3-6-pro'];
const streaming = ['universal-streaming-english', 'universal-streaming-multilingual'];
const models = [...u3, ...streaming, 'whisper-rt'];

const refuse = (status: number, why: string): Refusal =>
  new Refusal(status, { error: status === 401 ? 'Unauthorized Connection: Missing Authorization header' : why }, why);

/** Checks the header, a bare key; else the query, a temporary token. */
function authorize({ headers, query }: Call, credentials: Credentials): void {
  const header = headers['authorization'];
  if (header === undefined && credentials.isToken(query.get('token') ?? undefined)) return;
  if (header === undefined) throw refuse(401, query.has('token') ? 'not a temporary token' : 'no credential');
  if (credentials.isKey(header)) return;
  throw refuse(401, /^\w+ /.test(header) ? 'the header takes the bare key, without a scheme' : 'wrong key');
}

const jsonList =
  (longest: number, each: (text: string) => boolean) =>
  (value: string): boolean => {
    try {
      const list: unknown = JSON.parse(value);
      return Array.isArray(list) && list.length <= longest && list.every((one) => typeof one === 'string' && each(one));
    } catch {
      return false;
    }
  };
const isContext = (text: string): boolean => [...text].length <= 1_750;
const isLanguage = (text: string): boolean => /^([a-z]{2}|multi)$/.test(text);

const parameters = {
  speech_model: rule.oneOf(...models),
  sample_rate: rule.integer(1),
  encoding: rule.oneOf('pcm_s16le', 'pcm_mulaw', 'opus', 'ogg_opus', 'aac'),
  keyterms_prompt: jsonList(100, (text) => text !== ''),
  language_codes: jsonList(10, isLanguage),
  language_code: rule.filled,
  language_detection: rule.boolean,
  format_turns: rule.boolean,
  end_of_turn_confidence_threshold: rule.number(0, 1),
  min_turn_silence: rule.integer(0),
  max_turn_silence: rule.integer(0),
  vad_threshold: rule.number(0, 1),
  inactivity_timeout: rule.integer(5, 3600),
  speaker_labels: rule.boolean,
  max_speakers: rule.integer(1),
  filter_profanity: rule.boolean,
  prompt: rule.any,
  agent_context: isContext,
  previous_context_n_turns: rule.integer(0, 100),
  voice_focus: rule.oneOf('near-field', 'far-field'),
  voice_focus_threshold: rule.number(0, 1),
  domain: rule.oneOf('medical-v1'),
  mode: rule.oneOf('min_latency', 'balanced', 'max_accuracy'),
  continuous_partials: rule.boolean,
  interruption_delay: rule.integer(0, 1000),
  session_heartbeat: rule.boolean,
  acknowledge_silence: rule.boolean,
  token: rule.filled,
};
const u3Only = [
  ...['language_codes', 'prompt', 'agent_context', 'previous_context_n_turns', 'mode', 'continuous_partials'],
  ...['interruption_delay', 'voice_focus', 'voice_focus_threshold'],
];

/** What an `UpdateConfiguration` may bring. */
const update = shape({
  type: required(oneOf('UpdateConfiguration')),
  keyterms_prompt: arrayOf(filled, 0, 100),
  language_codes: arrayOf((value, path) => (isLanguage(String(value)) ? undefined : `${path} is no language`), 0, 10),
  min_turn_silence: integer(0),
  max_turn_silence: integer(0),
  end_of_turn_confidence_threshold: number(0, 1),
  vad_threshold: number(0, 1),
  format_turns: boolean,
  prompt: string,
  agent_context: (value, path) =>
    typeof value === 'string' && isContext(value) ? undefined : `${path} exceeds 1750 characters`,
  filter_profanity: boolean,
  interruption_delay: integer(0, 1000),
  session_heartbeat: boolean,
  acknowledge_silence: boolean,
});
const commands: Readonly<Record<string, typeof anything>> = {
  UpdateConfiguration: update,
  ForceEndpoint: shape({ type: anything }),
  KeepAlive: shape({ type: anything }),
  Terminate: shape({ type: anything }),
};

/** What is wrong with the query, in a sentence. */
function problem(query: URLSearchParams): string | undefined {
  const wrong = checkQuery(query, parameters);
  if (wrong) return wrong;
  const model = query.get('speech_model');
  if (model === null) return 'speech_model is required';
  const misplaced = u3Only.find((name) => query.has(name) && !u3.includes(model));
  if (misplaced !== undefined) return `${misplaced} is not for ${model}`;
  const codes = query.get('language_codes') ?? '[]';
  if (codes.includes('multi') && codes.includes(',')) return 'multi must stand alone';
  const encoding = query.get('encoding') ?? 'pcm_s16le';
  return encoding.startsWith('pcm_') ? undefined : `the sandbox cannot decode ${encoding}`;
}

/** The gaps of the modem would end every character with less. */
const shortestSilence = 0.1;

class Listener {
  readonly #session: Session;
  readonly #query: URLSearchParams;
  readonly #isU3: boolean;
  readonly #transcriber: Transcriber;
  readonly #bytesPerSecond: number;
  readonly #aheadMs: number;
  readonly #began: number = performance.now();
  #minSilence: number;
  #formats: boolean;
  readonly #beats: boolean;
  #beatAt = 1;
  #turn = 0;
  #inSpeech = false;
  #over = false;

  constructor(session: Session, query: URLSearchParams, aheadMs: number) {
    this.#session = session;
    this.#query = query;
    this.#aheadMs = aheadMs;
    this.#isU3 = u3.includes(query.get('speech_model') ?? '');
    const format: AudioSettings = {
      encoding: query.get('encoding') === 'pcm_mulaw' ? 'mulaw' : 'linear16',
      sampleRate: Number(query.get('sample_rate') ?? 16000),
    };
    this.#bytesPerSecond = format.sampleRate * bytesPerSample[format.encoding];
    this.#minSilence = Number(query.get('min_turn_silence') ?? (this.#isU3 ? 100 : 400)) / 1000;
    this.#formats = query.get('format_turns') === 'true';
    this.#beats = query.get('session_heartbeat') === 'true';
    this.#transcriber = new Transcriber(format, {
      voice: (at) => this.#voice(at),
      word: () => this.#partial(),
      step: () => this.#step(),
    });
  }

  hear(bytes: Uint8Array): void {
    if (this.#over) return;
    const ms = (bytes.length / this.#bytesPerSecond) * 1000;
    if (ms < 50 || ms > 1000) {
      this.fail(3007, `Input duration violation: ${ms.toFixed(1)} ms. Expected between 50 and 1000 ms`);
      return;
    }
    if (this.#transcriber.now * 1000 + ms > performance.now() - this.#began + this.#aheadMs) {
      this.fail(3007, 'Audio Transmission Rate Exceeded');
      return;
    }
    this.#transcriber.push(bytes);
    if (this.#beats && this.#transcriber.now >= this.#beatAt) this.#beat();
  }

  command(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      this.fail(3006, 'Invalid JSON');
      return;
    }
    const type = textMember(message, 'type');
    const wrong = Object.hasOwn(commands, type) ? commands[type]?.(message, '') : `unknown message ${type}`;
    if (wrong !== undefined) this.fail(3006, `Invalid message: ${wrong}`);
    else if (type === 'ForceEndpoint') this.#endTurn();
    else if (type === 'Terminate') this.terminate();
    else if (isObject(message)) this.#update(message);
  }

  terminate(): void {
    this.#endTurn();
    this.#over = true;
    const seconds = Math.round(this.#transcriber.now);
    this.#session.send({ type: 'Termination', audio_duration_seconds: seconds, session_duration_seconds: seconds });
    this.#session.close(1000);
  }

  fail(code: number, error: string): void {
    this.#over = true;
    this.#session.send({ type: 'Error', error_code: code, error });
    this.#session.close(code, error.slice(0, 120), error);
  }

  #update({ min_turn_silence: silence, format_turns: formats }: Record<string, unknown>): void {
    if (typeof silence === 'number') this.#minSilence = silence / 1000;
    if (typeof formats === 'boolean') this.#formats = formats;
  }

  #beat(): void {
    const ms = Math.round(this.#transcriber.now * 1000);
    const lasted = Math.round(performance.now() - this.#began);
    this.#beatAt = Math.floor(this.#transcriber.now) + 1;
    this.#session.send({
      ...{ type: 'Heartbeat', total_audio_received_ms: ms, total_duration_ms: lasted },
      ...{ realtime_factor: round(ms / Math.max(1, lasted)), max_speech_probability: 0.1 },
    });
  }

  #voice(at: number): void {
    if (this.#inSpeech) return;
    this.#inSpeech = true;
    if (this.#isU3) this.#session.send({ type: 'SpeechStarted', timestamp: Math.round(at * 1000), confidence: 0.99 });
  }

  #partial(): void {
    if (!this.#over) this.#say(this.#transcriber.words, false, false);
  }

  #step(): void {
    const { quiet, words } = this.#transcriber;
    if (quiet < Math.max(shortestSilence, this.#minSilence)) return;
    this.#inSpeech = false;
    if (words.length > 0 && !this.#over) this.#endTurn();
  }

  #endTurn(): void {
    this.#transcriber.finish();
    const { words } = this.#transcriber;
    if (words.length === 0) return;
    const isEnglish = this.#query.get('speech_model') === 'universal-streaming-english';
    if (isEnglish) this.#say(words, true, false);
    if (!isEnglish || this.#formats) this.#say(words, true, true);
    this.#transcriber.reset();
    this.#turn++;
  }

  #say(words: readonly Word[], ends: boolean, formatted: boolean): void {
    const written = (text: string): string => (formatted || this.#isU3 ? text : plain(text));
    const settled = this.#isU3 || ends ? words : words.slice(0, -1);
    const labels = this.#query.get('speaker_labels') === 'true' ? { speaker: 'A' } : {};
    const text = sentence(settled.map((word) => ({ ...word, text: written(word.text) })));
    const isDetected = this.#query.get('language_detection') === 'true' && ends;
    this.#session.send({
      ...{ type: 'Turn', turn_order: this.#turn, turn_is_formatted: formatted, end_of_turn: ends },
      transcript: this.#isU3 && !ends ? `${text}—` : text,
      end_of_turn_confidence: ends ? 1 : 0,
      words: words.map((word) => ({
        ...{ start: Math.round(word.start * 1000), end: Math.round(word.end * 1000), text: written(word.text) },
        confidence: round(word.confidence),
        word_is_final: this.#isU3 ? ends : settled.includes(word),
        ...labels,
      })),
      utterance: ends ? text : '',
      ...(labels.speaker && { speaker_label: labels.speaker }),
      ...(isDetected && { language_code: languageOf(text), language_confidence: 0.99 }),
    });
  }
}

function grant(request: HttpRequest, { credentials }: Environment): void {
  const seconds = request.query.get('expires_in_seconds') ?? '';
  const longest = request.query.get('max_session_duration_seconds') ?? '10800';
  if (!rule.integer(1, 600)(seconds)) throw refuse(400, 'expires_in_seconds must be from 1 to 600');
  if (!rule.integer(60, 10800)(longest)) throw refuse(400, 'max_session_duration_seconds must be from 60 to 10800');
  request.send(200, { token: credentials.grant(Number(seconds)), expires_in_seconds: Number(seconds) });
}

function connect(upgrade: Upgrade, { limits }: Environment): void {
  const { query } = upgrade;
  upgrade.accept((session) => {
    const listener = new Listener(session, query, limits.betaAheadMs);
    const wrong = problem(query);
    if (wrong) {
      listener.fail(3006, `Invalid parameters: ${wrong}`);
      return;
    }
    session.send({ type: 'Begin', id: crypto.randomUUID(), expires_at: Math.floor(Date.now() / 1000) + 10800 });
    const idleMs = Number(query.get('inactivity_timeout') ?? 0) * 1000;
    const idle = idleMs > 0 ? new IdleTimer(session.timers, idleMs, () => listener.terminate()) : undefined;
    session.onBytes((bytes) => {
      idle?.touch();
      listener.hear(bytes);
    });
    session.onText((text) => {
      idle?.touch();
      listener.command(text);
    });
  });
}

const failure = { type: 'Error', error_code: 3005, error: 'Session Cancelled: An error occurred' };

/** AssemblyAI streaming, v3: `wss://streaming.assemblyai.com/v3/ws`, and the tokens for it. */
export const beta: Vendor = {
  mount: 'beta',
  refuse,
  authorize,
  routes: [
    { service: 'beta-stt', method: 'WS', path: '/v3/ws', midStreamError: failure, connect },
    { service: 'beta-stt', method: 'GET', path: '/v3/token', handle: grant },
  ],
};
