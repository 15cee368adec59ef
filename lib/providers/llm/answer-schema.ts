import { messageOf, VoiceError } from '../../core/errors.ts';
import { asArray, asObject, asString, type WireObject } from '../../core/guard.ts';
import type { ResponseSchema } from '../../core/messages.ts';
import type { JsonSchema } from '../../core/tools.ts';

/** A schema that an answer follows, as the services want it. */
export interface AnswerSchema {
  /** 1 to 64 of `a-z A-Z 0-9 _ -`: the schema's title. */
  readonly name: string;
  readonly schema: JsonSchema;
  /** Whether the service can guarantee it: every object lists all of its members, requires them, and takes no others. */
  readonly strict: boolean;
}

/**
 * The JSON Schema of a response format.
 *
 * @throws VoiceError `configuration` for a Standard Schema that cannot tell its JSON Schema.
 */
export function answerSchema(format: ResponseSchema, provider: string): AnswerSchema {
  const schema = '~standard' in format ? closed(asObject(ofStandard(format, provider)) ?? {}) : format;
  const title = (asString(schema['title']) ?? '').replace(/[^\w-]+/g, '_').slice(0, 64);
  return { name: title || 'answer', schema, strict: isClosed(schema) };
}

function ofStandard(format: object, provider: string): unknown {
  const standard = asObject(Reflect.get(format, '~standard')) ?? {};
  const convert = asObject(standard['jsonSchema'])?.['input'];
  const vendor = asString(standard['vendor']) ?? 'the schema library';
  const fail = (why: string, cause?: unknown): VoiceError =>
    new VoiceError(`${provider}: ${vendor} cannot turn responseFormat into JSON Schema: ${why}`, {
      ...{ code: 'configuration', provider, cause },
    });
  if (typeof convert !== 'function') throw fail('pass the JSON Schema itself, or update the library');
  try {
    return (convert as (options: { target: string }) => unknown)({ target: 'draft-2020-12' });
  } catch (cause) {
    throw fail(messageOf(cause), cause);
  }
}

/** Where a schema holds other schemas: as a value, in a list, or by name. */
const nested = ['items', 'not', 'anyOf', 'oneOf', 'allOf', 'prefixItems', 'properties', '$defs', 'definitions'];

/** A schema whose objects take no other members than those they list: a model is not to invent any. */
function closed(schema: JsonSchema): JsonSchema {
  const inner: readonly (readonly [string, unknown])[] = nested
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

/** What services call strict (platform.openai.com, Structured Outputs). */
function isClosed(schema: JsonSchema): boolean {
  const properties = asObject(schema['properties']);
  const required = asArray(schema['required']);
  const isObject = schema['type'] === 'object' || properties !== undefined;
  const listsAll = Object.keys(properties ?? {}).every((name) => required.includes(name));
  if (isObject && !(schema['additionalProperties'] === false && listsAll)) return false;
  return nested
    .flatMap((key) => {
      const value = schema[key];
      if (Array.isArray(value)) return value as unknown[];
      return ['items', 'not'].includes(key) ? [value] : Object.values(asObject(value) ?? {});
    })
    .every((each) => {
      const inner = asObject(each);
      return !inner || isClosed(inner);
    });
}
