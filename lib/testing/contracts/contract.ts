import { firstValueFrom, from, map, race, timer, type Observable, type Subscription } from 'rxjs';
import { docs } from '../../core/docs.ts';
import { messageOf, VoiceError } from '../../core/errors.ts';
import type { ProviderContract, ProviderRole } from '../../core/roles.ts';

/**
 * One rule of a contract, as a test: `it(name, run)` under Jest and Vitest, `test(name, run)` under `node:test`.
 */
export interface ContractCase {
  /** The rule. */
  readonly name: string;
  /** Resolves if the provider keeps the rule; rejects with an `Error` that says how it breaks it. */
  readonly run: () => Promise<void>;
}

/** Options of all contracts. */
export interface ContractOptions<P> {
  /**
   * Longest wait for what must happen, in milliseconds. Default: 4000. Test runners abort a test after 5000, without saying
   * what it waited for.
   */
  readonly timeoutMs?: number;
  /** How long to watch for what must not happen, such as late audio, in milliseconds. Default: 50. */
  readonly watchMs?: number;
  /**
   * How much of its service the provider uses now: open requests, sockets or devices, as the test's server counts them.
   * Adds the cases that unsubscribing and `dispose()` end them.
   */
  readonly inUse?: () => number;
  /** A provider whose service fails, such as for a wrong credential. Adds the case of its error. */
  readonly failing?: () => P;
  /** The credential of `failing`. Adds the case that it appears in no error, no log and no JSON. */
  readonly credential?: string;
}

/** What a role's contract knows of the role. */
export interface RoleKit<P extends ProviderContract, T> {
  readonly create: () => P;
  readonly options: ContractOptions<P>;
  readonly role: ProviderRole;
  /** The role's streams; those with `?` may be absent. */
  readonly streams: readonly string[];
  /** The provider's work, on the first or the second of two utterances; unsubscribing cancels it. */
  readonly work$: (provider: P, utterance: 0 | 1) => Observable<T>;
  /** What the work tells everybody. */
  readonly hot$: (provider: P) => Observable<T>;
}

/** Fails the case. */
export function fail(problem: string): never {
  throw new Error(problem);
}

/** Fails the case unless a condition holds. */
export function check(condition: boolean, problem: string): asserts condition {
  if (!condition) fail(problem);
}

/** A value for a message, cut at 200 characters. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : messageOf(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** The members that a role's contract asks for, besides its streams. */
const members = {
  input: ['start()', 'stop()', 'pause()', 'resume()', 'getMetadata()'],
  stt: ['accepts', 'configureAudio()', 'connect()', 'disconnect()', 'sendAudio()', 'transcribe()'],
  llm: ['generate()'],
  tts: ['speak()'],
  output: ['accepts', 'positionMs', 'play()', 'enqueue()', 'flush()', 'stop()', 'pause()', 'resume()'],
} as const;

const membersOfAll = ['initialize()', 'dispose()', 'isReady()'] as const;

const namesOfAll: readonly string[] = ['state$?', 'errors$?', 'connection$?', 'device$?'];

/** Runs a role's cases on providers of one kind, each on one of its own. */
export class Bench<P extends ProviderContract, T> {
  readonly kit: RoleKit<P, T>;
  readonly timeoutMs: number;
  readonly watchMs: number;

  constructor(kit: RoleKit<P, T>) {
    this.kit = kit;
    this.timeoutMs = kit.options.timeoutMs ?? 4000;
    this.watchMs = kit.options.watchMs ?? 50;
  }

  /** A case with a provider that is initialized, and disposed of in any event. */
  with(name: string, body: (provider: P) => Promise<void>, create: () => P = this.kit.create): ContractCase {
    return this.case(name, create, async (provider) => {
      await this.inTime(provider.initialize(), 'initialize()');
      await body(provider);
    });
  }

  /** A case with a provider that is not initialized. */
  case(name: string, create: () => P, body: (provider: P) => Promise<void>): ContractCase {
    const run = async (): Promise<void> => {
      const provider = create();
      this.#assertWhole(provider);
      const told = new Told(provider);
      try {
        await body(provider);
      } catch (cause) {
        throw told.with(cause);
      } finally {
        told.close();
        await this.inTime(provider.dispose(), 'dispose()');
      }
    };
    return { name, run };
  }

  /** Fails unless the provider has all members of its role. */
  #assertWhole(provider: P): void {
    const { role, streams } = this.kit;
    const names = ['roles', ...membersOfAll, ...members[role], ...streams].filter((name) => !name.endsWith('?'));
    for (const name of names) {
      const key = name.replace('()', '');
      const value: unknown = Reflect.get(provider, key);
      const isThere = key === name ? value !== undefined : typeof value === 'function';
      check(
        isThere,
        `${shown(provider.name)} needs ${name} to be a provider of ${role}: see ${docs('custom-providers')}`,
      );
    }
  }

  /** Work that begins now. */
  begin<V>(work$: Observable<V>): Work<V> {
    return new Work(work$, (promise, what) => this.inTime(promise, what));
  }

  /** What a work gives from its start to its end; fails if it fails. */
  async whole(provider: P, utterance: 0 | 1): Promise<readonly T[]> {
    const work = this.begin(this.kit.work$(provider, utterance));
    await work.ended('the work of one call');
    if (work.hasFailed) fail(`it failed: ${shown(work.error)}`);
    return work.values;
  }

  /** Waits for what must happen. */
  inTime<V>(promise: Promise<V>, what: string): Promise<V> {
    const limit$ = timer(this.timeoutMs).pipe(
      map((): never => fail(`${what} did not come to an end within ${this.timeoutMs} ms`)),
    );
    // The race always has a winner.
    return firstValueFrom(race(from(promise), limit$), { defaultValue: undefined as V });
  }

  /** Watches for what must not happen. */
  watch(ms: number = this.watchMs): Promise<void> {
    return timer(ms).forEach(() => undefined);
  }

  /** Waits until so much of the service is in use. */
  async uses(wanted: (inUse: number) => boolean, problem: string): Promise<void> {
    const { inUse } = this.kit.options;
    if (!inUse) return;
    for (let waited = 0; !wanted(inUse()); waited += 5) {
      check(waited < this.timeoutMs, `${problem}: ${inUse()} in use after ${this.timeoutMs} ms`);
      await timer(5).forEach(() => undefined);
    }
  }

  /** The provider's streams, those that it may lack only if it has them. */
  streamsOf(provider: P): ReadonlyMap<string, Observable<unknown>> {
    const found = [...namesOfAll, ...this.kit.streams].flatMap((name): [string, Observable<unknown>][] => {
      const key = name.replace('?', '');
      const stream: unknown = Reflect.get(provider, key);
      if (stream === undefined && name !== key) return [];
      check(isObservable(stream), `${key} is not an Observable`);
      return [[key, stream]];
    });
    return new Map(found);
  }
}

/** What a provider says in `errors$` while a case runs: often why it breaks the rule. */
class Told {
  readonly #errors: unknown[] = [];
  readonly #subscription: Subscription | undefined;

  constructor(provider: ProviderContract) {
    const stream: unknown = Reflect.get(provider, 'errors$');
    if (!isObservable(stream)) return;
    const next = (error: unknown): void => void this.#errors.push(error);
    this.#subscription = stream.subscribe({ next, error: next });
  }

  /** What a case failed with, and the first that was told. */
  with(failure: unknown): unknown {
    const [first] = this.#errors;
    if (!(failure instanceof Error) || first === undefined) return failure;
    const because = first instanceof Error && first.cause !== undefined ? ` (${shown(first.cause)})` : '';
    return new Error(`${failure.message}; errors$ says: ${shown(first)}${because}`, { cause: failure });
  }

  close(): void {
    this.#subscription?.unsubscribe();
  }
}

/** A piece of work under way. */
export class Work<T> {
  readonly values: T[] = [];
  error: unknown = undefined;
  hasFailed: boolean = false;
  isOver: boolean = false;
  readonly #subscription: Subscription;
  readonly #begun: Promise<void>;
  readonly #ended: Promise<void>;
  readonly #inTime: (promise: Promise<void>, what: string) => Promise<void>;

  constructor(work$: Observable<T>, inTime: (promise: Promise<void>, what: string) => Promise<void>) {
    let begin: () => void = () => undefined;
    let end: () => void = () => undefined;
    this.#begun = new Promise((resolve) => (begin = resolve));
    this.#ended = new Promise((resolve) => (end = resolve));
    this.#inTime = inTime;
    const finish = (): void => {
      this.isOver = true;
      begin();
      end();
    };
    this.#subscription = work$.subscribe({
      next: (value) => {
        this.values.push(value);
        begin();
      },
      error: (error: unknown) => {
        this.error = error;
        this.hasFailed = true;
        finish();
      },
      complete: finish,
    });
  }

  /** Resolves with the first value, or the end. */
  begun(what: string): Promise<void> {
    return this.#inTime(this.#begun, `the first of ${what}`);
  }

  /** Resolves with the end, in whatever way. */
  ended(what: string): Promise<void> {
    return this.#inTime(this.#ended, what);
  }

  cancel(): void {
    this.#subscription.unsubscribe();
  }
}

/** Everything that is emitted from now on. */
export class Recorded<T> {
  readonly heard: T[] = [];
  readonly ends: string[] = [];
  readonly #subscription: Subscription;

  constructor(hot$: Observable<T>) {
    this.#subscription = hot$.subscribe({
      next: (value) => this.heard.push(value),
      error: (error: unknown) => this.ends.push(`failed: ${shown(error)}`),
      complete: () => this.ends.push('completed'),
    });
  }

  close(): void {
    this.#subscription.unsubscribe();
  }
}

/** Fails the case unless an error is one of the library's. */
export function checkError(error: unknown, provider: ProviderContract, when: string): asserts error is VoiceError {
  check(VoiceError.is(error), `${when}, it fails with ${shown(error)}, which is not a VoiceError`);
  const named = error.provider === undefined || error.provider === provider.name;
  check(named, `${when}, its error names ${shown(error.provider)}, not ${provider.name}`);
}

function isObservable(value: unknown): value is Observable<unknown> {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'subscribe') === 'function';
}
