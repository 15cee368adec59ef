import { VoiceError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { ConversationOptions } from '../conversation/conversation-options.ts';
import type { History, HistoryOptions } from '../conversation/history.ts';
import type { AnyProvider } from './roles.ts';

/** Options of a pipeline. */
export interface PipelineOptions extends Omit<ConversationOptions, 'history'> {
  /** Who covers the five roles; one provider may cover several. */
  readonly providers: readonly AnyProvider[];
  /** How much is remembered, or a {@link History} to go on with. */
  readonly history?: HistoryOptions | History;
  /** Whether captured audio comes as `audio.input` events too. Default: false. */
  readonly inputEvents?: boolean;
  /**
   * Where the pipeline writes what callbacks threw and what did not stop cleanly, and where its providers write that
   * have no logger of their own. A provider keeps the first logger that it is given. Default: nowhere.
   */
  readonly logger?: Logger;
}

/** What an agent's service decides, by the agent's own configuration. */
const agentsOwn = [
  ...(['systemPrompt', 'greeting', 'tools', 'turnTaking', 'bargeIn', 'preflight', 'timeouts'] as const),
  ...(['speechText', 'locale'] as const),
];

/** @throws VoiceError `configuration` when an option is the agent's business. */
export function assertLeftToAgent(agent: string, options: PipelineOptions): void {
  const misplaced = agentsOwn.filter((key) => options[key] !== undefined);
  if (misplaced.length === 0) return;
  const message = `${agent} decides ${misplaced.join(', ')} by itself: set that in its own configuration`;
  throw new VoiceError(message, { code: 'configuration', provider: agent });
}
