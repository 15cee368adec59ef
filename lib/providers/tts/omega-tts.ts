import { catchError, concat, defer, EMPTY, from, ignoreElements, map, merge, tap, type Observable } from 'rxjs';
import { durationMs } from '../../audio/formats.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import { entry, obj, str } from '../../core/guard.ts';
import type { AwsCredentials } from '../../transport/aws-signature.ts';
import { AwsSigner } from '../../transport/aws-signer.ts';
import type { HttpErrorFacts, HttpErrorOf } from '../../transport/http-error.ts';
import { httpRequest, readText, type HttpRequestHeaders } from '../../transport/http.ts';
import { marksIn, wordsAt, type ByteMark } from './words/byte-marks.ts';
import type { Markup } from './text/markup.ts';
import { omegaFormats, omegaSampleRate, type OmegaFormat, type OmegaTTSFormat } from './omega-tts-formats.ts';
import { RestTTS, type RestTTSConfig, type SpeechRequest } from './rest-tts.ts';
import { isSsml, ssml } from './text/ssml.ts';
import type { SynthesisEvent } from './utterance.ts';

/** An engine of {@link OmegaTTS}; the voice and the region must have it. */
export type OmegaTTSEngine = 'neural' | 'generative' | 'long-form' | 'standard';

/** Configuration of {@link OmegaTTS}. `apiKey` and `authType` have no effect: requests are signed with `credentials`. */
export interface OmegaTTSConfig extends RestTTSConfig {
  /** What requests are signed with, or an async factory that is called for each request; temporary ones are best. */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>);
  /** The region of the service, such as `us-east-1`; required without `proxyUrl`. */
  readonly region?: string;
  /** Such as `Joanna`. Required. */
  readonly voiceId: string;
  /** Default: `neural`. */
  readonly engine?: OmegaTTSEngine;
  /** Default: `mp3`, which browsers play; a pipeline on a server needs `pcm`, `mulaw` or `alaw`, which also stream. */
  readonly outputFormat?: OmegaTTSFormat;
  /** mp3, ogg_vorbis: 8000 to 48000 Hz (default 24000, `standard` 22050); pcm: 8000 or 16000 (default). */
  readonly sampleRate?: number;
  /** `ssml`: what is no `<speak>` document becomes one, as it is. Default: `text`, of which `<speak>` documents are SSML. */
  readonly textType?: 'text' | 'ssml';
  /** At most five lexicons of the account, in the voice's language. */
  readonly lexiconNames?: readonly string[];
  /** BCP 47; only for voices that speak two languages. */
  readonly languageCode?: string;
  /** Whether `words$` has the service's own times, in place of estimates: a second billed request each; raw formats only. Default: false. */
  readonly wordTimings?: boolean;
}

/** What the service's types of errors mean beyond their status. */
const meanings: Readonly<Record<string, HttpErrorFacts>> = {
  ThrottlingException: { code: 'rate_limited', recoverable: true },
  ServiceQuotaExceededException: { code: 'quota', recoverable: false },
  ...Object.fromEntries(
    ['InvalidSignature', 'UnrecognizedClient', 'MissingAuthenticationToken', 'ExpiredToken', 'IncompleteSignature'].map(
      (name) => [`${name}Exception`, { code: 'unauthorized' as const, recoverable: false }],
    ),
  ),
};

/**
 * OmegaTTS: Amazon Polly (API 2016-06-10, `POST /v1/speech`, signed), `https://polly.<region>.amazonaws.com`,
 * https://docs.aws.amazon.com/polly/latest/dg/API_SynthesizeSpeech.html
 *
 * At most 3,000 characters a request; longer texts are cut at sentences.
 */
export class OmegaTTS extends RestTTS<OmegaTTSConfig> {
  override readonly name: string = 'OmegaTTS';
  protected override readonly credentialKey: string = 'credentials';
  readonly #signer: AwsSigner = new AwsSigner({
    service: 'polly',
    config: () => this.config,
    remember: (secret) => this.freshCredential(secret),
    error: (message, options) => this.error(`${this.name}: ${message}`, options),
  });
  protected override readonly errorOf: HttpErrorOf = (failure) => {
    const { code, __type } = obj(failure.json) ?? {};
    const type = failure.headers['x-amzn-errortype'] ?? str(__type) ?? str(code) ?? '';
    const reason = type.split(/[:,]/, 1)[0]?.replace(/^.*#/, '');
    const facts = this.#signer.errorOf(failure) ?? entry(meanings, reason);
    return reason ? { ...facts, reason } : facts;
  };

  protected override get defaultBaseUrl(): string {
    const { region = '' } = this.config;
    return `https://polly.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  }

  protected override get directCredential(): unknown {
    return this.config.credentials;
  }

  override get maxTextLength(): number {
    return 3000;
  }

  // Whether the service counts code points or units of UTF-16 it does not say: the latter are never fewer.
  protected override lengthOf(character: string): number {
    return character.length;
  }

  protected override markupOf(text: string): Markup | undefined {
    return this.config.textType === 'ssml' || isSsml(text) ? ssml : undefined;
  }

  protected override configRules(): Readonly<Record<string, ConfigRule>> {
    return {
      voiceId: { required: true },
      region: { required: !this.isProxyMode },
      engine: { oneOf: ['neural', 'generative', 'long-form', 'standard'] },
      outputFormat: { oneOf: Object.keys(omegaFormats) },
      sampleRate: { oneOf: this.#format.sampleRates },
      textType: { oneOf: ['text', 'ssml'] },
      lexiconNames: { type: 'texts', maxLength: 5 },
    };
  }

  protected override configProblem(): string | undefined {
    const { region, wordTimings = false } = this.config;
    // It becomes a part of the host that the credentials go to.
    if (region && !/^[a-z\d]+(-[a-z\d]+)+$/.test(region)) return 'region must look like us-east-1';
    if (wordTimings && this.#format.metadata.bitDepth === undefined) {
      return 'wordTimings needs outputFormat pcm, mulaw or alaw';
    }
    return super.configProblem();
  }

  protected override wireFormat(): AudioMetadata {
    const { engine, sampleRate = omegaSampleRate(this.#format, engine) } = this.config;
    return { sampleRate, channels: 1, ...this.#format.metadata };
  }

  protected override async credentialHeaders({ path, headers, body }: SpeechRequest): Promise<HttpRequestHeaders> {
    if (this.isProxyMode) return {};
    const sent = { 'content-type': headers?.['content-type'] ?? '' };
    return this.#signer.headers({ method: 'POST', url: this.resolveUrl(path), headers: sent, body });
  }

  protected override request(text: string): SpeechRequest {
    const { outputFormat = 'mp3', sampleRate } = this.config;
    return this.#speech(text, { OutputFormat: outputFormat, SampleRate: sampleRate?.toString() });
  }

  protected override exchange(text: string, firstAudioMs: number): Observable<SynthesisEvent> {
    if (!this.config.wordTimings) return super.exchange(text, firstAudioMs);
    return defer(() => {
      let bytes = 0;
      let marks: readonly ByteMark[] = [];
      const audio$ = super.exchange(text, firstAudioMs).pipe(
        tap((event) => {
          if (event.type === 'audio') bytes += event.data.length;
        }),
      );
      const marks$ = this.#marks(text, firstAudioMs).pipe(tap((all) => (marks = all)));
      const words$ = defer(() =>
        from(wordsAt(marks, this.markupOf(text) ? '' : text, durationMs(bytes, this.wireFormat()))),
      );
      return concat(
        merge(audio$, marks$.pipe(ignoreElements())),
        words$.pipe(map((word) => ({ type: 'word' as const, ...word }))),
      );
    });
  }

  /** When each word begins: an answer of its own, an object a line. Without it the words are estimated. */
  #marks(text: string, firstByteMs: number): Observable<readonly ByteMark[]> {
    const request = this.#speech(text, { OutputFormat: 'json', SpeechMarkTypes: ['word'] });
    return defer(() =>
      httpRequest({
        ...{ ...this.transportOptions, url: this.resolveUrl(request.path), body: request.body, errorOf: this.errorOf },
        headers: async () => ({ ...request.headers, ...(await this.credentialHeaders(request)) }),
        timeouts: { firstByteMs },
      }),
    ).pipe(
      readText(),
      map(marksIn),
      catchError((error: unknown) => {
        this.logger.warn(`${this.name}: no word times`, error);
        return EMPTY;
      }),
    );
  }

  #speech(text: string, output: Readonly<Record<string, unknown>>): SpeechRequest {
    const { voiceId, engine = 'neural', languageCode, lexiconNames = [] } = this.config;
    const isMarkup = this.markupOf(text) !== undefined;
    const body = {
      Engine: engine,
      LanguageCode: languageCode,
      LexiconNames: lexiconNames.length > 0 ? lexiconNames : undefined,
      ...output,
      Text: isMarkup && !isSsml(text) ? `<speak>${text}</speak>` : text,
      TextType: isMarkup ? 'ssml' : 'text',
      VoiceId: voiceId,
    };
    // The very text that is signed is sent; in lower case, so that the signed header takes its place.
    return { path: '/v1/speech', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  }

  get #format(): OmegaFormat {
    return entry(omegaFormats, this.config.outputFormat) ?? omegaFormats.mp3;
  }
}
