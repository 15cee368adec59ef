import { connect, filter, map, of, startWith, switchMap, take, type Observable, type OperatorFunction } from 'rxjs';
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
 * The JSON objects in an answer: one per server-sent event, or the answer itself, since services send errors as plain
 * JSON even when events were requested. The first byte tells which, whatever the headers say. Fails with `overflow`
 * when it is too long.
 */
export function jsonObjects({ maxLength = 1_048_576, onGarbage }: JsonObjectsOptions = {}): OperatorFunction<
  HttpResponse,
  WireObject
> {
  return switchMap((response) =>
    response.body$.pipe(
      filter(({ length }) => length > 0),
      connect((body$) =>
        body$.pipe(
          take(1),
          switchMap((first): Observable<WireObject | undefined> => {
            const whole$ = body$.pipe(startWith(first));
            if (first[0] === 0x7b) return of({ ...response, body$: whole$ }).pipe(readJson(maxLength), map(asObject));
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
