import type { Observable } from 'rxjs';

/** Calls back for each value, until the returned function is called; what the callback throws goes to `failed`. */
export function listen<T>(
  values$: Observable<T>,
  callback: (value: T) => void,
  failed: (cause: unknown) => void,
): () => void {
  const subscription = values$.subscribe({
    next: (value) => {
      try {
        callback(value);
      } catch (cause) {
        failed(cause);
      }
    },
    error: () => undefined,
  });
  return () => subscription.unsubscribe();
}
