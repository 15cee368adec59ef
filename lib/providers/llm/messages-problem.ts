/** What is wrong with the messages given to `generate()`; in JavaScript, they may be anything. */
export function messagesProblem(messages: unknown): string | undefined {
  return Array.isArray(messages) ? undefined : "generate() takes messages: [{ role: 'user', content: 'Hello' }]";
}
