import type { AudioFormat } from '../../audio/types.ts';
import type { VoiceError } from '../../core/errors.ts';
import {
  asNumber,
  asObject,
  asObjects,
  asString,
  ownEntry,
  parseJsonObject,
  type WireObject,
} from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { AwsSigner } from '../../transport/aws-signer.ts';
import { decodeEventStream, encodeEventStream, type EventStreamValue } from '../../transport/event-stream.ts';
import type { HttpErrorFacts, HttpFailure } from '../../transport/http-error.ts';
import type { SocketData, SocketRequest, ReconnectingSocketOptions } from '../../transport/reconnecting-socket.ts';
import {
  identifies,
  lambdaConflict,
  lambdaEncodings,
  lambdaFailures,
  lambdaKind,
  lambdaQuery,
  lambdaSTTRules,
} from './lambda-stt-settings.ts';
import { StreamingSTT } from './streaming-stt.ts';
import {
  completed,
  heard,
  silenceInGaps,
  type STTContext,
  type STTFault,
  type STTStep,
  type STTWire,
} from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';
import type { LambdaSTTConfig } from './lambda-stt-settings.ts';

export type { LambdaSTTConfig } from './lambda-stt-settings.ts';

interface LambdaResults {
  /** The most recent final results, to recognize late repetitions. */
  readonly finished: readonly string[];
}

type Context = STTContext<LambdaSTTConfig>;
type Step = STTStep<LambdaResults>;

const remembered = 8;

const gapMs = 500;

/** Silence after which the service ends an utterance; filling longer gaps costs money and achieves nothing. */
const endingMs = 3_000;

/** How often the service needs audio while nobody speaks: it gives up after 15 s. */
const idleMs = 5_000;

/** Amazon Transcribe's wire. */
export const lambdaWire: STTWire<LambdaSTTConfig, LambdaResults> = {
  name: 'LambdaSTT',
  baseUrl: ({ region = '' }) =>
    `https://transcribestreaming.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}:8443`,
  // One row: the configured encoding.
  accepts({ mediaEncoding = 'pcm', sampleRate, enableChannelIdentification = false }) {
    const row: AudioFormat = lambdaEncodings[mediaEncoding];
    const channels = [enableChannelIdentification ? 2 : 1];
    return [{ ...row, ...(sampleRate && { sampleRates: [sampleRate] }), channels }];
  },
  rules: lambdaSTTRules,
  credentialKey: 'credentials',
  // They sign the next connection.
  ownKeys: ['credentials'],
  failures: lambdaFailures,
  minFrameMs: 50,
  catchUpSpeed: 2,
  gapMs,
  gap: silenceInGaps(gapMs, endingMs, idleMs),
  start: () => ({ finished: [] }),
  read: {
    TranscriptEvent: (state, { body }, context) =>
      asObjects(asObject(asObject(body)?.['Transcript'])?.['Results']).reduce<Step>(
        ([now, ...effects], result) => {
          const [next, ...more] = onResult(now, result, context);
          return [next, ...effects, ...more];
        },
        [state],
      ),
    exception: onFailure,
    error: onFailure,
  },

  conflict: (config, isProxyMode) => lambdaConflict(config, !isProxyMode),
  decode,
  begin: () => [{ finished: [] }],
  encode: audioEvent,
  // An empty event ends the stream.
  farewell: () => [audioEvent(new Uint8Array(0))],
};

/**
 * Amazon Transcribe streaming, API 2017-10-26, at
 * `wss://transcribestreaming.<region>.amazonaws.com:8443/stream-transcription-websocket`: partial and final results
 * with word times; requests are signed and framed without a vendor SDK. See
 * https://docs.aws.amazon.com/transcribe/latest/dg/streaming.html.
 */
export class LambdaSTT extends StreamingSTT<LambdaSTTConfig, LambdaResults> {
  readonly #signer: AwsSigner = new AwsSigner({
    service: 'transcribe',
    config: () => this.config,
    remember: (secret) => this.freshCredential(secret),
    error: (message, options) => this.error(`${this.name}: ${message}`, options),
  });

  constructor(config: LambdaSTTConfig, logger?: Logger) {
    super(lambdaWire, config, logger);
  }

  protected override get directCredential(): unknown {
    return this.config.credentials;
  }

  protected override async request(): Promise<SocketRequest> {
    const url = this.resolveSocketUrl(
      '/stream-transcription-websocket',
      lambdaQuery(this.config, this.format.sampleRate),
    );
    return { url: this.isProxyMode ? url : await this.#signer.presign(url) };
  }

  protected override socketOptions(): Partial<ReconnectingSocketOptions> {
    return { errorOf: (failure) => this.#factsOf(failure) };
  }

  /** The service's timestamp corrects the signer's clock. */
  protected override failure(fault: STTFault): VoiceError {
    const error = super.failure(fault);
    const { message, code, status, cause } = error;
    const said = 'sentence' in fault ? (fault.sentence ?? '') : '';
    const facts = this.#signer.errorOf({ status, headers: {}, message: said });
    return facts ? this.error(message, { code, status, cause, ...facts }) : error;
  }

  /** What a refused upgrade means: its type is in a header, or in the body. */
  #factsOf(failure: HttpFailure): HttpErrorFacts | undefined {
    const [name = ''] = (failure.headers['x-amzn-errortype'] ?? failure.reason ?? '').split(/[:,]/, 1);
    const reason = lambdaKind(name, failure.message);
    const known = ownEntry(lambdaFailures, reason);
    return this.#signer.errorOf(failure) ?? (known && { code: known.code, recoverable: known.recoverable, reason });
  }
}

function onResult(state: LambdaResults, result: WireObject, context: Context): Step {
  const { ResultId, ChannelId: channel, LanguageCode, EndTime, IsPartial, Alternatives } = result;
  const { finished } = state;
  const id = asString(ResultId);
  const [best = {}] = asObjects(Alternatives);
  const text = asString(best['Transcript'])?.trim();
  if (!text || (id !== undefined && finished.includes(id))) return [state];
  const words = context.words(spokenItems(best, channel), ({ content }) => asString(content));
  const configured = identifies(context.config) ? undefined : context.config.languageCode;
  const said = { text, words, confidence: meanConfidence(words), language: asString(LanguageCode) ?? configured };
  if (IsPartial !== false) return [state, ...heard(said)];
  const endMs = (asNumber(EndTime) ?? 0) * 1_000;
  // Channels are transcribed separately: a final result in one says nothing about the other.
  const isNew = !context.isFinal(endMs) || endMs === 0 || channel !== undefined;
  return [
    { finished: id === undefined ? finished : [id, ...finished].slice(0, remembered) },
    { type: 'finalized', ms: endMs },
    ...(isNew ? completed(said) : []),
  ];
}

/** A result's words, without punctuation. With separate channels, these stand for speakers. */
function spokenItems({ Items: items }: WireObject, channel: unknown): WireObject[] {
  return asObjects(items).flatMap((item) => {
    const { Type: type, StartTime: start, EndTime: end, Content: content, Confidence: confidence } = item;
    return type === 'pronunciation' ? { start, end, content, confidence, speaker: item['Speaker'] ?? channel } : [];
  });
}

function onFailure(state: LambdaResults, { name, message }: WireObject): Step {
  const sentence = asString(message) ?? '';
  return [state, { type: 'failure', kind: lambdaKind(asString(name) ?? '', sentence), sentence }];
}

const text = (value: string): EventStreamValue => ({ type: 'string', value });
const headers: ReadonlyMap<string, EventStreamValue> = new Map([
  [':event-type', text('AudioEvent')],
  [':message-type', text('event')],
  [':content-type', text('application/octet-stream')],
]);

/** Audio in the service's framing. */
function audioEvent(audio: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return encodeEventStream({ headers, payload: audio });
}

/** An event's `type` and `body`, or an `exception` or `error` with its `name` and `message`. */
function decode(data: SocketData): WireObject | undefined {
  if (typeof data === 'string') return undefined;
  try {
    const { headers: given, payload } = decodeEventStream(data);
    const header = (name: string): string | undefined => asString(given.get(`:${name}`)?.value);
    const kind = header('message-type');
    const body = parseJsonObject(payload) ?? {};
    if (kind === 'event') return { type: header('event-type'), body };
    const name = header('exception-type') ?? header('error-code') ?? 'an error';
    return { type: kind, name, message: asString(body['Message']) ?? header('error-message') ?? '' };
  } catch {
    return undefined;
  }
}
