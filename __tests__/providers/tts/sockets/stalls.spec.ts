import { Subject, type Subscription } from 'rxjs';
import { stalls } from '../../../../lib/providers/tts/sockets/stalls.ts';
import { TestClock } from '../../../transport/test-clock.ts';

function given(limitMs: number = 100) {
  const clock = new TestClock();
  const wait$ = new Subject<void>();
  const heard = { at: 0 };
  const at: (readonly [number, number])[] = [];
  const limit: { ms: number | undefined } = { ms: limitMs };
  const subscription: Subscription = stalls({
    ...{ wait$, heard, scheduler: clock, limitMs: () => limit.ms },
  }).subscribe((ms) => {
    at.push([clock.now(), ms]);
    subscription.unsubscribe();
  });
  return { clock, wait$, heard, at, limit, subscription };
}

describe('stalls', () => {
  it('tells of the limit when nothing was heard for so long', async () => {
    const { clock, at } = given();
    await clock.advance(99);
    expect(at).toEqual([]);
    await clock.advance(1);
    expect(at).toEqual([[100, 100]]);
  });

  it('waits on from what was heard last', async () => {
    const { clock, heard, at } = given();
    await clock.advance(80);
    heard.at = clock.now();
    await clock.advance(99);
    expect(at).toEqual([]);
    await clock.advance(1);
    expect(at).toEqual([[180, 100]]);
  });

  it('begins anew, with the limit that counts then, when what is waited for changes', async () => {
    const { clock, wait$, at, limit } = given();
    await clock.advance(80);
    limit.ms = 30;
    wait$.next();
    await clock.advance(30);
    expect(at).toEqual([[110, 30]]);
  });

  it('waits for nothing, without a timer, while there is no limit', async () => {
    const { clock, wait$, at, limit } = given();
    limit.ms = undefined;
    wait$.next();
    await clock.advance(1_000);
    expect([at, clock.pending]).toEqual([[], 0]);
  });

  it('leaves no timer behind', () => {
    const { clock, subscription } = given();
    subscription.unsubscribe();
    expect(clock.pending).toBe(0);
  });
});
