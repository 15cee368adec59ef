import { EMPTY, type Subscription, tap } from 'rxjs';
import type { TokenUsage } from '../core/messages.ts';
import type { ProviderContract } from '../core/roles.ts';
import type { Writable } from '../core/writable.ts';
import type { Emit } from '../conversation/event-bus.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import type { ServiceUsage } from '../conversation/measurements.ts';
import { merge } from '../stream/merge.ts';

type Listener = Pick<ProviderContract, 'name' | 'connection$' | 'droppedMs$'>;

/** What one session uses of its services. */
export class SessionUsage {
  readonly #emit: Emit;
  readonly #listener: Listener;
  readonly #capturedMs: () => number;
  readonly #sums = new Map<string, ServiceUsage>();
  #toldMs = 0;
  #droppedMs = 0;
  /** How much had been sent when the listener lost its connection, in milliseconds; `undefined` while it has one. */
  #awayMs: number | undefined;

  /**
   * @param listener - The service that hears the user; a chain changes its name.
   * @param capturedMs - How much was captured for it so far, in milliseconds.
   */
  constructor(emit: Emit, listener: Listener, capturedMs: () => number) {
    this.#emit = emit;
    this.#listener = listener;
    this.#capturedMs = capturedMs;
  }

  /** Watches what becomes of the captured audio while the listener is not connected: the next connection is sent it. */
  watch(): Subscription {
    const { connection$ = EMPTY, droppedMs$ = EMPTY } = this.#listener;
    const away$ = connection$.pipe(
      tap(({ type }) => {
        const isThere = type === 'connected' || type === 'fallback';
        this.#awayMs = isThere ? undefined : this.#sentMs;
      }),
    );
    const dropped$ = droppedMs$.pipe(tap((ms) => (this.#droppedMs += ms)));
    // The pipeline reports its providers' errors.
    return merge(away$, dropped$).subscribe({ error: () => undefined });
  }

  /** Adds up what a conversation uses, and publishes with each turn how much audio was heard. */
  follow(event: VoiceEvent): void {
    if (event.type === 'usage') this.#add(event);
    else if (event.type === 'turn.metrics') this.#tellHeard(event.turnId);
  }

  /** Publishes what is left to publish. @returns The sum of each service. */
  end(): readonly ServiceUsage[] {
    this.#tellHeard();
    return [...this.#sums.values()];
  }

  get #sentMs(): number {
    return this.#awayMs ?? this.#capturedMs() - this.#droppedMs;
  }

  #tellHeard(turnId?: string): void {
    const ms = this.#sentMs;
    const newMs = ms - this.#toldMs;
    if (newMs <= 0) return;
    this.#toldMs = ms;
    const { name: provider } = this.#listener;
    const payload = { seconds: inSeconds(newMs) };
    this.#emit('usage', payload, { role: 'stt', provider, ...(turnId === undefined ? {} : { turnId }) });
    const key = keyOf({ role: 'stt', provider });
    const sum = this.#sums.get(key);
    const seconds = inSeconds((sum?.seconds ?? 0) * 1_000 + newMs);
    this.#sums.set(key, { ...sum, role: 'stt', provider, seconds });
  }

  #add({ role, provider = '', tokens, characters }: VoiceEvent<'usage'>): void {
    if (!role) return;
    const key = keyOf({ role, provider });
    const sum = this.#sums.get(key);
    this.#sums.set(key, {
      ...sum,
      role,
      provider,
      ...(tokens ? { tokens: sumOf(sum?.tokens, tokens) } : {}),
      ...(characters === undefined ? {} : { characters: (sum?.characters ?? 0) + characters }),
    });
  }
}

function keyOf({ role, provider }: Pick<ServiceUsage, 'role' | 'provider'>): string {
  return `${role} ${provider}`;
}

/** Rounded to a millisecond. */
function inSeconds(ms: number): number {
  return Math.round(ms) / 1_000;
}

function sumOf(left: TokenUsage = {}, right: TokenUsage): TokenUsage {
  const sum: Writable<TokenUsage> = { ...left };
  for (const [key, count] of Object.entries(right) as [keyof TokenUsage, number][]) sum[key] = (sum[key] ?? 0) + count;
  return sum;
}
