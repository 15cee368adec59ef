import type { CallLine } from '../call-line.ts';
import type { Environment } from '../environment.ts';
import { isNumber, KeyEar, keyMs } from '../keys.ts';
import { bytesPerSample } from '../pcm.ts';
import { countTokens, respond } from '../responder.ts';
import type { Call, Turn } from '../responder.ts';
import type { Session, Upgrade } from '../session.ts';
import { characterMs } from '../modem.ts';
import { charactersOf, Talker } from '../talker.ts';
import { sentence, Transcriber } from '../transcriber.ts';
import { isObject, member, textMember } from '../validate.ts';
import type { SocketRoute } from '../vendor.ts';
import { openAiRefusal } from './chat-completions.ts';
import { CallTalker } from './theta-call-talker.ts';
import { messageShapes } from './theta-agent-messages.ts';
import { authorize, encodings } from './theta-realtime.ts';

type Json = Readonly<Record<string, unknown>>;

/** An item of the conversation, as the service remembers it. */
interface Item {
  readonly id: string;
  readonly turn: Turn;
  /** What it was spoken in, in milliseconds; 0 for written text. */
  audioMs: number;
}

/** The response in progress. */
interface Response {
  readonly id: string;
  readonly output: Json[];
  /** The message that is being spoken. */
  item: (Item & { turn: { role: 'assistant'; text: string } }) | undefined;
}

/** How long transcription takes after the end of a turn: the reply begins before. */
const transcriptionMs = 20;
/** How long a model takes until it speaks: here over a call only. */
const thoughtMs = 300;
/** The least audio of one commit, in milliseconds. */
const leastCommitted = 100;
/** A reply that the client words itself. */
const dictated = /word for word[^\n]*\n([\s\S]+)$/;

/** One session of the service. */
export class ThetaSession {
  readonly #session: Pick<Session, 'call' | 'timers' | 'send'>;
  readonly #environment: Environment;
  #settings: Json = {};
  #isSet = false;
  readonly #line: CallLine | undefined;
  #transcriber: Transcriber | KeyEar | undefined;
  #talker: Talker | CallTalker | undefined;
  #items: Item[] = [];
  readonly #calls = new Map<string, string>();
  #response: Response | undefined;
  #hasSpoken = false;
  #speaking: string | undefined;
  /** Milliseconds since the last commit. */
  #bufferedMs = 0;
  #count = 0;
  #events = 0;

  /** @param line - Of a call: its audio is not in messages. */
  constructor(session: Pick<Session, 'call' | 'timers' | 'send'>, environment: Environment, line?: CallLine) {
    this.#session = session;
    this.#line = line;
    this.#environment = environment;
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
    const shape = Object.hasOwn(messageShapes, type) ? messageShapes[type] : undefined;
    const wrong = shape ? shape(message, '') : `Unknown type ${type}`;
    if (wrong !== undefined) this.#refuse(shape ? 'invalid_parameter' : 'invalid_event', wrong, message);
    else this.#handlers[type]?.(message);
  }

  /** Audio of a call. */
  hear(bytes: Uint8Array<ArrayBuffer>): void {
    this.#bufferedMs += bytes.length / 48;
    this.#transcriber?.push(bytes);
  }

  refuseBytes(): void {
    this.#refuse('invalid_event', 'binary frames are not known here');
  }

  readonly #handlers: Readonly<Record<string, (message: Json) => void>> = {
    'session.update': (message) => this.#update(message),
    'input_audio_buffer.append': (message) => this.#append(message),
    'input_audio_buffer.commit': (message) => this.#commit(message),
    'input_audio_buffer.clear': () => {
      this.#transcriber?.reset();
      [this.#speaking, this.#bufferedMs] = [undefined, 0];
      this.#send('input_audio_buffer.cleared');
    },
    'conversation.item.create': (message) => this.#create(message),
    'conversation.item.truncate': (message) => this.#truncate(message),
    'response.create': (message) => this.#asked(message),
    'output_audio_buffer.clear': (message) => {
      if (this.#line) this.#talker?.clear();
      else this.#refuse('invalid_event', 'Only a call has a buffer of output audio.', message);
    },
    'response.cancel': (message) => {
      if (this.#response) this.#cancel('client_cancelled');
      else this.#error('response_cancel_not_active', 'Cancellation failed: no active response found', message);
    },
  };

  #update(message: Json): void {
    const session = member(message, 'session') as Json;
    const voice = member(member(member(session, 'audio'), 'output'), 'voice');
    if (voice !== undefined && this.#hasSpoken) {
      const text = "Cannot update a conversation's voice if assistant audio is present.";
      this.#refuse('cannot_update_voice', text, message);
      return;
    }
    const audio = session['audio'] as Json | undefined;
    const before = this.#settings['audio'] as Json | undefined;
    const merged = {
      input: { ...(before?.['input'] as Json | undefined), ...(audio?.['input'] as Json | undefined) },
      output: { ...(before?.['output'] as Json | undefined), ...(audio?.['output'] as Json | undefined) },
    };
    this.#settings = { ...this.#settings, ...session, audio: merged };
    if (!this.#isSet) this.#begin();
    this.#isSet = true;
    this.#send('session.updated', { session: this.#described() });
  }

  #begin(): void {
    const heard = { character: () => this.#voice(), step: () => this.#step() };
    if (this.#line) {
      this.#transcriber = new KeyEar(24_000, heard);
      this.#talker = new CallTalker(this.#line, {
        reply: () => ({ response: this.#response?.id ?? '', item: this.#response?.item?.id ?? '' }),
        generated: (item, ms) => {
          const spoken = this.#items.find(({ id }) => id === item);
          if (spoken) spoken.audioMs = ms;
          this.#hasSpoken = true;
        },
        thought: () => this.#session.timers.sleep(thoughtMs),
        cut: (item, ms) => this.#truncated(item, ms),
        send: (type, more) => this.#send(type, more),
      });
      return;
    }
    this.#transcriber = new Transcriber(this.#side('input'), heard);
    const { encoding, sampleRate } = this.#side('output');
    this.#talker = new Talker({
      ...{ encoding, sampleRate, chunkMs: 200, realtimeFactor: this.#environment.realtimeFactor },
      timers: this.#session.timers,
      send: (bytes) => {
        const { item, id } = this.#response ?? {};
        if (!item) return;
        item.audioMs += (bytes.length / bytesPerSample[encoding] / sampleRate) * 1000;
        this.#hasSpoken = true;
        const where = { response_id: id, item_id: item.id, output_index: 0, content_index: 0 };
        this.#send('response.output_audio.delta', { ...where, delta: Buffer.from(bytes).toString('base64') });
      },
    });
  }

  #side(name: 'input' | 'output') {
    const type = textMember(member(member(this.#settings['audio'], name), 'format'), 'type') || 'audio/pcm';
    const encoding = encodings[type] ?? 'linear16';
    return { encoding, sampleRate: encoding === 'linear16' ? 24_000 : 8_000 };
  }

  #append(message: Json): void {
    if (this.#line || !this.#isSet) {
      this.#refuse(
        'invalid_value',
        this.#line ? 'a call has its audio on the track' : 'audio before session.updated is judged by other settings',
        message,
      );
      return;
    }
    const bytes = new Uint8Array(Buffer.from(textMember(message, 'audio'), 'base64'));
    const { encoding, sampleRate } = this.#side('input');
    this.#bufferedMs += (bytes.length / bytesPerSample[encoding] / sampleRate) * 1000;
    this.#transcriber?.push(bytes);
  }

  #commit(message: Json): void {
    if (this.#bufferedMs < leastCommitted) {
      const text = `Error committing input audio buffer: buffer too small. Expected at least ${leastCommitted}ms of audio.`;
      this.#error('input_audio_buffer_commit_empty', text, message);
      return;
    }
    this.#transcriber?.finish();
    this.#heard(this.#speaking ?? this.#newItem());
  }

  #create(message: Json): void {
    const item = member(message, 'item') as Json;
    const content = (item['content'] ?? []) as readonly Json[];
    const text = content.map((each) => textMember(each, 'text')).join('');
    const id = this.#newItem();
    // The conversation of another connection is told with its calls.
    if (item['type'] === 'function_call') this.#calls.set(textMember(item, 'call_id'), textMember(item, 'name'));
    else if (item['type'] === 'function_call_output') {
      const callId = textMember(item, 'call_id');
      const tool = this.#calls.get(callId);
      if (tool === undefined) {
        this.#refuse('item_create_invalid_item', `There is no call ${callId}.`, message);
        return;
      }
      const output = textMember(item, 'output');
      this.#items.push({
        id,
        turn: { role: 'result', tool, text: output, failed: output.includes('"error"') },
        audioMs: 0,
      });
    } else {
      const role = textMember(item, 'role') === 'assistant' ? 'assistant' : 'user';
      this.#items.push({ id, turn: { role, text }, audioMs: 0 });
    }
    this.#send('conversation.item.added', { item: { ...item, id } });
    this.#send('conversation.item.done', { item: { ...item, id } });
  }

  #truncate(message: Json): void {
    const item = this.#items.find(({ id }) => id === textMember(message, 'item_id'));
    const end = Number(member(message, 'audio_end_ms'));
    if (item?.turn.role !== 'assistant' || item.audioMs === 0) {
      this.#refuse('invalid_value', 'Only spoken messages of the assistant can be truncated.', message);
      return;
    }
    if (end > item.audioMs) {
      const text = `Audio content of ${item.audioMs}ms is already shorter than ${end}ms`;
      this.#refuse('invalid_value', text, message);
      return;
    }
    this.#truncated(item.id, end);
  }

  #truncated(id: string, end: number): void {
    const item = this.#items.find((each) => each.id === id);
    if (item?.turn.role !== 'assistant') return;
    const { text } = item.turn;
    const pace = this.#line && isNumber(text) ? keyMs / characterMs : 1;
    const kept = charactersOf({ text, startMs: 0, endMs: Infinity }).filter(({ endMs }) => endMs * pace <= end);
    const turn = { role: 'assistant' as const, text: kept.map(({ character }) => character).join('') };
    this.#items = this.#items.map((each) => (each === item ? { ...item, turn, audioMs: end } : each));
    this.#send('conversation.item.truncated', { item_id: id, content_index: 0, audio_end_ms: end });
  }

  #asked(message: Json): void {
    if (this.#response) {
      const text = `Conversation already has an active response in progress: ${this.#response.id}.`;
      this.#error('conversation_already_has_active_response', text, message);
      return;
    }
    this.#respond(member(message, 'response') as Json | undefined);
  }

  get #detection(): unknown {
    return member(member(this.#settings['audio'], 'input'), 'turn_detection');
  }

  #voice(): void {
    if (this.#speaking !== undefined || this.#detection === null) return;
    this.#speaking = this.#newItem();
    const at = Math.round((this.#transcriber?.now ?? 0) * 1000);
    this.#send('input_audio_buffer.speech_started', { audio_start_ms: at, item_id: this.#speaking });
    if (this.#response) this.#cancel('turn_detected');
    // A call plays what was generated long ago.
    else if (this.#line) this.#talker?.clear();
  }

  #step(): void {
    const transcriber = this.#transcriber;
    if (!transcriber || this.#speaking === undefined) return;
    const silence = Number(member(this.#detection, 'silence_duration_ms') ?? 500) / 1000;
    if (transcriber.quiet < Math.max(0.1, silence)) return;
    const at = Math.round(transcriber.now * 1000);
    this.#send('input_audio_buffer.speech_stopped', { audio_end_ms: at, item_id: this.#speaking });
    this.#heard(this.#speaking);
    this.#respond(undefined);
  }

  /** A turn of the user's. */
  #heard(id: string): void {
    const text = sentence(this.#transcriber?.words ?? []);
    this.#transcriber?.reset();
    [this.#speaking, this.#bufferedMs] = [undefined, 0];
    this.#send('input_audio_buffer.committed', { previous_item_id: this.#items.at(-1)?.id ?? null, item_id: id });
    this.#items.push({ id, turn: { role: 'user', text }, audioMs: 0 });
    const content = [{ type: 'input_audio', transcript: null }];
    this.#send('conversation.item.added', {
      item: { id, type: 'message', role: 'user', status: 'completed', content },
    });
    if (isObject(member(member(this.#settings['audio'], 'input'), 'transcription'))) void this.#transcribe(id, text);
  }

  async #transcribe(id: string, text: string): Promise<void> {
    await this.#session.timers.sleep(transcriptionMs);
    const about = { item_id: id, content_index: 0 };
    for (const delta of text.match(/\s*\S+/g) ?? [])
      this.#send('conversation.item.input_audio_transcription.delta', { ...about, delta });
    const usage = { type: 'tokens', total_tokens: 22, input_tokens: 13, output_tokens: 9 };
    this.#send('conversation.item.input_audio_transcription.completed', { ...about, transcript: text, usage });
  }

  #respond(params: Json | undefined): void {
    const response: Response = { id: `resp_${++this.#count}`, output: [], item: undefined };
    this.#response = response;
    this.#send('response.created', {
      response: { id: response.id, object: 'realtime.response', status: 'in_progress' },
    });
    const said = dictated.exec(textMember(params, 'instructions'))?.[1];
    const tools = (this.#settings['tools'] ?? []) as readonly Json[];
    const choice = params?.['tool_choice'] ?? this.#settings['tool_choice'];
    const reply = respond({
      ...{ system: textMember(this.#settings, 'instructions'), turns: this.#items.map(({ turn }) => turn) },
      tools: tools.map((each) => ({ name: textMember(each, 'name'), parameters: each['parameters'] })),
      choice: choice === 'none' || choice === 'required' ? choice : 'auto',
      ...{ parallel: true, maxTokens: Number(this.#settings['max_output_tokens'] ?? Infinity), stop: [] },
    });
    const text = said ?? reply.tokens.join('');
    const calls = said === undefined ? reply.calls : [];
    const talker = this.#talker;
    if (!talker) return;
    if (text) this.#speak(response, text);
    talker.afterwards(() => {
      for (const call of calls) this.#call(response, call);
      const status =
        reply.finish === 'length' ? 'incomplete' : reply.finish === 'filtered' ? 'incomplete' : 'completed';
      const reason = reply.finish === 'length' ? 'max_output_tokens' : 'content_filter';
      this.#done(response, status, status === 'completed' ? undefined : { type: status, reason });
    });
  }

  #speak(response: Response, text: string): void {
    const item = { id: this.#newItem(), turn: { role: 'assistant' as const, text }, audioMs: 0 };
    response.item = item;
    this.#items.push(item);
    const about = { response_id: response.id, item_id: item.id, output_index: 0, content_index: 0 };
    const described = (status: string, content: readonly unknown[]): Json => ({
      ...{ id: item.id, object: 'realtime.item', type: 'message', role: 'assistant', status, content },
    });
    this.#send('response.output_item.added', {
      response_id: response.id,
      output_index: 0,
      item: described('in_progress', []),
    });
    this.#send('conversation.item.added', { item: described('in_progress', []) });
    this.#send('response.content_part.added', { ...about, part: { type: 'audio', transcript: '' } });
    for (const delta of text.match(/\s*\S+/g) ?? [])
      this.#send('response.output_audio_transcript.delta', { ...about, delta });
    this.#talker?.say(text);
    this.#talker?.afterwards(() => {
      this.#send('response.output_audio.done', about);
      this.#send('response.output_audio_transcript.done', { ...about, transcript: text });
      const whole = described('completed', [{ type: 'output_audio', transcript: text }]);
      this.#send('response.content_part.done', { ...about, part: { type: 'audio', transcript: text } });
      this.#send('response.output_item.done', { response_id: response.id, output_index: 0, item: whole });
      response.output.push(whole);
      response.item = undefined;
    });
  }

  #call(response: Response, { name, args }: Call): void {
    const id = this.#newItem();
    const callId = `call_${++this.#count}`;
    this.#calls.set(callId, name);
    const text = JSON.stringify(args);
    const item = { id, type: 'function_call', status: 'completed', name, call_id: callId, arguments: text };
    const about = { response_id: response.id, output_index: response.output.length };
    this.#send('response.output_item.added', { ...about, item: { ...item, status: 'in_progress', arguments: '' } });
    this.#send('response.function_call_arguments.done', {
      ...about,
      item_id: id,
      call_id: callId,
      name,
      arguments: text,
    });
    this.#send('response.output_item.done', { ...about, item });
    response.output.push(item);
  }

  #cancel(reason: 'turn_detected' | 'client_cancelled'): void {
    const response = this.#response;
    if (!response) return;
    this.#talker?.clear();
    const { item } = response;
    if (item) {
      const content = [{ type: 'output_audio', transcript: item.turn.text }];
      const cut = { id: item.id, type: 'message', role: 'assistant', status: 'incomplete', content };
      this.#send('response.output_item.done', { response_id: response.id, output_index: 0, item: cut });
    }
    this.#done(response, 'cancelled', { type: 'cancelled', reason });
  }

  #done({ id, output }: Response, status: string, details: Json | undefined): void {
    this.#response = undefined;
    const spoken = this.#items.reduce((sum, { turn }) => sum + countTokens(turn.text), 0);
    const usage = {
      ...{ total_tokens: spoken + 30, input_tokens: spoken, output_tokens: 30 },
      input_token_details: { text_tokens: spoken - 1, audio_tokens: 1, cached_tokens: 0 },
      output_token_details: { text_tokens: 10, audio_tokens: 20 },
    };
    const response = { id, object: 'realtime.response', status, status_details: details ?? null, output, usage };
    this.#send('response.done', { response });
  }

  #newItem(): string {
    return `item_${++this.#count}`;
  }

  #described(): Json {
    const audio = { input: { format: { type: 'audio/pcm', rate: 24_000 } } };
    return { audio, ...this.#settings, type: 'realtime', object: 'realtime.session', id: 'sess_1' };
  }

  #refuse(code: string, message: string, about?: Json): void {
    this.#session.call.record.refusal ??= message;
    this.#session.call.log(message);
    this.#error(code, message, about);
  }

  #error(code: string, message: string, about?: Json): void {
    const eventId = member(about, 'event_id') ?? null;
    this.#send('error', { error: { type: 'invalid_request_error', code, message, param: null, event_id: eventId } });
  }

  #send(type: string, more: Json = {}): void {
    this.#session.send({ type, event_id: `event_${++this.#events}`, ...more });
  }
}

/** OpenAI Realtime, speech to speech: `wss://api.openai.com/v1/realtime?model=…`. */
export const thetaAgent: SocketRoute = {
  ...{ service: 'theta-agent', method: 'WS', path: '/realtime', open: true },
  midStreamError: {
    type: 'error',
    error: {
      ...{ type: 'invalid_request_error', code: 'session_expired', param: null },
      message: 'Your session hit the maximum duration of 60 minutes.',
    },
  },
  takes: (query) => query.has('model') && !query.has('intent'),
  connect(upgrade: Upgrade, environment: Environment): void {
    const { query, headers, protocols, proxied } = upgrade;
    if (!proxied) authorize(upgrade, environment.credentials);
    const unknown = [...query.keys()].find((name) => name !== 'model');
    if (unknown !== undefined) throw openAiRefusal(400, `unknown parameter ${unknown}`);
    const isBeta = headers['openai-beta'] !== undefined || protocols.includes('openai-beta.realtime-v1');
    upgrade.accept((session) => {
      const refusal = isBeta
        ? 'beta_api_shape_disabled'
        : query.get('model')?.startsWith('gpt-realtime')
          ? undefined
          : 'invalid_model';
      if (refusal !== undefined) {
        session.close(4000, `invalid_request_error.${refusal}`, refusal);
        return;
      }
      const agent = new ThetaSession(session, environment);
      session.onText((text) => agent.receive(text));
      session.onBytes(() => agent.refuseBytes());
    });
  },
};
