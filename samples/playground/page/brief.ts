import { afterGreeting, unlessToolsRun, type ListeningPolicy, type PipelineOptions } from 'rxvoice';
import { energyVad } from 'rxvoice/vad';
import { withAnswers } from './answers.ts';
import type { ProviderRow } from './providers.ts';
import { isAgent, type Choice, type Listening, type Setup } from './setup.ts';
import { tools } from './tools.ts';

/** When the user is listened to. */
const policies: Readonly<Record<Listening, readonly ListeningPolicy[]>> = {
  always: [],
  'after-greeting': [afterGreeting],
  'unless-tools-run': [unlessToolsRun],
};

/** What an agent is told by its configuration. */
export function briefOf(
  { systemPrompt, greeting }: Setup,
  { name }: ProviderRow,
  config: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const greets = greeting && { greeting };
  if (['ThetaAgent', 'GammaAgent', 'OmicronAgent'].includes(name)) return { instructions: systemPrompt, ...greets };
  if (name !== 'AlphaAgent') return {};
  return { think: { ...(config['think'] as object | undefined), prompt: systemPrompt }, ...greets };
}

/** A pipeline's options, besides its providers, wherever it runs. `isCaller`: the sandbox's person speaks. */
export function optionsOf(setup: Setup, choices: readonly Choice[], isCaller: boolean): Partial<PipelineOptions> {
  const hasAgent = choices.some(({ row }) => isAgent(row));
  const isScripted = choices.some(({ place, row }) => place === 'sandbox' && row.roles.includes('llm'));
  return {
    ...(isPushToTalk(choices) && { turnTaking: { strategy: 'manual' } }),
    // An agent has its own words, and its own tools.
    ...(!hasAgent && {
      tools,
      systemPrompt: isScripted ? withAnswers(setup.systemPrompt) : setup.systemPrompt,
      // The sandbox's services hear words only: a cough is for others to hear.
      ...(isCaller && { vad: energyVad() }),
      listening: policies[setup.listening ?? 'always'],
      ...(setup.greeting && { greeting: setup.greeting }),
    }),
  };
}

/** Whether the user says when a turn begins and ends. */
export function isPushToTalk(choices: readonly Choice[]): boolean {
  return choices.some(({ row }) => row.isPushToTalk);
}
