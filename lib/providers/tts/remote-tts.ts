import { defer, EMPTY, Subject, type Observable, type ObservableInput } from 'rxjs';
import { rawFormat } from '../../audio/accepted.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { RemoteProvider, type AuthType, type SocketCredentials } from '../../core/remote-provider.ts';
import { remoteRules } from '../../core/remote-rules.ts';
import type { ConnectionEvent, ProviderRole, ProviderType, SpokenWord } from '../../core/roles.ts';
import type { Delivery, SynthesisOutputs, SynthesisStreams } from './synthesis-outputs.ts';
import type {
  RemoteVoice,
  Speaker,
  TTSCallOptions,
  TTSConfig,
  VoiceHost,
  VoiceRunner,
  VoiceTransport,
} from './voice-service.ts';

const voiceRules: Readonly<Record<keyof TTSConfig, ConfigRule>> = {
  ...remoteRules,
  firstAudioTimeoutMs: {},
  idleTimeoutMs: {},
};

/**
 * A text-to-speech service: `overSocket()` or `byRequests()` runs its wire.
 *
 * @typeParam C - The provider's configuration.
 * @typeParam V - What speaks.
 */
export abstract class RemoteTTS<C extends TTSConfig, V extends Speaker = Speaker>
  extends RemoteProvider<C>
  implements RemoteVoice<C>
{
  override readonly name: string;
  override readonly roles: readonly ProviderRole[] = ['tts'];
  override readonly type: ProviderType;

  protected override readonly defaultAuthType: AuthType;

  /** Receives every chunk of synthesized audio; set by `onAudio()`. */
  protected audioCallback: ((chunk: AudioChunk) => void) | undefined = undefined;
  /** Receives the format of every synthesis; set by `onMetadata()`. */
  protected metadataCallback: ((metadata: AudioMetadata) => void) | undefined = undefined;

  /** What speaks. */
  protected readonly speaker: V;
  readonly #service: VoiceRunner<C, V>['service'];
  readonly #streams: SynthesisStreams = { audio$: new Subject(), metadata$: new Subject(), words$: new Subject() };
  /** What fills them: from `initialize()` on. */
  #outputs: SynthesisOutputs | undefined;
  readonly #runner: Pick<VoiceRunner<C, V>, 'settle' | 'rules'>;
  /** What the output accepts, once a pipeline has told. */
  #accepts: readonly AudioFormat[] | undefined;
  readonly #ended$: Observable<never> = this.aborted$('was disposed while speaking');

  constructor(runner: VoiceRunner<C, V>, config: C, logger?: Logger) {
    super(config, logger);
    this.#runner = runner;
    const { service, type, speaker } = runner;
    this.name = service.name;
    this.type = type;
    this.defaultAuthType = service.authType ?? 'token';
    this.#service = service;
    this.speaker = speaker(this.#host());
  }

  /** The current configuration; a format that was left open, or `auto`, is the one in use. */
  override get config(): Readonly<C> {
    return this.#runner.settle?.(super.config, this.#accepts) ?? super.config;
  }

  /** All synthesized audio. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#streams.audio$);
  }

  /** The format of each synthesis, before its first audio. Hot. */
  get metadata$(): Observable<AudioMetadata> {
    return this.handOut('metadata$', this.#streams.metadata$);
  }

  /**
   * When each word sounds: as reported by the service, else estimated from the length of the audio and marked so. Hot.
   */
  get words$(): Observable<SpokenWord> {
    return this.handOut('words$', this.#streams.words$);
  }

  /** State of the connection; requests never emit it. Hot; replays the latest value. */
  get connection$(): Observable<ConnectionEvent> {
    return this.handOut('connection$', this.speaker.connection$);
  }

  /** Longest text of one message or request, in characters; longer ones are split at sentences. */
  get maxTextLength(): number {
    return this.#service.maxTextLength?.(this.config) ?? Infinity;
  }

  /** Whether the service reads numbers, dates, money and signs out itself, or in which languages (BCP 47). */
  get normalizesText(): boolean | readonly string[] {
    return this.#service.normalizesText?.(this.config) ?? false;
  }

  protected override get defaultBaseUrl(): string | undefined {
    const { baseUrl } = this.#service;
    return typeof baseUrl === 'function' ? baseUrl(this.config) : baseUrl;
  }

  /** Sets the callback for all synthesized audio (`audio$`), replacing any earlier one. */
  onAudio(callback: ((chunk: AudioChunk) => void) | undefined): void {
    this.audioCallback = callback;
  }

  /** Sets the callback for the format of each synthesis (`metadata$`), replacing any earlier one. */
  onMetadata(callback: ((metadata: AudioMetadata) => void) | undefined): void {
    this.metadataCallback = callback;
  }

  /** Whether a chunk contains audio; empty ones are never delivered. */
  isAudioReady(chunk: AudioChunk): boolean {
    return chunk.data.byteLength > 0;
  }

  /** A shallow copy of the configuration, new each time. */
  getConfig(): C {
    return { ...this.config };
  }

  /**
   * Tells which formats the output accepts: a voice whose format is not configured, or `auto`, asks for samples from now
   * on unless the output takes its usual one. A pipeline calls it.
   */
  configureOutput(accepts: readonly AudioFormat[]): void {
    this.#accepts = accepts;
  }

  /** The format that `speak()` produces. */
  getMetadata(): AudioMetadata {
    return rawFormat(this.#service.format(this.config));
  }

  /**
   * Speaks one text. Every chunk has the id of its synthesis (`utteranceId`), the first one its format. Cold:
   * subscribing starts it, unsubscribing cancels it at the service; late audio of a cancelled one is dropped.
   */
  speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    return defer(() => {
      this.assertReady('speak');
      // `initialize()` has set it.
      const spoken$ = this.#outputs?.speak(text$, (pieces$) =>
        this.#delivery((options) => this.speaker.synthesis(pieces$, options)),
      );
      return spoken$ ?? EMPTY;
    });
  }

  /**
   * Returns the complete audio of a text, in the configured format. A text too long for one message or request is sent
   * in parts.
   *
   * @throws VoiceError when the provider is not initialized, when the synthesis fails, when `signal` aborts it, and when
   * a text of several requests is requested in a format whose files cannot be joined (opus, flac).
   */
  async synthesize(text: string, options: TTSCallOptions = {}): Promise<Blob> {
    this.assertReady('synthesize');
    return this.speaker.synthesize(text, options);
  }

  /**
   * Adds text for `finalize()` to speak on `audio$`. A service on a socket starts at once; one by requests
   * waits for the whole text.
   */
  processChunk(text: string): void {
    this.speaker.processChunk(text);
  }

  /**
   * Ends the text of `processChunk()`; resolves when its audio was delivered on `audio$`, or on
   * `cancel()`. The text is cleared, even after a failure. Concurrent calls run one after the other.
   *
   * @throws VoiceError when the provider is not initialized, when the synthesis fails, and when `signal` aborts it.
   */
  finalize(options: TTSCallOptions = {}): Promise<void> {
    return this.speaker.finalize(options);
  }

  /** Drops the text of `processChunk()` and cancels it at the service; `finalize()` then resolves. */
  cancel(): void {
    this.speaker.cancel();
  }

  /** Opens a connection for the next text unless one is open, so that it need not wait. */
  warm(): void {
    this.speaker.warm();
  }

  protected override configProblem(): string | undefined {
    const rules = { ...voiceRules, ...this.#runner.rules, ...this.#service.rules(this.config) };
    return configProblem(this.config, rules, this.advise) ?? this.#service.problem?.(this.config);
  }

  protected override socketCredentials(key: string): SocketCredentials {
    return this.#service.credentials?.(key, this.config) ?? super.socketCredentials(key);
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    const service = this.#service;
    // Before the credential, whose key may be misspelt.
    this.assertConfig();
    this.assertAuth();
    // Report a bad address now, not at the first sentence.
    this.resolveUrl('');
    this.#tellOfModel();
    for (const each of service.advice?.(this.config) ?? []) this.logger.warn(`${this.name}: ${each}`);
    // Both load at once.
    const [outputs, speaker] = await Promise.allSettled([this.#loadOutputs(), this.speaker.start(signal)]);
    if (speaker.status === 'rejected') throw speaker.reason;
    if (outputs.status === 'fulfilled') return;
    await this.speaker.stop();
    throw outputs.reason;
  }

  protected override onConfigUpdate(): void {
    if (!this.initialized) return;
    this.#tellOfModel();
    this.speaker.retune?.();
  }

  protected override onDispose(): Promise<void> | void {
    return this.speaker.stop();
  }

  async #loadOutputs(): Promise<void> {
    const code = new OnDemand(this.name, () => import('./synthesis-outputs.ts'));
    const { SynthesisOutputs } = await code.load();
    this.#outputs ??= new SynthesisOutputs({
      provider: this.name,
      streams: this.#streams,
      callbacks: () => ({ onAudio: this.audioCallback, onMetadata: this.metadataCallback }),
      report: (error) => this.report(error),
    });
  }

  #tellOfModel(): void {
    const service = this.#service;
    this.reportRetiring({ retiring: service.retiring }, service.model?.(this.config));
  }

  /** A synthesis as configured now. */
  #delivery(utterance$: Delivery['utterance$']): Omit<Delivery, 'text'> {
    return { utterance$, format: this.#service.format(this.config), ended$: this.#ended$ };
  }

  #host(): VoiceHost<C> {
    const transport = (): VoiceTransport => ({
      errorOf: (failure) => this.#service.errorOf?.(failure, this.config),
      ...this.transportOptions,
    });
    return {
      provider: this,
      transport,
      ended$: this.#ended$,
      error: (text, options) => this.error(`${this.name}: ${text}`, options),
      url: (path, query) => this.resolveUrl(path, query),
      socketUrl: (path, query) => this.resolveSocketUrl(path, query),
      assertReady: (method) => this.assertReady(method),
      deliver: (utterance$, text) =>
        this.#outputs?.deliver({ ...this.#delivery(utterance$), text: () => text }) ?? EMPTY,
      logger: () => this.logger,
      report: (error) => this.report(error),
    } satisfies VoiceHost<C>;
  }
}
