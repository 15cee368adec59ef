import { OnDemand } from '../core/on-demand.ts';
import type * as AgentCode from '../conversation/agent-conversation.ts';
import type * as ModelCode from '../conversation/model-conversation.ts';
import type { Phrases } from '../text/phrases.ts';
import type * as OptionRules from './option-rules.ts';
import type { AssignedRoles } from './roles.ts';
import type * as SessionCode from './session.ts';

/** The code of a session and its conversation: with an agent, or with an LLM and a TTS. */
export type ConversationCode = Partial<typeof AgentCode & typeof ModelCode & typeof OptionRules> & {
  readonly phrases?: Phrases;
  readonly session?: typeof SessionCode;
};

/**
 * Loads the code of the conversation: an application with an agent does not load the other, nor vice versa.
 *
 * @param locale - Whose phrases to load with it.
 * @throws ProviderInitializationError when the code cannot be loaded.
 */
export async function loadConversation({ agent }: AssignedRoles, locale?: string): Promise<ConversationCode> {
  const common = Promise.all([
    new OnDemand('Pipeline', () => import('./option-rules.ts')).load(),
    new OnDemand('Pipeline', () => import('./session.ts')).load(),
  ]);
  if (agent) {
    const code = new OnDemand(agent.name, () => import('../conversation/agent-conversation.ts'));
    const [loaded, [checks, session]] = await Promise.all([code.load(), common]);
    return { ...loaded, ...checks, session };
  }
  const code = new OnDemand('Pipeline', () => import('../conversation/model-conversation.ts'));
  const languages = new OnDemand('Pipeline', () => import('../text/phrases.ts'));
  const [loaded, { loadPhrases }, [checks, session]] = await Promise.all([code.load(), languages.load(), common]);
  return { ...loaded, ...checks, session, phrases: await loadPhrases(locale) };
}
