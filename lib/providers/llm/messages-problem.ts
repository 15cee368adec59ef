/** What is wrong with the messages given to `generate()`: callers in JavaScript can pass anything. */
export function messagesProblem(messages: unknown): string | undefined {
  return Array.isArray(messages) ? undefined : "generate() takes messages: [{ role: 'user', content: 'Hello' }]";
}
