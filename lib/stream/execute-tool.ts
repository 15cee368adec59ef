import type * as jsonSchema from '@cfworker/json-schema';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { defaultIfEmpty, defer, from, isObservable, map, of, switchMap, takeLast, type Observable } from 'rxjs';
import { messageOf } from '../core/errors.ts';
import type { JsonSchema, Tool, ToolContext } from '../core/tools.ts';
import { fromInput, isAsyncIterable } from './bridge.ts';
import { withoutPatterns } from './without-patterns.ts';

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
  const { parameters, schema, checksPatterns = true } = tool;
  const fits$ = parameters
    ? checked(call.args, checksPatterns ? parameters : withoutPatterns(parameters))
    : of(undefined);
  const context = { ...given, toolCallId: call.id, idempotencyKey: call.id };
  return fits$.pipe(
    switchMap(() =>
      schema ? toObservable(schema['~standard'].validate(call.args)).pipe(map(valueOf)) : of(call.args),
    ),
    switchMap((args) => lastOf(tool.execute(args as never, context))),
  );
}

/** What a tool has come to: its value, or the last one of its promise, Observable or async generator. Emits once. */
export function lastOf(result: unknown): Observable<unknown> {
  // A promise may bring a stream.
  return lastIn(toObservable(result)).pipe(
    switchMap((value) => (isMany(value) ? lastIn(fromInput(value)) : of(value))),
  );
}

function lastIn(values$: Observable<unknown>): Observable<unknown> {
  return values$.pipe(defaultIfEmpty(undefined), takeLast(1));
}

const isMany = (value: unknown): value is Observable<unknown> | AsyncIterable<unknown> =>
  isObservable(value) || isAsyncIterable(value);

/**
 * A tool's result as the model is told it: a text itself, anything else as JSON. `undefined` if there is nothing to
 * tell.
 *
 * @throws The result, if it is an error; an Error if JSON shows nothing of it.
 */
export function resultText(result: unknown): string | undefined {
  if (isError(result)) throw result;
  if (typeof result === 'string') return result;
  const value = shown(result);
  const isShown = typeof value !== 'string' || typeof result !== 'object';
  if (isShown) return JSON.stringify(value, inJson);
  throw new Error(`it ran, but JSON shows nothing of its result ${value}: return text or fields`);
}

/** More entries than fit any limit of a result: an iterable may have no end. */
const maxEntries = 2 ** 17;

/** Sees a Node Buffer before its `toJSON()` lists every byte. */
function inJson(this: unknown, key: string, value: unknown): unknown {
  const own: unknown = Reflect.get(Object(this) as object, key);
  return shown(ArrayBuffer.isView(own) ? own : value);
}

/** A value of which JSON would show `{}`, or bytes by their index, in words that it has. */
function shown(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (isError(value)) return `Error: ${messageOf(value)}`;
  if (ArrayBuffer.isView(value)) return isBytes(value) ? nameOf(value) : entriesOf(value);
  if (typeof value !== 'object' || value === null || Object.keys(value).length > 0 || 'toJSON' in value) return value;
  if (Array.isArray(value) || isPlain(value) || typeof value.valueOf() !== 'object') return value;
  if (value instanceof Map && [...value.keys()].every((key) => typeof key === 'string')) {
    return Object.fromEntries(value) as unknown;
  }
  return entriesOf(value);
}

/** Whether a view is of bytes, which tell a model nothing; of whichever realm. */
function isBytes(view: ArrayBufferView): boolean {
  return Object.prototype.toString.call(view) === '[object Uint8Array]';
}

/** The entries of what has some, else its name. */
function entriesOf(value: object): unknown {
  if (!(Symbol.iterator in value)) return nameOf(value);
  const entries: unknown[] = [];
  for (const entry of value as Iterable<unknown>) if (entries.push(entry) === maxEntries) break;
  return entries;
}

const nameOf = ({ constructor: { name } }: object): string => `[${name || 'class'}]`;

/** Whether it is an object of no class, of whichever realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Whether it is an error, of whichever realm. */
const isError = (value: unknown): boolean =>
  value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';

/** A value, a promise's value, or an Observable's values. */
export function toObservable<T>(result$: T | PromiseLike<T> | Observable<T>): Observable<T> {
  if (isObservable(result$)) return result$;
  const isPromise = typeof result$ === 'object' && result$ !== null && 'then' in result$;
  return isPromise ? from(result$) : of(result$);
}

function valueOf(result: StandardSchemaV1.Result<unknown>): unknown {
  if (!result.issues) return result.value;
  throw new Error(`the arguments are not valid: ${result.issues.map(told).join('; ')}`);
}

/** An issue with the argument that it is about: most libraries leave that to the path, and the model has to mend it. */
function told({ message, path = [] }: StandardSchemaV1.Issue): string {
  const name = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  return !name || message.startsWith(name) ? message : `${name}: ${message}`;
}

type JsonSchemaModule = Pick<typeof jsonSchema, 'Validator'>;

/** Kept, because importing it again takes another turn of the event loop. */
let validator: Promise<JsonSchemaModule> | undefined;
/** The same, once it is there: virtual time waits for no promise. */
let loaded: JsonSchemaModule | undefined;

/** The validator is loaded with the first call: most applications never need it. */
function loadValidator(): Promise<JsonSchemaModule> {
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
