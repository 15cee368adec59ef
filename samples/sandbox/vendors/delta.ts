import type { HttpRequest } from '../call.ts';
import type { Environment } from '../environment.ts';
import type { SampleEncoding } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { IdleTimer } from '../timers.ts';
import { languageOf } from '../languages.ts';
import { sentence, Transcriber } from '../transcriber.ts';
import type { Word } from '../transcriber.ts';
import {
  anyOf,
  arrayOf,
  boolean,
  filled,
  integer,
  isObject,
  member,
  number,
  oneOf,
  required,
  shape,
  string,
  textMember,
} from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';

const tokenPrefix = 'snx_temp_';
/** Temporary keys, and those of before, whose colon no subprotocol can carry. */
const temporary = /^(?:snx_temp_|temp:)(.+)$/;

const refuse = (status: number, why: string): Refusal =>
  new Refusal(status, { status_code: status, error_type: 'error', message: why, request_id: crypto.randomUUID() }, why);

const encodings: Readonly<Record<string, SampleEncoding>> = {
  pcm_s16le: 'linear16',
  pcm_f32le: 'linear32',
  mulaw: 'mulaw',
  alaw: 'alaw',
};

const language = (value: unknown, path: string): string | undefined =>
  typeof value === 'string' && /^[a-z]{2}$/.test(value) ? undefined : `${path} is an invalid language hint`;

const start = shape({
  api_key: string,
  model: required(oneOf('stt-rt-v6', 'stt-rt-v5', 'stt-rt-v4')),
  audio_format: required(filled),
  sample_rate: integer(1),
  num_channels: integer(1),
  language_hints: arrayOf(language),
  language_hints_strict: boolean,
  enable_endpoint_detection: boolean,
  max_endpoint_delay_ms: integer(500, 3000),
  endpoint_sensitivity: number(-1, 1),
  endpoint_latency_adjustment_level: integer(0, 3),
  enable_speaker_diarization: boolean,
  enable_language_identification: boolean,
  context: shape({
    general: arrayOf(shape({ key: required(string), value: required(string) })),
    text: string,
    terms: arrayOf(string),
    translation_terms: arrayOf(shape({ source: required(string), target: required(string) })),
  }),
  translation: anyOf(
    shape({ type: required(oneOf('one_way')), target_language: required(language) }),
    shape({ type: required(oneOf('two_way')), language_a: required(language), language_b: required(language) }),
  ),
  client_reference_id: (value, path) =>
    typeof value === 'string' && value.length <= 256 ? undefined : `${path} has more than 256 characters`,
});

/** What is wrong with the first message, in the vendor's words. */
function problem(message: unknown): readonly [type: string, sentence: string] | undefined {
  const wrong = start(message, '');
  if (wrong?.startsWith('model')) return ['model_not_available', 'Invalid model specified.'];
  if (wrong !== undefined) return ['invalid_request', `Start request is malformed: ${wrong}`];
  const hints = member(message, 'language_hints');
  if (Array.isArray(hints) && new Set(hints).size < hints.length)
    return ['invalid_request', 'Language hints must be unique.'];
  const format = textMember(message, 'audio_format');
  if (!Object.hasOwn(encodings, format)) return ['invalid_request', `The sandbox cannot decode ${format}.`];
  const isComplete = ['sample_rate', 'num_channels'].every((name) => member(message, name) !== undefined);
  return isComplete
    ? undefined
    : ['invalid_request', 'Audio data sample rate and channels must be specified for PCM formats.'];
}

/** What speech in a language is translated into; `undefined` if it is not. */
function targetOf(translation: unknown, spoken: string): string | undefined {
  const [to, a, b] = ['target_language', 'language_a', 'language_b'].map((name) => textMember(translation, name));
  if (to) return to;
  return a === spoken ? b : b === spoken ? a : undefined;
}

/** The sandbox's translation: each word backwards. */
const translated = (text: string): string => [...text].reverse().join('');

/** A chunk that follows what it translates: without times, each word in one. */
function chunkOf(words: readonly Word[], source: string, target: string): unknown[] {
  const more = { language: target, source_language: source, translation_status: 'translation' };
  return words.map(({ text }) => ({ text: ` ${translated(text)}`, is_final: true, ...more }));
}

/** The share of the longest delay after which this service hears that a sentence is over. */
const endpointShare = 0.35;

class Listener {
  readonly #session: Session;
  readonly #start: Readonly<Record<string, unknown>>;
  readonly #transcriber: Transcriber;
  readonly #endpoint: number;
  /** Words of the utterance whose tokens are final. */
  #final = 0;
  #isFirst = true;
  #finalMs = 0;

  constructor(session: Session, message: Readonly<Record<string, unknown>>) {
    this.#session = session;
    this.#start = message;
    const isOn = message['enable_endpoint_detection'] === true;
    const delay = Number(message['max_endpoint_delay_ms'] ?? 2000) / 1000;
    this.#endpoint = isOn ? Math.max(0.1, delay * endpointShare) : Number.POSITIVE_INFINITY;
    this.#transcriber = new Transcriber(
      {
        encoding: encodings[textMember(message, 'audio_format')] ?? 'linear16',
        sampleRate: Number(message['sample_rate']),
        channels: Number(message['num_channels']),
      },
      { word: () => this.#word(), step: () => this.#step() },
    );
  }

  hear(bytes: Uint8Array): void {
    this.#transcriber.push(bytes);
  }

  /** Makes everything final, and says so with a marker. */
  finalize(marker: '<fin>' | '<end>'): void {
    this.#transcriber.finish();
    const { words, now } = this.#transcriber;
    this.#finalMs = Math.round(now * 1000);
    this.#say([...this.#tokens(words.slice(this.#final), true), { text: marker, is_final: true }]);
    this.#transcriber.reset();
    this.#final = 0;
  }

  end(): void {
    this.#transcriber.finish();
    const { words, now } = this.#transcriber;
    this.#finalMs = Math.round(now * 1000);
    const tokens = this.#tokens(words.slice(this.#final), true);
    if (tokens.length > 0) this.#say(tokens);
    this.#say([], { finished: true });
    this.#session.close(1000);
  }

  #word(): void {
    const { words } = this.#transcriber;
    const settled = words.slice(this.#final, -1);
    const last = words.slice(-1);
    this.#final = words.length - 1;
    const tokens = this.#tokens(settled, true);
    this.#finalMs = Math.round((settled.at(-1)?.end ?? 0) * 1000) || this.#finalMs;
    this.#say([...tokens, ...this.#tokens(last, false)]);
  }

  #step(): void {
    const { quiet, words } = this.#transcriber;
    if (quiet >= this.#endpoint && words.length > 0) this.finalize('<end>');
  }

  /** Words in two parts, as a model that spells would have them. */
  #tokens(words: readonly Word[], isFinal: boolean): unknown[] {
    const { enable_speaker_diarization: tellsSpeaker, enable_language_identification: tellsLanguage } = this.#start;
    const { translation } = this.#start;
    const language = languageOf(sentence(this.#transcriber.words));
    const target = targetOf(translation, language);
    const status = target === undefined ? 'none' : 'original';
    const said = words.flatMap(({ text, start, end, confidence }) => {
      const middle = Math.ceil(text.length / 2);
      const space = this.#isFirst ? '' : ' ';
      if (isFinal) this.#isFirst = false;
      const halves = [space + text.slice(0, middle), text.slice(middle)].filter((half) => half.trim() !== '');
      const step = (end - start) / halves.length;
      return halves.map((half, at) => ({
        text: half,
        start_ms: Math.round((start + at * step) * 1000),
        end_ms: Math.round((start + (at + 1) * step) * 1000),
        ...{ confidence, is_final: isFinal },
        ...(tellsSpeaker === true && { speaker: '1' }),
        ...(tellsLanguage === true && { language }),
        ...(translation !== undefined && { translation_status: status }),
      }));
    });
    return isFinal && target !== undefined ? [...said, ...chunkOf(words, language, target)] : said;
  }

  #say(tokens: readonly unknown[], more: Record<string, unknown> = {}): void {
    const total = Math.round(this.#transcriber.now * 1000);
    this.#session.send({ tokens, final_audio_proc_ms: this.#finalMs, total_audio_proc_ms: total, ...more });
  }
}

function serve(session: Session, mayStart: (message: unknown) => boolean, idleMs: number): void {
  let listener: Listener | undefined;
  const fail = (code: number, type: string, sentence: string): void => {
    session.send({
      ...{ tokens: [], error_code: code, error_type: type, error_message: sentence, request_id: crypto.randomUUID() },
      more_info: `https://soniox.com/docs/api-reference/errors#${type.replaceAll('_', '-')}`,
    });
    session.close(1000, '', `${code} ${sentence}`);
  };
  const idle = new IdleTimer(session.timers, idleMs, () => fail(408, 'request_timeout', 'Request timeout.'));
  const begin = (text: string): void => {
    const message = parse(text);
    const wrong = problem(message);
    if (wrong) fail(400, ...wrong);
    else if (!mayStart(message)) fail(401, 'invalid_api_key', 'Invalid API key.');
    else if (isObject(message)) listener = new Listener(session, message);
  };
  const control = (heard: Listener, text: string): void => {
    const message = parse(text);
    const type = textMember(message, 'type');
    const allowed = shape({ type: string, trailing_silence_ms: integer(0) })(message, '') === undefined;
    if (text === '') heard.end();
    else if (allowed && type === 'finalize') heard.finalize('<fin>');
    else if (!allowed || type !== 'keepalive') fail(400, 'invalid_request', 'Control request is malformed.');
  };
  session.onText((text) => {
    idle.touch();
    if (listener) control(listener, text);
    else begin(text);
  });
  session.onBytes((bytes) => {
    idle.touch();
    if (!listener) fail(400, 'invalid_request', 'Start request must be a text message.');
    else if (bytes.length === 0) listener.end();
    else listener.hear(bytes);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function connect(upgrade: Upgrade, { credentials, limits }: Environment): void {
  const { headers, protocols, proxied, query } = upgrade;
  if ([...query].length > 0) throw refuse(400, 'the address takes no query');
  const isGood = (key: string | undefined): boolean =>
    key !== undefined && (credentials.isKey(key) || credentials.isToken(temporary.exec(key)?.[1]));
  const header = headers['authorization'];
  const [name, offered] = protocols;
  const comesWithKey = header !== undefined || name === 'soniox-api-key';
  const key = header === undefined ? offered : /^Bearer (.+)$/.exec(header)?.[1];
  if (comesWithKey && !isGood(key)) throw refuse(401, 'wrong key in Authorization: Bearer, or beside soniox-api-key');
  if (comesWithKey && header === undefined && credentials.isKey(key)) {
    upgrade.log('a page presents a regular key: it should be a temporary one');
  }
  upgrade.accept((session) => {
    // The old way: the key in the first message.
    const mayStart = (message: unknown): boolean => {
      const key = textMember(message, 'api_key');
      if (key) upgrade.log('a key in the first message, which is refused from January 2027 on');
      return comesWithKey || proxied || isGood(key);
    };
    serve(session, mayStart, limits.deltaIdleMs);
  });
}

const keyRequest = shape({
  usage_type: required(oneOf('transcribe_websocket')),
  expires_in_seconds: required(integer(1, 3600)),
  single_use: boolean,
  max_session_duration_seconds: integer(1, 18000),
  client_reference_id: string,
});

function grant(request: HttpRequest, { credentials }: Environment): void {
  const body = request.json((why) => refuse(400, why));
  const wrong = keyRequest(body, '');
  if (wrong !== undefined) throw refuse(400, wrong);
  const seconds = Number(member(body, 'expires_in_seconds'));
  const expires = new Date(Date.now() + seconds * 1000).toISOString();
  request.send(201, { api_key: tokenPrefix + credentials.grant(seconds), expires_at: expires });
}

const failure = { tokens: [], error_code: 500, error_type: 'internal_error', error_message: 'Internal error.' };

/** Soniox real-time: `wss://stt-rt.soniox.com/transcribe-websocket`, and the temporary keys for it. */
export const delta: Vendor = {
  mount: 'delta',
  refuse,
  authorize({ headers }, credentials) {
    const key = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1];
    if (!credentials.isKey(key)) throw refuse(401, 'Authorization: Bearer with a wrong key, or none');
  },
  routes: [
    // The key may come in the first message.
    { service: 'delta-stt', method: 'WS', path: '/transcribe-websocket', open: true, midStreamError: failure, connect },
    { service: 'delta-stt', method: 'POST', path: '/v1/auth/temporary-api-key', handle: grant },
  ],
};
