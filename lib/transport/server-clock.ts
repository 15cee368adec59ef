import { asyncScheduler, type SchedulerLike } from 'rxjs';
import type { HttpFailure } from './http-error.ts';

/** A larger clock error invalidates signatures: services allow 5 minutes, part of which transit takes. */
const toleranceMs = 4 * 60_000;

/** Statuses of rejected signatures. */
const refusing: ReadonlySet<number | undefined> = new Set([undefined, 400, 401, 403]);

/** Where AWS states its own time: `Signature expired: … is now earlier than … (20250115T121000Z - 5 min.)`. */
const serverTime = /\((\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z [-+] \d+ min/;

/** The time for signatures: this machine's, until a service shows that it is wrong (F45). */
export class ServerClock {
  readonly #scheduler: () => SchedulerLike | undefined;
  #offsetMs: number = 0;

  /** @param scheduler - The machine's clock. Default: RxJS's asyncScheduler. */
  constructor(scheduler: () => SchedulerLike | undefined = () => undefined) {
    this.#scheduler = scheduler;
  }

  /** Milliseconds since 1970. */
  get now(): number {
    return this.#machineMs + this.#offsetMs;
  }

  /**
   * Reads the time from a rejection: its Date header, or its message.
   *
   * @returns Whether the clock was wrong enough to be the reason. The same request, signed again, is then worth one
   * retry; a second rejection has another reason.
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
