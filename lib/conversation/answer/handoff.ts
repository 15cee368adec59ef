import { filter, ReplaySubject, take, type Observable } from 'rxjs';
import type { Tool } from '../../core/tools.ts';
import type { Shared } from '../answerer.ts';
import type { AgentProfile } from '../conversation-options.ts';

/** Options of {@link handoff}. */
export interface HandoffOptions {
  /** The tool's name. Default: `hand_over_to_` and the agent's name. */
  readonly name?: string;
  /** Tells the model when to hand over. Default: `Hands the conversation over to …`. */
  readonly description?: string;
  /** What the next agent is told. Default: `You are … now. Go on with the conversation.` */
  readonly result?: string;
}

/**
 * A tool that hands the conversation over to another agent of the pipeline, which answers at once with its own
 * instructions, tools, model and voice, and has the whole history.
 *
 * @example
 * ```ts
 * import { handoff, Pipeline, type AgentProfile, type AnyProvider } from 'rxvoice';
 *
 * declare const providers: AnyProvider[];
 *
 * const reception: AgentProfile = {
 *   systemPrompt: 'You are the reception. Find out what the caller needs.',
 *   tools: [handoff('billing', { description: 'For invoices and payments.' })],
 * };
 * const billing: AgentProfile = {
 *   systemPrompt: 'You are the billing department.',
 *   tools: [handoff('reception')],
 * };
 * const pipeline = new Pipeline({ providers, agents: { reception, billing } });
 * ```
 *
 * @param agent - Its name in `agents`.
 */
export function handoff(agent: string, options: HandoffOptions = {}): Tool {
  const { name = `hand_over_to_${agent.replace(/[^\w-]+/g, '_')}` } = options;
  const { description = `Hands the conversation over to ${agent}.` } = options;
  const { result = `You are ${agent} now. Go on with the conversation.` } = options;
  return {
    name,
    description,
    execute: (_, { handOver }) => {
      handOver(agent);
      return result;
    },
  };
}

/**
 * Hands a conversation over. Emits once that has taken effect, and completes; replays it.
 *
 * @throws Error when there is no such agent.
 */
export function handOver(
  to: string,
  agents: Readonly<Record<string, AgentProfile>>,
  { state$, report }: Pick<Shared, 'state$' | 'report'>,
): Observable<unknown> {
  if (!Object.hasOwn(agents, to)) {
    const names = Object.keys(agents).join(', ');
    throw new Error(`there is no agent "${to}"${names ? `; there are: ${names}` : ''}`);
  }
  const counts$ = new ReplaySubject<unknown>(1);
  // Seen even if it is changed again at once.
  state$
    .pipe(
      filter(({ settings }) => settings.agent === to),
      take(1),
    )
    .subscribe(counts$);
  report({ type: 'update', changes: { agent: to } });
  return counts$;
}
