import type { Observable } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { VoiceError, VoiceErrorOptions } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import type { AuthType, RemoteConfig } from '../../core/remote-provider.ts';
import type { ProviderType, SpokenWord, TTSProvider } from '../../core/roles.ts';
import type { HttpErrorFacts, HttpFailure } from '../../transport/http-error.ts';

/** Configuration of every text-to-speech provider. */
export interface TTSConfig extends RemoteConfig {
  /** Longest wait for a request's first audio, in milliseconds; then it is retried once. Default: 5,000. */
  readonly firstAudioTimeoutMs?: number;
  /** Longest silence of the service during audio, in milliseconds. Default: 5,000. */
  readonly idleTimeoutMs?: number;
}

/** Options of calls that wait for a service. */
export interface TTSCallOptions {
  /** Aborts the call, down to the service. */
  readonly signal?: AbortSignal;
}

/** Members of every text-to-speech class beyond the contract (SPEC.md). */
export interface RemoteVoice extends TTSProvider, AsyncDisposable {
  readonly errors$: Observable<VoiceError>;
  readonly type: ProviderType;
  readonly config: Readonly<TTSConfig>;
  getMetadata(): AudioMetadata | undefined;
  readonly words$: Observable<SpokenWord>;
  readonly maxTextLength: number;
  /** Sets the callback for all synthesized audio; `undefined` removes it. */
  onAudio(callback: ((chunk: AudioChunk) => void) | undefined): void;
  /** Sets the callback for the format of each synthesis; `undefined` removes it. */
  onMetadata(callback: ((metadata: AudioMetadata) => void) | undefined): void;
  /** Whether a chunk contains audio. */
  isAudioReady(chunk: AudioChunk): boolean;
  /** A copy of the configuration. */
  getConfig(): TTSConfig;
  /** Merges keys into the configuration. */
  updateConfig(partial: object): void;
  /** Adds text for {@link RemoteVoice.finalize} to speak. */
  processChunk(text: string): void;
  /** Speaks the text so far; resolves when its audio has been delivered. */
  finalize(options?: TTSCallOptions): Promise<void>;
  /** Drops the text so far, and stops speaking it. */
  cancel(): void;
  warm(): void;
}

/** What every wire of a text-to-speech service defines. */
export interface VoiceService<C> {
  /** The provider's class name. */
  readonly name: string;
  /** Scheme, host and fixed path prefix; `undefined` when only the user knows it. */
  readonly baseUrl: string | { of(config: C): string | undefined }['of'];
  /** How the credential is presented, unless configured. Default: `token`. */
  readonly authType?: AuthType;
  /** Rules for the configuration. */
  rules(config: C): ConfigRules;
  /** A conflict that the rules cannot express, as a sentence. */
  problem?(config: C): string | undefined;
  /** Warnings about a configuration that works, as sentences. */
  advice?(config: C): readonly string[];
  /** The model in use. */
  model?(config: C): string | undefined;
  /** Models that the service has retired, and their successors. */
  readonly retired?: Readonly<Record<string, string>>;
  /** The format of the incoming audio; a WAV header in it takes precedence. */
  format(config: C): AudioMetadata;
  /** Most characters per message or request; longer texts are split at sentences. Default: no limit. */
  maxTextLength?(config: C): number;
  /** What the service's error responses mean beyond their status. */
  errorOf?(failure: HttpFailure, config: C): HttpErrorFacts | undefined;
}

/** Creates a wire's errors. */
export interface WireErrors {
  /** An error of the provider, prefixed with its name. */
  readonly error: (text: string, options: VoiceErrorOptions) => VoiceError;
  /** The error in a message, read like the body of an error response. */
  readonly refusal: (message: WireObject, facts?: Partial<Pick<HttpFailure, 'status' | 'headers'>>) => VoiceError;
}
