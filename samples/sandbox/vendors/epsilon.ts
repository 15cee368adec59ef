import type { Call, HttpRequest } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import { bytesPerSample, ChannelSplitter } from '../pcm.ts';
import type { SampleEncoding } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { IdleTimer } from '../timers.ts';
import { languageOf } from '../languages.ts';
import { round } from '../transcriber.ts';
import {
  anyOf,
  arrayOf,
  boolean,
  integer,
  isObject,
  member,
  number,
  object,
  oneOf,
  shape,
  string,
  textMember,
} from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';
import { EpsilonChannel } from './epsilon-channel.ts';

const messages: Readonly<Record<number, string>> = {
  400: 'Invalid parameter(s). See validation_errors for more details.',
  401: 'gladia key not found',
  402: 'No credit left',
  403: 'Forbidden',
  404: 'Not found',
  429: 'Too many requests',
};

function refuse(status: number, why: string, validation?: readonly string[]): Refusal {
  const call = `G-${crypto.randomUUID().slice(0, 8)}`;
  const body = {
    message: messages[status] ?? 'Internal server error',
    request_id: call,
    ...(validation ? { validation_errors: validation } : {}),
  };
  return new Refusal(status, body, why, { 'x-aipi-call-id': call });
}
const invalid = (why: string): Refusal => refuse(400, why, [why]);

function authorize({ headers }: Call, credentials: Credentials): void {
  const key = headers['x-gladia-key'];
  if (key === undefined) throw refuse(401, 'no x-gladia-key header');
  if (!credentials.isKey(key)) throw refuse(401, 'wrong key');
}

const encodings: Readonly<Record<string, SampleEncoding>> = {
  'wav/pcm': 'linear16',
  'wav/alaw': 'alaw',
  'wav/ulaw': 'mulaw',
};
const language = (value: unknown, path: string): string | undefined =>
  typeof value === 'string' && /^([a-z]{2}|haw)$/.test(value) ? undefined : `${path} must be a language code`;
const word = anyOf(
  string,
  shape({ value: string, intensity: number(0, 1), pronunciations: arrayOf(string), language }),
);

const configuration = shape({
  model: oneOf('solaria-1'),
  encoding: oneOf(...Object.keys(encodings)),
  bit_depth: oneOf(8, 16, 24, 32),
  sample_rate: oneOf(8000, 16000, 32000, 44100, 48000),
  channels: integer(1, 8),
  endpointing: number(0.01, 10),
  maximum_duration_without_endpointing: number(5, 60),
  language_config: shape({ languages: arrayOf(language), code_switching: boolean }),
  pre_processing: shape({ audio_enhancer: boolean, speech_threshold: number(0, 1) }),
  realtime_processing: shape({
    ...{
      custom_vocabulary: boolean,
      custom_spelling: boolean,
      translation: boolean,
      named_entity_recognition: boolean,
      sentiment_analysis: boolean,
    },
    custom_vocabulary_config: shape({ vocabulary: arrayOf(word), default_intensity: number(0, 1) }),
    ...{ custom_spelling_config: object, translation_config: object },
  }),
  post_processing: object,
  messages_config: shape({
    receive_partial_transcripts: boolean,
    receive_final_transcripts: boolean,
    receive_speech_events: boolean,
    receive_pre_processing_events: boolean,
    receive_realtime_processing_events: boolean,
    receive_post_processing_events: boolean,
    receive_acknowledgments: boolean,
    receive_errors: boolean,
    receive_lifecycle_events: boolean,
  }),
  callback: boolean,
  callback_config: object,
  custom_metadata: object,
});

interface Wanted {
  readonly partials: boolean;
  readonly finals: boolean;
  readonly speech: boolean;
  readonly acks: boolean;
  readonly post: boolean;
  readonly lifecycle: boolean;
}

/** One live session: outlives its sockets. */
class Live {
  readonly id: string;
  readonly #wanted: Wanted;
  readonly #channels: readonly EpsilonChannel[];
  readonly #splitter: ChannelSplitter;
  readonly #bytesPerSecond: number;
  readonly #languages: readonly string[];
  readonly #utterances: unknown[] = [];
  #session: Session | undefined;
  #started = false;
  #stopped = false;
  #received = 0;

  constructor(id: string, config: unknown) {
    this.id = id;
    const asked = member(config, 'messages_config');
    const on = (name: string, byDefault: boolean): boolean => (member(asked, name) as boolean | undefined) ?? byDefault;
    this.#wanted = {
      partials: on('receive_partial_transcripts', false),
      finals: on('receive_final_transcripts', true),
      speech: on('receive_speech_events', true),
      acks: on('receive_acknowledgments', true),
      post: on('receive_post_processing_events', true),
      lifecycle: on('receive_lifecycle_events', false),
    };
    const value = (name: string, byDefault: number): number => Number(member(config, name) ?? byDefault);
    const encoding = encodings[textMember(config, 'encoding') || 'wav/pcm'] ?? 'linear16';
    const sampleRate = value('sample_rate', 16000);
    const channels = value('channels', 1);
    this.#bytesPerSecond = sampleRate * channels * bytesPerSample[encoding];
    const languages = member(member(config, 'language_config'), 'languages');
    this.#languages = Array.isArray(languages) ? languages.map(String) : [];
    this.#splitter = new ChannelSplitter(encoding, channels);
    this.#channels = Array.from(
      { length: channels },
      (_, channel) =>
        new EpsilonChannel({
          ...{ channel, encoding, sampleRate, languages: this.#languages },
          endpointing: value('endpointing', 0.05),
          longest: value('maximum_duration_without_endpointing', 5),
          tell: (type, data) => this.#tell(type, data),
        }),
    );
  }

  get isOver(): boolean {
    return this.#stopped;
  }

  attach(session: Session): void {
    this.#session?.close(1000, 'replaced by a newer connection');
    this.#session = session;
    if (this.#started) return;
    this.#started = true;
    if (this.#wanted.lifecycle) this.#send('start_recording');
  }

  hear(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#stopped) return;
    const from = this.#received;
    this.#received += bytes.length;
    if (this.#wanted.acks) {
      const range = [from, this.#received];
      const data = { byte_range: range, time_range: range.map((at) => round(at / this.#bytesPerSecond)) };
      this.#send('audio_chunk', { acknowledged: true, error: null, data });
    }
    const apart = this.#splitter.split(bytes);
    this.#channels.forEach((channel, at) => channel.push(apart[at] ?? new Uint8Array(0)));
  }

  stop(): void {
    if (this.#stopped) {
      const error = { status_code: 409, exception: 'ConflictError', message: 'Recording already stopped' };
      if (this.#wanted.acks) this.#send('stop_recording', { acknowledged: false, error, data: null });
      return;
    }
    this.#stopped = true;
    const duration = round(this.#received / this.#bytesPerSecond);
    if (this.#wanted.acks) {
      const data = { recording_duration: duration, recording_left_to_process: 0 };
      this.#send('stop_recording', { acknowledged: true, error: null, data });
    }
    for (const channel of this.#channels) channel.finish();
    if (this.#wanted.lifecycle) this.#send('end_recording', { data: { recording_duration: duration } });
    if (this.#wanted.post) this.#postProcessing(duration);
    if (this.#wanted.lifecycle) this.#send('end_session');
    this.#session?.close(1000);
  }

  #postProcessing(duration: number): void {
    const full = this.#utterances.map((each) => textMember(each, 'text').trim()).join(' ');
    const transcription = {
      full_transcript: full,
      languages: [languageOf(full, this.#languages)],
      utterances: this.#utterances,
    };
    const metadata = {
      audio_duration: duration,
      number_of_distinct_channels: this.#channels.length,
      billing_time: duration * this.#channels.length,
      transcription_time: 0.1,
    };
    this.#send('post_transcript', { data: transcription });
    this.#send('post_final_transcript', { data: { metadata, transcription } });
  }

  /** What a channel has to say, to those who want it. */
  #tell(type: string, data: Record<string, unknown>): void {
    const isFinal = data['is_final'] === true;
    if (type === 'transcript' && isFinal) this.#utterances.push(data['utterance']);
    const { speech, finals, partials } = this.#wanted;
    const isWanted = type !== 'transcript' ? speech : isFinal ? finals : partials && !this.#stopped;
    if (isWanted) this.#send(type, { data });
  }

  #send(type: string, more: Record<string, unknown> = {}): void {
    this.#session?.send({ session_id: this.id, created_at: new Date().toISOString(), type, ...more });
  }
}

const sessions = new WeakMap<Environment, Map<string, Live>>();

function sessionsOf(environment: Environment): Map<string, Live> {
  const known = sessions.get(environment) ?? new Map<string, Live>();
  sessions.set(environment, known);
  return known;
}

function init(request: HttpRequest, environment: Environment): void {
  for (const [name, value] of request.query) {
    if (name !== 'region' || !['eu-west', 'us-west'].includes(value))
      throw invalid(`query ${name}=${value} is not known`);
  }
  const config = request.body.length === 0 ? {} : request.json(invalid);
  const wrong = configuration(config, '');
  if (wrong || !isObject(config)) throw invalid(wrong ?? 'the body must be an object');
  const law = textMember(config, 'encoding').endsWith('law');
  const depth = member(config, 'bit_depth') ?? 16;
  if (law && depth !== 8) throw invalid('bit_depth must be 8 for alaw and ulaw');
  if (!law && depth !== 16) throw invalid('the sandbox hears 16 bit PCM');
  const id = crypto.randomUUID();
  const token = crypto.randomUUID();
  sessionsOf(environment).set(token, new Live(id, config));
  const url = `${environment.baseUrl().replace(/^http/, 'ws')}/epsilon/v2/live?token=${token}`;
  request.send(201, { id, created_at: new Date().toISOString(), url });
}

function connect(upgrade: Upgrade, environment: Environment): void {
  const known = sessionsOf(environment);
  const token = upgrade.query.get('token') ?? '';
  upgrade.accept((session) => {
    const live = known.get(token);
    if (!live || live.isOver) {
      session.close(4404, 'Session not found', 'no such session, or it has ended');
      return;
    }
    live.attach(session);
    const idle = new IdleTimer(session.timers, environment.limits.epsilonIdleMs, () =>
      session.close(1011, 'no audio', `no message for ${environment.limits.epsilonIdleMs} ms`),
    );
    session.onBytes((bytes) => {
      idle.touch();
      if (bytes.length > 1024 * 1024) session.close(1009, '', 'frame above 1 MiB');
      else live.hear(bytes);
    });
    session.onText((text) => {
      idle.touch();
      command(live, session, text);
    });
    session.onClose(() => {
      if (session.call.record.close?.code === 1000) known.delete(token);
    });
  });
}

function command(live: Live, session: Session, text: string): void {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    message = undefined;
  }
  const type = textMember(message, 'type');
  const chunk = member(member(message, 'data'), 'chunk');
  if (type === 'stop_recording') live.stop();
  else if (type === 'audio_chunk' && typeof chunk === 'string') live.hear(new Uint8Array(Buffer.from(chunk, 'base64')));
  else session.close(4400, 'Invalid message', `not a message of this API: ${text.slice(0, 100)}`);
}

const failure = { type: 'error', error: { message: 'Internal server error', status_code: 500 } };

/** Gladia live, V2: `https://api.gladia.io/v2/live`, then the socket that it names. */
export const epsilon: Vendor = {
  mount: 'epsilon',
  refuse,
  authorize,
  routes: [
    { service: 'epsilon-init', method: 'POST', path: '/v2/live', handle: init },
    { service: 'epsilon-stt', method: 'WS', path: '/v2/live', open: true, midStreamError: failure, connect },
  ],
};
