import { defer, firstValueFrom, type SchedulerLike, timer } from 'rxjs';
import { merge } from '../stream/merge.ts';

/** Longest wait for a provider to finish, in milliseconds. */
const farewellMs = 1_000;

/** Has a provider finish, and waits for it, but not forever. Rejects where the provider throws or rejects. */
export async function farewell(finish: () => Promise<void> | void, scheduler: SchedulerLike): Promise<void> {
  const finished$ = defer(async () => finish());
  await firstValueFrom(merge(finished$, timer(farewellMs, scheduler)), { defaultValue: undefined });
}
