import type { AudioChunk, AudioFormat } from '../../audio/types.ts';
import { encodeBase64 } from '../../core/base64.ts';
import { configProblem } from '../../core/config-rule.ts';
import { num, obj, objs, oncePerKind, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import type { AuthType, SocketCredentials } from '../../core/remote-provider.ts';
import type {
  SocketClose,
  SocketCloseOptions,
  SocketRequest,
  SocketSessionOptions,
} from '../../transport/socket-session.ts';
import { Endpointer } from './endpointer.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import {
  thetaConflict,
  thetaDetects,
  thetaFailures,
  thetaRules,
  thetaSession,
  type ThetaRealtimeSTTOptions,
  type ThetaTurnDetection,
} from './theta-realtime-stt-settings.ts';

/** A model of {@link ThetaRealtimeSTT}; others pass through. */
export type ThetaRealtimeSTTModel =
  'gpt-4o-mini-transcribe' | 'gpt-4o-transcribe' | 'whisper-1' | 'gpt-realtime-whisper' | (string & {});

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

/** What was said between two ends of utterances. */
interface Item {
  readonly id: string;
  text: string;
  /** Where it ends, in milliseconds of the connection; `undefined` while nobody knows. */
  endMs: number | undefined;
  /** Its last word; `undefined` when there is none. */
  done: { readonly message: WireObject | undefined } | undefined;
}

/** Utterances that the service may work on at the same time; older ones are given up. */
const maxItems = 64;
/** Utterances that wait for the words of one before them. */
const maxWaiting = 2;
/** Silence that ends an utterance where the client has to say so, in milliseconds. */
const localSilenceMs = 500;
/** The name of the settings, for errors about them. */
const settingsId = 'settings';
/** Close codes: the request is refused, the credential is refused. */
const [refusedCode, credentialCode] = [4_000, 3_000];

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
  protected override readonly gapMs: number = 500;
  // Nothing comes while one speaks.
  protected override readonly silenceTimeoutMs: number = 60_000;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    'input_audio_buffer.speech_started': () => this.#onVoice(true),
    'input_audio_buffer.speech_stopped': (message) => this.#onVoice(false, message),
    'input_audio_buffer.committed': (message) => this.#onCommitted(message),
    'conversation.item.input_audio_transcription.delta': (message) => this.#onDelta(message),
    'conversation.item.input_audio_transcription.completed': (message) => this.#onDone(message, message),
    'conversation.item.input_audio_transcription.failed': (message) => this.#onFailed(message),
    error: (message) => this.#onError(obj(message['error']) ?? {}),
  };

  /** What is being transcribed, in the order in which it was said. */
  #items: Item[] = [];
  #finished: string[] = [];
  /** Moments of the connection up to which the client has ended utterances. */
  #commits: number[] = [];
  #endpointer: Endpointer | undefined;
  #hasVoice: boolean = false;
  /** Whether the service has taken the last utterance of the session. */
  #isOver: boolean = false;
  readonly #warn = oncePerKind((reason) => {
    this.report(this.error(`${this.name}: the service reports ${reason}`, { code: 'server', recoverable: true }));
  });

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

  protected override async request(): Promise<SocketRequest> {
    const url = this.resolveSocketUrl('/realtime', { intent: 'transcription' });
    return { url, ...(await this.resolveSocketCredentials()) };
  }

  /** A bearer; in browsers the subprotocols that the service knows. */
  override async resolveSocketCredentials(): Promise<SocketCredentials> {
    if (this.isProxyMode) return {};
    const key = await this.resolveApiKey();
    const { organizationId, projectId } = this.config;
    return {
      headers: {
        Authorization: `Bearer ${key}`,
        ...(organizationId && { 'OpenAI-Organization': organizationId }),
        ...(projectId && { 'OpenAI-Project': projectId }),
      },
      protocols: [
        ...['realtime', `openai-insecure-api-key.${key}`],
        ...(organizationId ? [`openai-organization.${organizationId}`] : []),
        ...(projectId ? [`openai-project.${projectId}`] : []),
      ],
    };
  }

  protected override farewell(): Pick<SocketCloseOptions, 'farewell' | 'until'> {
    this.#isOver = false;
    this.#commits.push(this.sentMs);
    return {
      farewell: ['{"type":"input_audio_buffer.commit"}'],
      // Base classes hear a message before this does.
      until: () => this.#isOver && this.#items.length === 0,
    };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      opening: () => [JSON.stringify(this.#settings())],
      // What comes earlier is judged by other settings.
      isReady: (data) => parseJsonObject(data)?.['type'] === 'session.updated',
      classifyClose: (close) => this.#onClose(close),
      errorOf: ({ reason }) =>
        reason === 'insufficient_quota' ? { code: 'quota', recoverable: false, reason } : undefined,
    };
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, thetaRules) ?? thetaConflict(this.config);
  }

  protected override applyLive(changed: Partial<ThetaRealtimeSTTConfig>): boolean {
    if (['proxyUrl', 'endpoint', 'organizationId', 'projectId'].some((key) => key in changed)) return false;
    this.#endpointer = undefined;
    return this.say(this.#settings());
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
    this.#items = [];
    this.#commits = [];
    this.#finished = [];
    this.#hasVoice = false;
  }

  protected override onEnd(): void {
    for (const item of this.#items.splice(0)) this.#complete(item, item.done?.message);
  }

  #settings(): WireObject {
    return { type: 'session.update', event_id: settingsId, session: thetaSession(this.config, this.format.encoding) };
  }

  #onVoice(hasVoice: boolean, { item_id: id, audio_end_ms: endMs }: WireObject = {}): void {
    this.#hasVoice = hasVoice;
    if (hasVoice) this.utterances.started();
    else {
      this.utterances.ended();
      this.#item(id).endMs = num(endMs);
    }
  }

  #onCommitted({ item_id: id }: WireObject): void {
    this.#isOver = true;
    const item = this.#item(id);
    item.endMs ??= this.#commits.shift();
  }

  #onDelta({ item_id: id, delta }: WireObject): void {
    const item = this.#item(id);
    item.text += str(delta) ?? '';
    if (item !== this.#items[0] || item.text.trim() === '') return;
    if (!thetaDetects(this.config)) this.utterances.started();
    this.utterances.result('interim', item.text.trim());
  }

  /** An utterance is over; those that were said before it come first. */
  #onDone({ item_id: id }: WireObject, message: WireObject | undefined): void {
    this.#item(id).done = { message };
    // One that never ends must not hold up all that follow.
    const isLate = this.#items.filter((item) => item.done).length > maxWaiting;
    for (let [first] = this.#items; first && (first.done || isLate); [first] = this.#items) {
      this.#items.shift();
      this.#finished = [first.id, ...this.#finished].slice(0, maxItems);
      this.#complete(first, first.done?.message);
    }
  }

  #onFailed(message: WireObject): void {
    this.#warn(`an utterance that it cannot transcribe (${wordOf(obj(message['error'])?.['code'])})`);
    this.#onDone(message, undefined);
  }

  #complete({ endMs, text }: Item, message: WireObject | undefined): void {
    const said = (str(message?.['transcript']) ?? text).trim();
    if (!thetaDetects(this.config)) this.utterances.ended();
    if (said) {
      const [language] = objs(message?.['languages']);
      this.utterances.result('complete', said, {
        confidence: confidenceOf(objs(message?.['logprobs'])),
        language: str(language?.['code']),
      });
    }
    if (endMs !== undefined) this.finalized(endMs);
  }

  #onError(error: WireObject): void {
    const kind = [str(error['code']), str(error['type'])].find((each) => each && Object.hasOwn(thetaFailures, each));
    if (error['code'] === 'input_audio_buffer_commit_empty') {
      this.#isOver = true;
      this.#commits.shift();
    } else if (kind !== undefined && (kind !== 'invalid_request_error' || error['event_id'] === settingsId)) {
      this.renew(this.failure(kind, thetaFailures, str(error['message'])));
    } else this.#warn(wordOf(error['code'] ?? error['type']));
  }

  #onClose({ code, reason }: SocketClose): ReturnType<NonNullable<SocketSessionOptions['classifyClose']>> {
    if (code === credentialCode) return this.failure('invalid_api_key', thetaFailures);
    if (code !== refusedCode) return 'retry';
    const kind = reason.split('.').findLast((each) => Object.hasOwn(thetaFailures, each)) ?? 'invalid_request_error';
    return this.failure(kind, thetaFailures);
  }

  /** An utterance by its name; a new one is the last. */
  #item(id: unknown): Item {
    const name = str(id) ?? '';
    const known = this.#items.find((item) => item.id === name);
    const item: Item = known ?? { id: name, text: '', endMs: undefined, done: undefined };
    // A late word of what is over changes nothing.
    if (!known && name !== '' && !this.#finished.includes(name)) this.#items = [...this.#items, item].slice(-maxItems);
    return item;
  }
}

/** The mean probability of tokens; `undefined` without any. */
function confidenceOf(logprobs: readonly WireObject[]): number | undefined {
  const known = logprobs.flatMap(({ logprob }) => num(logprob) ?? []);
  if (known.length === 0) return undefined;
  return Math.min(1, Math.exp(known.reduce((sum, each) => sum + each, 0) / known.length));
}

/** A word of the service's, where it is one. */
function wordOf(value: unknown): string {
  return typeof value === 'string' && /^[\w.-]{1,64}$/.test(value) ? value : 'an error';
}
