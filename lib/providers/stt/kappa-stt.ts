import type { AudioFormat } from '../../audio/types.ts';
import { azureSpeechUrl, isAzureRegion } from '../../core/azure-region.ts';
import { configProblem } from '../../core/config-rule.ts';
import { num, obj, objs, str, type WireObject } from '../../core/guard.ts';
import type { AuthType, SocketCredentials } from '../../core/remote-provider.ts';
import type { TranscribedWord } from '../../core/roles.ts';
import type { SocketClose, SocketData, SocketRequest, SocketSessionOptions } from '../../transport/socket-session.ts';
import { readUsp, riffHeader, uspAudio, uspId, uspText } from './kappa-stt-messages.ts';
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

/** Ticks of the wire in a millisecond: they are of 100 ns. */
const ticksPerMs = 10_000;

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
  protected override readonly gapMs: number = 500;
  protected override readonly endsAudio: boolean = true;
  protected override readonly catchUpSpeed: number = 2;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    'turn.start': () => this.logger.debug(`${this.name}: a turn begins`),
    'turn.end': ({ requestId }) => this.#onTurnEnd(requestId),
    'speech.startdetected': () => this.utterances.started(),
    'speech.enddetected': () => this.utterances.ended(),
    'speech.hypothesis': ({ body }) => this.#onHypothesis(obj(body) ?? {}),
    'speech.fragment': ({ body }) => this.#onHypothesis(obj(body) ?? {}),
    'speech.phrase': ({ body }) => this.#onPhrase(obj(body) ?? {}),
  };

  #requestId: string = '';
  /** Whether this connection has been told who speaks to it. */
  #isIntroduced: boolean = false;
  #hypothesis: WireObject | undefined;
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
  override async resolveSocketCredentials(): Promise<SocketCredentials> {
    if (this.isProxyMode) return {};
    const key = await this.resolveApiKey();
    const credential: Readonly<Record<string, string>> =
      this.authType === 'bearer' ? { Authorization: `Bearer ${key}` } : { 'Ocp-Apim-Subscription-Key': key };
    return { headers: credential, query: credential };
  }

  protected override async request(): Promise<SocketRequest> {
    const { recognitionMode = 'conversation' } = this.config;
    // The newer address has no mode: the messages name it.
    const isWhole = this.resolveBaseUrl()?.endsWith('/universal/v2');
    const url = this.resolveSocketUrl(isWhole ? '' : `/speech/recognition/${recognitionMode}/cognitiveservices/v1`, {
      ...kappaQuery(this.config),
      'X-ConnectionId': uspId(),
    });
    this.#isIntroduced = false;
    return { url, ...(await this.resolveSocketCredentials()) };
  }

  /** The end of the audio has said it all. */
  protected override farewell(): { farewell: [] } {
    return { farewell: [] };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      classifyClose: ({ code }: SocketClose) => (code in kappaFailures ? this.failure(code, kappaFailures) : 'retry'),
    };
  }

  protected override configProblem(): string | undefined {
    const { region, endpoint } = this.config;
    const problem = configProblem(this.config, kappaRules);
    if (problem) return problem;
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
    if (this.#hypothesis) this.#complete(str(this.#hypothesis['Text']) ?? '', this.#hypothesis);
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

  #onHypothesis(body: WireObject): void {
    const text = str(body['Text'])?.trim();
    if (!text) return;
    this.#hypothesis = body;
    this.utterances.started();
    this.utterances.result('interim', text, { language: languageOf(body) });
  }

  #onPhrase(body: WireObject): void {
    const status = str(body['RecognitionStatus']) ?? '';
    if (Object.hasOwn(kappaFailures, status)) {
      this.renew(this.failure(status, kappaFailures));
      return;
    }
    this.#hypothesis = undefined;
    const endMs = (ticks(body['Offset']) + ticks(body['Duration'])) / ticksPerMs;
    const isRepeated = Number.isFinite(endMs) && !this.finalized(endMs);
    const [best = {}] = objs(body['NBest']);
    const text = (str(best['Display']) ?? str(best['DisplayText']) ?? str(body['DisplayText']) ?? '').trim();
    if (status === 'Success' && text && !isRepeated) this.#complete(text, body);
  }

  #complete(text: string, body: WireObject): void {
    const [best = {}] = objs(body['NBest']);
    const spoken = objs(best['Words']).map(
      ({ Word: word, Offset: offset, Duration: duration, Confidence: confidence }) => {
        const start = ticks(offset);
        return { word, start, end: start + ticks(duration), confidence, speaker: body['SpeakerId'] };
      },
    );
    const words: TranscribedWord[] = this.words(spoken, ({ word }) => str(word), 1 / ticksPerMs);
    this.utterances.ended();
    const nBest = objs(body['NBest']);
    this.utterances.result('complete', text, {
      ...{ confidence: num(best['Confidence']), language: languageOf(body) },
      ...(words.length > 0 && { words }),
      ...(nBest.length > 0 && { fields: { nBest } }),
    });
  }
}

/** A time of the wire, where it may be a text; NaN for anything else. */
function ticks(value: unknown): number {
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? Number(value) : NaN;
}

function languageOf(body: WireObject): string | undefined {
  return str(obj(body['PrimaryLanguage'])?.['Language']);
}
