import { asObject, type WireObject } from '../core/guard.ts';
import type { JsonSchema } from '../core/tools.ts';

/** Keywords whose value is a schema or a list of schemas, where what fits the original also fits a laxer one. */
const schemas = [
  'items',
  'prefixItems',
  'additionalItems',
  'additionalProperties',
  'propertyNames',
  'contains',
  'allOf',
  'anyOf',
];
/** The same for schemas by name. */
const named = ['properties', '$defs', 'definitions', 'dependentSchemas'];
/** Keywords that hold expressions, or refuse more when a schema within them is laxer. */
const dropped = ['pattern', 'patternProperties', 'not', 'if', 'then', 'else', 'oneOf', 'maxContains', 'dependencies'];
const ofTheRest = ['unevaluatedProperties', 'unevaluatedItems'];

/**
 * A schema that checks all that can be checked without running its regular expressions: each value that fits the
 * original fits this one. The same object if it has none.
 */
export function withoutPatterns(schema: JsonSchema): JsonSchema {
  return /"pattern(Properties)?":/.test(JSON.stringify(schema)) ? lax(schema) : schema;
}

function lax(schema: WireObject): WireObject {
  const entries = Object.entries(schema).flatMap(([key, value]): (readonly [string, unknown])[] => {
    const isOfTheRest = key === 'additionalProperties' && 'patternProperties' in schema;
    if (isOfTheRest || dropped.includes(key) || ofTheRest.includes(key)) return [];
    if (schemas.includes(key)) return [[key, Array.isArray(value) ? value.map(laxOf) : laxOf(value)]];
    const inner = named.includes(key) ? asObject(value) : undefined;
    return [[key, inner ? mapped(inner) : value]];
  });
  return Object.fromEntries(entries);
}

const mapped = (byName: WireObject): WireObject =>
  Object.fromEntries(Object.entries(byName).map(([name, value]) => [name, laxOf(value)]));

/** A schema may also be true or false. */
const laxOf = (value: unknown): unknown => {
  const schema = asObject(value);
  return schema ? lax(schema) : value;
};
