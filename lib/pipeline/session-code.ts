import { OnDemand } from '../core/on-demand.ts';
import type * as OptionRules from './option-rules.ts';
import type { AssignedRoles } from './roles.ts';
import type * as SessionModule from './session.ts';

/** What `initialize()` loads: the code of a session and of its conversation, and the rules of the options. */
export type SessionCode = SessionModule.ConversationCode &
  Partial<typeof OptionRules> & { readonly session?: typeof SessionModule };

/**
 * Loads the code of the conversation: an application with an agent does not load the other, nor vice versa.
 *
 * @param locale - Whose phrases to load with it.
 * @throws ProviderInitializationError when the code cannot be loaded.
 */
export async function loadConversation({ agent }: AssignedRoles, locale?: string): Promise<SessionCode> {
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
