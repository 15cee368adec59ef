import {
  concatMap,
  defer,
  dematerialize,
  map,
  materialize,
  merge,
  tap,
  type MonoTypeOperatorFunction,
  type Observable,
  type ObservableNotification,
} from 'rxjs';

/** What waits before a shut gate, oldest first. */
export interface Held<T> {
  readonly length: number;
  push(value: T): void;
  shift(): T | undefined;
}

/**
 * Holds values while a gate is shut. A gate that shuts again in the middle of a release, even because of it, stops the
 * release at once. Completion waits behind the values; an error passes at once.
 *
 * @param open$ - Whether the gate is open; shut until it says so. Subscribed to before the source.
 */
export function gated<T>(open$: Observable<boolean>, createHeld: () => Held<T>): MonoTypeOperatorFunction<T> {
  return (source$) =>
    defer(() => {
      const held = createHeld();
      let open = false;
      let completion: ObservableNotification<T> | undefined;

      function* release(): Generator<ObservableNotification<T>> {
        while (open && held.length > 0) {
          const value = held.shift() as T;
          yield { kind: 'N', value };
        }
        if (open && completion) yield completion;
      }
      const gate$ = open$.pipe(
        tap((isOpen) => {
          open = isOpen;
        }),
        map(() => undefined),
      );
      return merge(gate$, source$.pipe(materialize())).pipe(
        concatMap((notification) => {
          if (notification?.kind === 'E') return [notification];
          if (notification?.kind === 'N') held.push(notification.value);
          if (notification?.kind === 'C') completion = notification;
          return release();
        }),
        dematerialize(),
      );
    });
}
