import { asyncScheduler, mergeMap, type Observable } from 'rxjs';
import type { Phrases } from '../text/phrases.ts';
import { agentAnswerer, type AgentPorts } from './agent/agent-answer.ts';
import { agentCommand } from './agent/agent-command.ts';
import { agentHandlers } from './agent/agent-handlers.ts';
import type { ConversationOptions } from './conversation-options.ts';
import { converse, withTickets } from './conversation.ts';
import type { VoiceEvent } from './events.ts';
import { rulesOf, type Rules } from './fold/rules.ts';
import { unknownStt, type SttFacts } from './turn-taking/turn-rules.ts';

/** An agent's service reports the end of each voice. */
const facts: SttFacts = { ...unknownStt, reportsSpeechEnd: true };

/** Options of {@link agentConversation}. */
export type AgentConversationOptions = Pick<ConversationOptions, 'history' | 'scheduler'>;

/** An agent's service recognizes commands and backchannels itself. */
const none: Phrases = { language: 'en', commands: [], backchannels: [] };

/**
 * A conversation whose turns a service manages: the agent listens, thinks and speaks behind one connection; its audio
 * is played here, cut off when the user speaks, and what was heard is remembered. Emits the same events as
 * `conversation`, as far as the service provides them.
 */
export function agentConversation(ports: AgentPorts, options: AgentConversationOptions): Observable<VoiceEvent> {
  const { scheduler = asyncScheduler, history } = options;
  const { agent, output, commands$, captions$, device$ } = ports;
  const { transcripts$, speech$ } = agent;
  const rules: Rules = {
    ...rulesOf({ bargeIn: 'immediate', preflight: false }, facts, none),
    duckDb: 0,
    guardsEcho: false,
    isService: true,
  };
  return converse({
    ports: { transcripts$, speech$, output, ...(captions$ ? { captions$ } : {}), ...(device$ ? { device$ } : {}) },
    history,
    scheduler,
    settings: {},
    rules,
    agentHandlers,
    finalize: undefined,
    pushToTalk: undefined,
    listen: undefined,
    commands$: commands$.pipe(
      withTickets(),
      mergeMap((input) => agentCommand(agent, input)),
    ),
    answerer: (shared) => agentAnswerer(ports, shared),
  });
}
