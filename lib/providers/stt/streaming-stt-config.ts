import type { BackoffOptions } from '../../stream/backoff.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { RemoteConfig } from '../../core/remote-provider.ts';

/** Configuration keys of every streaming speech-to-text provider. */
export interface StreamingSTTConfig extends RemoteConfig {
  /** BCP 47. */
  readonly language?: string;
  /** Whether results come while the speaker speaks. Default: true. */
  readonly interimResults?: boolean;
  /**
   * Milliseconds of speech without any word of the service after which the connection counts as dead; `false` for
   * never. Default: 10,000, or what the service's ways ask for.
   */
  readonly silenceTimeoutMs?: number | false;
  /** Longest wait of `disconnect()` for the last results, in milliseconds. Default: 1,000. */
  readonly closeTimeoutMs?: number;
  /** How a lost connection is replaced; `false` for not at all. */
  readonly reconnect?: boolean | BackoffOptions;
  /**
   * How many times as fast as it sounds audio is sent that has waited for a connection, 1 or more; `false` for as fast as
   * it goes. Default: what the service takes.
   */
  readonly catchUpSpeed?: number | false;
}

/** What these keys may hold. */
export const streamingRules: ConfigRules = {
  interimResults: { type: 'boolean' },
  silenceTimeoutMs: { min: 1, orFalse: true },
  closeTimeoutMs: { min: 0 },
  catchUpSpeed: { min: 1, orFalse: true },
};

/** Keys that count from the next connection on. */
export const laterKeys: ReadonlySet<string> = new Set<keyof StreamingSTTConfig>([
  'apiKey',
  'authType',
  'allowInsecure',
  'catchUpSpeed',
  'connectTimeoutMs',
  'closeTimeoutMs',
  'reconnect',
  'scheduler',
  'silenceTimeoutMs',
]);
