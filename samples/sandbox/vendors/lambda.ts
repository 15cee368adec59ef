import { checkAwsSignature } from '../aws.ts';
import type { Call } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import { readStreamMessage, writeStreamMessage } from '../event-stream.ts';
import { bytesPerSample } from '../pcm.ts';
import type { SampleEncoding } from '../pcm.ts';
import type { Session, Upgrade } from '../session.ts';
import { IdleTimer } from '../timers.ts';
import { languageOf } from '../languages.ts';
import { round, sentence, Transcriber } from '../transcriber.ts';
import type { Word } from '../transcriber.ts';
import { checkQuery, query as rule } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';

const mount = 'lambda';

function refuse(status: number, why: string, type?: string): Refusal {
  const named = type ?? (status === 429 ? 'LimitExceededException' : 'InternalFailureException');
  return new Refusal(status, { Message: why }, why, {
    ...{ 'x-amzn-errortype': named, 'x-amzn-requestid': crypto.randomUUID() },
    date: new Date().toUTCString(),
  });
}

function authorize(call: Call, credentials: Credentials): void {
  const wrong = checkAwsSignature(call, credentials, { service: 'transcribe', mount });
  if (wrong) throw refuse(wrong.type === 'BadRequestException' ? 400 : 403, wrong.message, wrong.type);
}

const encodings: Readonly<Record<string, SampleEncoding>> = {
  pcm: 'linear16',
  'g711-alaw': 'alaw',
  'g711-ulaw': 'mulaw',
};
const yes = rule.oneOf('true');
const language = (value: string): boolean => /^[a-z]{2}-([A-Z]{2}|[A-Z][a-z]+)$/.test(value);

const parameters = {
  'media-encoding': rule.oneOf('pcm', 'ogg-opus', 'flac', 'g711-alaw', 'g711-ulaw', 'g729'),
  'sample-rate': rule.integer(8000, 48000),
  'language-code': language,
  'identify-language': yes,
  'identify-multiple-languages': yes,
  'language-options': (value: string): boolean => value.split(',').length > 1 && value.split(',').every(language),
  'preferred-language': language,
  'enable-partial-results-stabilization': yes,
  'partial-results-stability': rule.oneOf('high', 'medium', 'low'),
  'vocabulary-name': rule.filled,
  'vocabulary-filter-name': rule.filled,
  'vocabulary-names': rule.filled,
  'vocabulary-filter-names': rule.filled,
  'vocabulary-filter-method': rule.oneOf('remove', 'mask', 'tag'),
  'show-speaker-label': yes,
  'enable-channel-identification': yes,
  'number-of-channels': rule.oneOf('2'),
  'language-model-name': rule.filled,
  'content-identification-type': rule.oneOf('PII'),
  'content-redaction-type': rule.oneOf('PII'),
  'pii-entity-types': rule.filled,
  'session-id': (value: string): boolean => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(value),
  'session-resume-window': rule.integer(1, 300),
  'transcript-format': rule.oneOf('WRITTEN', 'SPOKEN'),
  // The vendor's client says its name here, and signs it.
  'x-amz-user-agent': rule.filled,
};
const signature = Object.fromEntries(
  ['Algorithm', 'Credential', 'Date', 'Expires', 'Security-Token', 'SignedHeaders', 'Signature'].map((name) => [
    `X-Amz-${name}`,
    rule.filled,
  ]),
);

/** What is wrong with the parameters together. */
function conflict(query: URLSearchParams): string | undefined {
  const has = (name: string): boolean => query.has(name);
  const identifies = has('identify-language') || has('identify-multiple-languages');
  const languages = ['language-code', 'identify-language', 'identify-multiple-languages'].filter(has).length;
  const complaints: readonly (readonly [boolean, string])[] = [
    [!has('media-encoding') || !has('sample-rate'), 'media-encoding and sample-rate are required'],
    [languages !== 1, 'one of language-code, identify-language and identify-multiple-languages is required'],
    [identifies !== has('language-options'), 'language-options goes with language identification, which needs it'],
    [identifies && has('language-model-name'), 'language-model-name does not go with language identification'],
    [
      identifies && (has('vocabulary-name') || has('vocabulary-filter-name')),
      'vocabulary names go with identification',
    ],
    [
      has('partial-results-stability') && !has('enable-partial-results-stabilization'),
      'partial-results-stability needs enable-partial-results-stabilization',
    ],
    [
      has('enable-channel-identification') !== has('number-of-channels'),
      'enable-channel-identification and number-of-channels go together',
    ],
    [
      has('content-identification-type') && has('content-redaction-type'),
      'content-identification-type and content-redaction-type exclude each other',
    ],
  ];
  return complaints.find(([applies]) => applies)?.[1];
}

/** Silence that ends a segment, in seconds. */
const endpointing = 0.6;

class Listener {
  readonly #session: Session;
  readonly #query: URLSearchParams;
  readonly #transcriber: Transcriber;
  readonly #idle: IdleTimer;
  readonly #frameBytes: number;
  readonly #mostBytes: number;
  #result: string = crypto.randomUUID();
  #greeted = false;
  #ended = false;

  constructor(session: Session, query: URLSearchParams, { limits }: Environment) {
    this.#session = session;
    this.#query = query;
    const encoding = encodings[query.get('media-encoding') ?? ''] ?? 'linear16';
    const sampleRate = Number(query.get('sample-rate'));
    const channels = Number(query.get('number-of-channels') ?? 1);
    this.#frameBytes = bytesPerSample[encoding] * channels;
    this.#mostBytes = this.#frameBytes * sampleRate;
    this.#transcriber = new Transcriber(
      { encoding, sampleRate, channels },
      { word: () => this.#publish(true), step: () => this.#step() },
    );
    this.#idle = new IdleTimer(session.timers, limits.lambdaIdleMs, () =>
      this.#except('BadRequestException', 'Your request timed out because no new audio was received for 15 seconds.'),
    );
  }

  receive(frame: Uint8Array<ArrayBuffer>): void {
    if (this.#ended) return;
    const message = readStreamMessage(frame);
    const wrong = typeof message === 'string' ? message : this.#complaint(message.headers, message.payload);
    if (wrong !== undefined) {
      this.#except('BadRequestException', wrong);
      return;
    }
    if (typeof message === 'string') return;
    this.#idle.touch();
    if (message.payload.length === 0) {
      this.#end();
      return;
    }
    if (!this.#greeted) this.#event([]);
    this.#greeted = true;
    this.#transcriber.push(message.payload);
  }

  refuseText(): void {
    this.#except('BadRequestException', 'Could not decode the audio stream that you provided: a text frame.');
  }

  #complaint(headers: Readonly<Record<string, string>>, payload: Uint8Array): string | undefined {
    const wanted = {
      ':event-type': 'AudioEvent',
      ':message-type': 'event',
      ':content-type': 'application/octet-stream',
    };
    const wrong = Object.entries(wanted).find(([name, value]) => headers[name] !== value);
    if (wrong) return `the header ${wrong[0]} must be ${wrong[1]}`;
    if (payload.length % this.#frameBytes !== 0) return 'an audio event ends in the middle of a sample';
    return payload.length > this.#mostBytes ? 'an audio event holds more than a second' : undefined;
  }

  #end(): void {
    this.#ended = true;
    this.#transcriber.finish();
    this.#publish(false);
    this.#session.close(1000);
  }

  #step(): void {
    if (this.#transcriber.quiet >= endpointing) this.#publish(false);
  }

  #publish(isPartial: boolean): void {
    const { words } = this.#transcriber;
    const [first] = words;
    if (!first || (isPartial && this.#ended)) return;
    const items = words.flatMap((word) => this.#items(word, isPartial));
    const options = this.#query.get('language-options')?.split(',');
    const language = options && languageOf(sentence(words), options);
    this.#event([
      {
        ...{ ResultId: this.#result, StartTime: round(first.start), EndTime: round(this.#transcriber.now) },
        IsPartial: isPartial,
        ...(language && { LanguageCode: language, LanguageIdentification: [{ LanguageCode: language, Score: 0.93 }] }),
        ...(this.#query.has('number-of-channels') && { ChannelId: 'ch_0' }),
        Alternatives: [{ Transcript: words.map(({ text }) => text).join(' '), Items: items }],
      },
    ]);
    if (isPartial) return;
    this.#transcriber.reset();
    this.#result = crypto.randomUUID();
  }

  /** A word, and the punctuation at its end. */
  #items({ text, start, end, confidence }: Word, isPartial: boolean): Record<string, unknown>[] {
    const [, word = text, mark = ''] = /^(.*?)([.,!?]?)$/.exec(text) ?? [];
    const [at, to] = [round(start), round(end)];
    const punctuation = {
      StartTime: to,
      EndTime: to,
      Type: 'punctuation',
      Content: mark,
      VocabularyFilterMatch: false,
    };
    return [
      {
        ...{ StartTime: at, EndTime: to, Type: 'pronunciation', Content: word, VocabularyFilterMatch: false },
        ...(!isPartial && { Confidence: confidence }),
        ...(!isPartial && this.#query.has('show-speaker-label') && { Speaker: '0' }),
        ...(this.#query.has('enable-partial-results-stabilization') && { Stable: !isPartial }),
      },
      ...(mark ? [punctuation] : []),
    ];
  }

  #event(results: readonly unknown[]): void {
    const headers = { ':event-type': 'TranscriptEvent', ':content-type': 'application/json', ':message-type': 'event' };
    this.#session.sendBytes(writeStreamMessage(headers, { Transcript: { Results: results } }));
  }

  #except(type: string, message: string): void {
    this.#ended = true;
    const headers = { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' };
    this.#session.sendBytes(writeStreamMessage(headers, { Message: message }));
    this.#session.close(1000, '', message);
  }
}

function connect(upgrade: Upgrade, environment: Environment): void {
  const { query, proxied } = upgrade;
  const wrong = checkQuery(query, proxied ? parameters : { ...parameters, ...signature }) ?? conflict(query);
  if (wrong) throw refuse(400, wrong, 'BadRequestException');
  if (upgrade.protocols.length > 0) throw refuse(400, 'no subprotocol is known here', 'BadRequestException');
  const encoding = query.get('media-encoding') ?? '';
  if (!encodings[encoding]) throw refuse(400, `the sandbox cannot decode ${encoding}`, 'BadRequestException');
  upgrade.accept((session) => {
    const listener = new Listener(session, query, environment);
    session.onBytes((bytes) => listener.receive(bytes));
    session.onText(() => listener.refuseText());
  });
}

/** Amazon Transcribe streaming: `wss://transcribestreaming.<region>.amazonaws.com:8443/stream-transcription-websocket`. */
export const lambda: Vendor = {
  mount,
  refuse,
  authorize,
  routes: [{ service: 'lambda-stt', method: 'WS', path: '/stream-transcription-websocket', connect }],
};
