import type { Environment } from '../environment.ts';
import type { Session, Upgrade } from '../session.ts';
import { charactersOf } from '../talker.ts';
import type { Spoken, Talker } from '../talker.ts';
import { IdleTimer } from '../timers.ts';
import { arrayOf, boolean, checkQuery, filled, member, number, query as rule } from '../validate.ts';
import { required, shape, string, textMember } from '../validate.ts';
import type { SocketRoute } from '../vendor.ts';
import { gammaRefusal } from './gamma-refusal.ts';
import { gammaFormats, gammaTalker, gammaVoice } from './gamma-tts.ts';

const parameters = {
  // By its prefix: https://elevenlabs.io/docs/api-reference/text-to-dialogue/ttd-multi-websocket.
  model_id: (value: string): boolean => /^eleven_v[34](_|$)/.test(value),
  output_format: (value: string): boolean => gammaFormats.test(value),
  language_code: (value: string): boolean => /^[a-z]{2}$/.test(value),
  ...{ sync_alignment: rule.boolean, enable_logging: rule.boolean },
  apply_text_normalization: rule.oneOf('on', 'off'),
  seed: rule.integer(0, 4_294_967_295),
  single_use_token: rule.filled,
};

const opening = {
  voices: arrayOf(filled, 1, 10),
  voice_settings: shape({ stability: number(0, 1) }),
  pronunciation_dictionary_locators: arrayOf(
    shape({ pronunciation_dictionary_id: required(string), version_id: required(string) }),
    1,
    3,
  ),
};
const message = shape({
  context_id: filled,
  inputs: arrayOf(shape({ text: required(string), voice_id: required(filled), new_turn: boolean }), 1),
  ...{ flush: boolean, close_context: boolean, close_socket: boolean, keep_alive: boolean },
  ...opening,
});

const mostContexts = 5;
const idleMs = 20_000;

/** One stream of dialogue. */
class Dialogue {
  isClosing = false;
  readonly voices: readonly unknown[];
  readonly #talker: Talker;
  #buffer = '';
  #isAsked = true;

  constructor(talker: Talker, voices: readonly unknown[]) {
    this.#talker = talker;
    this.voices = voices;
  }

  /** The service begins by itself once it has enough text, and does not say when that was spoken. */
  add(text: string): void {
    this.#buffer += text;
    this.#isAsked = false;
    if (this.#buffer.length >= 40 && this.#buffer.trim().split(/\s+/).length >= 8) this.#begin();
  }

  /** A flush is answered once everything before it was spoken; one without new text is not. */
  flush(spoken: () => void): void {
    this.#begin();
    if (!this.#isAsked) this.#talker.afterwards(spoken);
    this.#isAsked = true;
  }

  /** What is being spoken is spoken to its end; what waits may not be. */
  end(over: () => void): void {
    this.isClosing = true;
    // Pipecat's client (services/elevenlabs/dialogue) measured it, though the reference says that all is spoken.
    if (this.#talker.busy) this.#talker.drop();
    else this.#begin();
    this.#talker.afterwards(over);
  }

  silence(): void {
    this.#talker.clear();
  }

  #begin(): void {
    if (this.#buffer.trim()) this.#talker.say(this.#buffer);
    this.#buffer = '';
  }
}

class Dialogues {
  readonly #session: Session;
  readonly #environment: Environment;
  readonly #query: URLSearchParams;
  readonly #contexts = new Map<string, Dialogue>();
  #isClosing = false;

  constructor(session: Session, query: URLSearchParams, environment: Environment) {
    this.#session = session;
    this.#query = query;
    this.#environment = environment;
  }

  command(text: string): void {
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      this.fail('invalid_input_message', 'not JSON');
      return;
    }
    const wrong = message(body, '');
    if (wrong) this.fail('invalid_input_message', wrong);
    else if (member(body, 'close_socket') === true) this.#close();
    else if (member(body, 'context_id') === undefined) this.fail('invalid_input_message', 'context_id is missing');
    else this.#inContext(textMember(body, 'context_id'), body);
  }

  fail(error: string, why: string, said = why): void {
    for (const context of this.#contexts.values()) context.silence();
    this.#session.send({ message: said, error, code: 1008 });
    this.#session.close(1008, said.slice(0, 123), why);
  }

  #inContext(id: string, body: unknown): void {
    const known = this.#contexts.get(id);
    if (known?.isClosing) {
      this.fail('context_closing', `${id} is closing`);
      return;
    }
    const context = known ?? this.#open(id, body);
    if (!context) return;
    if (known && Object.keys(opening).some((name) => member(body, name) !== undefined)) {
      this.fail('invalid_input_message', `${id} is open: its settings cannot change`);
      return;
    }
    for (const input of (member(body, 'inputs') ?? []) as readonly unknown[]) {
      const voice = textMember(input, 'voice_id');
      if (!context.voices.includes(voice)) {
        this.fail('invalid_input_message', `${voice} is not one of the voices of ${id}`);
        return;
      }
      context.add(textMember(input, 'text'));
    }
    if (member(body, 'flush') === true)
      context.flush(() => this.#session.send({ is_final_audio_for_turn: true, context_id: id }));
    if (member(body, 'close_context') === true) this.#end(id, context);
  }

  #open(id: string, body: unknown): Dialogue | undefined {
    const voices = member(body, 'voices');
    if (!Array.isArray(voices)) {
      this.fail('invalid_input_message', `the first message of ${id} must have voices`);
      return undefined;
    }
    const isForOne = !/^eleven_v[34]$/.test(this.#query.get('model_id') ?? '');
    if (isForOne && voices.length > 1) {
      this.fail('invalid_input_message', 'this model takes one voice');
      return undefined;
    }
    const unknown = (voices as readonly string[]).find((voice) => !gammaVoice.test(voice));
    if (unknown !== undefined) {
      this.fail(
        'voice_id_does_not_exist',
        `no voice ${unknown}`,
        `A voice for the voice_id ${unknown} does not exist.`,
      );
      return undefined;
    }
    if (this.#contexts.size >= mostContexts) {
      this.fail('too_many_contexts', `${id} is one context too many`);
      return undefined;
    }
    const talker = gammaTalker(this.#session, this.#query, this.#environment, (audio, spoken) => {
      const alignment = this.#query.get('sync_alignment') === 'true' ? alignmentOf(spoken) : null;
      this.#session.send({ audio, alignment, normalized_alignment: null, context_id: id });
    });
    const context = new Dialogue(talker, voices);
    this.#contexts.set(id, context);
    return context;
  }

  #end(id: string, context: Dialogue): void {
    context.end(() => {
      this.#contexts.delete(id);
      this.#session.send({ is_final: true, context_id: id });
      if (this.#isClosing) this.#closeWhenSilent();
    });
  }

  #close(): void {
    this.#isClosing = true;
    for (const [id, context] of this.#contexts) if (!context.isClosing) this.#end(id, context);
    this.#closeWhenSilent();
  }

  #closeWhenSilent(): void {
    if (this.#contexts.size === 0) this.#session.close(1000);
  }
}

/** The times of a piece count from its own beginning. */
function alignmentOf(spoken: Spoken): unknown {
  const characters = charactersOf(spoken);
  return {
    chars: characters.map(({ character }) => character),
    char_start_times_ms: characters.map(({ startMs }) => Math.round(startMs - spoken.startMs)),
    char_durations_ms: characters.map(({ startMs, endMs }) => endMs - startMs),
  };
}

/** ElevenLabs: `wss://api.elevenlabs.io/v1/text-to-dialogue/multi-stream-input`. */
export const gammaDialogue: SocketRoute = {
  service: 'gamma-dialogue',
  method: 'WS',
  path: '/v1/text-to-dialogue/multi-stream-input',
  midStreamError: { message: 'Internal server error', error: 'internal_error', code: 1011 },
  connect(upgrade: Upgrade, environment: Environment): void {
    const wrong = checkQuery(upgrade.query, parameters);
    if (wrong) throw gammaRefusal(400, wrong);
    upgrade.accept((session) => {
      const dialogues = new Dialogues(session, upgrade.query, environment);
      const idle = new IdleTimer(session.timers, idleMs, () =>
        dialogues.fail('input_timeout_exceeded', `no message for ${idleMs} ms`),
      );
      session.onText((text) => {
        idle.touch();
        dialogues.command(text);
      });
      session.onBytes(() => dialogues.fail('invalid_input_message', 'this API takes text frames only'));
    });
  },
};
