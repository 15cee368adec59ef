import type { Environment } from '../environment.ts';
import { isSampleEncoding } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { IdleTimer } from '../timers.ts';
import { languageOf } from '../languages.ts';
import { round, sentence, Transcriber } from '../transcriber.ts';
import {
  anyOf,
  arrayOf,
  boolean,
  checkQuery,
  filled,
  integer,
  isObject,
  member,
  nothing,
  number,
  oneOf,
  query as rule,
  required,
  shape,
} from '../validate.ts';
import type { SocketRoute } from '../vendor.ts';
import { invalidQuery, noSuchModel } from './alpha-refusal.ts';

const models = ['flux-general-en', 'flux-general-multi'];

const parameters = {
  model: rule.filled,
  encoding: rule.oneOf('linear16', 'linear32', 'mulaw', 'alaw', 'opus', 'ogg-opus'),
  sample_rate: rule.oneOf('8000', '16000', '24000', '44100', '48000'),
  eager_eot_threshold: rule.number(0.3, 0.9),
  eot_threshold: rule.number(0.5, 1),
  eot_timeout_ms: rule.integer(500, 60000),
  keyterm: rule.filled,
  language_hint: rule.filled,
  profanity_filter: rule.boolean,
  numerals: rule.boolean,
  redact: rule.oneOf('numbers', 'aggressive_numbers'),
  mip_opt_out: rule.boolean,
  tag: (value: string) => value.length <= 128,
};

const configure = shape({
  type: required(oneOf('Configure')),
  thresholds: shape({
    eager_eot_threshold: number(0.3, 0.9),
    eot_threshold: number(0.5, 1),
    eot_timeout_ms: integer(500, 60000),
  }),
  keyterms: arrayOf(filled, 0, 100),
  language_hints: anyOf(nothing, arrayOf(filled)),
  numerals: boolean,
});

/**
 * How sure the sandbox is, by the silence in seconds, that a turn has ended: 0.7 after 0.7 s. So a threshold is the
 * number of seconds that it waits.
 */
const endOfTurnConfidence = (quiet: number): number => Math.min(0.99, quiet);
/** Seconds between two `Update`s. */
const updateInterval = 0.25;

interface Thresholds {
  eager_eot_threshold?: number;
  eot_threshold: number;
  eot_timeout_ms: number;
}

function check({ query }: Upgrade): void {
  const wrong = checkQuery(query, parameters, ['keyterm', 'language_hint', 'tag']);
  if (wrong) throw invalidQuery(wrong);
  const model = query.get('model');
  if (model === null || !models.includes(model)) throw noSuchModel(`unknown model ${model ?? '(none)'}`);
  if (query.has('language_hint') && model !== 'flux-general-multi')
    throw invalidQuery('language_hint is for flux-general-multi');
  if (query.getAll('keyterm').length > 100) throw invalidQuery('more than 100 keyterms');
  if (query.has('encoding') !== query.has('sample_rate')) throw invalidQuery('encoding and sample_rate go together');
  const encoding = query.get('encoding');
  if (!isSampleEncoding(encoding)) throw invalidQuery(`the sandbox cannot decode ${encoding ?? 'containers'}`);
  const eager = query.get('eager_eot_threshold');
  if (eager !== null && Number(eager) > Number(query.get('eot_threshold') ?? 0.7)) {
    throw invalidQuery('eager_eot_threshold must be less than or equal to eot_threshold');
  }
}

/** The states of a turn: before any word; words come; the end was announced eagerly. */
type TurnState = 'idle' | 'open' | 'eager';

class Listener {
  readonly #session: Session;
  readonly #requestId: string = crypto.randomUUID();
  readonly #multi: boolean;
  readonly #transcriber: Transcriber;
  #thresholds: Thresholds;
  #keyterms: readonly string[];
  #hints: readonly string[];
  #sequence = 0;
  #turn = 0;
  #turnStart = 0;
  #state: TurnState = 'idle';
  #nextUpdate = updateInterval;

  constructor(session: Session, query: URLSearchParams) {
    this.#session = session;
    this.#multi = query.get('model') === 'flux-general-multi';
    this.#keyterms = query.getAll('keyterm');
    this.#hints = query.getAll('language_hint');
    const eager = query.get('eager_eot_threshold');
    this.#thresholds = {
      ...(eager === null ? {} : { eager_eot_threshold: Number(eager) }),
      eot_threshold: Number(query.get('eot_threshold') ?? 0.7),
      eot_timeout_ms: Number(query.get('eot_timeout_ms') ?? 5000),
    };
    const encoding = query.get('encoding');
    this.#transcriber = new Transcriber(
      { encoding: isSampleEncoding(encoding) ? encoding : 'linear16', sampleRate: Number(query.get('sample_rate')) },
      { character: () => this.#character(), word: () => this.#word(), step: () => this.#step() },
    );
    this.#send({ type: 'Connected' });
  }

  hear(bytes: Uint8Array): void {
    this.#transcriber.push(bytes);
  }

  command(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      message = undefined;
    }
    const type = member(message, 'type');
    if (type === 'Configure') this.#configure(message);
    else if (type === 'ForceEndTurn') this.#force();
    else if (type === 'CloseStream') this.#closeStream();
    else this.refuse('UNPARSABLE_CLIENT_MESSAGE', `not a message of this API: ${text.slice(0, 100)}`, 1008);
  }

  refuse(code: string, why: string, closeCode: number): void {
    this.#send({ type: 'Error', code, description: why });
    this.#session.close(closeCode, code, why);
  }

  #configure(message: unknown): void {
    const wrong = configure(message, '');
    const given: unknown = member(message, 'thresholds');
    const thresholds: Thresholds = { ...this.#thresholds, ...(isObject(given) ? given : {}) };
    const hints = member(message, 'language_hints');
    if (wrong) this.#refuseConfigure('INVALID_CONFIGURATION', wrong);
    else if ((thresholds.eager_eot_threshold ?? 0) > thresholds.eot_threshold) {
      this.#refuseConfigure('INVALID_THRESHOLD', 'eager_eot_threshold must be less than or equal to eot_threshold');
    } else if (Array.isArray(hints) && !this.#multi) {
      this.#refuseConfigure('INVALID_LANGUAGE_HINTS', 'language_hints is for flux-general-multi');
    } else {
      this.#thresholds = thresholds;
      const keyterms = member(message, 'keyterms');
      if (Array.isArray(keyterms)) this.#keyterms = keyterms as string[];
      if (Array.isArray(hints)) this.#hints = hints as string[];
      this.#send({
        ...{ type: 'ConfigureSuccess', thresholds, keyterms: this.#keyterms },
        ...(this.#multi ? { language_hints: this.#hints } : {}),
      });
    }
  }

  #refuseConfigure(code: string, description: string): void {
    this.#session.call.log(`Configure refused: ${description}`);
    this.#send({ type: 'ConfigureFailure', code, description });
  }

  #force(): void {
    this.#transcriber.finish();
    if (this.#state !== 'idle') {
      this.#end('manual');
      return;
    }
    const description = 'Received ForceEndTurn while no turn was active; the request was ignored.';
    this.#send({ type: 'Warning', code: 'FORCE_END_TURN_NO_ACTIVE_TURN', description });
  }

  #closeStream(): void {
    this.#transcriber.finish();
    if (this.#state !== 'idle') this.#info('Update');
    this.#session.close();
  }

  #character(): void {
    if (this.#state !== 'eager') return;
    this.#state = 'open';
    this.#info('TurnResumed');
  }

  #word(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'open';
    this.#info('StartOfTurn');
  }

  #step(): void {
    const { now, quiet } = this.#transcriber;
    const { eager_eot_threshold: eager, eot_threshold: final, eot_timeout_ms: timeout } = this.#thresholds;
    const confidence = endOfTurnConfidence(quiet);
    if (this.#state === 'open' && eager !== undefined && confidence >= eager && confidence < final) {
      this.#state = 'eager';
      this.#info('EagerEndOfTurn');
    }
    if (this.#state !== 'idle') {
      if (final < 1 && confidence >= final) this.#end('model');
      else if (quiet * 1000 >= timeout) this.#end('timeout');
    }
    if (now < this.#nextUpdate) return;
    this.#nextUpdate += updateInterval;
    this.#info('Update');
  }

  #end(trigger: 'model' | 'manual' | 'timeout'): void {
    this.#info('EndOfTurn', { trigger });
    this.#state = 'idle';
    this.#turn++;
    this.#turnStart = this.#transcriber.now;
    this.#transcriber.reset();
  }

  #info(event: string, more: Record<string, unknown> = {}): void {
    const { now, quiet, words: complete } = this.#transcriber;
    const words = this.#state === 'idle' ? [] : complete;
    this.#send({
      ...{ type: 'TurnInfo', event, turn_index: this.#turn },
      ...{ audio_window_start: round(this.#turnStart), audio_window_end: round(now), transcript: sentence(words) },
      words: words.map(({ text, start, end, confidence }) => ({
        word: text,
        confidence,
        start: round(start),
        end: round(end),
      })),
      end_of_turn_confidence: words.length === 0 ? 0.1 : round(Math.max(0.05, endOfTurnConfidence(quiet))),
      ...(this.#multi
        ? { languages: words.length === 0 ? [] : [languageOf(sentence(words))], languages_hinted: this.#hints }
        : {}),
      ...more,
    });
  }

  #send(message: Record<string, unknown>): void {
    const { type, ...rest } = message;
    const request = type === 'Error' ? {} : { request_id: this.#requestId };
    this.#session.send({ type, ...request, sequence_id: this.#sequence++, ...rest });
  }
}

/** Deepgram Flux, V2: `wss://api.deepgram.com/v2/listen`. */
export const alphaFlux: SocketRoute = {
  service: 'alpha-flux',
  method: 'WS',
  path: '/v2/listen',
  midStreamError: {
    type: 'Error',
    sequence_id: 1,
    code: 'INTERNAL_SERVER_ERROR',
    description: 'Internal server error.',
  },
  connect(upgrade: Upgrade, { limits }: Environment): void {
    check(upgrade);
    upgrade.accept(
      (session) => {
        const listener = new Listener(session, upgrade.query);
        const idle = new IdleTimer(session.timers, limits.alphaFluxIdleMs, () =>
          listener.refuse('INACTIVE_CLIENT', `no message for ${limits.alphaFluxIdleMs} ms`, 1011),
        );
        // They keep it open: the vendor in deepgram/deepgram-python-sdk#649, and livekit/agents#7098.
        session.onPing(() => idle.touch());
        session.onBytes((bytes) => {
          idle.touch();
          listener.hear(bytes);
        });
        session.onText((text) => {
          idle.touch();
          listener.command(text);
        });
      },
      { 'dg-request-id': crypto.randomUUID() },
    );
  },
};
