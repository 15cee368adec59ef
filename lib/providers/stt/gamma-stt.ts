import type { AudioFormat } from '../../audio/types.ts';
import { encodeBase64 } from '../../core/base64.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { num, objs, str, type WireObject } from '../../core/guard.ts';
import type { Credential, Query, SocketCredentials } from '../../core/remote-provider.ts';
import type { SocketCloseOptions, SocketData, SocketSessionOptions } from '../../transport/socket-session.ts';
import {
  gammaConflict,
  gammaFailures,
  gammaFormats,
  gammaHasTimestamps,
  gammaQuery,
  gammaRules,
  type GammaSTTOptions,
} from './gamma-stt-settings.ts';
import { StreamingSTT } from './streaming-stt.ts';
import type { ResultDetails } from './streaming/utterances.ts';

/** Configuration of {@link GammaSTT}. `language` is ISO 639-1, ISO 639-3 or BCP 47; default: the service finds it out. */
export interface GammaSTTConfig extends GammaSTTOptions {
  /** A single-use token in place of `apiKey`. Each connection takes another, so give a factory. */
  readonly token?: Credential;
  /** Default: `scribe_v2_realtime`. */
  readonly model?: string;
  /** Default: that of the audio. */
  readonly audioFormat?: 'pcm_8000' | 'pcm_16000' | 'pcm_22050' | 'pcm_24000' | 'pcm_44100' | 'pcm_48000' | 'ulaw_8000';
  /** What ends an utterance: silence, or `finalize()` alone. Default: `vad`. */
  readonly commitStrategy?: 'vad' | 'manual';
  /**
   * Whether final results have words with times and confidence, by which a lost connection is also replaced without a
   * word said twice. Default: true, unless `filterBackgroundAudio`.
   */
  readonly includeTimestamps?: boolean;
}

const keepAliveMs = 8_000;

/**
 * ElevenLabs Scribe v2 Realtime at `wss://api.elevenlabs.io/v1/speech-to-text/realtime`: over 90 languages, found out by
 * the service. See https://elevenlabs.io/docs/api-reference/speech-to-text/v-1-speech-to-text-realtime.
 */
export class GammaSTT extends StreamingSTT<GammaSTTConfig> {
  readonly name = 'GammaSTT';
  protected readonly defaultBaseUrl = 'https://api.elevenlabs.io';
  protected override readonly path: string = '/v1/speech-to-text/realtime';
  protected override readonly rules: ConfigRules = gammaRules;
  protected override readonly ownKeys: readonly string[] = ['interimResults'];
  protected override readonly credentialKey: string = 'apiKey or token';
  protected override readonly catchUpSpeed: number = 2;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    ...Object.fromEntries(
      Object.keys(gammaFailures).map((kind) => [kind, (message: WireObject) => this.#onFailure(kind, message)]),
    ),
    session_started: ({ session_id: id }) => this.logger.debug(`${this.name}: session ${str(id) ?? 'without an id'}`),
    partial_transcript: (message) => this.#onText(message),
    final_transcript: (message) => this.#onText(message),
    final_transcript_with_timestamps: (message) => this.#onText(message),
    committed_transcript: (message) => {
      if (!this.#hasDetails) this.#onCommitted(message);
    },
    committed_transcript_with_timestamps: (message) => {
      if (this.#hasDetails) this.#onCommitted(message);
    },
    commit_throttled: () => {
      if (this.#isAsked) this.#onCommitted({});
    },
    warning: () => this.reportOnce('the service warns'),
  };

  /** Whether the answer to a `finalize()` is due. */
  #isAsked: boolean = false;
  /** What the next audio is told of the time before. */
  #context: string | undefined;

  /** Linear16 at six rates and mulaw at 8000 Hz, or the configured format. */
  get accepts(): readonly AudioFormat[] {
    const { audioFormat } = this.config;
    const formats = audioFormat === undefined ? Object.values(gammaFormats) : [gammaFormats[audioFormat] ?? []].flat();
    return formats.map(({ encoding, sampleRate }) => ({ encoding, sampleRates: [sampleRate] }));
  }

  /** Ends the utterance: a complete result follows, without text when there is nothing new. */
  finalize(): void {
    this.#isAsked = this.sayAfterAudio(this.#chunk('', true));
  }

  protected override query(): Query {
    const { encoding, sampleRate } = this.format;
    return { audio_format: `${encoding === 'mulaw' ? 'ulaw' : 'pcm'}_${sampleRate}`, ...gammaQuery(this.config) };
  }

  /** The key as header; a single-use token in the query, which is also what a page can present. */
  override async resolveSocketCredentials(): Promise<SocketCredentials> {
    if (this.isProxyMode) return {};
    const { token, apiKey } = this.config;
    if (token !== undefined) return { query: { token: await this.freshCredential(token) } };
    const key = await this.resolveApiKey();
    return { headers: { 'xi-api-key': key }, ...(typeof apiKey === 'function' && { query: { token: key } }) };
  }

  protected override farewell(): Pick<SocketCloseOptions, 'farewell' | 'until'> {
    const last = this.#hasDetails ? 'committed_transcript_with_timestamps' : 'committed_transcript';
    return { farewell: [JSON.stringify(this.#chunk('', true))], until: this.isOf(last, 'commit_throttled') };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      isReady: this.isOf('session_started'),
      // The service ends a connection that hears nothing, and pings don't count.
      keepAlive: { intervalMs: keepAliveMs, message: () => this.whenQuiet(this.#chunk('', false)) },
    };
  }

  protected override configProblem(): string | undefined {
    return gammaConflict(this.config);
  }

  protected override get directCredential(): unknown {
    return this.config.token ?? this.config.apiKey;
  }

  protected override typeOf(message: WireObject): string | undefined {
    return str(message['message_type']);
  }

  protected override encodeAudio(frame: Uint8Array<ArrayBuffer>): SocketData {
    const context = this.#context;
    this.#context = undefined;
    const chunk = this.#chunk(encodeBase64(frame), false);
    return JSON.stringify(context === undefined ? chunk : { ...chunk, previous_text: context });
  }

  protected override onConnection(): void {
    this.#context = this.config.previousText;
  }

  protected override onEnd(): void {
    super.onEnd();
    this.#isAsked = false;
  }

  #chunk(audio: string, commit: boolean): WireObject {
    const { sampleRate } = this.format;
    return { message_type: 'input_audio_chunk', audio_base_64: audio, commit, sample_rate: sampleRate };
  }

  #onText({ text }: WireObject): void {
    const said = str(text)?.trim() ?? '';
    if (said) this.utterances.heard(said);
  }

  #onCommitted(message: WireObject): void {
    const text = str(message['text'])?.trim() ?? '';
    const isAsked = this.#isAsked;
    this.#isAsked = false;
    if (text || isAsked) this.utterances.complete(text, this.#detailsOf(message));
    else this.utterances.reset();
    const ends = objs(message['words']).map(({ end }) => num(end) ?? 0);
    if (ends.length > 0) this.finalized(Math.max(...ends) * 1_000);
    else if (text && !gammaHasTimestamps(this.config)) this.finalized(this.sentMs - this.#silenceMs);
  }

  #detailsOf(message: WireObject): ResultDetails {
    const spoken = objs(message['words']).filter(({ type = 'word' }) => type === 'word');
    const logprobs = spoken.flatMap(({ logprob }) => num(logprob) ?? []);
    const words = spoken.map(({ logprob, speaker_id: speaker, ...word }) => {
      const probability = num(logprob);
      return { ...word, speaker, ...(probability !== undefined && { confidence: likelihood([probability]) }) };
    });
    return {
      ...(words.length > 0 && { words: this.words(words, ({ text }) => str(text)) }),
      confidence: logprobs.length > 0 ? likelihood(logprobs) : undefined,
      language: str(message['language_code']),
    };
  }

  #onFailure(kind: string, message: WireObject): void {
    this.renew(this.failure(kind, gammaFailures, str(message['error'])));
  }

  /** Whether a commit is told a second time, with what is known of its words and language. */
  get #hasDetails(): boolean {
    return gammaHasTimestamps(this.config) || this.config.includeLanguageDetection === true;
  }

  /** Silence that stands before the end of an utterance, in milliseconds. */
  get #silenceMs(): number {
    const { commitStrategy, vadSilenceThresholdSecs = 1.5 } = this.config;
    return commitStrategy === 'manual' ? 0 : vadSilenceThresholdSecs * 1_000;
  }
}

/** The probability of all of some logarithms, on average. */
function likelihood(logprobs: readonly number[]): number {
  return Math.min(1, Math.exp(logprobs.reduce((sum, each) => sum + each, 0) / logprobs.length));
}
