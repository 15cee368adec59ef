import type { HttpRequest } from '../call.ts';
import type { Environment } from '../environment.ts';
import type { Session, Upgrade } from '../session.ts';
import { IdleTimer } from '../timers.ts';
import { languageOf } from '../languages.ts';
import { round, sentence, Transcriber } from '../transcriber.ts';
import type { AudioSettings, Word } from '../transcriber.ts';
import { boolean, checkQuery, integer, isObject, oneOf, query as rule, required, shape, string } from '../validate.ts';
import type { SocketRoute } from '../vendor.ts';
import { gammaRefusal } from './gamma-refusal.ts';

const tokenPrefix = 'sutkn_';

const formats: Readonly<Record<string, AudioSettings>> = Object.fromEntries([
  ...[8000, 16000, 22050, 24000, 44100, 48000].map((sampleRate) => [
    `pcm_${sampleRate}`,
    { encoding: 'linear16', sampleRate },
  ]),
  ['ulaw_8000', { encoding: 'mulaw', sampleRate: 8000 }],
]) as Record<string, AudioSettings>;

const parameters = {
  model_id: rule.oneOf('scribe_v2_realtime'),
  token: rule.filled,
  audio_format: rule.oneOf(...Object.keys(formats)),
  commit_strategy: rule.oneOf('manual', 'vad'),
  vad_silence_threshold_secs: rule.number(0.3, 3),
  vad_threshold: rule.number(0.1, 0.9),
  min_speech_duration_ms: rule.integer(50, 2000),
  min_silence_duration_ms: rule.integer(50, 2000),
  language_code: (value: string) => /^[a-z]{2,3}$/.test(value),
  secondary_languages: (value: string) => /^[a-z]{2,3}$/.test(value),
  include_timestamps: rule.boolean,
  include_language_detection: rule.boolean,
  keyterms: (value: string) => value !== '' && value.length <= 20,
  no_verbatim: rule.boolean,
  entity_detection: rule.filled,
  filter_background_audio: rule.boolean,
  enable_logging: rule.boolean,
};
const vadOnly = ['vad_silence_threshold_secs', 'vad_threshold', 'min_speech_duration_ms', 'min_silence_duration_ms'];

function problem(query: URLSearchParams): string | undefined {
  const wrong = checkQuery(query, parameters, ['secondary_languages', 'keyterms', 'entity_detection']);
  if (wrong) return wrong;
  if (!query.has('model_id')) return 'model_id is required';
  if (query.getAll('keyterms').length > 50) return 'more than 50 keyterms';
  const isManual = query.get('commit_strategy') !== 'vad';
  const misplaced = vadOnly.find((name) => isManual && query.has(name));
  if (misplaced !== undefined) return `${misplaced} is for commit_strategy vad`;
  const both = ['include_timestamps', 'filter_background_audio'].every((name) => query.get(name) === 'true');
  return both ? 'filter_background_audio cannot be combined with include_timestamps' : undefined;
}

const chunk = shape({
  message_type: required(oneOf('input_audio_chunk')),
  audio_base_64: required(string),
  commit: boolean,
  sample_rate: integer(8000, 48000),
  previous_text: string,
});

/** Seconds after which a segment is committed although nobody asked. */
const longestSegment = 90;
/** Seconds by which word times run ahead with each utterance that silence ends (elevenlabs/elevenlabs-python#849). */
const drift = 0.1;
/** Seconds of audio that a commit needs (github.com/elevenlabs/packages/issues/378). */
const leastCommit = 0.3;

class Listener {
  readonly #session: Session;
  readonly #query: URLSearchParams;
  readonly #format: AudioSettings;
  readonly #transcriber: Transcriber;
  readonly #silence: number;
  /** Commits that it still takes. */
  #commits: number;
  #isFirst = true;
  #segmentStart = 0;
  #drift = 0;
  #over = false;

  constructor(session: Session, query: URLSearchParams, vadCommits: number) {
    this.#session = session;
    this.#query = query;
    this.#format = formats[query.get('audio_format') ?? 'pcm_16000'] ?? { encoding: 'linear16', sampleRate: 16000 };
    const isVad = query.get('commit_strategy') === 'vad';
    this.#commits = isVad ? vadCommits : Number.POSITIVE_INFINITY;
    this.#silence = isVad ? Number(query.get('vad_silence_threshold_secs') ?? 1.5) : Number.POSITIVE_INFINITY;
    this.#transcriber = new Transcriber(this.#format, { word: () => this.#partial(), step: () => this.#step() });
  }

  hear(text: string): void {
    if (this.#over) return;
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      this.fail('input_error', 'the message is not JSON');
      return;
    }
    const wrong = chunk(message, '');
    if (wrong !== undefined || !isObject(message)) {
      this.fail('input_error', wrong ?? 'the message is no object');
      return;
    }
    const { audio_base_64: audio, sample_rate: rate = this.#format.sampleRate, previous_text: previous } = message;
    if (rate !== this.#format.sampleRate) this.fail('input_error', `sample_rate ${String(rate)} is not the format's`);
    else if (previous !== undefined && !this.#isFirst) this.fail('input_error', 'previous_text is for the first chunk');
    else if (message['commit'] === true && this.#commits-- <= 0) {
      this.fail('input_error', 'commit is for commit_strategy manual');
    } else {
      this.#isFirst = false;
      this.#transcriber.push(new Uint8Array(Buffer.from(String(audio), 'base64')));
      if (message['commit'] === true) this.#onCommit();
    }
  }

  fail(type: string, error: string): void {
    this.#over = true;
    this.#session.send({ message_type: type, error });
    this.#session.close(1008, '', `${type}: ${error}`);
  }

  #partial(): void {
    this.#session.send({ message_type: 'partial_transcript', text: sentence(this.#transcriber.words) });
  }

  #step(): void {
    const { words, quiet, now } = this.#transcriber;
    const isOver = quiet >= this.#silence && words.length > 0;
    if (!isOver && now - this.#segmentStart < longestSegment) return;
    this.#commit();
    if (isOver) this.#drift += drift;
  }

  #onCommit(): void {
    const uncommitted = this.#transcriber.now - this.#segmentStart;
    if (uncommitted >= leastCommit) {
      this.#commit();
      return;
    }
    const known = `only ${uncommitted.toFixed(2)}s of uncommitted audio`;
    const error = `Commit request ignored: ${known}. You need at least 0.3s of uncommitted audio before committing.`;
    this.#session.send({ message_type: 'commit_throttled', error });
  }

  #commit(): void {
    this.#transcriber.finish();
    const { words, now } = this.#transcriber;
    const text = sentence(words);
    const on = (name: string): boolean => this.#query.get(name) === 'true';
    const timed = on('include_timestamps');
    if (text) this.#session.send({ message_type: 'final_transcript', text });
    this.#session.send({ message_type: 'committed_transcript', text });
    if (timed || on('include_language_detection')) {
      this.#session.send({
        ...{ message_type: 'committed_transcript_with_timestamps', text },
        ...(on('include_language_detection') && {
          language_code: this.#query.get('language_code') ?? languageOf(text),
        }),
        words: timed ? words.flatMap((word, at) => wire(word, words[at + 1], this.#drift)) : null,
      });
    }
    this.#transcriber.reset();
    this.#segmentStart = now;
  }
}

function wire({ text, confidence, ...time }: Word, next: Word | undefined, late: number): unknown[] {
  const logprob = round(Math.log(confidence));
  const [start, end] = [round(time.start + late), round(time.end + late)];
  const spoken = { text, start, end, type: 'word', logprob };
  if (!next) return [spoken];
  return [spoken, { text: ' ', start: end, end: round(next.start + late), type: 'spacing', logprob: 0 }];
}

function connect(upgrade: Upgrade, { credentials, limits }: Environment): void {
  const { query, headers, proxied } = upgrade;
  const token = query.get('token');
  // The token goes before the key, and serves once.
  const isKnown =
    proxied ||
    (token === null
      ? credentials.isKey(headers['xi-api-key'])
      : token.startsWith(tokenPrefix) && credentials.take(token.slice(tokenPrefix.length)));
  if (!isKnown && token === null) throw gammaRefusal(401, 'no xi-api-key with a key that is known');
  upgrade.accept((session) => {
    const listener = new Listener(session, query, limits.gammaSttVadCommits);
    const wrong = problem(query);
    if (!isKnown) listener.fail('auth_error', 'You must be authenticated to use this endpoint.');
    else if (wrong !== undefined) listener.fail('invalid_request', wrong);
    else {
      session.send({
        ...{ message_type: 'session_started', session_id: crypto.randomUUID().replaceAll('-', '') },
        config: { model_id: query.get('model_id'), audio_format: query.get('audio_format') ?? 'pcm_16000' },
      });
      const idle = new IdleTimer(session.timers, limits.gammaSttIdleMs, () =>
        session.close(1008, '', `no message for ${limits.gammaSttIdleMs} ms`),
      );
      session.onText((text) => {
        idle.touch();
        listener.hear(text);
      });
      session.onBytes(() => listener.fail('input_error', 'binary frames are not taken: audio goes as base64 in JSON'));
    }
  });
}

/** A single-use token, for a key. */
export function grantScribe(request: HttpRequest, { credentials }: Environment): void {
  if (!credentials.isKey(request.headers['xi-api-key'])) throw gammaRefusal(401, 'a token is asked for without a key');
  request.send(200, { token: tokenPrefix + credentials.grant(900) });
}

/** ElevenLabs Scribe v2 Realtime: `wss://api.elevenlabs.io/v1/speech-to-text/realtime`. */
export const gammaStt: SocketRoute = {
  service: 'gamma-stt',
  method: 'WS',
  path: '/v1/speech-to-text/realtime',
  // It checks its credential itself, for a wrong token is told on the open socket.
  open: true,
  midStreamError: { message_type: 'transcriber_error', error: 'An error occurred while processing audio.' },
  connect,
};
