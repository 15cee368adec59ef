import type { AudioFormat } from '../../audio/types.ts';
import { azureSpeechUrl, isAzureRegion } from '../../core/azure-region.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { obj, str, type WireObject } from '../../core/guard.ts';
import type { AuthType, Query, SocketCredentials } from '../../core/remote-provider.ts';
import type { SocketData, SocketRequest, SocketSessionOptions } from '../../transport/socket-session.ts';
import { readUsp, riffHeader, uspAudio, uspId, uspText } from './kappa-stt-messages.ts';
import { readPhrase, type KappaPhrase } from './kappa-stt-phrases.ts';
import { kappaContext, kappaFailures, kappaQuery, kappaRules, type KappaSTTOptions } from './kappa-stt-settings.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';

/** Configuration of {@link KappaSTT}. An `apiKey` that is a factory gives tokens, unless `authType` is `token`. */
export interface KappaSTTConfig extends StreamingSTTConfig, KappaSTTOptions {
  /** The resource's region, such as `westeurope`. Required without `proxyUrl` and `endpoint`. */
  readonly region?: string;
  /** What the service listens for: a talk, single phrases, or dictated text. Default: `conversation`. */
  readonly recognitionMode?: 'conversation' | 'interactive' | 'dictation';
  /** `detailed` adds confidence, word times and alternatives (`metadata.nBest`). Default: `simple`. */
  readonly outputFormat?: 'simple' | 'detailed';
}

/** Silence that stands in for audio that does not come until a phrase has ended, and how often after that. */
const endingMs = 3_000;
const idleMs = 60_000;

/** Audio that holds no word any more, in milliseconds. */
const tailMs = 50;

/**
 * Azure AI Speech, real-time speech-to-text over the WebSocket of its SDKs, at
 * `wss://<region>.stt.speech.microsoft.com/speech/recognition/<mode>/cognitiveservices/v1`: interim hypotheses and phrases,
 * in any number of turns on one connection. See https://learn.microsoft.com/azure/ai-services/speech-service/.
 */
export class KappaSTT extends StreamingSTT<KappaSTTConfig> {
  readonly name = 'KappaSTT';
  readonly accepts: readonly AudioFormat[] = [
    { encoding: 'linear16', sampleRates: [16_000, 8_000, 22_050, 24_000, 32_000, 44_100, 48_000] },
    { encoding: 'mulaw', sampleRates: [8_000] },
    { encoding: 'alaw', sampleRates: [8_000] },
  ];
  protected override readonly rules: ConfigRules = kappaRules;
  protected override readonly gapMs: number = 500;
  protected override readonly endsAudio: boolean = true;
  protected override readonly catchUpSpeed: number = 2;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    'turn.start': () => this.logger.debug(`${this.name}: a turn begins`),
    'turn.end': ({ requestId }) => this.#onTurnEnd(requestId),
    'speech.startdetected': () => this.utterances.started(),
    'speech.enddetected': () => this.utterances.ended(),
    'speech.hypothesis': ({ body }) => this.#onHypothesis(readPhrase(obj(body) ?? {})),
    'speech.fragment': ({ body }) => this.#onHypothesis(readPhrase(obj(body) ?? {})),
    'speech.phrase': ({ body }) => this.#onPhrase(readPhrase(obj(body) ?? {})),
  };

  #requestId: string = '';
  /** Whether this connection has been told who speaks to it. */
  #isIntroduced: boolean = false;
  /** Words that no phrase has confirmed. */
  #hypothesis: KappaPhrase | undefined;
  /** Milliseconds of audio that were not final when the turn began. */
  #pendingMs: number = 0;

  protected get defaultBaseUrl(): string | undefined {
    return azureSpeechUrl('stt', this.config.region);
  }

  /** A key goes with `token`, a token of the token service with `bearer`. */
  override get authType(): AuthType {
    return this.config.authType ?? (typeof this.config.apiKey === 'function' ? 'bearer' : 'token');
  }

  /** The key's own header, or a bearer; in browsers the same in the query. */
  protected override socketCredentials(key: string): SocketCredentials {
    const credential: Readonly<Record<string, string>> =
      this.authType === 'bearer' ? { Authorization: `Bearer ${key}` } : { 'Ocp-Apim-Subscription-Key': key };
    return { headers: credential, query: credential };
  }

  protected override query(): Query {
    return { ...kappaQuery(this.config), 'X-ConnectionId': uspId() };
  }

  protected override async request(): Promise<SocketRequest> {
    const { recognitionMode = 'conversation' } = this.config;
    // The newer address has no mode: the messages name it.
    const isWhole = this.resolveBaseUrl()?.endsWith('/universal/v2');
    const path = isWhole ? '' : `/speech/recognition/${recognitionMode}/cognitiveservices/v1`;
    this.#isIntroduced = false;
    return { url: this.resolveSocketUrl(path, this.query()), ...(await this.resolveSocketCredentials()) };
  }

  /** The end of the audio has said it all. */
  protected override farewell(): { farewell: [] } {
    return { farewell: [] };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      classifyClose: ({ code }) => (code in kappaFailures ? this.failure(code, kappaFailures) : 'retry'),
    };
  }

  protected override configProblem(): string | undefined {
    const { region, endpoint } = this.config;
    if (region !== undefined && !isAzureRegion(region)) return 'region must be a name such as westeurope';
    return region || endpoint || this.isProxyMode ? undefined : 'region is missing: set it, endpoint or proxyUrl';
  }

  protected override onConnection(): void {
    this.#requestId = uspId();
    this.#pendingMs = this.pendingMs;
    this.#hypothesis = undefined;
  }

  protected override preamble(): readonly SocketData[] {
    const introduction = this.#isIntroduced ? [] : [this.#text('speech.config', this.#introduction)];
    this.#isIntroduced = true;
    const header = uspAudio({ ...this.#headers('audio'), contentType: 'audio/x-wav' }, riffHeader(this.format));
    return [...introduction, this.#text('speech.context', kappaContext(this.config)), header];
  }

  protected override onEnd(): void {
    if (this.#hypothesis) this.#complete(this.#hypothesis);
  }

  protected override encodeAudio(frame: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    return uspAudio(this.#headers('audio'), frame);
  }

  protected override readMessage(data: SocketData): WireObject | undefined {
    const message = readUsp(data);
    return message && { ...message };
  }

  /** What belongs to a turn that is over is late. */
  protected override typeOf({ path, requestId }: WireObject): string | undefined {
    return requestId === '' || requestId === this.#requestId ? str(path) : 'of an earlier turn';
  }

  protected override wantsSilence(quietMs: number): boolean {
    return quietMs <= endingMs || quietMs % idleMs === 0;
  }

  get #introduction(): WireObject {
    const { recognitionMode = 'conversation' } = this.config;
    const system = { name: 'rxvoice', version: '1', build: 'JavaScript', lang: 'JavaScript' };
    return { context: { system }, recognition: recognitionMode };
  }

  #headers(path: string): { path: string; requestId: string; now: number } {
    return { path, requestId: this.#requestId, now: this.scheduler.now() };
  }

  #text(path: string, body: WireObject): string {
    return uspText(this.#headers(path), body);
  }

  /** A turn may end while audio is on its way: what it has not heard, the next one hears. */
  #onTurnEnd(requestId: unknown): void {
    if (requestId !== this.#requestId) return;
    const isStuck = this.pendingMs >= this.#pendingMs;
    if (this.isEnding && (isStuck || this.pendingMs < tailMs)) this.heardAll();
    else this.beginAgain();
  }

  #onHypothesis(phrase: KappaPhrase): void {
    const { text, language } = phrase;
    if (!text) return;
    this.#hypothesis = phrase;
    this.utterances.heard(text, { language });
  }

  #onPhrase(phrase: KappaPhrase): void {
    const { status, text, endMs } = phrase;
    if (Object.hasOwn(kappaFailures, status)) {
      this.renew(this.failure(status, kappaFailures));
      return;
    }
    this.#hypothesis = undefined;
    const isRepeated = Number.isFinite(endMs) && !this.finalized(endMs);
    if (status === 'Success' && text && !isRepeated) this.#complete(phrase);
  }

  #complete({ text, confidence, language, words, nBest }: KappaPhrase): void {
    this.utterances.complete(text, {
      ...{ confidence, language },
      ...(words.length > 0 && { words: this.words(words, ({ word }) => str(word), 1) }),
      ...(nBest.length > 0 && { fields: { nBest } }),
    });
  }
}
