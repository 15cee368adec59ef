import type { Environment } from './environment.ts';
import { countTokens } from './responder.ts';

/** Least tokens of a beginning that a service keeps. */
const leastTokens = 1024;
/** Most blocks between a mark and what was kept before (platform.claude.com, Prompt caching). */
const lookback = 20;
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
   * What a prompt reads from the cache and writes to it, as Anthropic does it: what is kept ends at a mark, and what is
   * looked for ends at most 20 blocks before one.
   *
   * @param blocks - The prompt, in order.
   */
  marked(blocks: readonly { readonly text: string; readonly isMarked: boolean }[]): { read: number; written: number } {
    let prefix = '';
    const beginnings = blocks.map(({ text }) => (prefix += text));
    const marks = [...blocks.keys()].filter(
      (index) => blocks[index]?.isMarked && countTokens(beginnings[index] ?? '') >= leastTokens,
    );
    const last = marks.at(-1);
    if (last === undefined) return { read: 0, written: 0 };
    const read = marks
      .flatMap((index) => beginnings.slice(Math.max(0, index - lookback), index + 1))
      .filter((beginning) => this.#seen.includes(beginning))
      .reduce((longest, beginning) => (beginning.length > longest.length ? beginning : longest), '');
    for (const index of marks) this.#keep(beginnings[index] ?? '');
    return { read: countTokens(read), written: countTokens(beginnings[last] ?? '') - countTokens(read) };
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
