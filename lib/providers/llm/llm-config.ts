import type { RemoteConfig } from '../../core/remote-provider.ts';

/** Configuration of every language model behind a service. */
export interface LLMConfig extends RemoteConfig {
  /** The model's id. */
  readonly model?: string;
  /** Instructions placed before those in the messages. */
  readonly systemPrompt?: string;
  /** Maximum answer length, in tokens. */
  readonly maxTokens?: number;
  /** Texts at which generation stops. */
  readonly stopSequences?: readonly string[];
  /** Additional request fields, under the service's own names; these take precedence. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Longest wait for the answer's first byte, in milliseconds. Default: 10,000. */
  readonly firstByteTimeoutMs?: number;
  /** Longest silence during an answer, in milliseconds; any byte counts. Default: 10,000. */
  readonly idleTimeoutMs?: number;
  /** Longest time during an answer without output from the model, in milliseconds. Default: 30,000. */
  readonly tokenTimeoutMs?: number;
  /** Retries after a transient failure, as long as nothing has been emitted. Default: 2. */
  readonly maxRetries?: number;
  /** Longest total wait for all retries, including waits the service asks for, in milliseconds. Default: 10,000. */
  readonly retryBudgetMs?: number;
}
