import type { Environment } from '../environment.ts';
import { durationMs } from '../modem.ts';
import type { SampleEncoding } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { Talker, wordsOf } from '../talker.ts';
import { boolean, checkQuery, filled, integer, member, number, oneOf, query as rule, required } from '../validate.ts';
import { shape, string, textMember } from '../validate.ts';
import type { Refusal, SocketRoute } from '../vendor.ts';

const parameters = { cartesia_version: rule.oneOf('2026-03-01'), access_token: rule.filled, api_key: rule.filled };

const encodings: Readonly<Record<string, SampleEncoding>> = {
  pcm_s16le: 'linear16',
  pcm_f32le: 'linear32',
  pcm_mulaw: 'mulaw',
  pcm_alaw: 'alaw',
};

const generation = shape({
  context_id: required(filled),
  model_id: required(filled),
  transcript: required(string),
  continue: boolean,
  flush: boolean,
  voice: required(shape({ mode: required(oneOf('id')), id: required(filled) })),
  language: string,
  output_format: required(
    shape({
      container: required(oneOf('raw')),
      encoding: required(oneOf(...Object.keys(encodings))),
      sample_rate: required(oneOf(8000, 16000, 22050, 24000, 44100, 48000)),
    }),
  ),
  ...{ add_timestamps: boolean, use_normalized_timestamps: boolean, add_phoneme_timestamps: boolean },
  max_buffer_delay_ms: integer(0, 5000),
  generation_config: shape({ speed: number(0.6, 1.5), volume: number(0.5, 2), emotion: filled }),
  speed: oneOf('slow', 'normal', 'fast'),
  pronunciation_dict_id: filled,
});
const cancellation = shape({ context_id: required(filled), cancel: required(oneOf(true)) });

const alive = /^sonic-(3(\.5)?(-\d{4}-\d\d-\d\d)?|latest|2(-2025-(04-16|05-08|06-11))?|turbo-2025-06-04)$/;
const sunset = /^sonic(-english|-multilingual|-2-2025-03-07|-turbo-2025-03-07)?$/;
const voice = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** A context takes no more text after this silence. */
const expiryMs = 1_000;

/** One utterance. */
interface Context {
  readonly talker: Talker;
  /** All fields but the text, which may not change. */
  readonly settings: string;
  /** Milliseconds of the texts before the present one. */
  beforeMs: number;
  lastSentAt: number;
  isFinished: boolean;
}

class Speaker {
  readonly #session: Session;
  readonly #environment: Environment;
  readonly #contexts = new Map<string, Context>();
  readonly #over = new Set<string>();

  constructor(session: Session, environment: Environment) {
    this.#session = session;
    this.#environment = environment;
  }

  command(text: string): void {
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      this.#fail(undefined, 400, 'invalid_request', 'the message is not JSON');
      return;
    }
    const id = textMember(body, 'context_id');
    if (!cancellation(body, '')) this.#cancel(id);
    else {
      const wrong = generation(body, '') ?? this.#objection(id, body);
      if (wrong) this.#fail(id || undefined, 400, 'invalid_request', wrong);
      else this.#generate(id, body);
    }
  }

  #objection(id: string, body: unknown): string | undefined {
    const context = this.#contexts.get(id);
    const model = textMember(body, 'model_id');
    if (this.#over.has(id) || context?.isFinished) return `context ${id} is over`;
    if (context && performance.now() - context.lastSentAt > expiryMs) return `context ${id} has expired`;
    if (context && context.settings !== settingsOf(body)) return 'the fields of a context must stay the same';
    if (!textMember(body, 'transcript') && member(body, 'continue') === true && member(body, 'flush') !== true)
      return 'an empty transcript, and nothing else';
    if (!/^sonic-(3|latest)/.test(model) && member(body, 'generation_config'))
      return `${model} has no generation_config`;
    if (/^sonic-(3|latest)/.test(model) && member(body, 'speed')) return `${model} has no speed of this kind`;
    return undefined;
  }

  #generate(id: string, body: unknown): void {
    const model = textMember(body, 'model_id');
    const { piConcurrency } = this.#environment.limits;
    if (sunset.test(model)) this.#fail(id, 400, 'model_sunsetted', `The model ${model} is no longer available.`);
    else if (!alive.test(model)) this.#fail(id, 404, 'model_not_found', `unknown model ${model}`);
    else if (!voice.test(textMember(member(body, 'voice'), 'id')))
      this.#fail(id, 404, 'voice_not_found', 'no such voice');
    else if (!this.#contexts.has(id) && this.#contexts.size >= piConcurrency)
      this.#fail(id, 429, 'concurrency_limited', `${piConcurrency} contexts are active`);
    else {
      const context = this.#contexts.get(id) ?? this.#open(id, body);
      const transcript = textMember(body, 'transcript');
      if (transcript.trim()) this.#say(context, transcript);
      context.lastSentAt = Infinity;
      context.talker.afterwards(() => (context.lastSentAt = performance.now()));
      if (member(body, 'flush') === true) {
        context.talker.afterwards(() => this.#send(id, 'flush_done', { flush_done: true, flush_id: 1 }));
      }
      if (member(body, 'continue') === true) return;
      context.isFinished = true;
      this.#end(id, context);
    }
  }

  #say(context: Context, transcript: string): void {
    context.talker.say(transcript);
    context.talker.afterwards(() => (context.beforeMs += durationMs(transcript)));
  }

  #open(id: string, body: unknown): Context {
    const format = member(body, 'output_format');
    const hasTimes = member(body, 'add_timestamps') === true;
    const talker = new Talker({
      encoding: encodings[textMember(format, 'encoding')] ?? 'linear16',
      sampleRate: Number(member(format, 'sample_rate')),
      ...{ chunkMs: 200, realtimeFactor: this.#environment.realtimeFactor, timers: this.#session.timers },
      send: (bytes, spoken) => {
        const words = hasTimes ? wordsOf(spoken) : [];
        const seconds = (ms: number): number => (context.beforeMs + ms) / 1000;
        if (words.length > 0) {
          const word_timestamps = {
            words: words.map(({ word }) => word),
            start: words.map(({ startMs }) => seconds(startMs)),
            end: words.map(({ endMs }) => seconds(endMs)),
          };
          this.#send(id, 'timestamps', { word_timestamps });
        }
        this.#send(id, 'chunk', { data: Buffer.from(bytes).toString('base64'), step_time: 12.5 });
      },
    });
    const context: Context = {
      ...{ talker, settings: settingsOf(body), beforeMs: 0, lastSentAt: Infinity, isFinished: false },
    };
    this.#contexts.set(id, context);
    return context;
  }

  /** What is being said is said to its end. */
  #cancel(id: string): void {
    const context = this.#contexts.get(id);
    if (!context) return;
    context.isFinished = true;
    context.talker.drop();
    this.#end(id, context);
  }

  #end(id: string, { talker }: Context): void {
    talker.afterwards(() => {
      if (!this.#contexts.delete(id)) return;
      this.#over.add(id);
      this.#session.send({ type: 'done', context_id: id, done: true, status_code: 200 });
    });
  }

  #send(id: string, type: string, body: object): void {
    this.#session.send({ type, context_id: id, done: false, status_code: 206, ...body });
  }

  #fail(id: string | undefined, status: number, code: string, why: string): void {
    this.#session.call.record.refusal = why;
    this.#session.call.log(why);
    if (id !== undefined) {
      this.#contexts.get(id)?.talker.clear();
      this.#contexts.delete(id);
      this.#over.add(id);
    }
    this.#session.send({
      ...{ type: 'error', context_id: id, done: true, status_code: status, error_code: code, title: code },
      ...{ message: why, request_id: crypto.randomUUID() },
    });
  }
}

/** All fields of a request that must stay the same; the vendor's client ends a context without its manner. */
function settingsOf(body: unknown): string {
  const free = new Set(['transcript', 'continue', 'flush', 'generation_config']);
  const kept = Object.entries(body as object).filter(([name]) => !free.has(name));
  return JSON.stringify(kept.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Cartesia Sonic: `wss://api.cartesia.ai/tts/websocket`. */
export const piTts = (refuse: (status: number, why: string) => Refusal): SocketRoute => ({
  service: 'pi-tts',
  method: 'WS',
  path: '/tts/websocket',
  midStreamError: {
    type: 'error',
    done: true,
    status_code: 500,
    error_code: 'internal_error',
    title: 'Internal error',
  },
  connect(upgrade: Upgrade, environment: Environment): void {
    const given = new URLSearchParams(upgrade.query);
    const header = upgrade.headers['cartesia-version'];
    if (header !== undefined && !given.has('cartesia_version')) given.set('cartesia_version', header);
    const wrong = checkQuery(given, parameters) ?? (given.has('cartesia_version') ? undefined : 'no version is named');
    if (wrong) throw refuse(400, wrong);
    upgrade.accept((session) => {
      const speaker = new Speaker(session, environment);
      session.onText((text) => speaker.command(text));
      session.onBytes(() => session.close(1003, '', 'this API takes text frames only'));
    });
  },
});
