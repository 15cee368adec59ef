import { fromEventPattern, type Observable } from 'rxjs';

/** Anything with event listeners. */
export interface ListenableLike {
  /** Adds a listener. */
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  /** Removes a listener. */
  off(event: string, listener: (...values: unknown[]) => void): unknown;
}

/** The first argument of each event, typed as the package documents it. Hot. */
export function listenTo<T = unknown>(source: ListenableLike, event: string): Observable<T> {
  return fromEventPattern<T>(
    (listener) => source.on(event, listener),
    (listener) => source.off(event, listener),
  );
}
