import { defer, type Observable, type ObservableInput } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { configProblem } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { RemoteProvider, type AuthType } from '../../core/remote-provider.ts';
import type { ProviderRole, SpokenWord } from '../../core/roles.ts';
import { refusal, type HttpErrorOf } from '../../transport/http-error.ts';
import { isAudible, SynthesisOutputs } from './synthesis-outputs.ts';
import { rawFormat, type SynthesisEvent } from './utterance.ts';
import type { RemoteVoice, TTSCallOptions, TTSConfig, VoiceService, WireErrors } from './voice-service.ts';

/**
 * Shared by all text-to-speech services (SPEC.md), whatever their transport.
 *
 * @typeParam C - The provider's configuration.
 */
export abstract class RemoteTTS<C extends TTSConfig> extends RemoteProvider<C> implements RemoteVoice {
  override readonly name: string;
  override readonly roles: readonly ProviderRole[] = ['tts'];

  protected override readonly defaultAuthType: AuthType;

  /** Receives every chunk of synthesized audio; set by {@link RemoteTTS.onAudio}. */
  protected audioCallback: ((chunk: AudioChunk) => void) | undefined = undefined;
  /** Receives the format of every synthesis; set by {@link RemoteTTS.onMetadata}. */
  protected metadataCallback: ((metadata: AudioMetadata) => void) | undefined = undefined;

  /** Creates the wire's errors. */
  protected readonly errors: WireErrors;
  /** What the service's error responses mean beyond their status. */
  protected readonly errorOf: HttpErrorOf = (failure) => this.#service.errorOf?.(failure, this.config);
  /** Publishes syntheses. */
  protected readonly outputs: SynthesisOutputs;
  readonly #service: VoiceService<C>;

  constructor(service: VoiceService<C>, config: C, logger?: Logger) {
    super(config, logger);
    this.name = service.name;
    this.defaultAuthType = service.authType ?? 'token';
    this.#service = service;
    this.errors = {
      error: (text, options) => this.error(`${this.name}: ${text}`, options),
      refusal: (message, facts) =>
        refusal({ ...facts, text: JSON.stringify(message) }, { ...this.transportOptions, errorOf: this.errorOf }),
    };
    this.outputs = new SynthesisOutputs({
      provider: service.name,
      callbacks: () => ({ onAudio: this.audioCallback, onMetadata: this.metadataCallback }),
      report: (error) => this.report(error),
    });
  }

  /** All synthesized audio. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.outputs.audio$;
  }

  /** The format of each synthesis, before its first audio. Hot. */
  get metadata$(): Observable<AudioMetadata> {
    return this.outputs.metadata$;
  }

  /**
   * When each word sounds: as reported by the service, else estimated from the length of the audio and marked so. Hot.
   */
  get words$(): Observable<SpokenWord> {
    return this.outputs.words$;
  }

  /** Longest text of one message or request, in characters; longer ones are split at sentences. */
  get maxTextLength(): number {
    return this.#service.maxTextLength?.(this.config) ?? Infinity;
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
    return isAudible(chunk);
  }

  /** A shallow copy of the configuration, new each time. */
  getConfig(): C {
    return { ...this.config };
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
      return this.outputs.speak(text$, (pieces$) => ({
        events$: this.synthesis(pieces$),
        format: this.#service.format(this.config),
        ended$: this.aborted$('was disposed while speaking'),
      }));
    });
  }

  abstract processChunk(text: string): void;
  abstract finalize(options?: TTSCallOptions): Promise<void>;
  abstract cancel(): void;
  abstract warm(): void;

  /** Synthesizes pieces of text: subscribing starts it, unsubscribing cancels it. */
  protected abstract synthesis(pieces$: Observable<string>): Observable<SynthesisEvent>;

  protected override configProblem(): string | undefined {
    return this.#service.problem?.(this.config) ?? configProblem(this.config, this.#service.rules(this.config));
  }

  protected override onInitialize(_signal: AbortSignal): Promise<void> | void {
    const service = this.#service;
    this.assertAuth();
    this.assertConfig();
    // Report a bad address now, not at the first sentence.
    this.resolveUrl('');
    this.warnOfRetired(service.model?.(this.config), service.retired ?? {});
    for (const each of service.advice?.(this.config) ?? []) this.logger.warn(`${this.name}: ${each}`);
  }
}
