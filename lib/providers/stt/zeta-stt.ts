import type { AudioFormat } from '../../audio/types.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import { num, obj, str, wireWord, type WireObject } from '../../core/guard.ts';
import type { SocketCredentials } from '../../core/remote-provider.ts';
import type { SocketCloseOptions, SocketData, SocketSessionOptions } from '../../transport/socket-session.ts';
import { formatsOf } from './streaming/named-encodings.ts';
import { StreamingSTT } from './streaming-stt.ts';
import { meanConfidence, type ResultKind } from './streaming/utterances.ts';
import { itemsOf, textOf, type Item } from './zeta-stt-items.ts';
import {
  isLiveChange,
  zetaConflict,
  zetaEncodings,
  zetaFailures,
  zetaLiveConfig,
  zetaRules,
  zetaStart,
  type ZetaSTTOptions,
  type ZetaVocabulary,
} from './zeta-stt-settings.ts';

/** Configuration of {@link ZetaSTT}. `language` is ISO 639-1 or a pack such as `cmn_en`; default: `en`. */
export interface ZetaSTTConfig extends ZetaSTTOptions {
  /** Default: that of the audio. */
  readonly audioFormat?: 'pcm_s16le' | 'pcm_f32le' | 'mulaw';
  /** Hz; below 12,000 the service takes its telephony model. Default: that of the audio. */
  readonly sampleRate?: number;
  /** How thoroughly the service hears. Default: the service's, `standard`. */
  readonly operatingPoint?: 'standard' | 'enhanced';
  /** Seconds of silence that end an utterance, 0 to 2; with 0 only `forceEndOfUtterance()` does. Default: 0.75. */
  readonly endOfUtteranceSilenceTrigger?: number;
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly enableSpeakerDiarization?: boolean;
  /** Words to listen for, at most 1,000. */
  readonly additionalVocab?: readonly (string | ZetaVocabulary)[];
}

/** Words and marks after which an utterance counts as complete, whatever the service says: some minutes of speech. */
const maxItems = 2_048;

/**
 * Speechmatics real-time transcription, API v2, at `wss://eu.rt.speechmatics.com/v2`: over 50 languages, word times,
 * speakers. See https://docs.speechmatics.com/api-ref/realtime-transcription-websocket.
 */
export class ZetaSTT extends StreamingSTT<ZetaSTTConfig> {
  readonly name = 'ZetaSTT';
  protected readonly defaultBaseUrl = 'https://eu.rt.speechmatics.com';
  protected override readonly path: string = '/v2';
  protected override readonly rules: Readonly<Record<string, ConfigRule>> = zetaRules;
  protected override readonly catchUpSpeed: number = 2;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    RecognitionStarted: (message) => this.#onStarted(message),
    AudioAdded: () => undefined,
    AddPartialTranscript: (message) => this.#onPartial(message),
    AddTranscript: (message) => this.#onFinal(message),
    EndOfUtterance: ({ forced }) => this.#complete(forced === true),
    EndOfTranscript: () => this.#complete(),
    Warning: ({ type }) => this.reportOnce(`the service warns (${wireWord(type)})`),
    Error: ({ type, reason }) => this.renew(this.failure(wireWord(type), zetaFailures, str(reason))),
  };

  #delimiter: string = ' ';
  #finals: Item[] = [];
  #partial: readonly Item[] = [];
  /** Frames that this connection has been sent. */
  #frames: number = 0;

  /** Linear16, linear32 and mulaw, or the configured one, at the configured or at any sample rate. */
  get accepts(): readonly AudioFormat[] {
    return formatsOf(zetaEncodings, this.config);
  }

  /** Ends the speaker's utterance at the end of the audio so far: its complete result follows. */
  forceEndOfUtterance(): void {
    const endMs = this.audioEndMs;
    this.sayAfterAudio({
      message: 'ForceEndOfUtterance',
      ...(endMs !== undefined && { timestamp: Math.round(endMs) / 1_000 }),
    });
  }

  /** As {@link forceEndOfUtterance}. */
  finalize(): void {
    this.forceEndOfUtterance();
  }

  /** The key as header; in browsers, a temporary key in the query. */
  protected override socketCredentials(key: string): SocketCredentials {
    return { headers: { Authorization: `Bearer ${key}` }, query: { jwt: key } };
  }

  protected override farewell(): Pick<SocketCloseOptions, 'farewell' | 'until'> {
    return {
      farewell: () => [JSON.stringify({ message: 'EndOfStream', last_seq_no: this.#frames })],
      until: this.isOf('EndOfTranscript'),
    };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      opening: () => [JSON.stringify(zetaStart(this.config, this.format))],
      isReady: this.isOf('RecognitionStarted'),
      classifyClose: ({ code }) => (code in zetaFailures ? this.failure(code, zetaFailures) : 'retry'),
    };
  }

  protected override configProblem(): string | undefined {
    return zetaConflict(this.config);
  }

  protected override typeOf(message: WireObject): string | undefined {
    return str(message['message']);
  }

  protected override encodeAudio(frame: Uint8Array<ArrayBuffer>): SocketData {
    this.#frames += 1;
    return frame;
  }

  protected override applyLive(changed: Partial<ZetaSTTConfig>): boolean {
    if (!isLiveChange(changed)) return false;
    this.say({ message: 'SetRecognitionConfig', transcription_config: zetaLiveConfig(this.config) });
    return true;
  }

  protected override onConnection(): void {
    this.#frames = 0;
    this.#partial = [];
  }

  protected override onEnd(): void {
    this.#finals.push(...this.#partial);
    this.#complete();
  }

  #onStarted(message: WireObject): void {
    this.#delimiter = str(obj(message['language_pack_info'])?.['word_delimiter']) ?? ' ';
    this.logger.debug(`${this.name}: session ${str(message['id']) ?? 'without an id'}`);
  }

  #onPartial(message: WireObject): void {
    const items = this.#itemsOf(message);
    const hasChanged = items.length > 0 || this.#partial.length > 0;
    this.#partial = items;
    if (hasChanged) this.#publish('interim', [...this.#finals, ...items]);
  }

  #onFinal(message: WireObject): void {
    const items = this.#itemsOf(message);
    this.#partial = [];
    this.#finals.push(...items);
    const endSeconds = num(obj(message['metadata'])?.['end_time']);
    if (endSeconds !== undefined) this.finalized(endSeconds * 1_000);
    if (this.#finals.length >= maxItems) this.#complete();
    else if (items.length > 0) this.#publish('interim', this.#finals);
  }

  #itemsOf(message: WireObject): Item[] {
    return itemsOf(message, (word) => this.words([word], ({ content }) => str(content))[0]);
  }

  #complete(evenEmpty: boolean = false): void {
    const items = this.#finals;
    this.#finals = [];
    this.#partial = [];
    if (items.length > 0 || evenEmpty) this.utterances.ended();
    this.#publish('complete', items, evenEmpty);
  }

  #publish(kind: ResultKind, items: readonly Item[], evenEmpty: boolean = false): void {
    const words = items.flatMap(({ word }) => word ?? []);
    // A mark alone belongs to the utterance before.
    if (words.length === 0 && !evenEmpty) return;
    if (kind === 'interim') this.utterances.started();
    this.utterances.result(kind, textOf(items, this.#delimiter), {
      words,
      // That of words which may change has no meaning.
      ...(kind === 'complete' && { confidence: meanConfidence(words) }),
      language: items.find(({ language }) => language !== undefined)?.language,
    });
  }
}
