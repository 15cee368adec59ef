import type { Environment } from './environment.ts';
import { countTokens } from './responder.ts';

/** Least tokens of a beginning that a service keeps. */
const leastTokens = 1024;
const maxPrompts = 64;

/** What a model's service remembers of the prompts that it has read: the same beginning costs less. */
export class PromptCache {
  #seen: string[] = [];

  /** How much of a prompt was read before, in steps of 128 tokens, as OpenAI does it by itself. */
  reuse(prompt: string): number {
    const shared = Math.max(0, ...this.#seen.map((seen) => sharedLength(seen, prompt)));
    this.#keep(prompt);
    const tokens = Math.floor(shared / 4 / 128) * 128;
    return tokens < leastTokens ? 0 : tokens;
  }

  /**
   * What a prompt reads from the cache and writes to it, as Anthropic does it: only up to a mark.
   *
   * @param blocks - The prompt, in order.
   */
  marked(blocks: readonly { readonly text: string; readonly isMarked: boolean }[]): { read: number; written: number } {
    let prefix = '';
    let read = '';
    let written = '';
    for (const { text, isMarked } of blocks) {
      prefix += text;
      if (this.#seen.includes(prefix)) read = prefix;
      if (!isMarked || countTokens(prefix) < leastTokens) continue;
      written = prefix;
    }
    if (written === '') return { read: 0, written: 0 };
    if (read.length > written.length) read = written;
    let beginning = '';
    for (const { text } of blocks) {
      beginning += text;
      if (beginning.length <= written.length && countTokens(beginning) >= leastTokens) this.#keep(beginning);
    }
    return { read: countTokens(read), written: countTokens(written) - countTokens(read) };
  }

  #keep(prompt: string): void {
    this.#seen = [...this.#seen.filter((seen) => seen !== prompt), prompt].slice(-maxPrompts);
  }
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}

const caches = new WeakMap<Environment, Map<string, PromptCache>>();

/** The cache of a service's model, in one sandbox. */
export function promptCache(environment: Environment, service: string, model: string): PromptCache {
  const ofSandbox = caches.get(environment) ?? new Map<string, PromptCache>();
  caches.set(environment, ofSandbox);
  const name = `${service} ${model}`;
  const cache = ofSandbox.get(name) ?? new PromptCache();
  ofSandbox.set(name, cache);
  return cache;
}
