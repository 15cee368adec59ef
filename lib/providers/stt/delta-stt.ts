import type { AudioFormat } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { num, objs, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import type { SocketCredentials } from '../../core/remote-provider.ts';
import type { SocketCloseOptions, SocketSessionOptions } from '../../transport/socket-session.ts';
import {
  deltaEncodings,
  deltaFailures,
  deltaRetired,
  deltaRules,
  deltaStart,
  type DeltaSTTOptions,
} from './delta-stt-settings.ts';
import { hasText, mostFrequent, textOf, wordsOf, type Token } from './delta-stt-tokens.ts';
import { formatsOf } from './streaming/named-encodings.ts';
import { StreamingSTT } from './streaming-stt.ts';
import { meanConfidence, type ResultKind } from './streaming/utterances.ts';

/** Configuration of {@link DeltaSTT}. `language` is BCP 47, and one hint in place of `languageHints`. */
export interface DeltaSTTConfig extends DeltaSTTOptions {
  /** Default: `stt-rt-v5`. */
  readonly model?: string;
  /** Default: that of the audio. */
  readonly audioFormat?: 'pcm_s16le' | 'pcm_f32le' | 'mulaw' | 'alaw';
  /** Hz. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Languages to expect, ISO 639-1. Default: `language`, where it is set, else any. */
  readonly languageHints?: readonly string[];
  /** Whether the service ends utterances by itself; without, only `finalize()` does. Default: true. */
  readonly enableEndpointDetection?: boolean;
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly enableSpeakerDiarization?: boolean;
}

const keepAliveMs = 5_000;

/** Audio before a word that may belong to it, in milliseconds. */
const leadMs = 100;

/** Tokens after which an utterance counts as complete, whatever the service says: some minutes of speech. */
const maxTokens = 2_048;

/** What ends an utterance: silence, and the answer to `finalize`. */
const markers: ReadonlySet<string> = new Set(['<end>', '<fin>']);

/** What a page may offer as a subprotocol (RFC 6455, section 4.1): no colon, which temporary keys have. */
const protocolName = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * Soniox real-time transcription at `wss://stt-rt.soniox.com/transcribe-websocket`: over 60 languages, word times,
 * speakers. See https://soniox.com/docs/stt/api-reference/websocket-api.
 */
export class DeltaSTT extends StreamingSTT<DeltaSTTConfig> {
  readonly name = 'DeltaSTT';
  protected readonly defaultBaseUrl = 'https://stt-rt.soniox.com';
  protected override readonly path: string = '/transcribe-websocket';
  protected override readonly rules: ConfigRules = deltaRules;
  protected override readonly ownKeys: readonly string[] = ['interimResults'];
  protected override readonly catchUpSpeed: number = 1.25;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    tokens: (message) => this.#onTokens(message),
    error: (message) => this.#onError(message),
  };

  /** A key that the first message brings. */
  #spokenKey: string | undefined;
  /** The utterance so far, as far as it will not change. */
  #finals: Token[] = [];
  #newest: readonly Token[] = [];
  /** How many of `#finals` another connection need not hear: whole words. */
  #settled: number = 0;
  /** The words before were heard by another connection. */
  #joins: boolean = false;

  /** The four raw encodings, or the configured one, at the configured or at any sample rate. */
  get accepts(): readonly AudioFormat[] {
    return formatsOf(deltaEncodings, this.config);
  }

  /** Ends the utterance: a complete result follows, without text when there is nothing new. */
  finalize(): void {
    this.sayAfterAudio({ type: 'finalize' });
  }

  /** The key as header; in browsers, a temporary key as subprotocol, or in the first message where it cannot be one. */
  override async resolveSocketCredentials(): Promise<SocketCredentials> {
    this.#spokenKey = undefined;
    return super.resolveSocketCredentials();
  }

  protected override socketCredentials(key: string): SocketCredentials {
    const headers = { Authorization: `Bearer ${key}` };
    if (protocolName.test(key)) return { headers, protocols: ['soniox-api-key', key] };
    this.#spokenKey = key;
    return { headers };
  }

  protected override farewell(): Pick<SocketCloseOptions, 'farewell' | 'until'> {
    return { farewell: [''], until: (data) => parseJsonObject(data)?.['finished'] === true };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      opening: () => [JSON.stringify({ api_key: this.#spokenKey, ...deltaStart(this.config, this.format) })],
      // The service ends a stream that has heard nothing for 20 s.
      keepAlive: { intervalMs: keepAliveMs, message: () => this.whenQuiet({ type: 'keepalive' }) },
    };
  }

  protected override onInitialize(signal: AbortSignal): Promise<void> | void {
    this.warnOfRetired(this.config.model, deltaRetired);
    return super.onInitialize(signal);
  }

  /** The messages have no type of their own. */
  protected override typeOf(message: WireObject): string {
    return message['error_code'] === undefined ? 'tokens' : 'error';
  }

  protected override onConnection(): void {
    this.#newest = [];
    const settled = this.#finals.slice(0, this.#settled);
    this.#finals = settled.map((token) => ({ ...token, startMs: undefined, endMs: undefined }));
    this.#joins = this.#finals.length > 0;
  }

  protected override onEnd(): void {
    this.#finals.push(...this.#newest);
    this.#complete();
  }

  #onTokens(message: WireObject): void {
    const newest: Token[] = [];
    const before = this.#finals.length;
    let joins = this.#joins;
    for (const each of objs(message['tokens'])) {
      const text = str(each['text']);
      if (!text || each['translation_status'] === 'translation') continue;
      const isFinal = each['is_final'] === true;
      const isMarker = isFinal && markers.has(text);
      if (isMarker) this.#complete(text === '<fin>');
      else (isFinal ? this.#finals : newest).push(this.#tokenOf(text, each, joins));
      if (isFinal) this.#joins = false;
      joins = false;
    }
    const hasChanged = newest.length > 0 || this.#newest.length > 0 || this.#finals.length !== before;
    this.#newest = newest;
    if (message['finished'] === true || this.#finals.length >= maxTokens) this.#complete();
    else if (hasChanged) this.#publish('interim', [...this.#finals, ...newest]);
    this.#settle(message);
  }

  #tokenOf(text: string, token: WireObject, joins: boolean): Token {
    const { start_ms: start, end_ms: end } = token;
    const [word] = this.words([{ ...token, start, end }], () => text, 1);
    const joined = joins && !/^\s/.test(text) ? ` ${text}` : text;
    return { text: joined, word, language: str(token['language']), startMs: num(start), endMs: num(end) };
  }

  /** Tells what audio is not needed any more: up to the last word that may still grow. */
  #settle(message: WireObject): void {
    if (this.#finals.length > 0) {
      const last = this.#finals.findLastIndex(({ text, startMs }) => /^\s/.test(text) && startMs !== undefined);
      const { startMs } = this.#finals[last] ?? {};
      if (startMs === undefined) return;
      const { endMs = 0 } = this.#finals[last - 1] ?? {};
      // With the pause before it, for a word begins before it is heard to begin.
      if (this.finalized(startMs - Math.max(0, Math.min(leadMs, startMs - endMs)))) this.#settled = last;
    } else if (this.#newest.length === 0) this.finalized(num(message['final_audio_proc_ms']) ?? 0);
  }

  #complete(evenEmpty: boolean = false): void {
    const tokens = this.#finals;
    this.#finals = [];
    this.#newest = [];
    this.#settled = 0;
    if (hasText(tokens) || evenEmpty) this.utterances.ended();
    this.#publish('complete', tokens, evenEmpty);
  }

  #publish(kind: ResultKind, tokens: readonly Token[], evenEmpty: boolean = false): void {
    if (!hasText(tokens) && !evenEmpty) return;
    if (kind === 'interim') this.utterances.started();
    const words = wordsOf(tokens);
    this.utterances.result(kind, textOf(tokens), {
      ...{ words, confidence: meanConfidence(tokens.flatMap(({ word }) => word ?? [])) },
      language: mostFrequent(tokens.flatMap(({ language }) => language ?? [])),
    });
  }

  #onError(message: WireObject): void {
    const code = num(message['error_code']) ?? 500;
    this.renew(this.failure(code, deltaFailures, str(message['error_message'])));
  }
}
