import { VoiceError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { ConversationOptions } from '../conversation/conversation-options.ts';
import type { History, HistoryOptions } from '../conversation/history.ts';
import type { AnyProvider } from './roles.ts';

/** Options of a pipeline. */
export interface PipelineOptions extends Omit<ConversationOptions, 'history'> {
  /** Providers for the five roles; one may fill several. */
  readonly providers: readonly AnyProvider[];
  /** How much to remember, or a {@link History} to continue. */
  readonly history?: HistoryOptions | History;
  /** Whether captured audio is also emitted as `audio.input` events. Default: false. */
  readonly inputEvents?: boolean;
  /**
   * Receives what callbacks threw and what did not stop cleanly; also used by providers without a logger of their own.
   * A provider keeps the first logger it is given. Default: none.
   */
  readonly logger?: Logger;
}

/** Options that an agent's own configuration sets. */
const agentsOwn = [
  ...(['systemPrompt', 'greeting', 'tools', 'turnTaking', 'bargeIn', 'preflight', 'timeouts'] as const),
  ...(['speechText', 'locale'] as const),
];

/** @throws VoiceError `configuration` when an option belongs to the agent. */
export function assertLeftToAgent(agent: string, options: PipelineOptions): void {
  const misplaced = agentsOwn.filter((key) => options[key] !== undefined);
  if (misplaced.length === 0) return;
  const message = `${agent} handles ${misplaced.join(', ')} itself: set this in its own configuration`;
  throw new VoiceError(message, { code: 'configuration', provider: agent });
}
