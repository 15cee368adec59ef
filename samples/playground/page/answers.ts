/** What the sandbox's model answers, besides what it always does, so that the hazards have something to happen to. */
const rules = [
  { when: String.raw`^book the flight.*\bnot\b`, say: 'Nothing is booked.' },
  { when: '^book the flight', say: 'The flight is booked.' },
  { when: 'table', say: 'One is free at nine. Shall I book it?' },
  { when: '^yes', say: 'The table is yours.' },
] as const;

/** A system prompt with which the sandbox's model knows its answers; one of the user's own takes precedence. */
export function withAnswers(systemPrompt: string): string {
  return `${systemPrompt}\nsandbox: ${JSON.stringify({ rules })}`;
}

/** The question of the sandbox's model that a "yes" answers. */
export const question = rules[2].say;
