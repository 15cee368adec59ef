import type { ConfigRules } from '../../core/config-rule.ts';
import type { RemoteConfig } from '../../core/remote-provider.ts';
import { remoteRules } from '../../core/remote-rules.ts';
import type { BackoffOptions } from '../../stream/backoff.ts';
import { reconnectRules } from '../../stream/reconnect-rules.ts';

/** Configuration of every streaming speech-to-text provider. */
export interface StreamingSTTConfig extends RemoteConfig {
  /** BCP 47. */
  readonly language?: string;
  /** Whether interim results are reported. Default: true. */
  readonly interimResults?: boolean;
  /**
   * Milliseconds of speech without an answer, however fast it was sent, after which the connection counts as dead; `false`
   * for never. Default: 10,000, or more where a service answers late.
   */
  readonly silenceTimeoutMs?: number | false;
  /** Longest time that `disconnect()` takes, for queued audio and the last results, in milliseconds. Default: 1,000. */
  readonly closeTimeoutMs?: number;
  /** How a lost connection is retried; `false` disables reconnecting. */
  readonly reconnect?: boolean | BackoffOptions;
  /**
   * Maximum speed for audio queued while there was no connection, as a multiple of real time, 1 or more; its long pauses
   * are shortened. `false` for no limit. Default: what the service accepts.
   */
  readonly catchUpSpeed?: number | false;
}

/** Rules for these keys. */
export const streamingRules: ConfigRules = {
  ...remoteRules,
  language: {},
  interimResults: { type: 'boolean' },
  silenceTimeoutMs: { min: 1, orFalse: true },
  closeTimeoutMs: { min: 0 },
  catchUpSpeed: { min: 1, orFalse: true },
  ...reconnectRules,
};

/** Keys that take effect from the next connection on. */
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
