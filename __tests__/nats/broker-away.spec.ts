/** A broker that nobody has reached yet must not keep a supervisor waiting for ever. */
import { natsBoard, type NatsConnection } from 'rxvoice/nats';
import { TestClock } from '../transport/test-clock.ts';

describe('a board of calls', () => {
  it('says of a command that the broker cannot be reached, after the time for an answer', async () => {
    const scheduler = new TestClock();
    const never = new Promise<NatsConnection>(() => undefined);
    const board = natsBoard(never, { commandMs: 3_000, scheduler });
    const replies: unknown[] = [];
    void board.command('c1', { type: 'hangUp' }).then((reply) => replies.push(reply));
    await scheduler.advance(2_999);
    expect(replies).toEqual([]);
    await scheduler.advance(1);
    expect(replies).toEqual([{ ok: false, message: 'the broker cannot be reached' }]);
    expect(scheduler.pending).toBe(0);
  });
});
