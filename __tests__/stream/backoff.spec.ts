import { asFatal, createBackoff, type Backoff, type BackoffOptions } from '../../lib/stream/backoff.ts';
import { VoiceError } from '../../lib/core/errors.ts';

const lost = (options: { recoverable?: boolean; retryAfterMs?: number } = {}): VoiceError =>
  new VoiceError('AlphaSTT lost its connection', { code: 'connection', recoverable: true, ...options });

describe('createBackoff', () => {
  let time = 0;
  const backoff = (options: BackoffOptions = {}): Backoff =>
    createBackoff({ jitter: 'none', now: () => time, ...options });
  /** A connection that opens now and breaks `ms` later. */
  const lastFor = (policy: Backoff, ms: number, error: unknown = lost()): number | undefined => {
    policy.succeeded();
    time += ms;
    return policy.next(error);
  };

  beforeEach(() => {
    time = 1000;
  });

  it('doubles the wait from 250 ms up to 10 s and gives up after 10 tries', () => {
    const policy = backoff();
    const waits = Array.from({ length: 11 }, () => policy.next(lost()));
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000, 10_000, undefined]);
    expect(policy.tries).toBe(10);
  });

  it('waits a random part of the delay, so that the first try comes within 300 ms', () => {
    const draws = [0, 0.5, 0.999];
    const policy = backoff({ jitter: 'full', random: () => draws.shift() ?? 0 });
    expect([policy.next(), policy.next(), policy.next()]).toEqual([0, 250, 999]);
    for (let run = 0; run < 100; run += 1) expect(createBackoff({ now: () => 0 }).next(lost())).toBeLessThan(300);
  });

  it('does not retry an error that is not recoverable, but any other one', () => {
    expect(backoff().next(lost({ recoverable: false }))).toBeUndefined();
    expect(backoff().next(new Error('reset'))).toBe(250);
    expect(backoff().next()).toBe(250);
  });

  it('waits exactly as long as the service asks, and gives up at once when that is too long', () => {
    const policy = backoff({ jitter: 'full', maxRetryAfterMs: 30_000 });
    expect(policy.next(lost({ retryAfterMs: 1000 }))).toBe(1000);
    expect(policy.next(lost({ retryAfterMs: 30_000 }))).toBe(30_000);
    expect(policy.next(lost({ retryAfterMs: 600_000 }))).toBeUndefined();
  });

  it('lets shouldRetry decide, and set the wait', () => {
    const policy = backoff({ shouldRetry: (error) => (error === 'slow' ? 7000 : error === 'again') });
    expect(policy.next('slow')).toBe(7000);
    expect(policy.next('again')).toBe(500);
    expect(policy.next('no')).toBeUndefined();
  });

  it('starts from the first wait again only after 10 s of health', () => {
    const policy = backoff();
    for (let i = 0; i < 3; i += 1) policy.next(lost());
    expect(lastFor(policy, 9999)).toBe(2000);
    expect(lastFor(policy, 10_000)).toBe(250);
    expect(policy.tries).toBe(1);
  });

  it('gives up after three connections in a row that died within 5 s (accepts, then closes, forever)', () => {
    const policy = backoff();
    expect(lastFor(policy, 0)).toBe(250);
    expect(lastFor(policy, 4999)).toBe(500);
    expect(lastFor(policy, 10)).toBeUndefined();
  });

  it('counts no quick failures across a connection that lasted', () => {
    const policy = backoff();
    lastFor(policy, 10);
    lastFor(policy, 10);
    expect(lastFor(policy, 5000)).toBe(1000);
    expect(lastFor(policy, 10)).toBe(2000);
    expect(lastFor(policy, 10)).toBe(4000);
    expect(lastFor(policy, 10)).toBeUndefined();
  });

  it('counts quick failures on over a refused connection', () => {
    const policy = backoff();
    lastFor(policy, 10);
    policy.next(lost());
    lastFor(policy, 10);
    expect(lastFor(policy, 10)).toBeUndefined();
  });

  it('never counts a refused connection as a quick failure', () => {
    const policy = backoff({ quickFailures: { count: 1, withinMs: 5000 } });
    for (let i = 0; i < 5; i += 1) expect(policy.next(lost())).toBeDefined();
    expect(lastFor(policy, 1)).toBeUndefined();
  });

  it('measures health from the first sign of it', () => {
    const policy = backoff();
    policy.next(lost());
    policy.succeeded();
    time += 9000;
    policy.succeeded();
    time += 1000;
    expect(policy.next(lost())).toBe(250);
  });
});

describe('asFatal', () => {
  it('passes an error on that was never worth a retry', () => {
    const error = lost({ recoverable: false });
    expect(asFatal(error, 0)).toBe(error);
  });

  it('makes the last error of many a fatal one that keeps its facts and its cause', () => {
    const error = lost({ retryAfterMs: 600_000 });
    const fatal = asFatal(error, 3);
    expect(fatal).toMatchObject({ code: 'connection', recoverable: false, retryAfterMs: 600_000, cause: error });
    expect(fatal.message).toBe('AlphaSTT lost its connection (given up after 3 retries)');
  });

  it('says nothing of retries where there were none', () => {
    const fatal = asFatal(lost({ retryAfterMs: 600_000 }), 0);
    expect(fatal).toMatchObject({ message: 'AlphaSTT lost its connection', recoverable: false });
  });

  it('wraps what is no error of the library', () => {
    const fatal = asFatal(new TypeError('fetch failed'), 1);
    expect(fatal).toMatchObject({ code: 'internal', recoverable: false });
    expect(fatal.message).toBe('fetch failed (given up after 1 retry)');
  });
});
