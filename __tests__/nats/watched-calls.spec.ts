/** A board that tells the same list again and again: whoever draws it, draws it for nothing. */
import type { KvWatchEntry } from '@nats-io/kv';
import { Subject } from 'rxjs';
import { watchedCalls, type BoardCall, type Note } from '../../lib/nats/watched-calls.ts';
import { TestClock } from '../transport/test-clock.ts';

interface Board {
  readonly scheduler: TestClock;
  readonly lists: (readonly BoardCall[])[];
  readonly note: (note: Note) => void;
  /** Its machine tells of a call, again or for the first time. */
  readonly tell: (callId: string, changes?: Partial<BoardCall>) => void;
  readonly close: () => void;
}

function board(): Board {
  const [scheduler, notes$] = [new TestClock(), new Subject<Note>()];
  const lists: (readonly BoardCall[])[] = [];
  const watching = watchedCalls(notes$, 4_000, scheduler).subscribe((calls) => lists.push(calls));
  let revision = 0;
  const tell: Board['tell'] = (callId, changes = {}) => {
    const call = {
      callId,
      startedAt: 1,
      agent: 'listening',
      user: 'silent',
      turns: 0,
      errors: 0,
      details: { on: 'a' },
    };
    const value = new TextEncoder().encode(JSON.stringify({ ...call, ...changes }));
    const entry = { key: callId, operation: 'PUT', revision: (revision += 1), value } as KvWatchEntry;
    notes$.next({ type: 'entry', entry });
  };
  return { scheduler, lists, note: (note) => notes$.next(note), tell, close: () => watching.unsubscribe() };
}

const brief = (lists: Board['lists']): string[] =>
  lists.map((calls) => calls.map(({ callId, state, turns }) => `${callId} ${state} ${turns}`).join());

describe('the calls of a board', () => {
  it('are told when something of them changes, not when a machine says that it is still there', async () => {
    const { scheduler, lists, note, tell, close } = board();
    note({ type: 'up', expiryMs: 3_000 });
    tell('one');
    tell('two', { startedAt: 2 });
    for (let times = 0; times < 5; times++) {
      await scheduler.advance(1_000);
      tell('one');
      tell('two', { startedAt: 2 });
    }
    tell('two', { startedAt: 2, turns: 1 });
    expect(brief(lists)).toEqual(['', 'one live 0', 'one live 0,two live 0', 'one live 0,two live 1']);
    close();
  });

  it('are lost when their machine is silent, live when it is back, and gone in the end', async () => {
    const { scheduler, lists, note, tell, close } = board();
    note({ type: 'up', expiryMs: 3_000 });
    tell('one');
    await scheduler.advance(2_900);
    tell('one');
    await scheduler.advance(2_900);
    expect(brief(lists)).toEqual(['', 'one live 0']);
    await scheduler.advance(400);
    tell('one');
    await scheduler.advance(7_500);
    expect(brief(lists).slice(2)).toEqual(['one lost 0', 'one live 0', 'one lost 0', '']);
    close();
    expect(scheduler.pending).toBe(0);
  });
});
