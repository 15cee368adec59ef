import type { Environment } from '../environment.ts';
import { ChannelSplitter, isSampleEncoding } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { IdleTimer } from '../timers.ts';
import { round, sniffWav } from '../transcriber.ts';
import type { AudioSettings } from '../transcriber.ts';
import {
  anyOf,
  anything,
  arrayOf,
  checkQuery,
  filled,
  isObject,
  member,
  nothing,
  oneOf,
  query as rule,
  required,
  shape,
} from '../validate.ts';
import type { SocketRoute } from '../vendor.ts';
import { AlphaChannel } from './alpha-channel.ts';
import { alphaRefusal, invalidQuery, noSuchModel } from './alpha-refusal.ts';

const nova2 = [
  'general',
  'meeting',
  'finance',
  'conversationalai',
  'voicemail',
  'video',
  'medical',
  'drivethru',
  'automotive',
];
const models = [
  'nova-3',
  'nova-3-general',
  'nova-3-medical',
  'nova-3-pharma',
  'nova-2',
  ...nova2.map((variant) => `nova-2-${variant}`),
  'base',
];
const encodings = [
  'linear16',
  'linear32',
  'flac',
  'alaw',
  'mulaw',
  'amr-nb',
  'amr-wb',
  'opus',
  'ogg-opus',
  'speex',
  'g729',
];

const parameters = {
  model: rule.filled,
  language: (value: string) => /^([a-z]{2,3}(-[A-Za-z0-9]{2,8})*|multi)$/.test(value),
  encoding: rule.oneOf(...encodings),
  sample_rate: rule.integer(8000, 192000),
  channels: rule.integer(1, 20),
  multichannel: rule.boolean,
  interim_results: rule.boolean,
  punctuate: rule.boolean,
  smart_format: rule.boolean,
  profanity_filter: rule.boolean,
  diarize_model: rule.oneOf('latest', 'v1'),
  diarize: rule.boolean,
  endpointing: (value: string) => value === 'false' || value === 'true' || /^\d+$/.test(value),
  utterance_end_ms: rule.integer(1000),
  vad_events: rule.boolean,
  keyterm: rule.filled,
  keywords: rule.filled,
  numerals: rule.boolean,
  dictation: rule.boolean,
  redact: rule.any,
  replace: rule.any,
  search: rule.any,
  detect_entities: rule.boolean,
  tag: (value: string) => value.length <= 128,
  extra: rule.any,
  mip_opt_out: rule.boolean,
  version: rule.any,
  no_delay: rule.boolean,
  filler_words: rule.boolean,
  sentiment: rule.any,
  topics: rule.any,
  intents: rule.any,
  summarize: rule.any,
};
const repeatable = ['keyterm', 'keywords', 'redact', 'replace', 'search', 'tag', 'extra'];

/** `Configure`, in the words with which the service refuses another field. */
const configure = shape({
  type: required(oneOf('Configure')),
  keyterms: anyOf(nothing, arrayOf(filled)),
  features: (value, path) =>
    isObject(value) && Object.values(value).every((each) => typeof each === 'boolean')
      ? undefined
      : `${path} must be switches`,
  processors: anything,
  language_hints: anything,
});
/** Most tokens of all key terms. */
const maxTokens = 500;
/** How long the service is mute after more of them, before it closes. */
const muteMs = 30_000;
/** The service counts in a way of its own; here a token is up to four characters of a word. */
function tokensIn(terms: readonly string[]): number {
  return terms.flatMap((term) => term.split(/\s+/)).reduce((sum, { length }) => sum + Math.ceil(length / 4), 0);
}

function check(upgrade: Upgrade): void {
  const { query } = upgrade;
  const model = query.get('model') ?? 'base';
  const wrong = checkQuery(query, parameters, repeatable);
  if (wrong) throw invalidQuery(wrong);
  if (!models.includes(model)) throw noSuchModel(`unknown model ${model}`);
  if (query.has('diarize') && query.has('diarize_model'))
    throw invalidQuery('diarize and diarize_model exclude each other');
  if (query.has('keyterm') && !model.startsWith('nova-3')) throw invalidQuery(`keyterm is for Nova-3, not ${model}`);
  if (tokensIn(query.getAll('keyterm')) > maxTokens) throw invalidQuery('Keyterm limit exceeded.');
  if (query.has('keywords') && model.startsWith('nova-3'))
    throw invalidQuery(`keywords is not for ${model}: use keyterm`);
  if (query.has('utterance_end_ms') && query.get('interim_results') !== 'true') {
    throw invalidQuery('utterance_end_ms needs interim_results=true');
  }
  const language = query.get('language') ?? 'en';
  const isEnglish = /^en(-(US|AU|CA|GB|IE|IN|NZ))?$/.test(language);
  if (model === 'nova-3-medical' && !isEnglish && language !== 'multi') {
    throw noSuchModel('nova-3-medical takes English, and multi for a mixture of languages');
  }
  if (model === 'nova-3-pharma' && !isEnglish) throw noSuchModel('nova-3-pharma takes English');
  if (query.has('summarize')) throw invalidQuery('summarize is not for streams');
  if (query.has('topics') || query.has('intents'))
    throw alphaRefusal(403, undefined, undefined, 'topics and intents are not for streams');
  if (query.has('encoding') !== query.has('sample_rate')) throw invalidQuery('encoding and sample_rate go together');
  const encoding = query.get('encoding');
  if (encoding && !isSampleEncoding(encoding)) throw invalidQuery(`the sandbox cannot decode ${encoding}`);
}

function settings(query: URLSearchParams): AudioSettings | undefined {
  const encoding = query.get('encoding');
  if (!isSampleEncoding(encoding)) return undefined;
  return { encoding, sampleRate: Number(query.get('sample_rate')), channels: Number(query.get('channels') ?? 1) };
}

class Listener {
  readonly #session: Session;
  readonly #query: URLSearchParams;
  readonly #requestId: string;
  #channels: readonly AlphaChannel[] = [];
  #split: (bytes: Uint8Array) => readonly Uint8Array[] = (bytes) => [bytes];
  #closing = false;
  #isMute = false;

  constructor(session: Session, query: URLSearchParams, requestId: string) {
    this.#session = session;
    this.#query = query;
    this.#requestId = requestId;
    const known = settings(query);
    if (known) this.#listen(known);
  }

  hear(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#closing || this.#isMute) return;
    if (bytes.length === 0) {
      this.closeStream();
      return;
    }
    if (this.#channels.length > 0) {
      this.#push(bytes);
      return;
    }
    const wav = sniffWav(bytes);
    if (!wav) {
      this.#session.close(
        1008,
        'DATA-0000',
        'without encoding the audio must begin with a container the sandbox reads: WAV',
      );
      return;
    }
    this.#listen(wav.settings);
    this.#push(wav.samples);
  }

  command(text: string): void {
    const type = parseType(text);
    if (type === 'KeepAlive') return;
    if (type === 'Finalize') this.#finalize(member(JSON.parse(text), 'channel'));
    else if (type === 'Configure') this.#configure(JSON.parse(text));
    else if (type === 'CloseStream') this.closeStream();
    else this.#session.close(1008, 'DATA-0000', `not a message of this API: ${text.slice(0, 100)}`);
  }

  closeStream(): void {
    this.#closing = true;
    const duration = this.#channels[0]?.now ?? 0;
    for (const channel of this.#channels) channel.close();
    this.#session.send({
      ...{ type: 'Metadata', transaction_key: 'deprecated', request_id: this.#requestId, sha256: '0'.repeat(64) },
      ...{ created: new Date().toISOString(), duration: round(duration), channels: this.#channels.length || 1 },
    });
    this.#session.close(1000);
  }

  /** Answered once; but nobody is told of too many key terms. */
  #configure(message: unknown): void {
    const wrong = configure(message, '');
    const [given, features] = [member(message, 'keyterms'), member(message, 'features')];
    const keyterms = Array.isArray(given) ? given.map(String) : undefined;
    if (wrong) {
      this.#refuseConfigure('SchemaError', `Could not deserialize last text message: ${wrong}`);
    } else if (keyterms && !this.#query.get('model')?.startsWith('nova-3')) {
      this.#refuseConfigure('KeytermsNotSupported', '`keyterms` are only supported for Nova-3 and Flux.');
    } else if (keyterms && tokensIn(keyterms) > maxTokens) {
      this.#isMute = true;
      this.#session.timers.after(muteMs, () => this.#session.close(1011, 'NET-0000', 'too many key terms'));
    } else {
      const numerals = member(features, 'numerals');
      if (typeof numerals === 'boolean') for (const channel of this.#channels) channel.numerals = numerals;
      this.#session.send({ type: 'ConfigureSuccess', request_id: this.#requestId, ...(keyterms && { keyterms }) });
    }
  }

  #refuseConfigure(code: string, description: string): void {
    this.#session.call.log(`Configure refused: ${description}`);
    this.#session.send({ type: 'ConfigureFailure', request_id: this.#requestId, code, description });
  }

  /** Of one channel, or of all. */
  #finalize(channel: unknown): void {
    if (this.#isMute) return;
    for (const each of typeof channel === 'number' ? this.#channels.slice(channel, channel + 1) : this.#channels)
      each.finalize();
  }

  #listen(format: AudioSettings): void {
    const { encoding, channels = 1 } = format;
    const [session, query, id] = [this.#session, this.#query, this.#requestId];
    if (query.get('multichannel') !== 'true') {
      this.#channels = [new AlphaChannel(session, query, id, format)];
      return;
    }
    const splitter = new ChannelSplitter(encoding, channels);
    this.#split = (bytes) => splitter.split(bytes);
    this.#channels = Array.from(
      { length: channels },
      (_, at) => new AlphaChannel(session, query, id, { ...format, channels: 1 }, [at, channels]),
    );
  }

  #push(bytes: Uint8Array): void {
    const apart = this.#split(bytes);
    this.#channels.forEach((channel, at) => channel.push(apart[at] ?? new Uint8Array(0)));
  }
}

/** The `type` of a JSON message; `undefined` when it is none. */
export function parseType(text: string): unknown {
  try {
    return member(JSON.parse(text), 'type');
  } catch {
    return undefined;
  }
}

/** Deepgram live transcription, V1: `wss://api.deepgram.com/v1/listen`. */
export const alphaStt: SocketRoute = {
  service: 'alpha-stt',
  method: 'WS',
  path: '/v1/listen',
  midStreamError: { type: 'Error', description: 'Internal server error', message: 'Internal', variant: 'internal' },
  connect(upgrade: Upgrade, { limits }: Environment): void {
    check(upgrade);
    const requestId = crypto.randomUUID();
    upgrade.accept(
      (session) => {
        const listener = new Listener(session, upgrade.query, requestId);
        const idle = new IdleTimer(session.timers, limits.alphaIdleMs, () =>
          session.close(
            1011,
            'Deepgram did not receive audio data or a text message within the timeout window. See https://dpgr.am/net0001',
            `no message for ${limits.alphaIdleMs} ms`,
          ),
        );
        session.onBytes((bytes) => {
          idle.touch();
          listener.hear(bytes);
        });
        session.onText((text) => {
          idle.touch();
          listener.command(text);
        });
      },
      { 'dg-request-id': requestId },
    );
  },
};
