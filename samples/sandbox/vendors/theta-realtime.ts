import type { HttpRequest } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import type { SampleEncoding } from '../pcm.ts';
import { bytesPerSample } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { Transcriber } from '../transcriber.ts';
import {
  anyOf,
  arrayOf,
  filled,
  isObject,
  member,
  nothing,
  number,
  oneOf,
  required,
  shape,
  string,
  textMember,
  type Check,
} from '../validate.ts';
import type { Route } from '../vendor.ts';
import { openAiRefusal } from './chat-completions.ts';

/** The models that transcribe. */
export const models: readonly string[] = [
  ...['whisper-1', 'gpt-4o-mini-transcribe', 'gpt-4o-mini-transcribe-2025-12-15', 'gpt-4o-transcribe'],
  ...['gpt-4o-transcribe-diarize', 'gpt-transcribe', 'gpt-live-transcribe', 'gpt-realtime-whisper'],
];
const live = ['gpt-realtime-whisper', 'gpt-live-transcribe'];
/** A snapshot is its model, with another date. */
const modelOf = (transcription: unknown): string =>
  textMember(transcription, 'model').replace(/(?<=\b(?:transcribe|whisper))-\d{4}-\d\d-\d\d$/, '');
const known = oneOf(...models);
const model: Check = (value, path) => known(modelOf({ model: value }), path);

/** The formats of audio. */
export const format: Check = anyOf(
  shape({ type: required(oneOf('audio/pcm')), rate: required(oneOf(24_000)) }),
  shape({ type: required(oneOf('audio/pcmu', 'audio/pcma')) }),
);
const turnDetection = anyOf(
  nothing,
  shape({
    type: required(oneOf('server_vad')),
    ...{ threshold: number(0, 1), prefix_padding_ms: number(0), silence_duration_ms: number(0) },
  }),
  shape({ type: required(oneOf('semantic_vad')), eagerness: oneOf('low', 'medium', 'high', 'auto') }),
);
const sessionShape = shape({
  type: required(oneOf('transcription')),
  audio: shape({
    input: shape({
      format,
      transcription: shape({
        model: required(model),
        ...{ language: string, languages: arrayOf(string), keywords: arrayOf(filled), prompt: string },
        delay: oneOf('minimal', 'low', 'medium', 'high', 'xhigh'),
      }),
      noise_reduction: anyOf(nothing, shape({ type: required(oneOf('near_field', 'far_field')) })),
      turn_detection: turnDetection,
    }),
  }),
  include: arrayOf(oneOf('item.input_audio_transcription.logprobs')),
});

/** What the formats are. */
export const encodings: Readonly<Record<string, SampleEncoding>> = {
  'audio/pcm': 'linear16',
  'audio/pcmu': 'mulaw',
  'audio/pcma': 'alaw',
};

/** Most bytes of one append, and the least audio of one commit in milliseconds. */
const mostAppended = 15 * 1024 * 1024;
const leastCommitted = 100;

type Json = Readonly<Record<string, unknown>>;

class Listener {
  readonly #session: Session;
  readonly #hasModelInQuery: boolean;
  #events = 0;
  #count = 0;
  #settings: Json | undefined;
  #transcriber: Transcriber | undefined;
  #bytesPerMs = 48;
  #buffered = 0;
  #speaking = false;
  #item: string | undefined;
  #previous: string | null = null;

  constructor(session: Session, hasModelInQuery: boolean) {
    this.#session = session;
    this.#hasModelInQuery = hasModelInQuery;
    this.#send('session.created', { session: this.#described() });
  }

  receive(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      message = undefined;
    }
    if (!isObject(message)) {
      this.#refuse('invalid_event', 'The message is not JSON.');
      return;
    }
    const type = textMember(message, 'type');
    if (type === 'session.update') this.#update(message);
    else if (type === 'input_audio_buffer.append') this.#append(message);
    else if (type === 'input_audio_buffer.commit') this.#commit(message);
    else if (type === 'input_audio_buffer.clear') this.#clear();
    else this.#refuse('invalid_event', `Unknown type ${type}`, message);
  }

  refuseBytes(): void {
    this.#refuse('invalid_event', 'binary frames are not known here');
  }

  #update(message: Json): void {
    const session = member(message, 'session');
    if (this.#hasModelInQuery) {
      const error = 'is not supported in transcription mode.';
      this.#refuse('invalid_model', `Model ${error}`, message);
      this.#session.close(4000, 'invalid_request_error.invalid_model', error);
      return;
    }
    const wrong = sessionShape(session, 'session') ?? this.#conflict(session);
    if (wrong) {
      this.#refuse('invalid_parameter', wrong, message);
      return;
    }
    this.#settings = session as Json;
    const type = textMember(member(this.#input, 'format'), 'type') || 'audio/pcm';
    const encoding = encodings[type] ?? 'linear16';
    const sampleRate = encoding === 'linear16' ? 24_000 : 8_000;
    this.#bytesPerMs = (bytesPerSample[encoding] * sampleRate) / 1000;
    this.#transcriber ??= new Transcriber(
      { encoding, sampleRate },
      { voice: (at) => this.#voice(at), word: () => this.#word(), step: () => this.#step() },
    );
    this.#send('session.updated', { session: this.#described() });
  }

  #conflict(session: unknown): string | undefined {
    const input = member(member(session, 'audio'), 'input');
    const transcription = member(input, 'transcription');
    const model = modelOf(transcription);
    const listing = ['gpt-transcribe', 'gpt-live-transcribe'].includes(model);
    if (live.includes(model) && isObject(member(input, 'turn_detection')))
      return 'Turn detection is not supported for this transcription model.';
    if (!listing && (member(transcription, 'languages') ?? member(transcription, 'keywords')) !== undefined)
      return `languages and keywords are not for ${model}`;
    if (member(transcription, 'delay') !== undefined && !live.includes(model)) return `delay is not for ${model}`;
    if (member(transcription, 'prompt') !== undefined && model === 'gpt-realtime-whisper')
      return `prompt is not for ${model}`;
    return undefined;
  }

  #append(message: Json): void {
    const audio = member(message, 'audio');
    if (!this.#settings || !this.#transcriber) {
      this.#refuse('invalid_value', 'audio before session.updated is judged by other settings', message);
      return;
    }
    if (typeof audio !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(audio) || audio.length > mostAppended) {
      this.#refuse('invalid_value', 'audio must be base64', message);
      return;
    }
    const bytes = new Uint8Array(Buffer.from(audio, 'base64'));
    if (this.#bytesPerMs === 48 && bytes.length % 2 !== 0) {
      this.#refuse('invalid_value', 'audio ends in the middle of a sample', message);
      return;
    }
    this.#buffered += bytes.length;
    this.#transcriber.push(bytes);
  }

  #commit(message: Json): void {
    if (this.#buffered / this.#bytesPerMs < leastCommitted) {
      const text = `Error committing input audio buffer: buffer too small. Expected at least ${leastCommitted}ms of audio.`;
      this.#error('input_audio_buffer_commit_empty', text, message);
      return;
    }
    this.#transcriber?.finish();
    this.#finish();
  }

  #clear(): void {
    this.#transcriber?.reset();
    this.#buffered = 0;
    this.#send('input_audio_buffer.cleared');
  }

  #voice(at: number): void {
    if (this.#speaking || !this.#detection) return;
    this.#speaking = true;
    this.#item = this.#newItem();
    this.#send('input_audio_buffer.speech_started', { audio_start_ms: Math.round(at * 1000), item_id: this.#item });
  }

  #word(): void {
    if (!this.#isLive) return;
    this.#item ??= this.#newItem();
    const words = this.#transcriber?.words ?? [];
    this.#delta(this.#item, `${words.length > 1 ? ' ' : ''}${words.at(-1)?.text ?? ''}`);
  }

  #step(): void {
    const detection = this.#detection;
    const transcriber = this.#transcriber;
    if (!detection || !transcriber || !this.#speaking) return;
    const silence = Number(member(detection, 'silence_duration_ms') ?? 500) / 1000;
    if (transcriber.quiet < Math.max(0.1, silence)) return;
    this.#speaking = false;
    const end = Math.round(transcriber.now * 1000);
    this.#send('input_audio_buffer.speech_stopped', { audio_end_ms: end, item_id: this.#item });
    this.#finish();
  }

  #finish(): void {
    const id = this.#item ?? this.#newItem();
    const previous = { previous_item_id: this.#previous, item_id: id };
    this.#item = undefined;
    this.#previous = id;
    this.#buffered = 0;
    this.#speaking = false;
    this.#send('input_audio_buffer.committed', previous);
    const content = [{ type: 'input_audio', transcript: null }];
    const item = { id, type: 'message', status: 'completed', role: 'user', content };
    this.#send('conversation.item.added', { previous_item_id: previous.previous_item_id, item });
    const words = this.#transcriber?.words ?? [];
    this.#transcriber?.reset();
    if (!this.#isLive) words.forEach(({ text }, at) => this.#delta(id, `${at > 0 ? ' ' : ''}${text}`));
    const logprobs = words.map(({ text, confidence }) => ({ token: text, logprob: Math.log(confidence), bytes: [] }));
    this.#send('conversation.item.input_audio_transcription.completed', {
      ...{ item_id: id, content_index: 0, transcript: words.map(({ text }) => text).join(' ') },
      ...(this.#settings?.['include'] !== undefined && { logprobs }),
      usage: { type: 'tokens', total_tokens: 22, input_tokens: 13, output_tokens: 9 },
    });
  }

  #delta(id: string, delta: string): void {
    const type = 'conversation.item.input_audio_transcription.delta';
    this.#send(type, { item_id: id, content_index: 0, delta, obfuscation: 'aLxx0jTEciOGe' });
  }

  get #input(): unknown {
    return member(this.#settings?.['audio'], 'input');
  }

  get #isLive(): boolean {
    return live.includes(modelOf(member(this.#input, 'transcription')));
  }

  get #detection(): Json | undefined {
    const detection = member(this.#input, 'turn_detection');
    return isObject(detection) ? detection : undefined;
  }

  #newItem(): string {
    return `item_${++this.#count}`;
  }

  #described(): Json {
    const audio = this.#settings?.['audio'] ?? { input: { format: { type: 'audio/pcm', rate: 24_000 } } };
    return { type: 'transcription', object: 'realtime.transcription_session', id: 'sess_1', audio };
  }

  #refuse(code: string, message: string, about?: Json): void {
    this.#session.call.record.refusal ??= message;
    this.#session.call.log(message);
    this.#error(code, message, about);
  }

  #error(code: string, message: string, about?: Json): void {
    const error = {
      type: 'invalid_request_error',
      code,
      message,
      param: null,
      event_id: member(about, 'event_id') ?? null,
    };
    this.#send('error', { error });
  }

  #send(type: string, more: Json = {}): void {
    this.#session.send({ type, event_id: `event_${++this.#events}`, ...more });
  }
}

/** Refuses all but a key or a client secret, as header or as subprotocol. */
export function authorize(
  { headers, protocols }: Pick<Upgrade, 'headers' | 'protocols'>,
  credentials: Credentials,
): void {
  const [scheme, value] = (headers['authorization'] ?? '').split(' ');
  const offered = protocols.find((each) => each.startsWith('openai-insecure-api-key.'));
  if (offered !== undefined && protocols[0] !== 'realtime')
    throw openAiRefusal(401, 'the first subprotocol is realtime');
  const key = headers['authorization'] === undefined ? offered?.slice('openai-insecure-api-key.'.length) : value;
  if (scheme !== '' && scheme !== 'Bearer') throw openAiRefusal(401, 'Authorization must be Bearer');
  if (!credentials.isKey(key) && !credentials.isToken(key)) throw openAiRefusal(401, 'wrong key');
}

/** OpenAI Realtime, transcription sessions, and the secrets that browsers open them with. */
export const thetaRealtime: readonly Route[] = [
  {
    ...{ service: 'theta-realtime-stt', method: 'WS', path: '/realtime', open: true },
    midStreamError: { type: 'error', error: { type: 'server_error', code: null, message: 'Internal', param: null } },
    connect(upgrade: Upgrade, { credentials }: Environment): void {
      const { query, headers, protocols, proxied } = upgrade;
      if (!proxied) authorize(upgrade, credentials);
      const unknown = [...query.keys()].find((name) => name !== 'intent' && name !== 'model');
      if (unknown !== undefined) throw openAiRefusal(400, `unknown parameter ${unknown}`);
      if (query.get('intent') !== 'transcription') throw openAiRefusal(400, 'intent must be transcription');
      const isBeta = headers['openai-beta'] !== undefined || protocols.includes('openai-beta.realtime-v1');
      upgrade.accept((session) => {
        if (isBeta) {
          session.close(4000, 'invalid_request_error.beta_api_shape_disabled', 'the beta shape is no longer served');
          return;
        }
        const listener = new Listener(session, query.has('model'));
        session.onText((text) => listener.receive(text));
        session.onBytes(() => listener.refuseBytes());
      });
    },
  },
  {
    ...{ service: 'theta-realtime-stt', method: 'POST', path: '/realtime/client_secrets' },
    handle(request: HttpRequest, { credentials }: Environment): void {
      const body = request.json((why) => openAiRefusal(400, why));
      const seconds = Number(member(member(body, 'expires_after'), 'seconds') ?? 600);
      if (!(seconds >= 10 && seconds <= 7200)) throw openAiRefusal(400, 'expires_after.seconds must be 10 to 7200');
      const expires = Math.round(Date.now() / 1000) + seconds;
      request.send(200, { value: credentials.grant(seconds), expires_at: expires, session: member(body, 'session') });
    },
  },
];
