import { defer, firstValueFrom, type SchedulerLike, timer } from 'rxjs';
import { merge } from '../stream/merge.ts';

/** Longest wait for a provider to finish, in milliseconds. */
const farewellMs = 1_000;

/** Lets a provider finish, and waits for it for a limited time. Rejects if the provider throws or rejects. */
export async function farewell(finish: () => Promise<void> | void, scheduler: SchedulerLike): Promise<void> {
  const finished$ = defer(async () => finish());
  await firstValueFrom(merge(finished$, timer(farewellMs, scheduler)), { defaultValue: undefined });
}
