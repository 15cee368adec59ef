import type { Observable } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { VoiceError, VoiceErrorOptions } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import type { AuthType, RemoteConfig } from '../../core/remote-provider.ts';
import type { ProviderType, SpokenWord, TTSProvider } from '../../core/roles.ts';
import type { HttpErrorFacts, HttpFailure } from '../../transport/http-error.ts';

/** Configuration keys of every text-to-speech provider. */
export interface TTSConfig extends RemoteConfig {
  /** Longest wait for the first audio of a request, in milliseconds; then it is tried once more. Default: 5,000. */
  readonly firstAudioTimeoutMs?: number;
  /** Longest silence of the service in the middle of audio, in milliseconds. Default: 5,000. */
  readonly idleTimeoutMs?: number;
}

/** Options of calls that wait for a service. */
export interface TTSCallOptions {
  /** Aborts the call, down to the service. */
  readonly signal?: AbortSignal;
}

/** What every class of a text-to-speech service gives beyond the contract (SPEC.md). */
export interface RemoteVoice extends TTSProvider, AsyncDisposable {
  readonly errors$: Observable<VoiceError>;
  readonly type: ProviderType;
  readonly config: Readonly<TTSConfig>;
  getMetadata(): AudioMetadata | undefined;
  readonly words$: Observable<SpokenWord>;
  readonly maxTextLength: number;
  /** Delivers all synthesized audio to one callback; `undefined` ends that. */
  onAudio(callback: ((chunk: AudioChunk) => void) | undefined): void;
  /** Delivers the format of each synthesis to one callback; `undefined` ends that. */
  onMetadata(callback: ((metadata: AudioMetadata) => void) | undefined): void;
  /** Whether a chunk holds audio. */
  isAudioReady(chunk: AudioChunk): boolean;
  /** A copy of the configuration. */
  getConfig(): TTSConfig;
  /** Merges keys over the configuration. */
  updateConfig(partial: object): void;
  /** Adds text to what {@link RemoteVoice.finalize} speaks. */
  processChunk(text: string): void;
  /** Speaks the text so far; resolves when its audio has been delivered. */
  finalize(options?: TTSCallOptions): Promise<void>;
  /** Drops the text so far, and ends what is being spoken of it. */
  cancel(): void;
  warm(): void;
}

/** What every wire says of its text-to-speech service. */
export interface VoiceService<C> {
  /** The provider's class name. */
  readonly name: string;
  /** Scheme, host and fixed path prefix; `undefined` where only the user knows it. */
  readonly baseUrl: string | { of(config: C): string | undefined }['of'];
  /** How the credential is presented, unless the configuration says. Default: `token`. */
  readonly authType?: AuthType;
  /** What the configuration may hold. */
  rules(config: C): ConfigRules;
  /** What else is wrong with a configuration, as a sentence. */
  problem?(config: C): string | undefined;
  /** What is worth a warning in a configuration that works, as sentences. */
  advice?(config: C): readonly string[];
  /** The model that speaks. */
  model?(config: C): string | undefined;
  /** Models that the service has retired, and what to take in their place. */
  readonly retired?: Readonly<Record<string, string>>;
  /** The format of the audio as it comes; a WAV header in it has the last word. */
  format(config: C): AudioMetadata;
  /** Most characters of one message or request; longer texts are cut at sentences. Default: no limit. */
  maxTextLength?(config: C): number;
  /** What the service's refusals mean beyond their status. */
  errorOf?(failure: HttpFailure, config: C): HttpErrorFacts | undefined;
}

/** Makes the errors of a wire. */
export interface WireErrors {
  /** An error of the provider; its name is put before the text. */
  readonly error: (text: string, options: VoiceErrorOptions) => VoiceError;
  /** The error that a message is, read as the body of a refusal. */
  readonly refusal: (message: WireObject, facts?: Partial<Pick<HttpFailure, 'status' | 'headers'>>) => VoiceError;
}
