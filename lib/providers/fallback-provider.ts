import {
  asyncScheduler,
  catchError,
  defer,
  filter,
  from,
  NEVER,
  type Observable,
  of,
  ReplaySubject,
  retry,
  type SchedulerLike,
  Subject,
  Subscription,
  switchMap,
  take,
  takeUntil,
  tap,
  throwIfEmpty,
} from 'rxjs';
import { configProblem, unknownKey, type RulesOf } from '../core/config-rule.ts';
import { VoiceError, withChanges } from '../core/errors.ts';
import { Provider } from '../core/provider.ts';
import type {
  ConnectionEvent,
  InitializeOptions,
  ProviderContract,
  ProviderRole,
  ProviderType,
} from '../core/roles.ts';
import { merge } from '../stream/merge.ts';
import { patientTimer } from '../stream/patient-timer.ts';

/** How soon `fallback()` gives up on a provider, and how often it checks whether the first one works again. */
export interface FallbackOptions {
  /** Longest wait for the first model's first useful token, in milliseconds. Default: 3,000. */
  readonly firstTokenMs?: number;
  /** The same for each of the other models, in milliseconds. Default: 6,000. */
  readonly backupFirstTokenMs?: number;
  /** Longest wait of a voice for the first audio of a sentence, in milliseconds. Default: 2,500. */
  readonly firstAudioMs?: number;
  /** Longest time that speech-to-text may be without a connection, in milliseconds. Default: 5,000. */
  readonly connectMs?: number;
  /** While a backup is in use: how often the first one is tried, in milliseconds. Default: 30,000. */
  readonly probeMs?: number;
  /** The clock; a TestScheduler in tests. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

const rules: RulesOf<FallbackOptions> = {
  scheduler: {},
  firstTokenMs: { min: 1 },
  backupFirstTokenMs: { min: 1 },
  firstAudioMs: { min: 1 },
  connectMs: { min: 1 },
  probeMs: { min: 1 },
};

/** The failures of one request, by the provider's position in the chain. */
export type ChainFailures = Map<number, VoiceError>;

/** Combines providers of one role: whenever the one in use fails, the next one takes over. */
export abstract class FallbackProvider<P extends ProviderContract> extends Provider<FallbackOptions> {
  abstract override readonly roles: readonly ProviderRole[];
  readonly type: ProviderType = 'rest';
  protected readonly members: readonly [P, ...P[]];
  readonly #switches$ = new ReplaySubject<ConnectionEvent>(1);
  readonly #errors$: Observable<VoiceError>;
  readonly #connection$: Observable<ConnectionEvent>;
  #current = 0;
  #probing = Subscription.EMPTY;
  readonly #used$ = new Subject<void>();
  /** Whether anyone has used the chain since the first provider was last tried. */
  #isUsed = false;
  #options: InitializeOptions = {};

  constructor(members: readonly [P, ...P[]], options: FallbackOptions = {}) {
    super(options);
    this.members = members;
    this.#errors$ = merge(super.errors$, ...members.map((member) => told(member.errors$)));
    const connections = members.map((member, index) =>
      (member.connection$ ?? NEVER).pipe(
        filter(() => index === this.#current),
        catchError(() => NEVER),
      ),
    );
    this.#connection$ = merge(this.#switches$, ...connections);
  }

  /** The name of the provider in use. */
  get name(): string {
    return this.inUse.name;
  }

  /** Errors of all its providers outside any call. Hot. */
  override get errors$(): Observable<VoiceError> {
    return this.handOut('errors$', this.#errors$);
  }

  /** The connection of the provider in use, and each switch to another. Hot; replays the latest value. */
  get connection$(): Observable<ConnectionEvent> {
    return this.handOut('connection$', this.#connection$);
  }

  /** Initializes every provider; ready as soon as one of them is. The others' failures go to `errors$`. */
  override initialize(options: InitializeOptions = {}): Promise<void> {
    this.#options = options;
    return super.initialize(options);
  }

  /** The provider in use. */
  protected get inUse(): P {
    return this.#memberAt(this.#current);
  }

  /** Its position in the chain. */
  protected get current(): number {
    return this.#current;
  }

  protected get scheduler(): SchedulerLike {
    return this.config.scheduler ?? asyncScheduler;
  }

  /** Tries the first provider unnoticed: emits when it can be used again, and fails otherwise. */
  protected abstract probe(first: P): Observable<unknown>;

  /** Calls the provider in use, and the next one if that fails before its first value. */
  protected ask<T>(request$: (member: P, index: number) => Observable<T>): Observable<T> {
    const failures: ChainFailures = new Map();
    const askAt$ = (index: number): Observable<T> => {
      let hasBegun = false;
      return defer(() => request$(this.#memberAt(index), index)).pipe(
        tap(() => {
          hasBegun = true;
        }),
        catchError((error: unknown) => {
          const next = this.failed(index, error, failures);
          // Whatever has begun is never started twice.
          if (hasBegun) throw error;
          if (next === undefined) throw allFailed(failures);
          return askAt$(next);
        }),
      );
    };
    return defer(() => {
      this.used();
      return askAt$(this.#current);
    }).pipe(takeUntil(this.aborted$('was disposed')));
  }

  /** Notes a failure; returns the position of the one to use instead, or `undefined` when all have failed. */
  protected failed(index: number, cause: unknown, failures: ChainFailures): number | undefined {
    const error = VoiceError.from(cause, { provider: this.#memberAt(index).name });
    failures.set(index, error);
    const { length } = this.members;
    const ring = this.members.map((_, step) => (index + step) % length);
    const next = failures.has(this.#current) ? ring.find((each) => !failures.has(each)) : this.#current;
    if (next !== undefined && index === this.#current) this.use(next, error);
    return next;
  }

  /** Switches to another provider. */
  protected use(index: number, error?: VoiceError): void {
    const from = this.name;
    if (index === this.#current) return;
    this.#current = index;
    const event: ConnectionEvent = { type: 'fallback', from, to: this.name, ...(error && { error }) };
    this.logger.warn(`${from} is replaced by ${this.name}${error ? `: ${error.message}` : ', which works again'}`);
    this.onSwitch(event);
    this.watchFirst();
  }

  /** Publishes a switch. */
  protected onSwitch(event: ConnectionEvent): void {
    this.#switches$.next(event);
  }

  /** Notes that the chain is in use. */
  protected used(): void {
    this.#isUsed = true;
    this.#used$.next();
  }

  /**
   * Emits as soon as trying the first provider makes sense. A try may cost money, so there is none while no call runs.
   */
  protected needed$(): Observable<unknown> {
    return defer(() => (this.#isUsed ? of(undefined) : this.#used$.pipe(take(1)))).pipe(
      tap(() => {
        this.#isUsed = false;
      }),
    );
  }

  /** Tries the first provider from time to time while another one is in use. */
  protected watchFirst(): void {
    if (this.#current === 0) this.unwatchFirst();
    if (this.#current === 0 || !this.initialized || !this.#probing.closed) return;
    const [first] = this.members;
    const ready$ = defer(() => (first.isReady() ? of(true) : from(this.#begin(first))));
    this.#probing = patientTimer(this.config.probeMs ?? 30_000, this.scheduler)
      .pipe(
        switchMap(() => this.needed$()),
        switchMap(() => ready$),
        switchMap(() => this.probe(first)),
        take(1),
        throwIfEmpty(),
        retry(),
      )
      .subscribe({ next: () => this.onProbed(), error: (error: unknown) => this.report(VoiceError.from(error)) });
  }

  protected unwatchFirst(): void {
    this.#probing.unsubscribe();
  }

  /** The first provider works again. */
  protected onProbed(): void {
    this.use(0);
  }

  protected override configProblem(): string | undefined {
    return unknownKey(this.config, Object.keys(rules)) ?? configProblem(this.config, rules);
  }

  protected override async onInitialize(_signal: AbortSignal): Promise<void> {
    this.assertConfig();
    const results = await Promise.allSettled(this.members.map(async (member) => member.initialize(this.#options)));
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length === results.length) throw failures[0];
    for (const error of failures) this.report(VoiceError.from(error));
  }

  protected override async onDispose(): Promise<void> {
    this.unwatchFirst();
    const results = await Promise.allSettled(this.members.map(async (member) => member.dispose()));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  /** Initializes a provider, and disposes it again if the chain was disposed meanwhile. */
  async #begin(member: P): Promise<void> {
    await member.initialize(this.#options);
    if (!this.initialized) await member.dispose();
  }

  #memberAt(index: number): P {
    return this.members[index] ?? this.members[0];
  }
}

/** The errors of a provider, which may be any object; ends if its stream fails. */
function told(errors$: Observable<VoiceError> = NEVER): Observable<VoiceError> {
  return errors$.pipe(catchError((error: unknown) => merge(of(VoiceError.from(error)), NEVER)));
}

/** One error that sums up all failures. */
export function allFailed(failures: ChainFailures): VoiceError {
  const errors = [...failures.values()];
  const last = errors.at(-1);
  const [first] = errors;
  if (!first || !last || errors.length === 1)
    return first ?? new VoiceError('no provider was asked', { code: 'internal' });
  const message = `all providers of the chain failed: ${errors.map((error) => error.message).join('; ')}`;
  const recoverable = errors.some((error) => error.recoverable);
  return withChanges(last, { recoverable, cause: last }, message);
}
