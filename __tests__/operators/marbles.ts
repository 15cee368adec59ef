import { TestScheduler, type RunHelpers } from 'rxjs/testing';

/** Runs a test in virtual time. */
export function marbles(test: (helpers: RunHelpers) => void): void {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(test);
}
