import type * as jsonSchema from '@cfworker/json-schema';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { defaultIfEmpty, defer, from, isObservable, map, of, switchMap, takeLast, type Observable } from 'rxjs';
import type { JsonSchema, Tool, ToolContext } from '../core/tools.ts';

/** A call of a tool. */
interface Called {
  readonly id: string;
  /** Parsed; `undefined` if they are not JSON. */
  readonly args: unknown;
}

/**
 * Validates the arguments of a call, then runs the tool. Emits its last value once, and completes; errors if the
 * arguments do not fit, or the tool fails.
 */
export function executeTool(
  tool: Tool,
  call: Called,
  given: Pick<ToolContext, 'signal' | 'say' | 'handOver'>,
): Observable<unknown> {
  if (call.args === undefined) throw new Error('the arguments are not valid JSON');
  const { parameters, schema } = tool;
  const fits$ = parameters ? checked(call.args, parameters) : of(undefined);
  const context = { ...given, toolCallId: call.id, idempotencyKey: call.id };
  return fits$.pipe(
    switchMap(() =>
      schema ? toObservable(schema['~standard'].validate(call.args)).pipe(map(valueOf)) : of(call.args),
    ),
    switchMap((args) => toObservable(tool.execute(args as never, context))),
    defaultIfEmpty(undefined),
    takeLast(1),
  );
}

/** A value, a promise's value, or an Observable's values. */
export function toObservable<T>(result$: T | PromiseLike<T> | Observable<T>): Observable<T> {
  if (isObservable(result$)) return result$;
  const isPromise = typeof result$ === 'object' && result$ !== null && 'then' in result$;
  return isPromise ? from(result$) : of(result$);
}

function valueOf(result: StandardSchemaV1.Result<unknown>): unknown {
  if (!result.issues) return result.value;
  throw new Error(`the arguments are not valid: ${result.issues.map(({ message }) => message).join('; ')}`);
}

type JsonSchemaModule = Pick<typeof jsonSchema, 'Validator'>;

/** Kept, because importing it again takes another turn of the event loop. */
let validator: Promise<JsonSchemaModule> | undefined;
/** The same, once it is there: virtual time waits for no promise. */
let loaded: JsonSchemaModule | undefined;

/** The validator is loaded with the first call: most applications never need it. */
export function loadValidator(): Promise<JsonSchemaModule> {
  validator ??= import('@cfworker/json-schema').then(useValidator, (cause: unknown) => {
    validator = undefined;
    throw cause;
  });
  return validator;
}

/** Hands over the validator, so that it need not be loaded. */
export function useValidator(module: JsonSchemaModule): JsonSchemaModule {
  loaded = module;
  return module;
}

function checked(args: unknown, schema: JsonSchema): Observable<unknown> {
  return defer(() => (loaded ? of(loaded) : loadValidator())).pipe(
    map(({ Validator }) => {
      const { valid, errors } = new Validator(schema, '2020-12', false).validate(args);
      if (valid) return;
      const faults = errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
      throw new Error(`the arguments do not fit the schema: ${faults.slice(0, 5).join('; ')}`);
    }),
  );
}
