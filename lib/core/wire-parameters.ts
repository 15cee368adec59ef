import { member, type ConfigRule, type ConfigRules, type WireValue } from './config-rule.ts';
import { snakeCase } from './wire-names.ts';

/**
 * A configuration in the service's terms: each key with a wire name, under that name, including defaults. Keys without
 * a value are omitted.
 */
export function wireParameters(config: object, rules: ConfigRules): Record<string, WireValue> {
  const parameters: Record<string, WireValue> = {};
  for (const { name, path, rule } of wiredKeys(rules)) {
    const value = wireValue(path.reduce<unknown>(member, config) ?? rule.default, rule);
    if (value !== undefined) parameters[name] = value;
  }
  return parameters;
}

interface WiredKey {
  readonly name: string;
  readonly path: readonly string[];
  readonly rule: ConfigRule;
}

const wired = new WeakMap<ConfigRules, readonly WiredKey[]>();

/** The keys with a wire name; found once for each table of rules. */
function wiredKeys(rules: ConfigRules): readonly WiredKey[] {
  const known = wired.get(rules);
  if (known) return known;
  const keys = Object.entries(rules).flatMap(([key, rule]) =>
    rule.wire === undefined ? [] : [{ name: wireName(key, rule.wire), path: key.split('.'), rule }],
  );
  wired.set(rules, keys);
  return keys;
}

function wireValue(value: unknown, rule: ConfigRule): WireValue {
  if (value === undefined) return undefined;
  return rule.toWire ? rule.toWire(value) : isWireValue(value) ? value : undefined;
}

const wireName = (key: string, wire: string | true): string =>
  wire === true ? snakeCase(key.slice(key.lastIndexOf('.') + 1)) : wire;

const isScalar = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

const isWireValue = (value: unknown): value is WireValue =>
  isScalar(value) || (Array.isArray(value) && value.every(isScalar));
