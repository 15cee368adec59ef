import type { Observable } from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { VoiceError, VoiceErrorOptions } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { RetiringModel } from '../../core/retirement.ts';
import type {
  AuthType,
  Query,
  RemoteConfig,
  RemoteProvider,
  SocketCredentials,
  TransportOptions,
} from '../../core/remote-provider.ts';
import type { ConnectionEvent, ProviderType, SpokenWord, TTSProvider } from '../../core/roles.ts';
import type { HttpErrorFacts, HttpErrorOf, HttpFailure } from '../../transport/http-error.ts';
import type { UtteranceEvent, UtteranceOptions } from './utterance.ts';

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

/** Members of every text-to-speech class beyond the contract of the role. */
export interface RemoteVoice<C extends TTSConfig = TTSConfig> extends TTSProvider, AsyncDisposable {
  readonly errors$: Observable<VoiceError>;
  readonly type: ProviderType;
  readonly config: Readonly<C>;
  getMetadata(): AudioMetadata;
  readonly words$: Observable<SpokenWord>;
  readonly maxTextLength: number;
  /** Sets the callback for all synthesized audio; `undefined` removes it. */
  onAudio(callback: ((chunk: AudioChunk) => void) | undefined): void;
  /** Sets the callback for the format of each synthesis; `undefined` removes it. */
  onMetadata(callback: ((metadata: AudioMetadata) => void) | undefined): void;
  /** Whether a chunk contains audio. */
  isAudioReady(chunk: AudioChunk): boolean;
  /** A copy of the configuration. */
  getConfig(): C;
  /** Merges keys into the configuration. */
  updateConfig(partial: object): void;
  /** Adds text for {@link RemoteVoice.finalize} to speak. */
  processChunk(text: string): void;
  /** Speaks the text so far; resolves when its audio has been delivered. */
  finalize(options?: TTSCallOptions): Promise<void>;
  /** Drops the text so far, and stops speaking it. */
  cancel(): void;
  /** The complete audio of a text, in the configured format. */
  synthesize(text: string, options?: TTSCallOptions): Promise<Blob>;
  warm(): void;
}

/** What is known of a text-to-speech service before anybody speaks with it. */
export interface VoiceService<C> extends VoiceErrors<C> {
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
  /** The model in use. Default: the configured `model`. */
  model?(config: C): string | undefined;
  /** The models that the service retires. */
  readonly retiring?: readonly RetiringModel[];
  /** The format of the incoming audio; a WAV header in it takes precedence. */
  format(config: C): AudioMetadata;
  /** Most characters per message or request; longer texts are split at sentences. Default: no limit. */
  maxTextLength?(config: C): number;
  /** Whether it reads numbers and signs out itself, or in which languages. Default: false. */
  normalizesText?(config: C): boolean | readonly string[];
  /** The credentials of a WebSocket upgrade. Default: the Authorization header, or subprotocols in a browser. */
  credentials?(key: string, config: C): SocketCredentials;
}

/** How the errors of a text-to-speech service are read. */
export interface VoiceErrors<C> {
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

/** What speaks for a provider: its connections, or its requests. */
export interface Speaker extends Pick<RemoteVoice, 'processChunk' | 'finalize' | 'cancel' | 'synthesize'> {
  /** The state of a connection that stays open between texts. Hot; replays the latest value. */
  readonly connection$: Observable<ConnectionEvent>;
  /** Synthesizes pieces of text: subscribing starts it, unsubscribing cancels it. */
  synthesis(pieces$: Observable<string>, options: UtteranceOptions): Observable<UtteranceEvent>;
  /** Opens a connection for the next text unless one is open. */
  warm(): void;
  /** Part of `initialize()`. */
  start(signal: AbortSignal): Promise<void> | void;
  /** Part of `dispose()`. */
  stop(): Promise<void> | void;
  /** The configuration has changed. */
  retune?(): void;
}

/** A service with what runs its wire: `overSocket()` or `byRequests()`. */
export interface VoiceRunner<C extends TTSConfig, V extends Speaker = Speaker> {
  readonly service: VoiceService<C>;
  readonly type: ProviderType;
  /** Rules for the keys of every service that is run like this. */
  readonly rules?: ConfigRules;
  /** The configuration in use where some of the given one is left open. Default: as given. */
  settle?(given: Readonly<C>, accepts: readonly AudioFormat[] | undefined): Readonly<C>;
  /** Creates what speaks for one provider. */
  readonly speaker: (host: VoiceHost<C>) => V;
}

/** Options of a provider's connections and requests. */
export interface VoiceTransport extends TransportOptions {
  /** What the service's error responses mean beyond their status. */
  readonly errorOf: HttpErrorOf;
}

/** What a {@link Speaker} uses of its provider. */
export interface VoiceHost<C extends TTSConfig> {
  /** Its public members. */
  readonly provider: RemoteVoice<C> &
    Pick<RemoteProvider<C>, 'isProxyMode' | 'resolveApiKey' | 'resolveAuthHeader' | 'resolveSocketCredentials'>;
  /** Creates an error of the provider, prefixed with its name. */
  readonly error: WireErrors['error'];
  /** Fails when the provider is disposed. */
  readonly ended$: Observable<never>;
  /** The current options of its connections and requests. */
  readonly transport: () => VoiceTransport;
  /** Its logger; a pipeline's only once it is initialized. */
  readonly logger: () => Logger;
  /** An address of the service for a request. */
  readonly url: (path: string, query?: Query) => URL;
  /** The same for a WebSocket. */
  readonly socketUrl: (path: string, query?: Query) => URL;
  /** @throws VoiceError `not_ready` when the provider is not initialized. */
  readonly assertReady: (method: string) => void;
  /** Publishes a synthesis of a text, as `speak()` does. */
  deliver(utterance$: (options: UtteranceOptions) => Observable<UtteranceEvent>, text: string): Observable<AudioChunk>;
  /** Publishes an error on `errors$`. */
  readonly report: (error: VoiceError) => void;
}
