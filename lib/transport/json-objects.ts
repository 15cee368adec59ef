import {
  concatMap,
  connect,
  defer,
  filter,
  map,
  of,
  startWith,
  switchMap,
  take,
  type Observable,
  type OperatorFunction,
} from 'rxjs';
import { asObject, type WireObject } from '../core/guard.ts';
import { parseJsonObject } from '../core/parse-json.ts';
import { readJson, type HttpResponse } from './http.ts';
import { sse } from './sse.ts';

/** Options of {@link jsonObjects}. */
export interface JsonObjectsOptions {
  /** Longest event or object, in characters. Default: 1,048,576. */
  readonly maxLength?: number;
  /** Called for each event that is not a JSON object, except the closing `[DONE]`. */
  readonly onGarbage?: () => void;
}

/**
 * The JSON objects in an answer: one per server-sent event, or the answer itself, or those of its array, since services send errors as plain
 * JSON even when events were requested. The first character tells which, whatever the headers say. Fails with `overflow`
 * when it is too long.
 */
export function jsonObjects({ maxLength = 1_048_576, onGarbage }: JsonObjectsOptions = {}): OperatorFunction<
  HttpResponse,
  WireObject
> {
  return switchMap((response) =>
    response.body$.pipe(
      trimmed,
      connect((body$) =>
        body$.pipe(
          take(1),
          switchMap((first): Observable<WireObject | undefined> => {
            const whole$ = body$.pipe(startWith(first));
            if (first[0] === brace || first[0] === bracket) {
              return of({ ...response, body$: whole$ }).pipe(
                readJson(maxLength),
                concatMap((json) => [json].flat().map(asObject)),
              );
            }
            return whole$.pipe(
              sse({ provider: response.provider, maxLength }),
              filter(({ data }) => data !== '[DONE]'),
              map(({ data }) => parseJsonObject(data)),
            );
          }),
        ),
      ),
      filter((object) => {
        if (!object) onGarbage?.();
        return object !== undefined;
      }),
    ),
  );
}

const [brace, bracket] = [0x7b, 0x5b];
/** White space, and the bytes of a byte order mark. */
const blanks = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

/** A body without the blanks before its first character, and without empty pieces. */
function trimmed(body$: HttpResponse['body$']): HttpResponse['body$'] {
  return defer(() => {
    let isBlank = true;
    return body$.pipe(
      map((bytes) => {
        if (!isBlank) return bytes;
        const start = bytes.findIndex((byte) => !blanks.has(byte));
        isBlank = start < 0;
        return isBlank ? bytes.subarray(0, 0) : bytes.subarray(start);
      }),
      filter(({ length }) => length > 0),
    );
  });
}
