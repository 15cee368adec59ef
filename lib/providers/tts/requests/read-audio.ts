import { map, Observable, of, switchMap } from 'rxjs';
import { joinBytes } from '../../../audio/concat.ts';
import { asObject, type WireObject } from '../../../core/guard.ts';
import { incremental } from '../../../stream/incremental.ts';
import { readJson, readText, type HttpResponse } from '../../../transport/http.ts';
import { jsonObjects } from '../../../transport/json-objects.ts';
import { mediaType } from '../../../transport/media-type.ts';
import type { SynthesisEvent } from '../utterance.ts';
import type { AnswerReader, ObjectReading, RequestContext } from './request-wire.ts';

/** Longest event or answer, in characters or bytes: a whole recording, in base64 or hexadecimal. */
const maxLength = 64 * 1024 * 1024;

/** Shortest piece of audio that is passed on before the end, in bytes: less than a frame of any format. */
const shortestPiece = 128;

/** Reads answers with a wire's errors and warnings. */
export function answerReader(context: Pick<RequestContext<unknown>, 'error' | 'warn'>): AnswerReader {
  return {
    audio: (response) => readAudio(response, context),
    object: (response, read) => readObject(response, context, read),
    objects: (response, reading) => readObjects(response, context, reading),
    json: (response, limit) => of(response).pipe(readJson(limit)),
    text: (response) => of(response).pipe(readText()),
  } satisfies AnswerReader;
}

/** Reads a response's body as audio. */
export function readAudio(
  { headers, body$ }: HttpResponse,
  { error }: Pick<RequestContext<unknown>, 'error'>,
): Observable<SynthesisEvent> {
  const contentType = headers['content-type'] ?? '';
  if (/^(text\/|application\/(json|xml))/.test(contentType)) {
    throw error(`the service sent ${contentType} instead of audio`, { code: 'protocol' });
  }
  return withoutCrumbs(body$).pipe(map((data) => ({ type: 'audio', data })));
}

/**
 * Joins pieces that are too short to pass on: a body may come byte by byte, and each piece that waits takes half a
 * kilobyte.
 */
function withoutCrumbs(body$: Observable<Uint8Array<ArrayBuffer>>): Observable<Uint8Array<ArrayBuffer>> {
  return new Observable((subscriber) => {
    let [pieces, length]: [Uint8Array<ArrayBuffer>[], number] = [[], 0];
    const pass = (): void => {
      const joined = joinBytes(pieces);
      [pieces, length] = [[], 0];
      if (joined.length > 0) subscriber.next(joined);
    };
    return body$.subscribe({
      next: (piece) => {
        pieces.push(piece);
        length += piece.length;
        if (length >= shortestPiece) pass();
      },
      error: (error: unknown) => {
        pass();
        subscriber.error(error);
      },
      complete: () => {
        pass();
        subscriber.complete();
      },
    });
  });
}

/** Reads a response that is one JSON object (empty for any other JSON value); otherwise the body is audio. */
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

/** The events in a response of JSON objects; skips anything else with a warning. */
function readObjects<S, E = SynthesisEvent>(
  response: HttpResponse,
  { warn }: Pick<RequestContext<unknown>, 'warn'>,
  { start, read, end }: ObjectReading<S, E>,
): Observable<E> {
  const onGarbage = (): void => warn('ignored a message that is not a JSON object');
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
