import type { AudioFormat } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { num, objs, str, type WireObject } from '../../core/guard.ts';
import type { TransportOptions } from '../../core/remote-provider.ts';
import type { SocketClose, SocketRequest, SocketSessionOptions } from '../../transport/socket-session.ts';
import {
  etaConflict,
  etaEncodings,
  etaFailures,
  etaLanguage,
  etaQuery,
  etaRules,
  type EtaSTTOptions,
} from './eta-stt-settings.ts';
import { formatsOf, nameOf } from './streaming/named-encodings.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import { meanConfidence } from './streaming/utterances.ts';

/** Configuration of {@link EtaSTT}. `language` is one of en, fr, de, it, ja, ko, cmn, pt and es; default: en. */
export interface EtaSTTConfig extends StreamingSTTConfig, EtaSTTOptions {
  /** 8000 to 48000 Hz. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Whether profanities are masked; English only. Default: false. */
  readonly filterProfanity?: boolean;
  /** Whether "ums" and "uhs" are left out; English only. Default: false. */
  readonly removeDisfluencies?: boolean;
  /** Seconds after which words become final in the middle of speech, 5 to 30. Default: never. */
  readonly maxSegmentDurationSeconds?: number;
}

/** Silence that stands in for audio that does not come until an utterance has ended, and how often after that. */
const endingMs = 3_000;
const idleMs = 5_000;

/** How long the service may look for a free worker, in milliseconds, and how long an upgrade takes. */
const [workerMs, upgradeMs] = [60_000, 10_000];

/** Languages that are written without blanks. */
const unspaced: ReadonlySet<string> = new Set(['ja', 'cmn']);

/** Close codes from which on a close is the service's own, with a meaning. */
const firstOwnCode = 4_000;

/**
 * Rev AI streaming speech-to-text, API v1, at `wss://api.rev.ai/speechtotext/v1/stream`: punctuated finals with word times
 * and confidence. See https://docs.rev.ai/api/streaming/.
 */
export class EtaSTT extends StreamingSTT<EtaSTTConfig> {
  readonly name = 'EtaSTT';
  protected readonly defaultBaseUrl = 'https://api.rev.ai';
  protected override readonly rules: ConfigRules = etaRules;
  protected override readonly ownKeys: readonly string[] = ['interimResults'];
  protected override readonly gapMs: number = 500;
  protected override readonly minFrameMs: number = 250;
  protected override readonly catchUpSpeed: number = 1.5;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    connected: ({ id }) => this.logger.debug(`${this.name}: job ${str(id) ?? 'without an id'} begins`),
    partial: (message) => this.#onPartial(message),
    final: (message) => this.#onFinal(message),
  };

  /** Samples, at the configured or at any sample rate; else what `contentType` says. */
  get accepts(): readonly AudioFormat[] {
    const { sampleRate, contentType } = this.config;
    const rates = sampleRate === undefined ? {} : { sampleRates: [sampleRate] };
    if (contentType?.startsWith('audio/x-flac')) return [{ encoding: 'flac', ...rates }];
    if (contentType !== undefined) return [{ encoding: 'linear16', ...rates, containers: ['wav'] }];
    return formatsOf(etaEncodings, this.config);
  }

  protected override get transportOptions(): TransportOptions {
    const { connectTimeoutMs, maxConnectionWaitSeconds } = this.config;
    const waitMs = maxConnectionWaitSeconds === undefined ? workerMs : maxConnectionWaitSeconds * 1000;
    return { ...super.transportOptions, connectTimeoutMs: connectTimeoutMs ?? waitMs + upgradeMs };
  }

  protected override async request(): Promise<SocketRequest> {
    const url = this.resolveSocketUrl('/speechtotext/v1/stream', {
      // The only form that the service has, in Node as well.
      access_token: this.isProxyMode ? undefined : await this.resolveApiKey(),
      content_type: this.config.contentType ?? this.#contentType,
      ...etaQuery(this.config),
    });
    return { url };
  }

  protected override farewell(): { farewell: string[] } {
    return { farewell: ['EOS'] };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      isReady: this.isOf('connected'),
      classifyClose: (close) => this.#onClose(close),
    };
  }

  protected override configProblem(): string | undefined {
    return etaConflict(this.config);
  }

  protected override wantsSilence(quietMs: number): boolean {
    return quietMs <= endingMs || quietMs % idleMs === 0;
  }

  get #contentType(): string {
    const { encoding, sampleRate, channels } = this.format;
    const format = nameOf(etaEncodings, encoding) ?? '';
    return `audio/x-raw;layout=interleaved;rate=${sampleRate};format=${format};channels=${channels}`;
  }

  #onPartial(message: WireObject): void {
    const text = this.#joined(objs(message['elements']), false);
    if (text) this.utterances.heard(text);
  }

  #onFinal(message: WireObject): void {
    const elements = objs(message['elements']);
    const spoken = elements.filter(({ type }) => type === 'text');
    const endMs = (num(message['end_ts']) ?? 0) * 1000;
    const isRepeated = endMs > 0 && !this.finalized(endMs);
    if (isRepeated || spoken.length === 0) return;
    const times = spoken.map(({ ts: start, end_ts: end, speaker_id: speaker = message['speaker_id'], ...word }) => ({
      ...{ ...word, start, end, speaker },
    }));
    const words = this.words(times, ({ value }) => str(value));
    const hasBlanks = elements.some(({ type }) => type === 'punct');
    const details = { words, confidence: meanConfidence(words) };
    this.utterances.complete(this.#joined(elements, hasBlanks), details);
  }

  /** Finals have their blanks among their elements; partials, and finals as they were heard, have none. */
  #joined(elements: readonly WireObject[], hasBlanks: boolean): string {
    const glue = hasBlanks || unspaced.has(etaLanguage(this.config)) ? '' : ' ';
    return elements
      .flatMap(({ value }) => str(value) ?? [])
      .join(glue)
      .trim();
  }

  #onClose({ code }: SocketClose): ReturnType<NonNullable<SocketSessionOptions['classifyClose']>> {
    if (code in etaFailures) return this.failure(code, etaFailures);
    if (code < firstOwnCode) return 'retry';
    const message = `${this.name}: the service has closed with ${code}`;
    return this.error(message, { code: 'server', status: code });
  }
}
