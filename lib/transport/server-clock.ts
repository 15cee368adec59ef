import { asyncScheduler, type SchedulerLike } from 'rxjs';
import type { HttpFailure } from './http-error.ts';

/** A clock that is wrong by more makes signatures invalid: services allow 5 minutes, some of which the way takes. */
const toleranceMs = 4 * 60_000;

/** What refusals of a signature come with. */
const refusing: ReadonlySet<number | undefined> = new Set([undefined, 400, 401, 403]);

/** Where AWS tells its own time: `Signature expired: … is now earlier than … (20250115T121000Z - 5 min.)`. */
const serverTime = /\((\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z [-+] \d+ min/;

/** The time that signatures are made with: this machine's, until a service has shown that it is wrong (F45). */
export class ServerClock {
  readonly #scheduler: () => SchedulerLike | undefined;
  #offsetMs: number = 0;

  /** @param scheduler - Gives the machine's clock. Default: RxJS's asyncScheduler. */
  constructor(scheduler: () => SchedulerLike | undefined = () => undefined) {
    this.#scheduler = scheduler;
  }

  /** Milliseconds since 1970. */
  get now(): number {
    return this.#machineMs + this.#offsetMs;
  }

  /**
   * Takes the time from a refusal: its Date header, or what its sentence says.
   *
   * @returns Whether the clock was so wrong that this may have been the reason. The same request, signed anew, is then
   *   worth one more try; the clock is right afterwards, so a second refusal has another reason.
   */
  correct({ status, headers, message }: Pick<HttpFailure, 'status' | 'headers' | 'message'>): boolean {
    if (!refusing.has(status)) return false;
    const told = timeIn(message) ?? Date.parse(headers['date'] ?? '');
    if (Number.isNaN(told) || Math.abs(told - this.now) <= toleranceMs) return false;
    this.#offsetMs = told - this.#machineMs;
    return true;
  }

  get #machineMs(): number {
    return (this.#scheduler() ?? asyncScheduler).now();
  }
}

function timeIn(message: string): number | undefined {
  const found = serverTime.exec(message);
  return found ? Date.parse(found.slice(1, 4).join('-') + 'T' + found.slice(4, 7).join(':') + 'Z') : undefined;
}
