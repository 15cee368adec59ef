import { Observable } from 'rxjs';

/** Emits what a promise resolves to. Unsubscribing releases it, even if it resolves later. Cold; never completes. */
export function resource<T>(open: () => Promise<T>, release: (value: T) => void): Observable<T> {
  return new Observable((subscriber) => {
    const opened = open();
    opened.then(
      (value) => subscriber.next(value),
      (error: unknown) => subscriber.error(error),
    );
    return () => {
      opened.then(release, () => undefined);
    };
  });
}
