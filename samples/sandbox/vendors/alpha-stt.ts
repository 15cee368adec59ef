import type { Environment } from '../environment.ts';
import { isSampleEncoding } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { IdleTimer } from '../timers.ts';
import { meanConfidence, plain, round, sentence, sniffWav, Transcriber } from '../transcriber.ts';
import type { AudioSettings, Word } from '../transcriber.ts';
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
  channels: rule.integer(1, 8),
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
const digits = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];

/** The service counts in a way of its own; here a token is up to four characters of a word. */
function tokensIn(terms: readonly string[]): number {
  return terms.flatMap((term) => term.split(/\s+/)).reduce((sum, { length }) => sum + Math.ceil(length / 4), 0);
}

/** Text with its numbers in digits. */
function inDigits(text: string): string {
  return text.replace(/[a-z]+/gi, (word) => {
    const digit = digits.indexOf(word.toLowerCase());
    return digit < 0 ? word : String(digit);
  });
}

/** The gaps of the modem would end every character with less; real services have such a floor too. */
const shortestEndpointing = 0.1;
/** A segment that runs longer becomes final although the speaker goes on. */
const longestSegment = 5;

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
  if (model === 'nova-3-medical' && !/^en(-US)?$/.test(query.get('language') ?? 'en')) {
    throw noSuchModel('nova-3-medical is English only');
  }
  if (query.has('summarize')) throw invalidQuery('summarize is not for streams');
  if (query.has('topics') || query.has('intents'))
    throw alphaRefusal(403, undefined, undefined, 'topics and intents are not for streams');
  if (query.has('encoding') !== query.has('sample_rate')) throw invalidQuery('encoding and sample_rate go together');
  const encoding = query.get('encoding');
  if (encoding && !isSampleEncoding(encoding)) throw invalidQuery(`the sandbox cannot decode ${encoding}`);
  if (query.get('multichannel') === 'true') throw invalidQuery('the sandbox hears one channel');
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
  readonly #interims: boolean;
  readonly #formatted: boolean;
  readonly #endpointing: number;
  readonly #utteranceEnd: number;
  #transcriber: Transcriber | undefined;
  #segmentStart = 0;
  #lastWordEnd: number | undefined;
  #inSpeech = false;
  #unfinished = false;
  #closing = false;
  #numerals: boolean;
  #isMute = false;

  constructor(session: Session, query: URLSearchParams, requestId: string) {
    this.#session = session;
    this.#query = query;
    this.#requestId = requestId;
    const on = (name: string): boolean => query.get(name) === 'true';
    this.#interims = on('interim_results');
    this.#formatted = on('punctuate') || on('smart_format');
    this.#numerals = on('numerals');
    const endpointing = query.get('endpointing') ?? '10';
    this.#endpointing =
      endpointing === 'false'
        ? Number.POSITIVE_INFINITY
        : Math.max(shortestEndpointing, (Number(endpointing) || 10) / 1000);
    this.#utteranceEnd = Number(query.get('utterance_end_ms') ?? Number.POSITIVE_INFINITY) / 1000;
    const known = settings(query);
    if (known) this.#transcriber = this.#listen(known);
  }

  hear(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#closing || this.#isMute) return;
    if (bytes.length === 0) {
      this.closeStream();
      return;
    }
    if (this.#transcriber) {
      this.#transcriber.push(bytes);
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
    this.#transcriber = this.#listen(wav.settings);
    this.#transcriber.push(wav.samples);
  }

  command(text: string): void {
    const type = parseType(text);
    if (type === 'KeepAlive') return;
    if (type === 'Finalize') this.#finalize();
    else if (type === 'Configure') this.#configure(JSON.parse(text));
    else if (type === 'CloseStream') this.closeStream();
    else this.#session.close(1008, 'DATA-0000', `not a message of this API: ${text.slice(0, 100)}`);
  }

  closeStream(): void {
    this.#closing = true;
    const duration = this.#transcriber?.now ?? 0;
    this.#transcriber?.finish();
    this.#result({ is_final: true, speech_final: false });
    this.#session.send({
      ...{ type: 'Metadata', transaction_key: 'deprecated', request_id: this.#requestId, sha256: '0'.repeat(64) },
      ...{ created: new Date().toISOString(), duration: round(duration), channels: 1 },
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
      if (typeof numerals === 'boolean') this.#numerals = numerals;
      this.#session.send({ type: 'ConfigureSuccess', request_id: this.#requestId, ...(keyterms && { keyterms }) });
    }
  }

  #refuseConfigure(code: string, description: string): void {
    this.#session.call.log(`Configure refused: ${description}`);
    this.#session.send({ type: 'ConfigureFailure', request_id: this.#requestId, code, description });
  }

  #finalize(): void {
    if (this.#isMute) return;
    this.#transcriber?.finish();
    this.#result({ is_final: true, speech_final: true, from_finalize: true });
    this.#unfinished = false;
  }

  #listen(format: AudioSettings): Transcriber {
    return new Transcriber(format, {
      voice: (at) => this.#voice(at),
      word: () => this.#word(),
      step: () => this.#step(),
    });
  }

  #voice(at: number): void {
    if (this.#inSpeech) return;
    this.#inSpeech = true;
    if (this.#query.get('vad_events') !== 'true') return;
    this.#session.send({ type: 'SpeechStarted', channel: [0, 1], timestamp: round(at) });
  }

  #word(): void {
    const last = this.#transcriber?.words.at(-1);
    if (!last || this.#closing) return;
    this.#lastWordEnd = last.end;
    this.#unfinished = true;
    if (last.end - this.#segmentStart > longestSegment) this.#result({ is_final: true, speech_final: false });
    else if (this.#interims) this.#result({ is_final: false, speech_final: false });
  }

  #step(): void {
    const transcriber = this.#transcriber;
    if (!transcriber) return;
    const { now, quiet } = transcriber;
    if (quiet >= this.#endpointing && this.#unfinished) {
      this.#result({ is_final: true, speech_final: true });
      this.#unfinished = false;
    }
    if (quiet >= Math.max(shortestEndpointing, Math.min(this.#endpointing, 1))) this.#inSpeech = false;
    if (
      this.#lastWordEnd !== undefined &&
      now - this.#lastWordEnd >= this.#utteranceEnd &&
      quiet >= shortestEndpointing
    ) {
      this.#session.send({ type: 'UtteranceEnd', channel: [0, 1], last_word_end: round(this.#lastWordEnd) });
      this.#lastWordEnd = undefined;
    }
    if (now - this.#segmentStart <= longestSegment || quiet < shortestEndpointing) return;
    const words = transcriber.words.length > 0;
    if (words || quiet > longestSegment) this.#result({ is_final: true, speech_final: !words });
  }

  #result(flags: { is_final: boolean; speech_final: boolean; from_finalize?: boolean }): void {
    const heard = this.#transcriber?.words ?? [];
    const words = this.#numerals ? heard.map((word) => ({ ...word, text: inDigits(word.text) })) : heard;
    const now = this.#transcriber?.now ?? 0;
    const shown = words.map((word) => this.#wire(word));
    const language = this.#query.get('language') === 'multi' ? { languages: ['en'] } : {};
    this.#session.send({
      type: 'Results',
      channel_index: [0, 1],
      duration: round(now - this.#segmentStart),
      start: round(this.#segmentStart),
      is_final: flags.is_final,
      speech_final: flags.speech_final,
      channel: {
        alternatives: [
          {
            transcript: this.#formatted ? sentence(words) : words.map(({ text }) => plain(text)).join(' '),
            confidence: meanConfidence(words),
            ...language,
            words: shown,
          },
        ],
      },
      metadata: {
        request_id: this.#requestId,
        model_info: { name: 'general-nova-3', version: '2025-04-17.21547', arch: 'nova-3' },
        model_uuid: '40bd3654-e622-47c4-a111-63a61b23bfe8',
      },
      from_finalize: flags.from_finalize ?? false,
    });
    if (!flags.is_final) return;
    this.#transcriber?.reset();
    this.#segmentStart = now;
  }

  #wire({ text, start, end, confidence }: Word): Record<string, unknown> {
    return {
      ...{ word: plain(text), start: round(start), end: round(end), confidence },
      ...(this.#query.get('language') === 'multi' ? { language: 'en' } : {}),
      ...(this.#formatted ? { punctuated_word: text } : {}),
      ...(this.#query.get('diarize') === 'true' || this.#query.has('diarize_model') ? { speaker: 0 } : {}),
    };
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
