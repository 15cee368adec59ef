import type { AudioFormat } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { entry, num, obj, objs, str, type WireObject } from '../../core/guard.ts';
import type { Query } from '../../core/remote-provider.ts';
import type { AwsCredentials } from '../../transport/aws-signature.ts';
import { AwsSigner } from '../../transport/aws-signer.ts';
import type { HttpErrorFacts, HttpFailure } from '../../transport/http-error.ts';
import type { SocketData, SocketRequest, SocketSessionOptions } from '../../transport/socket-session.ts';
import { audioEvent, readLambda, spokenItems, textOf } from './lambda-stt-messages.ts';
import {
  identifies,
  lambdaConflict,
  lambdaEncodings,
  lambdaFailures,
  lambdaKind,
  lambdaQuery,
  lambdaRules,
  type LambdaMediaEncoding,
  type LambdaSTTOptions,
} from './lambda-stt-settings.ts';
import { Recent } from './streaming/recent.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import { meanConfidence } from './streaming/utterances.ts';

/** Configuration of {@link LambdaSTT}. `apiKey` has no effect: requests are signed with `credentials`. */
export interface LambdaSTTConfig extends StreamingSTTConfig, LambdaSTTOptions {
  /** What requests are signed with, or an async factory that is called for each connection; temporary ones are best. */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>);
  /** The region of the service, such as `us-east-1`; required without `proxyUrl`. */
  readonly region?: string;
  /** BCP 47, such as `en-US`; not beside `identifyLanguage`. Default: `language`, else `en-US`. */
  readonly languageCode?: string;
  /** What the audio is. Default: `pcm`, which is linear16. */
  readonly mediaEncoding?: LambdaMediaEncoding;
  /** 8000 to 48000 Hz. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Whether the words of partial results change less, which costs accuracy. Default: false. */
  readonly enablePartialResultsStabilization?: boolean;
  /** How soon words stop changing; switches the stabilization on. Default: the service's, `high`. */
  readonly partialResultsStability?: 'high' | 'medium' | 'low';
  /** Finds out which one of `languageOptions` is spoken. Default: false. */
  readonly identifyLanguage?: boolean;
  /** The languages that may be spoken: two or more, one dialect of each. */
  readonly languageOptions?: readonly string[];
}

/** Finished results whose late repetitions are still known. */
const remembered = 8;

/** Silence that the service waits for before an utterance ends; longer gaps cost money and end nothing. */
const endingMs = 3_000;
/** How often the service must hear something when nobody speaks: it gives up after 15 s. */
const idleMs = 5_000;

/**
 * Amazon Transcribe streaming, API 2017-10-26, at
 * `wss://transcribestreaming.<region>.amazonaws.com:8443/stream-transcription-websocket`: partial and final results with
 * word times; requests are signed and framed without a vendor SDK. See
 * https://docs.aws.amazon.com/transcribe/latest/dg/streaming.html.
 */
export class LambdaSTT extends StreamingSTT<LambdaSTTConfig> {
  readonly name = 'LambdaSTT';
  protected override readonly path: string = '/stream-transcription-websocket';
  protected override readonly rules: ConfigRules = lambdaRules;
  protected override readonly credentialKey: string = 'credentials';
  // The next connection is signed with them.
  protected override readonly ownKeys: readonly string[] = ['credentials'];
  protected override readonly gapMs: number = 500;
  protected override readonly minFrameMs: number = 50;
  protected override readonly catchUpSpeed: number = 2;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    TranscriptEvent: ({ body }) => {
      for (const result of objs(obj(obj(body)?.['Transcript'])?.['Results'])) this.#onResult(result);
    },
    exception: (message) => this.#onFailure(message),
    error: (message) => this.#onFailure(message),
  };

  readonly #signer: AwsSigner = new AwsSigner({
    service: 'transcribe',
    config: () => this.config,
    remember: (secret) => this.freshCredential(secret),
    error: (message, options) => this.error(`${this.name}: ${message}`, options),
  });
  readonly #finished = new Recent(remembered);

  /** One row: the configured encoding. */
  get accepts(): readonly AudioFormat[] {
    const { mediaEncoding = 'pcm', sampleRate, enableChannelIdentification = false } = this.config;
    const row: AudioFormat = lambdaEncodings[mediaEncoding];
    return [
      { ...row, ...(sampleRate && { sampleRates: [sampleRate] }), channels: [enableChannelIdentification ? 2 : 1] },
    ];
  }

  protected get defaultBaseUrl(): string {
    const { region = '' } = this.config;
    return `https://transcribestreaming.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}:8443`;
  }

  protected override get directCredential(): unknown {
    return this.config.credentials;
  }

  protected override query(): Query {
    return lambdaQuery(this.config, this.format.sampleRate);
  }

  protected override async request(): Promise<SocketRequest> {
    const url = this.resolveSocketUrl(this.path, this.query());
    return { url: this.isProxyMode ? url : await this.#signer.presign(url) };
  }

  protected override farewell(): { farewell: SocketData[] } {
    return { farewell: [audioEvent(new Uint8Array(0))] };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return { errorOf: (failure) => this.#factsOf(failure) };
  }

  protected override configProblem(): string | undefined {
    return lambdaConflict(this.config, !this.isProxyMode);
  }

  protected override encodeAudio(frame: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    return audioEvent(frame);
  }

  protected override readMessage(data: SocketData): WireObject | undefined {
    return readLambda(data);
  }

  protected override wantsSilence(quietMs: number): boolean {
    return quietMs <= endingMs || quietMs % idleMs === 0;
  }

  protected override onConnection(): void {
    this.#finished.clear();
  }

  #onResult(result: WireObject): void {
    const id = str(result['ResultId']);
    const text = textOf(result);
    if (!text || this.#finished.has(id)) return;
    const isIdentified = identifies(this.config);
    const words = this.words(spokenItems(result), ({ content }) => str(content));
    const language = str(result['LanguageCode']) ?? (isIdentified ? undefined : this.config.languageCode);
    const details = { words, confidence: meanConfidence(words), language };
    if (result['IsPartial'] !== false) {
      this.utterances.heard(text, details);
      return;
    }
    this.#finished.add(id);
    const endMs = (num(result['EndTime']) ?? 0) * 1000;
    const isNew = this.finalized(endMs);
    // The channels of one recording are heard apart: what is final in one says nothing of the other.
    if (isNew || endMs === 0 || result['ChannelId'] !== undefined) this.utterances.complete(text, details);
  }

  #onFailure({ name, message }: WireObject): void {
    const said = str(message) ?? '';
    const error = this.failure(lambdaKind(str(name) ?? '', said), lambdaFailures, said);
    const facts = this.#signer.errorOf({ status: error.status, headers: {}, message: said });
    const { code, status, cause } = error;
    this.renew(facts ? this.error(error.message, { code, status, cause, ...facts }) : error);
  }

  /** What a refused upgrade means: its type stands in a header, or in the body. */
  #factsOf(failure: HttpFailure): HttpErrorFacts | undefined {
    const [name = ''] = (failure.headers['x-amzn-errortype'] ?? failure.reason ?? '').split(/[:,]/, 1);
    const reason = lambdaKind(name, failure.message);
    const known = entry(lambdaFailures, reason);
    return this.#signer.errorOf(failure) ?? (known && { code: known.code, recoverable: known.recoverable, reason });
  }
}
