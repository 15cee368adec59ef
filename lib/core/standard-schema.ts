import { messageOf } from './errors.ts';
import { asObject, asString, type WireObject } from './guard.ts';
import type { JsonSchema, Tool } from './tools.ts';

/**
 * The JSON Schema of a Standard Schema, converted by its library. Its objects allow only the members that they list, so
 * that a model does not invent any.
 *
 * @param what - The schema's name in messages.
 * @throws Error when the library cannot convert it.
 */
export function jsonSchemaOf(schema: object, what: string): JsonSchema {
  const standard = asObject(Reflect.get(schema, '~standard')) ?? {};
  const convert = asObject(standard['jsonSchema'])?.['input'];
  const vendor = asString(standard['vendor']) ?? 'the schema library';
  const fail = (why: string, cause?: unknown): Error =>
    new Error(`${vendor} cannot turn ${what} into JSON Schema: ${why}`, { cause });
  if (typeof convert !== 'function') throw fail('this version does not tell it');
  try {
    return closed(asObject((convert as (options: { target: string }) => unknown)({ target: 'draft-2020-12' })) ?? {});
  } catch (cause) {
    throw fail(messageOf(cause), cause);
  }
}

/** Cached: schemas do not change, and converting them takes time. */
const known = new WeakMap<object, JsonSchema>();

/**
 * The JSON Schema of a tool's arguments for the model: `parameters`, or that of `schema`. `undefined` for none.
 *
 * @throws Error when there is only a `schema`, and it cannot be converted.
 */
export function parametersOf({ parameters, schema }: Pick<Tool, 'parameters' | 'schema'>): JsonSchema | undefined {
  if (parameters || !schema) return parameters;
  const told = known.get(schema);
  if (told) return told;
  // The draft's address is useless to a model, and costs tokens.
  const { $schema: _, ...found } = jsonSchemaOf(schema, 'the schema');
  known.set(schema, found);
  return found;
}

/** Where a schema contains other schemas: as a value, in a list, or by name. */
export const nestedSchemas: readonly string[] = [
  ...['items', 'not', 'anyOf', 'oneOf', 'allOf', 'prefixItems'],
  ...['properties', '$defs', 'definitions'],
];

function closed(schema: JsonSchema): JsonSchema {
  const inner: readonly (readonly [string, unknown])[] = nestedSchemas
    .filter((key) => key in schema)
    .map((key) => [key, closedAt(key, schema[key])] as const);
  const isOpen = asObject(schema['properties']) !== undefined && schema['additionalProperties'] === undefined;
  return { ...schema, ...Object.fromEntries(inner), ...(isOpen && { additionalProperties: false }) };
}

function closedAt(key: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => closedAt('', each));
  const object = asObject(value);
  if (!object) return value;
  const byName = ['properties', '$defs', 'definitions'].includes(key);
  return byName ? mapped(object, (each) => closedAt('', each)) : closed(object);
}

function mapped(object: WireObject, change: (value: unknown) => unknown): WireObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}
