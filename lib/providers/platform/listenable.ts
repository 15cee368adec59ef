import { fromEventPattern, type Observable } from 'rxjs';

/** What has listeners. */
export interface ListenableLike {
  /** Listens. */
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  /** Takes a listener away. */
  off(event: string, listener: (...values: unknown[]) => void): unknown;
}

/** The first value of each event, of the type that the package promises. Hot. */
export function listenTo<T = unknown>(source: ListenableLike, event: string): Observable<T> {
  return fromEventPattern<T>(
    (listener) => source.on(event, listener),
    (listener) => source.off(event, listener),
  );
}
