import type { Environment } from '../environment.ts';
import { isSampleEncoding } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { Talker } from '../talker.ts';
import { IdleTimer } from '../timers.ts';
import { checkQuery, filled, oneOf, query as rule, required, shape, string } from '../validate.ts';
import type { SocketRoute } from '../vendor.ts';
import { alphaRefusal, invalidQuery, noSuchModel } from './alpha-refusal.ts';

const english =
  'amalthea andromeda apollo arcas aries asteria athena atlas aurora callista cora cordelia delia draco electra harmonia ' +
  'helena hera hermes hyperion iris janus juno jupiter luna mars minerva neptune odysseus ophelia orion orpheus pandora ' +
  'phoebe pluto saturn selene thalia theia vesta zeus';
/** The English voices are listed; of the other languages only the shape of the name is checked. */
const voices = new RegExp(
  `^(aura-2-((${english.replaceAll(' ', '|')})-en|[a-z]+-(es|de|fr|nl|it|ja))|aura-(${english.replaceAll(' ', '|')}|angus|arcas|perseus|stella)-en)$`,
);

const parameters = {
  model: rule.filled,
  encoding: rule.oneOf('linear16', 'mulaw', 'alaw'),
  sample_rate: rule.integer(1),
  speed: rule.number(0.7, 1.5),
  mip_opt_out: rule.boolean,
};
const rates: Readonly<Record<string, readonly number[]>> = {
  linear16: [8000, 16000, 24000, 32000, 48000],
  mulaw: [8000, 16000],
  alaw: [8000, 16000],
};

const messages = {
  Speak: shape({ type: required(oneOf('Speak')), text: required(string) }),
  Flush: shape({ type: required(oneOf('Flush')) }),
  Clear: shape({ type: required(oneOf('Clear')) }),
  Close: shape({ type: required(oneOf('Close')) }),
};
const longestText = 2000;
/** Text that is synthesized without a flush: enough of it, up to the end of a sentence. */
const eagerText = 200;
const windowMs = 60_000;
/** The specification says 60 s; a client found flushes allowed again only after this. */
const flushWindowMs = 64_000;

function check({ query }: Upgrade): void {
  const wrong = checkQuery(query, parameters);
  if (wrong) throw invalidQuery(wrong);
  const model = query.get('model') ?? 'aura-asteria-en';
  if (!voices.test(model)) throw noSuchModel(`unknown voice ${model}`);
  const encoding = query.get('encoding') ?? 'linear16';
  const rate = query.get('sample_rate');
  if (rate !== null && !rates[encoding]?.includes(Number(rate))) {
    const why = `Unsupported audio format: ${encoding} at ${rate} Hz`;
    throw alphaRefusal(400, 'INVALID_QUERY_PARAMETER', why, why);
  }
}

/** Sums what happened in the last minute. */
class Window {
  #entries: { at: number; amount: number }[] = [];
  readonly #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  add(amount: number): number {
    const now = performance.now();
    this.#entries = this.#entries.filter(({ at }) => now - at < this.#ms);
    this.#entries.push({ at: now, amount });
    return this.#entries.reduce((sum, entry) => sum + entry.amount, 0);
  }
}

class Speaker {
  readonly #session: Session;
  readonly #environment: Environment;
  readonly #talker: Talker;
  readonly #characters = new Window(windowMs);
  readonly #flushes = new Window(flushWindowMs);
  #buffer = '';
  #sequence = 0;

  constructor(session: Session, query: URLSearchParams, requestId: string, environment: Environment, idle: IdleTimer) {
    this.#session = session;
    this.#environment = environment;
    const encoding = query.get('encoding') ?? 'linear16';
    this.#talker = new Talker({
      encoding: isSampleEncoding(encoding) ? encoding : 'linear16',
      sampleRate: Number(query.get('sample_rate') ?? (encoding === 'linear16' ? 24000 : 8000)),
      chunkMs: 200,
      realtimeFactor: environment.realtimeFactor,
      timers: session.timers,
      send: (bytes) => {
        idle.touch();
        session.sendBytes(bytes);
      },
    });
    session.send({
      ...{ type: 'Metadata', request_id: requestId, model_name: query.get('model') ?? 'aura-asteria-en' },
      ...{ model_version: '2025-04-07.0', model_uuid: 'ecb76e9d-f2db-4127-8060-79b05590d22f' },
    });
  }

  command(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      this.#fail(1008, 'DATA-0000', 'not JSON');
      return;
    }
    const type = Object.keys(messages).find((each) => !messages[each as keyof typeof messages](message, ''));
    if (type === 'Speak') this.#speak((message as { text: string }).text);
    else if (type === 'Flush') this.#flush();
    else if (type === 'Clear') this.#clear();
    else if (type === 'Close') this.#talker.afterwards(() => this.#session.close(1000));
    else this.#fail(1008, 'DATA-0000', `not a message of this API: ${text.slice(0, 100)}`);
  }

  #speak(text: string): void {
    if (filled(text, 'text')) this.#fail(1008, 'DATA-0000', 'Speak without text');
    else if ([...text].length > longestText)
      this.#fail(1009, 'BIG-0001', `Speak with more than ${longestText} characters`);
    else if (this.#characters.add(text.length) > this.#environment.limits.alphaTtsCharactersPerMinute) {
      this.#fail(1008, 'DATA-0001', 'too many characters in a minute');
    } else {
      this.#buffer += text;
      const end = this.#buffer.length < eagerText ? -1 : this.#buffer.search(/[.!?]\s[^.!?]*$/);
      if (end < 0) return;
      this.#talker.say(this.#buffer.slice(0, end + 2));
      this.#buffer = this.#buffer.slice(end + 2);
    }
  }

  #flush(): void {
    if (this.#flushes.add(1) > this.#environment.limits.alphaTtsFlushesPerMinute) {
      const said = 'Rate limit exceeded for flushes. The text stays in the buffer.';
      this.#session.call.log(said);
      // The specification names these fields `code` and `description`. No Flushed follows.
      this.#session.send({ type: 'Warning', warn_code: 'EXCESSIVE_FLUSH', warn_msg: said });
      return;
    }
    const sequence = this.#sequence++;
    if (this.#buffer) this.#talker.say(this.#buffer);
    this.#buffer = '';
    this.#talker.afterwards(() => this.#session.send({ type: 'Flushed', sequence_id: sequence }));
  }

  #clear(): void {
    this.#buffer = '';
    this.#talker.clear();
    this.#session.send({ type: 'Cleared', sequence_id: this.#sequence++ });
  }

  #fail(code: number, payload: string, why: string): void {
    this.#talker.clear();
    this.#session.close(code, payload, why);
  }
}

/** Deepgram Aura, V1: `wss://api.deepgram.com/v1/speak`. */
export const alphaTts: SocketRoute = {
  service: 'alpha-tts',
  method: 'WS',
  path: '/v1/speak',
  midStreamError: { type: 'Error', description: 'Internal server error' },
  connect(upgrade: Upgrade, environment: Environment): void {
    check(upgrade);
    const requestId = crypto.randomUUID();
    const { alphaTtsIdleMs, alphaTtsSessionMs } = environment.limits;
    upgrade.accept(
      (session) => {
        const idle = new IdleTimer(session.timers, alphaTtsIdleMs, () =>
          session.close(1011, 'NET-0001', `no message for ${alphaTtsIdleMs} ms`),
        );
        const speaker = new Speaker(session, upgrade.query, requestId, environment, idle);
        session.timers.after(alphaTtsSessionMs, () => session.close(1011, 'NET-0003', 'the session is too old'));
        session.onText((text) => {
          idle.touch();
          speaker.command(text);
        });
        session.onBytes(() => session.close(1003, 'MESSAGE-0000', 'this API takes text frames only'));
      },
      { 'dg-request-id': requestId },
    );
  },
};
