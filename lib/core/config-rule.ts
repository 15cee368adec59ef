import { misspeltKey } from './misspelt-key.ts';
import type { Query } from './remote-provider.ts';

/** The values that a configuration key can have on the wire. */
export type WireValue = Query[string];

/** The rule of a configuration key: its allowed values, its default, and its name on the wire. */
export interface ConfigRule<V = unknown> {
  /** Rejects a configuration without it. Any other key may be absent, whatever else its rule says. */
  readonly required?: boolean;
  /** `texts` is an array of non-empty texts. */
  readonly type?: 'boolean' | 'text' | 'texts' | 'function';
  /** The only values that it may have. */
  readonly oneOf?: readonly (string | number)[];
  /** The values that its service is known to take; others pass through, with a warning. */
  readonly known?: readonly (string | number)[];
  /** Smallest number. */
  readonly min?: number;
  /** Largest number. */
  readonly max?: number;
  /** Whole numbers only. */
  readonly integer?: boolean;
  /** Whether `false` turns it off. */
  readonly orFalse?: boolean;
  /** Longest text, or most entries of an array. */
  readonly maxLength?: number;
  /** The value sent when the key is absent. Default: nothing is sent. */
  readonly default?: V & WireValue;
  /** The service's name for the key; `true` for its last part in snake case. Default: the key is not sent. */
  readonly wire?: string | true;
  /** Converts a value (or the default) for the wire; `undefined` omits it. Default: the value itself. */
  toWire?(value: V): WireValue;
}

/**
 * Rules by key; `{}` allows any value. `options.speed` is the key `speed` in the object `options`, which may then have no
 * other keys than those with a rule. A configuration may, unless the key looks like a misspelt one that has a rule.
 */
export type ConfigRules = Readonly<Record<string, ConfigRule>>;

/** Rules for a configuration's own keys, each typed by its key's value. */
export type RulesOf<C> = {
  readonly [K in ConfigKey<C>]?: ConfigRule<ConfigValue<C, K>>;
};

type Keys<C> = keyof C & string;
type ConfigKey<C> =
  | Keys<C>
  | { [K in Keys<C>]-?: IsGroup<NonNullable<C[K]>> extends true ? `${K}.${Keys<NonNullable<C[K]>>}` : never }[Keys<C>];
/** Whether a key holds keys of its own: not an array, a function or a record of arbitrary keys. */
type IsGroup<V> = V extends object
  ? V extends readonly unknown[] | ((...args: never[]) => unknown)
    ? false
    : string extends keyof V
      ? false
      : true
  : false;
type ConfigValue<C, K extends string> = K extends keyof C
  ? NonNullable<C[K]>
  : K extends `${infer G}.${infer Rest}`
    ? G extends keyof C
      ? ConfigValue<NonNullable<C[G]>, Rest>
      : never
    : never;

const types: Readonly<Record<NonNullable<ConfigRule['type']>, readonly [string, (value: unknown) => boolean]>> = {
  boolean: ['true or false', (value) => typeof value === 'boolean'],
  text: ['a text', isText],
  function: ['a function or a class', (value) => typeof value === 'function'],
  texts: ['an array of texts', (value) => Array.isArray(value) && value.every(isText)],
};

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

/**
 * The first problem in a configuration, as a sentence; `undefined` if there is none.
 *
 * @param advise - Is told of values that the service is not known to take, and of keys that belong in a group, unless
 * there is a problem. Default: nobody.
 */
export function configProblem(
  config: object,
  rules: ConfigRules,
  advise?: (sentence: string) => void,
): string | undefined {
  const stray = strayKey(config, Object.keys(rules));
  if (stray !== undefined) return stray;
  const advice: string[] = misplacedKeys(config, rules);
  for (const [key, rule] of Object.entries(rules)) {
    const value = valueAt(config, key);
    const isAbsent = value === undefined || value === '';
    const wanted = isAbsent ? missing(rule) : broken(value, rule);
    if (wanted) return `${key} ${wanted}`;
    if (!isAbsent && rule.known?.includes(value as string) === false) advice.push(unknownValue(key, value, rule.known));
  }
  if (advise) advice.forEach(advise);
  return undefined;
}

/** Keys that have a rule in a group alone, such as `model` for `options.model`: as a key of its own, it is ignored. */
function misplacedKeys(config: object, rules: ConfigRules): string[] {
  return Object.entries(config).flatMap(([key, value]) => {
    const isKnown = key in rules || value === undefined;
    const meant = isKnown ? undefined : Object.keys(rules).find((each) => each.endsWith(`.${key}`));
    return meant ? `there is no option ${key}: did you mean ${meant}?` : [];
  });
}

/** A key that an object of options must not have, as a sentence: it would silently leave a default in force. */
export function unknownKey(given: object, keys: readonly string[], group: string = ''): string | undefined {
  const key = Object.entries(given).find(([each, value]) => value !== undefined && !keys.includes(each))?.[0];
  return key && `there is no option ${group}${key}, only ${keys.map((each) => group + each).join(', ')}`;
}

/** A key that must not be there: misspelt, or without a rule in an object whose other keys have one. */
function strayKey(given: object, rules: readonly string[], group: string = ''): string | undefined {
  const keys = rules.map((each) => each.slice(group.length));
  const members = [...new Set(keys.map((each) => each.replace(/\..*/, '')))];
  const stray = group ? unknownKey(given, members, group) : misspeltKey(given, members);
  if (stray) return stray;
  for (const member of members.filter((each) => !keys.includes(each))) {
    const inner = rules.filter((each) => each.startsWith(`${group}${member}.`));
    for (const value of [Reflect.get(given, member)].flat()) {
      const problem = isObject(value) ? strayKey(value, inner, `${group}${member}.`) : undefined;
      if (problem) return problem;
    }
  }
  return undefined;
}

/** Says that a value is sent although nobody here knows it. */
export function unknownValue(key: string, value: unknown, known: readonly (string | number)[]): string {
  return `${key} ${quoted(value)} is sent as it is (known: ${known.join(', ')})`;
}

const valueAt = (config: object, key: string): unknown => key.split('.').reduce<unknown>(member, config);

/** The value of an object's key; `undefined` of anything else. */
export const member = (value: unknown, key: string): unknown => (isObject(value) ? Reflect.get(value, key) : undefined);

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

// JSON has no NaN, no Infinity and no bigint.
const quoted = (value: unknown): string =>
  (typeof value === 'string' || isObject(value) ? JSON.stringify(value) : String(value)).slice(0, 40);

const wordFor = (value: unknown): string => (typeof value === 'number' ? 'number' : 'text');

const missing = ({ required }: ConfigRule): string | undefined => (required ? 'is missing' : undefined);

function broken(value: unknown, rule: ConfigRule): string | undefined {
  const { type, oneOf, known, min, max, integer = false, orFalse = false, maxLength } = rule;
  if (orFalse && value === false) return undefined;
  // Only for an error: a scheduler or a worker may be circular.
  const not = (): string => `not ${quoted(value)}`;
  if (type && !types[type][1](value)) return `must be ${types[type][0]}, ${not()}`;
  if (oneOf && !oneOf.some((each) => each === value))
    return `must be ${oneOf.join(', ').replace(/, ([^,]*)$/, ' or $1')}, ${not()}`;
  if (known && typeof value !== typeof known[0]) return `must be a ${wordFor(known[0])}, ${not()}`;
  const isNumeric = min !== undefined || max !== undefined;
  const inRange = typeof value === 'number' && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
  if (isNumeric && !(inRange && (!integer || Number.isInteger(value)))) {
    const range = `from ${min ?? '-∞'} to ${max ?? '∞'}${orFalse ? ', or false' : ''}`;
    return `must be a ${integer ? 'whole ' : ''}number ${range}, ${not()}`;
  }
  if (maxLength === undefined) return undefined;
  if (Array.isArray(value) && value.length > maxLength) return `must have at most ${maxLength} entries`;
  if (type !== 'texts' && (typeof value !== 'string' || value.length > maxLength)) {
    return `must be a text of at most ${maxLength} characters`;
  }
  return undefined;
}
