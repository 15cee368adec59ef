import { asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { Query } from '../../core/remote-provider.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { AwsSigner } from '../../transport/aws-signer.ts';
import type { HttpErrorFacts, HttpFailure } from '../../transport/http-error.ts';
import { lambdaAudio, lambdaFailures, lambdaKind, lambdaMessage } from './lambda-stt-events.ts';
import type { LambdaFacts, LambdaSTTConfig } from './lambda-stt.ts';
import {
  completed,
  heard,
  silenceInGaps,
  withFinished,
  type STTContext,
  type STTDialect,
  type STTStep,
} from './stt-wire.ts';
import type { STTHost } from './stt-service.ts';
import { meanConfidence } from './stt-words.ts';

interface LambdaResults {
  /** The most recent final results, to recognize late repetitions. */
  readonly finished: readonly string[];
}

type Context = STTContext<LambdaSTTConfig>;
type Step = STTStep<LambdaResults>;

const gapMs = 500;

/** Silence after which the service ends an utterance; filling longer gaps costs money and achieves nothing. */
const endingMs = 3_000;

/** Silence that stands for the end of an utterance when the application knows it, in milliseconds. */
const finalSilenceMs = 1_500;

/** How often the service needs audio while nobody speaks: it gives up after 15 s. */
const idleMs = 5_000;

/** How Amazon Transcribe is spoken to, over signed addresses. */
export function lambdaDialect(
  host: STTHost<LambdaSTTConfig>,
  facts: LambdaFacts,
): STTDialect<LambdaSTTConfig, LambdaResults> {
  const { config, format, remember, error } = host;
  const signer = new AwsSigner({ service: 'transcribe', config, remember, error });
  return {
    async request() {
      const url = host.socketUrl('/stream-transcription-websocket', queryOf(config(), format().sampleRate, facts));
      return { url: host.isProxyMode() ? url : await signer.presign(url) };
    },
    refusals: (failure) => refusedAs(failure, signer),
    // The service's timestamp corrects the signer's clock.
    factsOf: (fault, { status }) => {
      const said = 'sentence' in fault ? (fault.sentence ?? '') : '';
      return signer.errorOf({ status, headers: {}, message: said });
    },
    failures: lambdaFailures,
    minFrameMs: 50,
    catchUpSpeed: 2,
    gapMs,
    gap: silenceInGaps(gapMs, endingMs, idleMs),
    // Only if the application names the session.
    idParameter: 'session-id',
    start: () => ({ finished: [] }),
    read: {
      TranscriptEvent: (state, { body }, context) =>
        asObjects(asObject(asObject(body)?.['Transcript'])?.['Results']).reduce<Step>(
          ([now, ...effects], result) => {
            const [next, ...more] = onResult(now, result, context, facts);
            return [next, ...effects, ...more];
          },
          [state],
        ),
      exception: onFailure,
      error: onFailure,
    },
    // Nobody can ask the service for a final: silence that comes at once ends the utterance.
    commands: { finalize: (state) => [state, { type: 'silence-after-audio', ms: finalSilenceMs }] },
    finalMs: 3_000,
    decode: lambdaMessage,
    begin: () => [{ finished: [] }],
    encode: lambdaAudio,
    // An empty event ends the stream.
    farewell: () => [lambdaAudio(new Uint8Array(0))],
  };
}

/** What a refused upgrade means: its type is in a header, or in the body. */
function refusedAs(failure: HttpFailure, signer: AwsSigner): HttpErrorFacts | undefined {
  const [name = ''] = (failure.headers['x-amzn-errortype'] ?? failure.reason ?? '').split(/[:,]/, 1);
  const reason = lambdaKind(name, failure.message);
  const known = ownEntry(lambdaFailures, reason);
  return signer.errorOf(failure) ?? (known && { code: known.code, recoverable: known.recoverable, reason });
}

function onResult(state: LambdaResults, result: WireObject, context: Context, { identifies }: LambdaFacts): Step {
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
    { finished: withFinished(finished, id) },
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

/** The query parameters. */
function queryOf(config: LambdaSTTConfig, sampleRate: number, { rules, identifies }: LambdaFacts): Query {
  const { language = 'en-US', languageCode = language } = config;
  const { 'media-encoding': encoding, ...others } = wireParameters(config, rules);
  return {
    'media-encoding': encoding,
    'sample-rate': sampleRate,
    'language-code': identifies(config) ? undefined : languageCode,
    ...others,
    ...(config.partialResultsStability && { 'enable-partial-results-stabilization': true }),
    'number-of-channels': config.enableChannelIdentification ? 2 : undefined,
  };
}
