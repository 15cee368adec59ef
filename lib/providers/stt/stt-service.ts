import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { VoiceError, VoiceErrorOptions } from '../../core/errors.ts';
import type { AuthType, Query, SocketCredentials, TransportOptions } from '../../core/remote-provider.ts';
import type { RetiringModel } from '../../core/retirement.ts';
import type { StreamingSTTConfig } from './streaming-stt-config.ts';

/** What is known of a service before anybody speaks to it. */
export interface STTService<C extends StreamingSTTConfig> {
  /** The class's name. */
  readonly name: string;
  /** Scheme, host and fixed path prefix; `undefined` when only the user knows it. */
  baseUrl(config: Readonly<C>): string | undefined;
  /** Formats that the service supports, best first. */
  accepts(config: Readonly<C>): readonly AudioFormat[];
  /** Rules for the configuration. */
  readonly rules: ConfigRules;
  /** Default: `token`. */
  authType?(config: Readonly<C>): AuthType;
  /** The configuration key that holds the credential, for errors. Default: `apiKey`. */
  readonly credentialKey?: string;
  /** Longest wait for a connection, in milliseconds, unless configured. Default: 10,000. */
  connectTimeoutMs?(config: Readonly<C>): number;
  /** A conflict that the rules cannot express, as a sentence. */
  conflict?(config: Readonly<C>, isProxyMode: boolean): string | undefined;
  /** The models that the service retires. */
  readonly retiring?: readonly RetiringModel[];
  /** Keys that are not sent to the service: they change without reconnecting. */
  readonly ownKeys?: readonly string[];
  /** Whether `speech$` reports the end of speech. Default: false. */
  readonly reportsSpeechEnd?: boolean;
  /** Silence after which it ends an utterance, in milliseconds. Default: it judges the end in other ways. */
  pauseMs?(config: Readonly<C>): number | undefined;
}

/** What a dialect that is loaded late uses of its provider. */
export interface STTHost<C extends StreamingSTTConfig> {
  /** The provider's class name. */
  readonly name: string;
  /** The current configuration. */
  readonly config: () => Readonly<C>;
  /** The format of the audio being sent. */
  readonly format: () => AudioMetadata;
  /** Whether connections go to the application's proxy, without a credential. */
  readonly isProxyMode: () => boolean;
  /** An address of the service for a request; fails where it would expose a credential. */
  readonly url: (path: string, query?: Query) => URL;
  /** The same for a WebSocket. */
  readonly socketUrl: (path: string, query?: Query) => URL;
  /** Fails where a credential would cross the network unencrypted. */
  readonly assertSecure: (url: URL) => void;
  /** A fresh credential. */
  readonly credential: () => Promise<string>;
  /** The credentials of one upgrade. */
  readonly socketCredentials: () => Promise<SocketCredentials>;
  /** Keeps a secret out of every error and log. */
  readonly remember: (secret: string) => Promise<unknown>;
  /** Options of requests. */
  readonly transport: () => TransportOptions;
  /** Creates an error of the provider, prefixed with its name. */
  readonly error: (text: string, options: Omit<VoiceErrorOptions, 'provider'>) => VoiceError;
  /** Writes a warning to the log, prefixed with its name. */
  readonly warn: (text: string) => void;
}
