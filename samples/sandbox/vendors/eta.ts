import type { Environment } from '../environment.ts';
import type { SampleEncoding } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { IdleTimer } from '../timers.ts';
import { plain, round, Transcriber } from '../transcriber.ts';
import type { Word } from '../transcriber.ts';
import { checkQuery, query as rule } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';

/** What is no upgrade is a bad request to this service, not a wrong method. */
function refuse(given: number, why: string): Refusal {
  const status = given === 405 ? 400 : given;
  return new Refusal(status, { title: why, status }, why);
}

const parameters = {
  access_token: rule.any,
  content_type: rule.filled,
  language: rule.oneOf('en', 'fr', 'de', 'it', 'ja', 'ko', 'cmn', 'pt', 'es'),
  metadata: (value: string): boolean => value.length <= 512,
  custom_vocabulary_id: rule.filled,
  filter_profanity: rule.boolean,
  remove_disfluencies: rule.boolean,
  delete_after_seconds: rule.integer(0, 2_592_000),
  detailed_partials: rule.boolean,
  start_ts: rule.number(0, 1e9),
  max_segment_duration_seconds: rule.integer(5, 30),
  transcriber: rule.oneOf('machine', 'machine_v2'),
  enable_speaker_switch: rule.boolean,
  skip_postprocessing: rule.boolean,
  priority: rule.oneOf('speed', 'accuracy'),
  max_connection_wait_seconds: rule.integer(60, 600),
  user_agent: rule.filled,
};
const formats: Readonly<Record<string, SampleEncoding>> = { S16LE: 'linear16', F32LE: 'linear32' };

/** Silence that ends a segment, in seconds. */
const endpointing = 0.5;

interface Audio {
  readonly encoding: SampleEncoding;
  readonly sampleRate: number;
  readonly channels: number;
}

/** What the audio is, or what is wrong with what is said of it. */
function audioOf(contentType: string): Audio | string {
  const [type, ...rest] = contentType.split(';');
  if (type !== 'audio/x-raw') return `the sandbox does not hear ${type ?? ''}`;
  const given = new Map(rest.map((each) => each.split('=', 2) as [string, string]));
  const encoding = formats[given.get('format') ?? ''];
  const [sampleRate, channels] = [Number(given.get('rate')), Number(given.get('channels'))];
  if (given.get('layout') !== 'interleaved' || !encoding) return 'layout and format of content_type are wrong';
  if (!(sampleRate >= 8000 && sampleRate <= 48000)) return 'rate of content_type must be 8000 to 48000';
  return channels >= 1 && channels <= 10
    ? { encoding, sampleRate, channels }
    : 'channels of content_type must be 1 to 10';
}

const isOn = (query: URLSearchParams, name: string): boolean => query.get(name) === 'true';

function conflict(query: URLSearchParams): string | undefined {
  const language = query.get('language') ?? 'en';
  const english = ['filter_profanity', 'remove_disfluencies', 'custom_vocabulary_id'].find(
    (name) => query.has(name) && query.get(name) !== 'false',
  );
  if (english !== undefined && language !== 'en') return `${english} is for English only`;
  const isV2 = query.get('transcriber') === 'machine_v2';
  if (isOn(query, 'enable_speaker_switch') && !isV2) return 'enable_speaker_switch needs machine_v2';
  return query.has('priority') && !isV2 ? 'priority needs machine_v2' : undefined;
}

class Listener {
  readonly #session: Session;
  readonly #query: URLSearchParams;
  readonly #transcriber: Transcriber;
  readonly #longest: number;
  #start: number | undefined;
  #ended = false;

  constructor(session: Session, query: URLSearchParams, audio: Audio) {
    this.#session = session;
    this.#query = query;
    this.#longest = Number(query.get('max_segment_duration_seconds') ?? Infinity);
    this.#transcriber = new Transcriber(audio, {
      voice: (at) => (this.#start ??= at),
      word: () => this.#partial(),
      step: () => this.#step(),
    });
    session.send({ type: 'connected', id: crypto.randomUUID().replaceAll('-', '').slice(0, 12) });
  }

  hear(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.#ended) this.#transcriber.push(bytes);
  }

  end(text: string): void {
    if (text !== 'EOS') {
      this.#session.close(1007, 'Invalid payload', `the only text frame is EOS, not ${text.slice(0, 40)}`);
      return;
    }
    this.#ended = true;
    this.#transcriber.finish();
    this.#final();
    this.#session.close(1000, 'End of input. Closing');
  }

  #partial(): void {
    const { words } = this.#transcriber;
    if (this.#ended || words.length === 0) return;
    const isDetailed = isOn(this.#query, 'detailed_partials');
    const elements = words.map((word) => ({
      ...{ type: 'text', value: plain(word.text) },
      ...(isDetailed && { ts: round(word.start), end_ts: round(word.end), confidence: word.confidence }),
    }));
    this.#send('partial', elements);
  }

  #step(): void {
    const { quiet, now } = this.#transcriber;
    if (quiet >= endpointing || now - (this.#start ?? now) >= this.#longest) this.#final();
  }

  #final(): void {
    const { words } = this.#transcriber;
    if (words.length === 0) return;
    const isBare = isOn(this.#query, 'skip_postprocessing');
    const elements = words.flatMap((word, at) => [
      ...(at > 0 && !isBare ? [{ type: 'punct', value: ' ' }] : []),
      ...this.#elements(word, isBare),
    ]);
    this.#send('final', isBare ? elements : [...elements, { type: 'punct', value: '.' }], true);
    this.#transcriber.reset();
    this.#start = undefined;
  }

  #elements({ text, start, end, confidence }: Word, isBare: boolean): Record<string, unknown>[] {
    const [, word = text, mark = ''] = /^(.*?)([.,!?]?)$/.exec(text) ?? [];
    const spoken = {
      type: 'text',
      value: isBare ? plain(text) : word,
      ts: round(start),
      end_ts: round(end),
      confidence,
    };
    return mark && !isBare ? [spoken, { type: 'punct', value: mark }] : [spoken];
  }

  #send(type: string, elements: readonly unknown[], isFinal = false): void {
    const [first] = this.#transcriber.words;
    const speaker = isFinal && isOn(this.#query, 'enable_speaker_switch') ? { speaker_id: 0 } : {};
    const times = { ts: round(first?.start ?? 0), end_ts: round(this.#transcriber.now) };
    this.#session.send({ type, ...times, elements, ...speaker });
  }
}

function connect(upgrade: Upgrade, { credentials, limits }: Environment): void {
  const { query, proxied, protocols, headers } = upgrade;
  if (protocols.length > 0 || headers['authorization'] !== undefined)
    throw refuse(400, 'the token stands in the query');
  const audio = audioOf(query.get('content_type') ?? '');
  const wrong = checkQuery(query, parameters) ?? conflict(query) ?? (typeof audio === 'string' ? audio : undefined);
  const isKnown = proxied || credentials.isKey(query.get('access_token') ?? undefined);
  upgrade.accept((session) => {
    if (!isKnown) {
      session.close(4001, 'Authentication failed', 'wrong access_token');
      return;
    }
    if (wrong !== undefined || typeof audio === 'string') {
      session.close(4002, (wrong ?? '').slice(0, 100), wrong ?? '');
      return;
    }
    const listener = new Listener(session, query, audio);
    const idle = new IdleTimer(session.timers, limits.etaIdleMs, () =>
      session.close(1000, 'No data has been transferred, closing connection', `no audio for ${limits.etaIdleMs} ms`),
    );
    session.onBytes((bytes) => {
      idle.touch();
      listener.hear(bytes);
    });
    session.onText((text) => listener.end(text));
  });
}

/** Rev AI streaming, V1: `wss://api.rev.ai/speechtotext/v1/stream`. */
export const eta: Vendor = {
  mount: 'eta',
  refuse,
  authorize: () => undefined,
  routes: [{ service: 'eta-stt', method: 'WS', path: '/speechtotext/v1/stream', open: true, connect }],
};
