import { messageOf, VoiceError } from '../../core/errors.ts';
import { asArray, asObject, asString } from '../../core/guard.ts';
import type { ResponseSchema } from '../../core/messages.ts';
import { jsonSchemaOf, nestedSchemas } from '../../core/standard-schema.ts';
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
  const schema = '~standard' in format ? ofStandard(format, provider) : format;
  const title = (asString(schema['title']) ?? '').replace(/[^\w-]+/g, '_').slice(0, 64);
  return { name: title || 'answer', schema, strict: isClosed(schema) };
}

function ofStandard(format: object, provider: string): JsonSchema {
  try {
    return jsonSchemaOf(format, 'responseFormat');
  } catch (cause) {
    const message = `${provider}: ${messageOf(cause)}; pass the JSON Schema itself, or update the library`;
    throw new VoiceError(message, { code: 'configuration', provider, cause });
  }
}

/** What services call strict (platform.openai.com, Structured Outputs). */
function isClosed(schema: JsonSchema): boolean {
  const properties = asObject(schema['properties']);
  const required = asArray(schema['required']);
  const isObject = schema['type'] === 'object' || properties !== undefined;
  const listsAll = Object.keys(properties ?? {}).every((name) => required.includes(name));
  if (isObject && !(schema['additionalProperties'] === false && listsAll)) return false;
  return nestedSchemas
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
