import { Observable } from 'rxjs';

/** What a promise gives. Unsubscribing releases it, also when it comes only then. Cold; never completes. */
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
