import type { Asked } from './asked.ts';
import { assertTrusted, clientAddress, Clients, unknownAddress } from './clients.ts';
import { most, type ProxyLimits } from './limits.ts';
import { unknownAddressNote } from './note.ts';
import type { Authenticated, ProxyOptions } from './options.ts';
import { hasLeft, isRefusal, noName, unanswered, unknownUser, type Refusal } from './refusal.ts';

/** The requests and sockets under way: who may begin one, and what ends them all. */
export class Calls {
  readonly #options: Pick<ProxyOptions, 'authenticate' | 'trustProxy'>;
  readonly #limits: ProxyLimits;
  readonly #clients: Clients;
  readonly #noteUnknown: () => void;
  /** What cuts each. */
  readonly #underWay = new Set<() => void>();
  #isOpen = true;
  /** Told when none is under way. */
  readonly #waiting = new Set<() => void>();

  /** @throws Error when `trustProxy` names nothing that could be trusted. */
  constructor(options: Pick<ProxyOptions, 'authenticate' | 'trustProxy' | 'log'>, limits: ProxyLimits) {
    assertTrusted(options.trustProxy);
    this.#options = options;
    this.#limits = limits;
    this.#clients = new Clients(limits);
    this.#noteUnknown = unknownAddressNote(options.log);
  }

  /** Whether there is no room for another. */
  get isFull(): boolean {
    return !this.#isOpen || this.#underWay.size >= this.#limits.maxCalls;
  }

  /**
   * Begins one, which has its place at once. Gives what ends it, once, or why it may not begin.
   *
   * @param gone - Aborted when the client has gone: it keeps no place while the application is asked.
   */
  async begin(asked: Asked, cut: () => void, gone: AbortSignal): Promise<(() => void) | Refusal> {
    this.#underWay.add(cut);
    const leave = (): void => {
      this.#underWay.delete(cut);
      if (this.#underWay.size === 0) for (const tell of this.#waiting) tell();
    };
    const key = await this.#identify(asked, gone);
    const end = typeof key === 'string' ? this.#clients.begin(key) : key;
    if (isRefusal(end)) {
      leave();
      return end;
    }
    return () => {
      end();
      leave();
    };
  }

  /** Lets nobody in any more, waits so many milliseconds for those under way, and cuts what is left. */
  async close(drainMs: number): Promise<void> {
    this.#isOpen = false;
    if (drainMs > 0 && this.#underWay.size > 0) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
        timer = setTimeout(resolve, Math.min(drainMs, most));
      });
      clearTimeout(timer);
    }
    for (const cut of [...this.#underWay]) cut();
  }

  /** Who is asking, as their limits know them, or why they may not. */
  async #identify(asked: Asked, gone: AbortSignal): Promise<string | Refusal> {
    const { authenticate, trustProxy } = this.#options;
    const from = clientAddress(asked.headers, asked.address, trustProxy);
    if (from === unknownAddress) this.#noteUnknown();
    const address = `at ${from}`;
    if (!authenticate) return address;
    // A client that has guessed too often is turned away before the application is asked.
    const tired = this.#clients.tired(address);
    if (tired) return tired;
    const said = await this.#inTime(
      Promise.resolve().then(() => authenticate(asked.request())),
      gone,
    );
    // Whoever asks and leaves has cost the application as much.
    if (said === unknownUser || said === hasLeft) this.#clients.spend(address);
    if (typeof said === 'object') return said;
    return said === true ? address : `user ${said}`;
  }

  /** Asks the application who the user is, for a limited time. An error means an unknown user. */
  async #inTime(asking: Promise<Authenticated>, gone: AbortSignal): Promise<string | true | Refusal> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let leave = (): void => undefined;
    const waiting = new Promise<Refusal>((resolve) => {
      timer = setTimeout(() => resolve(unanswered), this.#limits.connectMs);
      leave = () => resolve(hasLeft);
      if (gone.aborted) leave();
      gone.addEventListener('abort', leave);
    });
    const answer = asking.then(nameOf, () => unknownUser);
    return Promise.race([waiting, answer]).finally(() => {
      clearTimeout(timer);
      gone.removeEventListener('abort', leave);
    });
  }
}

function nameOf(said: unknown): string | true | Refusal {
  if (said === '' || said === false || said === null || said === undefined) return unknownUser;
  return said === true || typeof said === 'string' ? said : noName;
}
