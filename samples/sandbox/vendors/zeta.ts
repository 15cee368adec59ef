import type { HttpRequest } from '../call.ts';
import type { Environment } from '../environment.ts';
import type { SampleEncoding } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { round, Transcriber } from '../transcriber.ts';
import type { Word } from '../transcriber.ts';
import {
  anyOf,
  anything,
  arrayOf,
  boolean,
  checkQuery,
  filled,
  integer,
  isObject,
  member,
  number,
  object,
  oneOf,
  query as rule,
  required,
  shape,
  string,
  textMember,
} from '../validate.ts';
import type { Check } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';

const refuse = (status: number, why: string): Refusal => new Refusal(status, { code: status, error: why }, why);

const encodings: Readonly<Record<string, SampleEncoding>> = {
  pcm_s16le: 'linear16',
  pcm_f32le: 'linear32',
  mulaw: 'mulaw',
};
const locales = ['en-GB', 'en-US', 'en-AU', 'cmn-Hans', 'cmn-Hant'];

const language: Check = (value, path) =>
  typeof value === 'string' && /^[a-z]{2,3}(_[a-z]{2,3})?$/.test(value) ? undefined : `${path} is no language`;
const word: Check = anyOf(filled, shape({ content: required(filled), sounds_like: arrayOf(filled) }));

/** What may change while a session runs. */
const live = {
  language: required(language),
  max_delay: number(0.7, 4),
  max_delay_mode: oneOf('flexible', 'fixed'),
  enable_partials: boolean,
  conversation_config: shape({ end_of_utterance_silence_trigger: number(0, 2) }),
  audio_filtering_config: shape({ volume_threshold: number(0, 100) }),
};
const messages: Readonly<Record<string, Check>> = {
  StartRecognition: shape({
    message: anything,
    audio_format: required(
      shape({
        type: required(oneOf('raw')),
        encoding: required(oneOf(...Object.keys(encodings))),
        sample_rate: required(integer(1)),
      }),
    ),
    transcription_config: required(
      shape({
        ...live,
        model: oneOf('standard', 'enhanced'),
        operating_point: oneOf('standard', 'enhanced'),
        output_locale: oneOf(...locales),
        domain: filled,
        enable_entities: boolean,
        diarization: oneOf('none', 'speaker', 'channel', 'channel_and_speaker'),
        speaker_diarization_config: shape({
          max_speakers: integer(2),
          speaker_sensitivity: number(0, 1),
          prefer_current_speaker: boolean,
        }),
        additional_vocab: arrayOf(word, 0, 1000),
        punctuation_overrides: shape({ permitted_marks: arrayOf(string), sensitivity: number(0, 1) }),
        transcript_filtering_config: object,
      }),
    ),
    translation_config: shape({
      target_languages: required(arrayOf(filled, 0, 5)),
      enable_partials: boolean,
    }),
    audio_events_config: shape({ types: arrayOf(oneOf('applause', 'laughter', 'music')) }),
  }),
  SetRecognitionConfig: shape({ message: anything, transcription_config: required(shape(live)) }),
  ForceEndOfUtterance: shape({ message: anything, timestamp: number(0), channel: string }),
  EndOfStream: shape({ message: anything, last_seq_no: required(integer(0)) }),
  GetSpeakers: shape({ message: anything, final: boolean }),
};

/** The gaps of the modem would end every character with less. */
const shortestSilence = 0.1;

/** Languages that are translated from and to English. */
const translatable: ReadonlySet<string> = new Set(
  `bg ca cmn cs da de el es et fi fr gl hi hr hu id it ja ko lt lv ms nl no pl pt ro ru sk sl sv tr uk vi`.split(' '),
);

/** The sandbox's translation: each word backwards. */
const translated = ({ text }: Word): string => [...text].reverse().join('');

/** Sound without words that is music, and the silence that ends it, in seconds. */
const musicSeconds = 1;

class Recognition {
  readonly #session: Session;
  #transcriber: Transcriber | undefined;
  #settings: Record<string, unknown> = {};
  #frames = 0;
  /** Words of the utterance that are final. */
  #final = 0;
  #hasWords = false;
  #finalAt = 0;
  #over = false;
  /** Languages to translate into. */
  #targets: readonly string[] = [];
  #translatesPartials = false;
  /** Final words of the sentence that is not translated yet. */
  #untranslated: readonly Word[] = [];
  #reportsMusic = false;
  /** When the latest character was heard, or the latest silence. */
  #wordless = 0;
  #isMusic = false;

  constructor(session: Session) {
    this.#session = session;
  }

  hear(bytes: Uint8Array): void {
    if (!this.#transcriber) {
      this.fail('protocol_error', 1003, 'audio before StartRecognition');
      return;
    }
    if (this.#over) {
      this.#session.send({ message: 'Warning', type: 'add_audio_after_eos', reason: 'Audio after the end of stream' });
      return;
    }
    this.#frames++;
    this.#session.send({ message: 'AudioAdded', seq_no: this.#frames });
    this.#transcriber.push(bytes);
  }

  command(text: string): void {
    const message = parse(text);
    const name = textMember(message, 'message');
    const wrong = Object.hasOwn(messages, name) ? messages[name]?.(message, '') : `unknown message ${name}`;
    if (wrong !== undefined) this.fail(name === 'StartRecognition' ? 'invalid_config' : 'invalid_message', 1003, wrong);
    else if (name === 'StartRecognition') this.#start(message);
    else if (!this.#transcriber || this.#over) this.fail('protocol_error', 1003, `${name} before or after recognition`);
    else if (name === 'SetRecognitionConfig') this.#set(message);
    else if (name === 'ForceEndOfUtterance') this.#endUtterance({ forced: true });
    else if (name === 'EndOfStream') this.#end(member(message, 'last_seq_no'));
  }

  fail(type: string, code: number, reason: string): void {
    this.#over = true;
    this.#session.send({ message: 'Error', type, reason, code });
    this.#session.close(code, type, reason);
  }

  #start(message: unknown): void {
    if (this.#transcriber) {
      this.fail('protocol_error', 1003, 'a second StartRecognition');
      return;
    }
    const format = member(message, 'audio_format');
    this.#set(message);
    const encoding = encodings[textMember(format, 'encoding')] ?? 'linear16';
    this.#transcriber = new Transcriber(
      { encoding, sampleRate: Number(member(format, 'sample_rate')) },
      { word: () => this.#onWord(), character: () => this.#onCharacter(), step: () => this.#step() },
    );
    this.#listenForMusic(member(message, 'audio_events_config'));
    this.#session.send({
      ...{ message: 'RecognitionStarted', orchestrator_version: '2025.11.07+cd4ff775c0+14.7.0' },
      id: crypto.randomUUID(),
      language_pack_info: {
        ...{ adapted: false, itn: true, language_description: 'English' },
        ...{ word_delimiter: ' ', writing_direction: 'left-to-right' },
      },
    });
    this.#translate(member(message, 'translation_config'));
  }

  #translate(config: unknown): void {
    if (!isObject(config)) return;
    const wanted = member(config, 'target_languages') as readonly string[];
    for (const target of wanted.filter((each) => !translatable.has(each))) {
      const reason = `Translation from en to ${target} is not supported`;
      this.#session.send({ message: 'Warning', type: 'unsupported_translation_pair', reason });
    }
    this.#targets = wanted.filter((each) => translatable.has(each));
    this.#translatesPartials = member(config, 'enable_partials') === true;
    if (this.#targets.length > 0) return;
    const reason = 'No supported target languages were specified';
    this.#session.send({ message: 'Warning', type: 'empty_translation_target_list', reason });
  }

  #listenForMusic(config: unknown): void {
    const types = member(config, 'types');
    this.#reportsMusic = isObject(config) && (!Array.isArray(types) || types.includes('music'));
  }

  #onCharacter(): void {
    this.#wordless = this.#transcriber?.now ?? 0;
    this.#endMusic();
  }

  /** Sound that is no speech is music. */
  #hearMusic(quiet: number): void {
    const { now } = this.#transcriber ?? { now: 0 };
    if (quiet >= musicSeconds) {
      this.#wordless = now;
      this.#endMusic();
    } else if (this.#reportsMusic && !this.#isMusic && now - this.#wordless >= 2 * musicSeconds) {
      this.#isMusic = true;
      const event = { type: 'music', start_time: round(this.#wordless), confidence: 0.8 };
      this.#session.send({ message: 'AudioEventStarted', event });
    }
  }

  #endMusic(): void {
    if (!this.#isMusic) return;
    this.#isMusic = false;
    const end = round(this.#transcriber?.now ?? 0);
    this.#session.send({ message: 'AudioEventEnded', event: { type: 'music', end_time: end } });
  }

  #set(message: unknown): void {
    const settings = member(message, 'transcription_config');
    if (isObject(settings)) this.#settings = { ...this.#settings, ...settings };
  }

  #onWord(): void {
    const words = this.#transcriber?.words ?? [];
    if (this.#over) return;
    this.#hasWords = true;
    this.#finalize(words.length - 1);
    this.#partial(words.slice(-1));
    if (this.#translatesPartials) {
      this.#translation('AddPartialTranslation', [...this.#untranslated, ...words.slice(-1)]);
    }
  }

  #step(): void {
    const { quiet } = this.#transcriber ?? { quiet: 0 };
    this.#hearMusic(quiet);
    const trigger = Number(member(this.#settings['conversation_config'], 'end_of_utterance_silence_trigger') ?? 0);
    if (this.#hasWords && trigger > 0 && quiet >= Math.max(shortestSilence, trigger)) this.#endUtterance();
  }

  /** Makes all words final up to a number of them. */
  #finalize(count: number, flags: Record<string, unknown> = {}): void {
    const words = this.#transcriber?.words.slice(this.#final, count) ?? [];
    const last = words.at(-1);
    if (!last) return;
    this.#final += words.length;
    this.#transcript('AddTranscript', words, last.end, flags);
    this.#finalAt = last.end;
    this.#untranslated = [...this.#untranslated, ...words];
  }

  /** What follows a transcript, as late as its end: a final translation comes after the end of its utterance. */
  #translation(message: 'AddTranslation' | 'AddPartialTranslation', words: readonly Word[]): void {
    const [first, last] = [words[0], words.at(-1)];
    if (!first || !last) return;
    const speaker = this.#settings['diarization'] === 'speaker' ? { speaker: 'S1' } : {};
    const content = words.map(translated).join(' ');
    for (const target of this.#targets) {
      const results = [{ content, start_time: round(first.start), end_time: round(last.end), ...speaker }];
      this.#session.send({ message, format: '2.9', language: target, results });
    }
  }

  #partial(words: readonly Word[], flags: Record<string, unknown> = {}): void {
    if (this.#settings['enable_partials'] !== true) return;
    this.#transcript('AddPartialTranscript', words, words.at(-1)?.end ?? this.#finalAt, flags);
  }

  #endUtterance(flags: Record<string, unknown> = {}): void {
    this.#transcriber?.finish();
    this.#finalize(this.#transcriber?.words.length ?? 0, flags);
    this.#partial([], flags);
    const now = round(this.#transcriber?.now ?? 0);
    if (this.#hasWords) {
      this.#session.send({
        ...{ message: 'EndOfUtterance', format: '2.9', metadata: { start_time: now, end_time: now } },
        ...flags,
      });
    }
    this.#endSentence();
    this.#transcriber?.reset();
    this.#hasWords = false;
    this.#final = 0;
  }

  #endSentence(): void {
    this.#translation('AddTranslation', this.#untranslated);
    this.#untranslated = [];
  }

  #end(lastSeqNo: unknown): void {
    if (lastSeqNo !== this.#frames) {
      this.fail('protocol_error', 1003, `last_seq_no is ${String(lastSeqNo)}, but ${this.#frames} frames came`);
      return;
    }
    this.#over = true;
    this.#transcriber?.finish();
    this.#finalize(this.#transcriber?.words.length ?? 0);
    this.#endSentence();
    this.#session.send({ message: 'EndOfTranscript' });
  }

  #transcript(message: string, words: readonly Word[], end: number, flags: Record<string, unknown>): void {
    const transcript = words.map(({ text }) => `${text} `).join('');
    this.#session.send({
      ...{ message, format: '2.9' },
      metadata: { start_time: round(this.#finalAt), end_time: round(end), transcript },
      results: words.flatMap((each) => this.#results(each)),
      ...flags,
    });
  }

  /** A word, and the mark that stands after it. */
  #results({ text, start, end, confidence }: Word): unknown[] {
    const [, spoken = text, mark] = /^(.+?)([.,?!])$/.exec(text) ?? [];
    const speaker = this.#settings['diarization'] === 'speaker' ? { speaker: 'S1' } : {};
    const common = { confidence, language: this.#settings['language'], ...speaker };
    return [
      {
        ...{ type: 'word', start_time: round(start), end_time: round(end) },
        alternatives: [{ content: spoken, ...common }],
      },
      ...(mark === undefined
        ? []
        : [
            {
              ...{ type: 'punctuation', start_time: round(end), end_time: round(end), is_eos: mark !== ',' },
              ...{ attaches_to: 'previous', alternatives: [{ content: mark, ...common }] },
            },
          ]),
    ];
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const parameters = {
  jwt: rule.filled,
  'sm-app': rule.filled,
  'sm-sdk': rule.filled,
  'sm-enable-legacy-rt': rule.boolean,
};

/** Temporary keys are JWTs, and the query takes no others. */
const header = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');
const jwtOf = (grant: string): string => [header, Buffer.from(grant).toString('base64url'), 'signature'].join('.');
const grantOf = (jwt: string | undefined): string => Buffer.from(jwt?.split('.')[1] ?? '', 'base64url').toString();

function connect(upgrade: Upgrade, { credentials }: Environment): void {
  const { query, headers, proxied } = upgrade;
  const wrong = checkQuery(query, parameters);
  if (wrong) throw refuse(400, wrong);
  const key = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1];
  const jwt = query.get('jwt') ?? undefined;
  const isKnown = credentials.isKey(key) || credentials.isToken(grantOf(key));
  if (!proxied && jwt === undefined && !isKnown) throw refuse(401, 'Authorization: Bearer with a wrong key, or none');
  upgrade.accept((session) => {
    const recognition = new Recognition(session);
    // A wrong temporary key is told on the open socket.
    if (jwt !== undefined && !isKnown && !credentials.isToken(grantOf(jwt))) {
      recognition.fail('not_authorised', 4001, 'Invalid API key');
      return;
    }
    session.send({
      ...{ message: 'Info', type: 'concurrent_session_usage', usage: 1, quota: 50 },
      ...{ reason: '1 concurrent sessions active out of quota 50', last_updated: new Date().toISOString() },
    });
    session.onText((text) => recognition.command(text));
    session.onBytes((bytes) => recognition.hear(bytes));
  });
}

function grant(request: HttpRequest, { credentials }: Environment): void {
  if (request.query.get('type') !== 'rt') throw refuse(422, 'the query needs type=rt');
  const body = request.json((why) => refuse(422, why));
  const wrong = shape({ ttl: required(integer(60, 86400)), region: string })(body, '');
  if (wrong !== undefined) throw refuse(422, wrong);
  request.send(201, { apikey_id: null, key_value: jwtOf(credentials.grant(Number(member(body, 'ttl')))) });
}

const failure = { message: 'Error', type: 'job_error', reason: 'Internal error' };

/** Speechmatics real-time, v2: `wss://eu.rt.speechmatics.com/v2`, and the temporary keys for it. */
export const zeta: Vendor = {
  mount: 'zeta',
  refuse,
  authorize({ headers }, credentials) {
    const key = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1];
    if (!credentials.isKey(key)) throw refuse(403, 'Authorization: Bearer with a wrong key, or none');
  },
  routes: [
    // It checks its credential itself, for a wrong temporary key is told on the open socket.
    { service: 'zeta-stt', method: 'WS', path: '/v2', open: true, midStreamError: failure, connect },
    { service: 'zeta-stt', method: 'POST', path: '/v1/api_keys', handle: grant },
  ],
};
