/**
 * The sandbox's language model: rules on what the user said last.
 *
 * | The user says | It answers |
 * |---|---|
 * | anything that a rule of the system prompt matches (below) | what the rule says |
 * | (the last message is a tool's result) | "get_weather says: sky sunny." for each result; a sentence as it is |
 * | something with a telling word of a declared tool's name ("weather" for `get_weather`) | a call of it; several for "in Paris and Rome", several tools for several words |
 * | count to N | "1, 2, 3, …, N." |
 * | tell me a (long) story | nine sentences, always the same |
 * | say X, repeat X | "X" |
 * | what is my name | the name from "my name is X", earlier in the conversation |
 * | what do you see | the kind of each image in the message: "I see a png." |
 * | what did I say, what did you say | the turn before, word for word |
 * | hello, hi, good morning … | "Hello! How can I help you?" |
 * | thank you, thanks | "You are welcome." |
 * | anything else | "You said: …" |
 *
 * The last three it also knows in Spanish, French, German and Japanese, and answers in kind.
 *
 * Where the request wants JSON, the answer is an object by its schema, each text in it what the user said.
 *
 * With "slowly" in it, the answer comes one token in 100 ms.
 *
 * The system prompt may script it: a line `sandbox: {"rules":[{"when":"regular expression","say":"text"}]}`. A rule may
 * also have `call` (`[{"name","args"}]`), `think` (reasoning text), `tokenDelayMs`, `firstTokenDelayMs` and `finish`
 * (`length`, `filtered`, `malformed-call`).
 */

import { languageOf } from './languages.ts';

/** A tool that the request declares. */
export interface DeclaredTool {
  readonly name: string;
  /** JSON Schema. */
  readonly parameters: unknown;
}

/** One turn of the conversation, in the sandbox's own terms. */
export type Turn =
  | { readonly role: 'user' | 'assistant'; readonly text: string; readonly images?: readonly string[] }
  | { readonly role: 'result'; readonly tool: string; readonly text: string; readonly failed: boolean };

/** What a vendor's request asks. */
export interface Prompt {
  readonly system: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly DeclaredTool[];
  /** `none` forbids calls, `required` and `{ name }` demand one. */
  readonly choice: 'auto' | 'none' | 'required' | { readonly name: string };
  readonly parallel: boolean;
  /** Most tokens of the answer. */
  readonly maxTokens: number;
  readonly stop: readonly string[];
  /** The answer is JSON: by a schema, or any with `{}`. */
  readonly format?: unknown;
}

/** A call that the model makes. */
export interface Call {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** The answer, before a vendor puts it on its wire. */
export interface Reply {
  readonly think: string;
  /** The text in pieces, as they are streamed. */
  readonly tokens: readonly string[];
  readonly calls: readonly Call[];
  /** `malformed-call`: the model wrote a call that its own service could not read. */
  readonly finish: 'stop' | 'length' | 'tool-calls' | 'filtered' | 'stop-sequence' | 'malformed-call';
  /** The stop sequence that was met. */
  readonly stopSequence: string | undefined;
  readonly tokenDelayMs: number | undefined;
  readonly firstTokenDelayMs: number;
}

interface Rule {
  readonly when: string;
  readonly say?: string;
  readonly call?: readonly Call[];
  readonly think?: string;
  readonly tokenDelayMs?: number;
  readonly firstTokenDelayMs?: number;
  readonly finish?: 'length' | 'filtered' | 'malformed-call';
}

type Draft = Omit<Rule, 'when'>;

/** The story: long enough to be interrupted, and the same each time. */
export const story: string =
  'Once upon a time a lighthouse stood at the end of a long pier. Its keeper was an old woman who knew every ship by ' +
  'its bell. One night a fog came in that was thicker than any before. The lamp could not be seen from the water, and ' +
  'the ships called out to each other. So the keeper took her violin and played the song of the harbour. One ship ' +
  'after the other turned towards the music. By morning all of them lay safely at the pier. The fog lifted, and the ' +
  'captains came to thank her. She only smiled and tuned the third string.';

/** How many tokens a text has, as the sandbox counts: one for each begun four characters. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/** What an image is, by its address: `png`, or `picture` from elsewhere. */
export function kindOfImage(url: string): string {
  return /^data:image\/(\w+);/.exec(url)?.[1] ?? 'picture';
}

/** What the model answers. */
export function respond(prompt: Prompt): Reply {
  const { say = '', call = [], think = '', tokenDelayMs, firstTokenDelayMs = 0, finish } = draft(prompt);
  const stop = prompt.stop
    .map((sequence) => ({ sequence, at: say.indexOf(sequence) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)[0];
  const all = (stop ? say.slice(0, stop.at) : say).match(/\s*\S+\s*$|\s*\S+/g) ?? [];
  const tokens = all.slice(0, prompt.maxTokens);
  const calls = prompt.parallel ? call : call.slice(0, 1);
  const isCut = tokens.length < all.length;
  return {
    ...{ think, tokens, calls, tokenDelayMs, firstTokenDelayMs, stopSequence: stop?.sequence },
    finish: isCut ? 'length' : (finish ?? (calls.length > 0 ? 'tool-calls' : stop ? 'stop-sequence' : 'stop')),
  };
}

function draft(prompt: Prompt): Draft {
  const said = lastUserText(prompt.turns);
  const scripted = rules(prompt.system).find(({ when }) => new RegExp(when, 'iu').test(said));
  const results = resultsAtEnd(prompt.turns);
  if (scripted && (results.length === 0 || !scripted.call)) return scripted;
  if (results.length > 0) return { say: results.map(tell).join(' ') };
  const call = prompt.choice === 'none' ? [] : callsFor(said, prompt);
  if (call.length > 0) return { call, say: 'One moment.' };
  if (prompt.format !== undefined) return { say: JSON.stringify(sampleOf(prompt.format, said)) };
  const slow = /\bslowly\b/i.test(said);
  return { say: answer(said, prompt.turns), ...(slow ? { tokenDelayMs: 100 } : {}) };
}

function lastUserText(turns: readonly Turn[]): string {
  const last = turns.findLast(({ role }) => role === 'user');
  return last?.text.trim() ?? '';
}

function resultsAtEnd(turns: readonly Turn[]): Extract<Turn, { role: 'result' }>[] {
  const results: Extract<Turn, { role: 'result' }>[] = [];
  for (const turn of turns.toReversed()) {
    if (turn.role !== 'result') break;
    results.unshift(turn);
  }
  return results;
}

function rules(system: string): readonly Rule[] {
  const line = /^sandbox:\s*(\{.*\})\s*$/m.exec(system)?.[1];
  if (line === undefined) return [];
  try {
    return (JSON.parse(line) as { rules?: readonly Rule[] }).rules ?? [];
  } catch {
    return [];
  }
}

function tell({ tool, text, failed }: Extract<Turn, { role: 'result' }>): string {
  const told = describe(text);
  if (failed || /^error\b/i.test(text)) return `${tool} failed: ${told}.`;
  // A sentence speaks for itself.
  return /^\p{Lu}\p{Ll}*(?: [^ :]+){2,}$/u.test(told) ? `${told}.` : `${tool} says: ${told}.`;
}

function describe(text: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = text;
  }
  if (typeof value !== 'object' || value === null) return String(value).replace(/\.$/, '');
  return Object.entries(value)
    .map(([name, each]) => `${name} ${typeof each === 'object' ? JSON.stringify(each) : String(each)}`)
    .join(', ');
}

/** Words of a tool's name that say nothing of what it does. */
const generic = new Set(
  'get set find look lookup fetch search make create do the current a of to for from with in on at by and up'.split(
    ' ',
  ),
);

function callsFor(said: string, { tools, choice }: Prompt): Call[] {
  const demanded = typeof choice === 'object' ? tools.filter(({ name }) => name === choice.name) : [];
  const words = new Set(said.toLowerCase().match(/[\p{L}\p{N}]+/gu));
  const meant = tools.filter(({ name }) =>
    name
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .some((word) => word && !generic.has(word) && words.has(word)),
  );
  const chosen = demanded.length > 0 ? demanded : meant;
  const some = chosen.length > 0 || choice !== 'required' ? chosen : tools.slice(0, 1);
  return some.flatMap((tool) => argumentsFor(tool, said).map((args) => ({ name: tool.name, args })));
}

/** Arguments for each place that is named; numbers and texts from what was said. */
function argumentsFor({ parameters }: DeclaredTool, said: string): Record<string, unknown>[] {
  const properties =
    (parameters as { properties?: Record<string, { type?: unknown; enum?: unknown[] }> } | undefined)?.properties ?? {};
  const after = /\b(?:in|at|for|to|of)\s+(?:the\s+)?(\p{Lu}[^?.!]*)/u.exec(said)?.[1];
  const places =
    after
      ?.split(/,\s*(?:and\s+)?|\s+and\s+/u)
      .map((place) => place.trim())
      .filter(Boolean) ?? [];
  const value = (property: { type?: unknown; enum?: unknown[] }, place: string | undefined): unknown => {
    if (property.enum) return property.enum.find((each) => said.includes(String(each))) ?? property.enum[0];
    if (property.type === 'number' || property.type === 'integer') return Number(/\d+/.exec(said)?.[0] ?? 1);
    if (property.type === 'boolean') return true;
    return place ?? said;
  };
  const rows = Object.keys(properties).length === 0 || places.length === 0 ? [undefined] : places;
  return rows.map((place) =>
    Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, value(property, place)])),
  );
}

/** A value that fits a JSON Schema. */
function sampleOf(schema: unknown, said: string): unknown {
  const {
    type,
    properties = {},
    items,
    enum: values,
  } = (schema ?? {}) as {
    readonly type?: unknown;
    readonly properties?: Readonly<Record<string, unknown>>;
    readonly items?: unknown;
    readonly enum?: readonly unknown[];
  };
  if (values) return values.find((each) => said.includes(String(each))) ?? values[0];
  if (type === 'string') return said;
  if (type === 'number' || type === 'integer') return Number(/\d+/.exec(said)?.[0] ?? 1);
  if (type === 'boolean') return true;
  if (type === 'array') return [sampleOf(items, said)];
  return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, sampleOf(each, said)]));
}

/** Small talk in a language. */
interface Phrases {
  readonly hello: RegExp;
  readonly greeting: string;
  readonly thanks: RegExp;
  readonly welcome: string;
  readonly echo: (said: string) => string;
}

const english: Phrases = {
  hello: /^(hello|hi|hey|good (morning|afternoon|evening))\b/i,
  greeting: 'Hello! How can I help you?',
  thanks: /^(thank you|thanks)\b/i,
  welcome: 'You are welcome.',
  echo: (said) => `You said: ${said}`,
};

const phrases: Readonly<Record<string, Phrases>> = {
  es: {
    hello: /^¡?(hola|buen[oa]s)/i,
    greeting: '¡Hola! ¿En qué puedo ayudarte?',
    thanks: /^¡?(muchas )?gracias/i,
    welcome: 'De nada.',
    echo: (said) => `Has dicho: ${said}`,
  },
  fr: {
    hello: /^(bonjour|bonsoir|salut)/i,
    greeting: 'Bonjour ! Comment puis-je vous aider ?',
    thanks: /^merci/i,
    welcome: 'Je vous en prie.',
    echo: (said) => `Vous avez dit : ${said}`,
  },
  de: {
    hello: /^(hallo|guten (morgen|tag|abend))/i,
    greeting: 'Hallo! Wie kann ich helfen?',
    thanks: /^(danke|vielen dank)/i,
    welcome: 'Gern geschehen.',
    echo: (said) => `Du hast gesagt: ${said}`,
  },
  ja: {
    hello: /^(こんにちは|こんばんは|おはよう|もしもし)/,
    greeting: 'こんにちは！ご用件をどうぞ。',
    thanks: /^(どうも)?ありがとう/,
    welcome: 'どういたしまして。',
    echo: (said) => `「${said}」と言いましたね。`,
  },
};

function answer(said: string, turns: readonly Turn[]): string {
  const before = turns.slice(
    0,
    turns.findLastIndex(({ role }) => role === 'user'),
  );
  const last = (role: Turn['role']): string => before.findLast((turn) => turn.role === role)?.text ?? '';
  const match = (pattern: RegExp): string | undefined => pattern.exec(said)?.[1];
  const count = match(/\bcount(?: slowly)? to (\d+)/i);
  if (count !== undefined)
    return `${Array.from({ length: Math.min(Number(count), 1000) }, (_, n) => n + 1).join(', ')}.`;
  if (/\bstory\b/i.test(said)) return story;
  if (/what(?: is|'s) my name/i.test(said)) {
    const name = before
      .flatMap(({ role, text }) => (role === 'user' ? (/my name is ([\p{L}'-]+)/iu.exec(text)?.[1] ?? []) : []))
      .at(-1);
    return name === undefined ? 'You have not told me your name.' : `Your name is ${name}.`;
  }
  if (/what do you see/i.test(said)) {
    const asking = turns.findLast(({ role }) => role === 'user');
    const images = (asking?.role === 'user' ? asking.images : undefined) ?? [];
    return images.length === 0 ? 'I see nothing.' : `I see ${images.map((kind) => `a ${kind}`).join(' and ')}.`;
  }
  if (/what did i say/i.test(said)) return last('user') || 'You have not said anything.';
  if (/what did you say/i.test(said)) return last('assistant') || 'I have not said anything.';
  const repeat = match(/^(?:please )?(?:say|repeat)(?: slowly)?:? (.+)$/is);
  if (repeat !== undefined) return repeat;
  const { hello, greeting, thanks, welcome, echo } = phrases[languageOf(said)] ?? english;
  if (hello.test(said)) return greeting;
  return thanks.test(said) ? welcome : echo(said);
}
