import { map, of, switchMap, type Observable } from 'rxjs';
import { asNumber, asObject, asString, type WireObject } from '../../../core/guard.ts';
import type { Step } from '../../../stream/fold.ts';
import { incremental } from '../../../stream/incremental.ts';
import { readJson, type HttpResponse } from '../../../transport/http.ts';
import { jsonObjects } from '../../../transport/json-objects.ts';
import { mediaType } from '../../../transport/sse.ts';
import type { SynthesisEvent } from '../utterance.ts';
import type { RequestContext } from './request-wire.ts';

/** Longest event or answer, in characters or bytes: a whole recording, in base64 or hexadecimal. */
const maxLength = 64 * 1024 * 1024;

/** The body of an answer, as audio. */
export function readAudio(
  { headers, body$ }: HttpResponse,
  { error }: Pick<RequestContext<unknown>, 'error'>,
): Observable<SynthesisEvent> {
  const contentType = headers['content-type'] ?? '';
  if (/^(text\/|application\/(json|xml))/.test(contentType)) {
    throw error(`the service answers ${contentType} in place of audio`, { code: 'protocol' });
  }
  return body$.pipe(map((data) => ({ type: 'audio', data })));
}

/** What an answer gives that is one JSON object, here empty where it is another value; else the body is audio. */
export function readObject<E>(
  response: HttpResponse,
  context: Pick<RequestContext<unknown>, 'error'>,
  read: (answer: WireObject) => readonly E[],
): Observable<E | SynthesisEvent> {
  if (mediaType(response.headers) !== 'application/json') return readAudio(response, context);
  return of(response).pipe(
    readJson(maxLength),
    switchMap((answer) => read(asObject(answer) ?? {})),
  );
}

/** How an answer is read that consists of JSON objects: one, one a line, or server-sent events. */
export interface ObjectReading<S, E = SynthesisEvent> {
  readonly start: S;
  /** What an object adds: the next state, and the events that it brings. Pure. */
  readonly read: (state: S, message: WireObject) => Step<S, E>;
  /** What is left at the end; throws where that comes too early. Default: nothing. */
  readonly end?: (state: S) => readonly E[];
}

/** The events in an answer that consists of JSON objects; what is none is warned of and left out. */
export function readObjects<S, E = SynthesisEvent>(
  response: HttpResponse,
  { warn }: Pick<RequestContext<unknown>, 'warn'>,
  { start, read, end }: ObjectReading<S, E>,
): Observable<E> {
  const onGarbage = (): void => warn('a message that is no JSON object of the service is ignored');
  return of(response).pipe(
    jsonObjects({ maxLength, onGarbage }),
    incremental(() => {
      let state = start;
      return {
        push: (message: WireObject) => {
          const [next, ...events] = read(state, message);
          state = next;
          return events;
        },
        flush: () => end?.(state) ?? [],
      };
    }),
  );
}

/** A word and its milliseconds as a message has them; none where one of them is missing. */
export function wordEvent(word: unknown, start: unknown, end: unknown): SynthesisEvent[] {
  const [text, startMs, endMs] = [asString(word)?.trim(), asNumber(start), asNumber(end)];
  return text && startMs !== undefined && endMs !== undefined ? [{ type: 'word', text, startMs, endMs }] : [];
}
