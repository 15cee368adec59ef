import type { Environment } from '../environment.ts';
import { compressed } from '../fixtures.ts';
import type { SampleEncoding } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { charactersOf, Talker } from '../talker.ts';
import type { Spoken } from '../talker.ts';
import { IdleTimer } from '../timers.ts';
import { arrayOf, boolean, checkQuery, integer, member, number, query as rule } from '../validate.ts';
import { required, shape, string, textMember } from '../validate.ts';
import type { SocketRoute } from '../vendor.ts';
import { gammaRefusal } from './gamma-refusal.ts';

/** The formats of the vendor's voices. */
export const gammaFormats: RegExp =
  /^(pcm_(8000|16000|22050|24000|32000|44100|48000)|ulaw_8000|alaw_8000|mp3_22050_32|(mp3_44100|opus_48000)_(32|64|96|128|192))$/;
const flag = rule.boolean;
const parameters = {
  model_id: rule.oneOf(
    ...['eleven_turbo_v2_5', 'eleven_turbo_v2', 'eleven_multilingual_v2', 'eleven_flash_v2_5', 'eleven_flash_v2'],
  ),
  output_format: (value: string): boolean => gammaFormats.test(value),
  language_code: (value: string): boolean => /^[a-z]{2}$/.test(value),
  ...{ auto_mode: flag, sync_alignment: flag, enable_ssml_parsing: flag, enable_logging: flag },
  inactivity_timeout: rule.integer(1, 180),
  apply_text_normalization: rule.oneOf('auto', 'on', 'off'),
  seed: rule.integer(0, 4_294_967_295),
  single_use_token: rule.filled,
};

const part = number(0, 1);
const settings = shape({
  ...{ stability: part, similarity_boost: part, style: part, use_speaker_boost: boolean, speed: number(0.7, 1.2) },
});
const opening = {
  voice_settings: settings,
  generation_config: shape({ chunk_length_schedule: arrayOf(integer(50, 500), 1) }),
  pronunciation_dictionary_locators: arrayOf(
    shape({ pronunciation_dictionary_id: required(string), version_id: required(string) }),
    1,
    3,
  ),
};
const message = shape({
  ...{ text: string, context_id: string, flush: boolean, close_context: boolean, close_socket: boolean },
  ...opening,
});

const mostContexts = 5;
const usualSchedule: readonly number[] = [120, 160, 250, 290];
/** Voices that the sandbox knows: the vendor's ids have 20 characters. */
export const gammaVoice: RegExp = /^[A-Za-z0-9]{20}$/;
const encodings: Readonly<Record<string, SampleEncoding>> = { pcm: 'linear16', ulaw: 'mulaw', alaw: 'alaw' };

/** Who speaks in the format that the address asks for, as base64. */
export function gammaTalker(
  { timers }: Session,
  query: URLSearchParams,
  { realtimeFactor }: Environment,
  send: (audio: string, spoken: Spoken) => void,
): Talker {
  const [name = '', rate = ''] = (query.get('output_format') ?? 'mp3_44100_128').split('_');
  const sampleRate = Number(rate);
  return new Talker({
    encoding: encodings[name] ?? ((samples) => compressed(name, samples, sampleRate)),
    ...{ sampleRate, chunkMs: 200, realtimeFactor, timers },
    send: (bytes, spoken) => send(Buffer.from(bytes).toString('base64'), spoken),
  });
}

/** One utterance. */
class Context {
  readonly talker: Talker;
  readonly #schedule: readonly number[];
  #buffer = '';
  #generations = 0;

  constructor(talker: Talker, schedule: readonly number[]) {
    this.talker = talker;
    this.#schedule = schedule;
  }

  add(text: string, isAutomatic: boolean): void {
    this.#buffer += text;
    const wanted = this.#schedule[Math.min(this.#generations, this.#schedule.length - 1)] ?? 0;
    if (isAutomatic || this.#buffer.length >= wanted) this.flush();
  }

  flush(): void {
    if (this.#buffer.trim()) this.talker.say(this.#buffer);
    this.#buffer = '';
    this.#generations++;
  }
}

class Speaker {
  readonly #session: Session;
  readonly #environment: Environment;
  readonly #query: URLSearchParams;
  readonly #contexts = new Map<string, Context>();
  /** Contexts that the client has closed: any further message opens one of the same name. */
  readonly #closed = new Set<string>();
  #reopened = 0;
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
    else if (member(body, 'context_id') === undefined) this.#withoutContext(body);
    else this.#inContext(textMember(body, 'context_id'), body);
  }

  fail(error: string, why: string, said = why): void {
    for (const { talker } of this.#contexts.values()) talker.clear();
    this.#session.send({ message: said, error, code: 1008 });
    // The reason of a close has room for 123 bytes.
    this.#session.close(1008, said.slice(0, 123), why);
  }

  #withoutContext(body: unknown): void {
    if (member(body, 'text') !== '' || Object.keys(body as object).length > 1)
      this.fail('invalid_input_message', 'a message without context_id');
  }

  #inContext(id: string, body: unknown): void {
    if (this.#closed.has(id)) {
      if (member(body, 'close_context') !== true) this.#open(`${id}, again ${++this.#reopened}`, body);
      return;
    }
    const known = this.#contexts.get(id);
    const text = member(body, 'text');
    if (!known && text !== ' ') {
      this.fail('invalid_input_message', `the first message of ${id} must have the text " "`);
      return;
    }
    if (known && Object.keys(opening).some((name) => member(body, name) !== undefined)) {
      this.fail('invalid_input_message', `${id} is open: its settings cannot change`);
      return;
    }
    const context = known ?? this.#open(id, body);
    if (!context) return;
    if (known && typeof text === 'string') context.add(text, this.#query.get('auto_mode') === 'true');
    if (member(body, 'flush') === true) context.flush();
    if (member(body, 'close_context') === true) {
      this.#closed.add(id);
      this.#end(id, context);
    }
  }

  #open(id: string, body: unknown): Context | undefined {
    if (this.#contexts.size >= mostContexts) {
      const said = `Maximum simultaneous contexts per WebSocket connection exceeded (${mostContexts}). Please close an existing context before opening a new one.`;
      this.fail('max_active_conversations', `${id} is one context too many`, said);
      return undefined;
    }
    const before: Spoken[] = [];
    const restarts = member(body, 'pronunciation_dictionary_locators') !== undefined;
    const talker = gammaTalker(this.#session, this.#query, this.#environment, (audio, spoken) => {
      before.push(spoken);
      const isTimed = this.#query.get('sync_alignment') === 'true';
      const normalizedAlignment = isTimed ? alignmentOf([spoken]) : null;
      // Pipecat issue 4316: with dictionaries, this field has all the text again in each message.
      const alignment = isTimed && restarts ? alignmentOf(before) : normalizedAlignment;
      this.#session.send({ audio, isFinal: null, contextId: id, alignment, normalizedAlignment });
    });
    const schedule = member(member(body, 'generation_config'), 'chunk_length_schedule');
    const context = new Context(talker, Array.isArray(schedule) ? (schedule as number[]) : usualSchedule);
    this.#contexts.set(id, context);
    return context;
  }

  /** What was flushed is still spoken. */
  #end(id: string, { talker }: Context): void {
    talker.afterwards(() => {
      this.#contexts.delete(id);
      this.#session.send({ isFinal: true, contextId: id });
      if (this.#isClosing) this.#closeWhenSilent();
    });
  }

  #close(): void {
    this.#isClosing = true;
    for (const [id, context] of this.#contexts) {
      context.flush();
      this.#end(id, context);
    }
    this.#closeWhenSilent();
  }

  #closeWhenSilent(): void {
    if (this.#contexts.size === 0) this.#session.close(1000);
  }
}

/** The times of pieces that follow each other count from the beginning of the first. */
function alignmentOf(pieces: readonly Spoken[]): unknown {
  let offsetMs = 0;
  const characters = pieces.flatMap((spoken) => {
    const fromMs = offsetMs - spoken.startMs;
    offsetMs += spoken.endMs - spoken.startMs;
    return charactersOf(spoken).map((each) => ({ ...each, fromMs }));
  });
  return {
    chars: characters.map(({ character }) => character),
    charStartTimesMs: characters.map(({ startMs, fromMs }) => Math.round(startMs + fromMs)),
    charDurationsMs: characters.map(({ startMs, endMs }) => endMs - startMs),
  };
}

/** ElevenLabs: `wss://api.elevenlabs.io/v1/text-to-speech/{voice_id}/multi-stream-input`. */
export const gammaTts: SocketRoute = {
  service: 'gamma-tts',
  method: 'WS',
  path: '/v1/text-to-speech/{voice_id}/multi-stream-input',
  midStreamError: { message: 'Internal server error', error: 'internal_error', code: 1011 },
  connect(upgrade: Upgrade, environment: Environment): void {
    const wrong = checkQuery(upgrade.query, parameters);
    if (wrong) throw gammaRefusal(400, wrong);
    const model = upgrade.query.get('model_id') ?? '';
    if (upgrade.query.has('language_code') && !model.endsWith('_v2_5'))
      throw gammaRefusal(400, `${model} takes no language_code`);
    upgrade.accept((session) => {
      const speaker = new Speaker(session, upgrade.query, environment);
      const seconds = Number(upgrade.query.get('inactivity_timeout') ?? 20);
      const said = `Have not received a new text input within the timeout of ${seconds} seconds. Streaming input terminated. Please make sure to send "" as the last input.`;
      const idle = new IdleTimer(session.timers, seconds * 1000, () =>
        speaker.fail('input_timeout_exceeded', `no message for ${seconds} s`, said),
      );
      const voiceId = decodeURIComponent(upgrade.path.split('/')[3] ?? '');
      if (!gammaVoice.test(voiceId))
        speaker.fail(
          'voice_id_does_not_exist',
          `no voice ${voiceId}`,
          `A voice for the voice_id ${voiceId} does not exist.`,
        );
      session.onText((text) => {
        idle.touch();
        speaker.command(text);
      });
      session.onBytes(() => speaker.fail('invalid_input_message', 'this API takes text frames only'));
    });
  },
};
