import type { AudioChunk, AudioFormat } from '../../audio/types.ts';
import { encodeBase64 } from '../../core/base64.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import { num, obj, str, wireWord, type WireObject } from '../../core/guard.ts';
import type { AuthType, Query, SocketCredentials } from '../../core/remote-provider.ts';
import type { SocketCloseOptions, SocketSessionOptions } from '../../transport/socket-session.ts';
import { Endpointer } from './streaming/endpointer.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import { thetaDetails, ThetaItems, type ThetaItem } from './theta-realtime-items.ts';
import {
  thetaCloseKind,
  thetaConflict,
  thetaCredentials,
  thetaDetects,
  thetaErrorKind,
  thetaFailures,
  thetaRules,
  thetaUpdate,
  type ThetaRealtimeSTTModel,
  type ThetaRealtimeSTTOptions,
  type ThetaTurnDetection,
} from './theta-realtime-stt-settings.ts';

/** Configuration of {@link ThetaRealtimeSTT}. `language` is ISO 639-1, as a hint. */
export interface ThetaRealtimeSTTConfig extends StreamingSTTConfig, ThetaRealtimeSTTOptions {
  /** Default: `gpt-4o-mini-transcribe`. */
  readonly model?: ThetaRealtimeSTTModel;
  /** What the talk is about, and words to expect; not for `gpt-realtime-whisper`. */
  readonly prompt?: string;
  /** How the service finds the end of an utterance; `null` leaves it to {@link ThetaRealtimeSTT.finalize}. */
  readonly turnDetection?: ThetaTurnDetection | null;
  /** For a microphone close to the mouth, or one across the room. Default: none. */
  readonly noiseReduction?: 'near_field' | 'far_field';
}

/** Silence that ends an utterance where the client has to say so, in milliseconds. */
const localSilenceMs = 500;

/**
 * OpenAI Realtime API, transcription sessions, at `wss://api.openai.com/v1/realtime?intent=transcription`: voice activity,
 * and the words of each utterance; no word times. See https://platform.openai.com/docs/guides/realtime-transcription.
 */
export class ThetaRealtimeSTT extends StreamingSTT<ThetaRealtimeSTTConfig> {
  readonly name = 'ThetaRealtimeSTT';
  readonly accepts: readonly AudioFormat[] = [
    { encoding: 'linear16', sampleRates: [24_000] },
    { encoding: 'mulaw', sampleRates: [8_000] },
    { encoding: 'alaw', sampleRates: [8_000] },
  ];
  override readonly reportsSpeechEnd: boolean = true;
  protected readonly defaultBaseUrl = 'https://api.openai.com/v1';
  protected override readonly defaultAuthType: AuthType = 'bearer';
  protected override readonly path: string = '/realtime';
  protected override readonly rules: Readonly<Record<string, ConfigRule>> = thetaRules;
  protected override readonly gapMs: number = 500;
  // Nothing comes while one speaks.
  protected override readonly silenceTimeoutMs: number = 60_000;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    'input_audio_buffer.speech_started': () => this.#onVoice(true),
    'input_audio_buffer.speech_stopped': (message) => this.#onVoice(false, message),
    'input_audio_buffer.committed': (message) => this.#onCommitted(message),
    'conversation.item.input_audio_transcription.delta': (message) => this.#onDelta(message),
    'conversation.item.input_audio_transcription.completed': (message) => this.#onDone(message['item_id'], message),
    'conversation.item.input_audio_transcription.failed': (message) => this.#onFailed(message),
    error: (message) => this.#onError(obj(message['error']) ?? {}),
  };

  readonly #items = new ThetaItems();
  /** Moments of the connection up to which the client has ended utterances. */
  #commits: number[] = [];
  #endpointer: Endpointer | undefined;
  #hasVoice: boolean = false;
  /** Whether the service has taken the last utterance of the session. */
  #isOver: boolean = false;

  /** Ends the utterance: its result follows. */
  finalize(): void {
    this.#commits.push(this.sentMs);
    this.#endpointer?.reset();
    this.sayAfterAudio({ type: 'input_audio_buffer.commit' });
  }

  override sendAudio(chunk: AudioChunk): void {
    super.sendAudio(chunk);
    if (thetaDetects(this.config) || this.config.turnDetection === null) return;
    this.#endpointer ??= new Endpointer(this.format, this.config.turnDetection?.silenceDurationMs ?? localSilenceMs);
    if (this.#endpointer.push(chunk.data)) this.finalize();
  }

  protected override query(): Query {
    return { intent: 'transcription' };
  }

  protected override socketCredentials(key: string): SocketCredentials {
    return thetaCredentials(key, this.config);
  }

  protected override farewell(): Pick<SocketCloseOptions, 'farewell' | 'until'> {
    this.#isOver = false;
    this.#commits.push(this.sentMs);
    return {
      farewell: ['{"type":"input_audio_buffer.commit"}'],
      // Base classes hear a message before this does.
      until: () => this.#isOver && !this.#items.first,
    };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      opening: () => [JSON.stringify(thetaUpdate(this.config, this.format.encoding))],
      // What comes earlier is judged by other settings.
      isReady: this.isOf('session.updated'),
      classifyClose: (close) => {
        const kind = thetaCloseKind(close);
        return kind === undefined ? 'retry' : this.failure(kind, thetaFailures);
      },
      errorOf: ({ reason }) =>
        reason === 'insufficient_quota' ? { code: 'quota', recoverable: false, reason } : undefined,
    };
  }

  protected override configProblem(): string | undefined {
    return thetaConflict(this.config);
  }

  protected override applyLive(changed: Partial<ThetaRealtimeSTTConfig>): boolean {
    if (['proxyUrl', 'endpoint', 'organizationId', 'projectId'].some((key) => key in changed)) return false;
    this.#endpointer = undefined;
    return this.say(thetaUpdate(this.config, this.format.encoding));
  }

  protected override encodeAudio(frame: Uint8Array<ArrayBuffer>): string {
    return `{"type":"input_audio_buffer.append","audio":"${encodeBase64(frame)}"}`;
  }

  protected override wantsSilence(quietMs: number): boolean {
    // Audio that ends in the middle of a voice has no silence that ends it.
    if (this.#endpointer?.isVoiced && quietMs >= localSilenceMs) this.finalize();
    return this.#hasVoice;
  }

  protected override onConnection(): void {
    this.#items.clear();
    this.#commits = [];
    this.#hasVoice = false;
  }

  protected override onEnd(): void {
    for (const item of this.#items.drain()) this.#complete(item);
  }

  #onVoice(hasVoice: boolean, { item_id: id, audio_end_ms: endMs }: WireObject = {}): void {
    this.#hasVoice = hasVoice;
    if (hasVoice) this.utterances.started();
    else {
      this.utterances.ended();
      this.#items.item(id).endMs = num(endMs);
    }
  }

  #onCommitted({ item_id: id }: WireObject): void {
    this.#isOver = true;
    this.#items.item(id).endMs ??= this.#commits.shift();
  }

  #onDelta({ item_id: id, delta }: WireObject): void {
    const item = this.#items.item(id);
    item.text += str(delta) ?? '';
    if (item !== this.#items.first || item.text.trim() === '') return;
    if (!thetaDetects(this.config)) this.utterances.started();
    this.utterances.result('interim', item.text.trim());
  }

  #onDone(id: unknown, message: WireObject | undefined): void {
    for (const item of this.#items.finish(id, message)) this.#complete(item);
  }

  #onFailed({ item_id: id, error }: WireObject): void {
    this.reportOnce(`the service cannot transcribe an utterance (${wireWord(obj(error)?.['code'])})`);
    this.#onDone(id, undefined);
  }

  #complete({ endMs, text, done }: ThetaItem): void {
    const said = (str(done?.message?.['transcript']) ?? text).trim();
    if (!thetaDetects(this.config)) this.utterances.ended();
    if (said) this.utterances.result('complete', said, thetaDetails(done?.message));
    if (endMs !== undefined) this.finalized(endMs);
  }

  #onError(error: WireObject): void {
    const kind = thetaErrorKind(error);
    if (error['code'] === 'input_audio_buffer_commit_empty') {
      this.#isOver = true;
      this.#commits.shift();
    } else if (kind !== undefined) this.renew(this.failure(kind, thetaFailures, str(error['message'])));
    else this.reportOnce(`the service reports ${wireWord(error['code'] ?? error['type'])}`);
  }
}
