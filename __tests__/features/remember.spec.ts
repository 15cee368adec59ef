/** A conversation that begins anew after a crash, or goes on from what nobody has heard. */
import { firstValueFrom, Subject } from 'rxjs';
import { defineTool, MemoryHistory, Pipeline, remember, type HistoryItem, type HistoryStore } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { settle, TestClock } from '../transport/test-clock.ts';

const words = (items: readonly HistoryItem[]): string[] =>
  items.map((item) => {
    if (item.role === 'user') return `user: ${item.text}`;
    return item.role === 'tool' ? `tool: ${item.content}` : `agent: ${item.heard}${item.interrupted ? ' …' : ''}`;
  });

interface Rig {
  readonly scheduler: TestClock;
  readonly stt: FakeSTT;
  readonly pipeline: Pipeline;
}

/** A pipeline that has not begun: what it says takes 100 ms a character. */
function rig(answer: (question: string) => string = () => 'One two three four.', at = 0): Rig {
  const scheduler = new TestClock(at);
  const stt = new FakeSTT({ scheduler });
  const tool = defineTool({
    name: 'look',
    description: 'Looks.',
    parameters: {},
    execute: () => Promise.resolve('a sail'),
  });
  const llm = new FakeLLM({
    ...{ scheduler, firstTokenMs: 0, tokenMs: 0 },
    answer: (messages) => {
      const { role, content = '' } = messages.at(-1) ?? {};
      if (content !== 'look') return role === 'tool' ? 'There is a sail.' : answer(content);
      return [
        { type: 'token', text: 'Let me look.' },
        { type: 'tool-call', id: 'c1', name: 'look', args: {}, argsText: '{}' },
        { type: 'done', finishReason: 'tool-calls' },
      ];
    },
  });
  const pipeline = new Pipeline({
    providers: [
      ...[new FakeInput({ scheduler }), stt, llm],
      ...[new FakeTTS({ scheduler, latencyMs: 0, msPerCharacter: 100 }), new FakeOutput({ scheduler })],
    ],
    ...{ scheduler, tools: [tool] },
  });
  return { scheduler, stt, pipeline };
}

async function start({ scheduler, pipeline }: Rig): Promise<void> {
  const started = pipeline.start();
  await scheduler.advance(0);
  await started;
}

const of = (store: MemoryHistory): HistoryStore => ({
  load: (conversation) => store.load(conversation),
  put: (conversation, item) => store.put(conversation, item),
  save: (conversation, items) => store.save(conversation, items),
  delete: (conversation) => store.delete(conversation),
});
const kept = (store: MemoryHistory): string[] => words(store.load('a'));

describe('remember', () => {
  it('keeps what is said when it is said, word by word, and at the end what the history has', async () => {
    const store = new MemoryHistory();
    const call = rig();
    const memory = await remember(call.pipeline, { store, conversation: 'a' });
    expect(memory.resumed).toEqual([]);
    await start(call);
    const metadata = { language: 'en', speaker: 'S1' };
    call.stt.hearWords({ ...FakeSTT.result('count', 'final'), metadata });
    await call.scheduler.advance(10);
    expect(store.load('a')[0]).toMatchObject({ at: 0, turnId: 'turn-1', ...metadata });
    expect(kept(store)).toEqual(['user: count']);
    await call.scheduler.advance(900);
    // The third word has begun.
    expect(kept(store)).toEqual(['user: count', 'agent: One two …']);
    await call.scheduler.advance(5_000);
    expect(kept(store)).toEqual(['user: count', 'agent: One two three four.']);
    expect(store.load('a')).toEqual(call.pipeline.history.items);
  });

  it('goes on where it was heard, in the next process, with turns that have ids of their own', async () => {
    const store = new MemoryHistory();
    const first = rig();
    await remember(first.pipeline, { store, conversation: 'a' });
    await start(first);
    first.stt.hearWords(FakeSTT.result('count', 'final'));
    // The process is no more: nothing is told to it.
    await first.scheduler.advance(900);

    const second = rig((question) => `You said ${question}.`, 60_000);
    const memory = await remember(second.pipeline, { store, conversation: 'a' });
    expect(words(memory.resumed)).toEqual(['user: count', 'agent: One two …']);
    await start(second);
    expect(second.pipeline.history.messages()).toEqual([
      { role: 'user', content: 'count' },
      { role: 'assistant', content: 'One two' },
    ]);
    second.stt.hearWords(FakeSTT.result('go on', 'final'));
    await second.scheduler.advance(5_000);
    expect(kept(store)).toEqual(['user: count', 'agent: One two …', 'user: go on', 'agent: You said go on.']);
    const turns = new Set(store.load('a').map(({ turnId }) => turnId));
    expect(turns.size).toBe(2);
    expect(new Set(store.load('a').map(({ id }) => id)).size).toBe(4);
    expect(store.load('a').map(({ at = 0 }) => at >= 60_000)).toEqual([false, false, true, true]);
  });

  it('tells of an answer with tools what was heard of each part, and never a call without its result', async () => {
    const store = new MemoryHistory();
    const call = rig();
    await remember(call.pipeline, { store, conversation: 'a' });
    await start(call);
    call.stt.hearWords(FakeSTT.result('look', 'final'));
    await call.scheduler.advance(500);
    expect(kept(store)).toEqual(['user: look', 'agent: Let …', 'tool: a sail']);
    await call.scheduler.advance(1_500);
    expect(kept(store)).toEqual(['user: look', 'agent: Let me look.', 'tool: a sail', 'agent: There …']);
    await call.scheduler.advance(5_000);
    expect(kept(store)).toEqual(['user: look', 'agent: Let me look.', 'tool: a sail', 'agent: There is a sail.']);
  });

  it('keeps nothing of what is said off the record', async () => {
    const store = new MemoryHistory();
    const call = rig();
    await remember(call.pipeline, { store, conversation: 'a' });
    await start(call);
    call.pipeline.say('Your PIN is wrong.', { store: false });
    await call.scheduler.advance(1_000);
    expect(kept(store)).toEqual([]);
    call.pipeline.say('Please hold the line.');
    await call.scheduler.advance(2_000);
    expect(kept(store)).toEqual(['agent: Please hold …']);
  });

  it('keeps what a narrower history keeps', async () => {
    const store = new MemoryHistory();
    const call = rig((question) => `${question}!`);
    await remember(call.pipeline, { store, conversation: 'a' });
    await start(call);
    for (let turn = 1; turn <= 42; turn++) {
      call.stt.hearWords(FakeSTT.result(`n${turn}`, 'final'));
      await call.scheduler.advance(1_000);
    }
    expect(store.load('a')).toEqual(call.pipeline.history.items);
    expect(kept(store)[0]).toBe('user: n3');
  });

  it('says what the store cannot do, and writes all of it once it can', async () => {
    const items = new MemoryHistory();
    let isBroken = true;
    const saves: string[] = [];
    const store: HistoryStore = {
      load: () => Promise.resolve([]),
      put: (conversation, item) => {
        saves.push('put');
        if (isBroken) throw new Error('disk full');
        items.put(conversation, item);
      },
      save: (conversation, all) => {
        saves.push('save');
        if (isBroken) return Promise.reject(new Error('disk full'));
        items.save(conversation, all);
        return undefined;
      },
      delete: () => undefined,
    };
    const call = rig();
    const memory = await remember(call.pipeline, { store, conversation: 'a' });
    const errors: string[] = [];
    memory.errors$.subscribe(({ message }) => errors.push(message));
    await start(call);
    call.stt.hearWords(FakeSTT.result('count', 'final'));
    await call.scheduler.advance(10);
    expect(errors[0]).toBe('disk full');
    isBroken = false;
    await call.scheduler.advance(5_000);
    expect(kept(items)).toEqual(['user: count', 'agent: One two three four.']);
    // What could not be put is saved with the rest.
    expect(saves.slice(1).find((each) => each === 'save')).toBe('save');
  });

  it('waits for a slow store, keeps its order, and ends with all that was said', async () => {
    const items = new MemoryHistory();
    const turns$ = new Subject<void>();
    const written: string[] = [];
    const slow = async (what: string, write: () => void): Promise<void> => {
      await firstValueFrom(turns$);
      written.push(what);
      write();
    };
    const store: HistoryStore = {
      load: () => [],
      put: (conversation, item) => slow(item.role, () => items.put(conversation, item)),
      save: (conversation, all) => slow('all', () => items.save(conversation, all)),
      delete: () => undefined,
    };
    const call = rig();
    const memory = await remember(call.pipeline, { store, conversation: 'a' });
    await start(call);
    call.stt.hearWords(FakeSTT.result('count', 'final'));
    await call.scheduler.advance(5_000);
    let isSaved = false;
    const ended = memory.end().then(() => (isSaved = true));
    await call.scheduler.advance(0);
    expect(isSaved).toBe(false);
    turns$.next();
    await call.scheduler.advance(0);
    turns$.next();
    await ended;
    expect(kept(items)).toEqual(['user: count', 'agent: One two three four.']);
    expect(written).toEqual(['user', 'all']);
    call.stt.hearWords(FakeSTT.result('more', 'final'));
    await call.scheduler.advance(5_000);
    expect(kept(items)).toHaveLength(2);
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])('keeps a change that comes %i microtasks after another', async (microtasks) => {
    const store = new MemoryHistory();
    const { pipeline } = rig();
    const memory = await remember(pipeline, { store, conversation: 'a' });
    pipeline.history.addUser('one');
    for (let passed = 0; passed < microtasks; passed++) await Promise.resolve();
    pipeline.history.addUser('two');
    await memory.saved();
    expect(kept(store)).toEqual(['user: one two']);
    await memory.end();
    expect(kept(store)).toEqual(['user: one two']);
  });

  it('does not try a store that fails again before the next change', async () => {
    let attempts = 0;
    const fail = (): Promise<void> => Promise.reject(new Error(`disk full ${(attempts += 1)}`));
    const { pipeline } = rig();
    const store = { ...of(new MemoryHistory()), put: fail, save: fail };
    const memory = await remember(pipeline, { store, conversation: 'a' });
    pipeline.history.addUser('one');
    await memory.saved();
    await settle();
    expect(attempts).toBe(1);
    pipeline.history.addUser('two');
    await memory.end();
    expect(attempts).toBe(2);
  });

  it('is refused while the pipeline runs: what was said would be lost', async () => {
    const call = rig();
    await start(call);
    await expect(remember(call.pipeline, { store: new MemoryHistory(), conversation: 'a' })).rejects.toThrow(
      'remember: call it before start()',
    );
  });

  it.each([undefined, null])('begins anew when the store answers %s, as a map or a database does', async (answer) => {
    const store = new MemoryHistory();
    const load = (): never => answer as never;
    const call = rig();
    const { resumed } = await remember(call.pipeline, { store: { ...of(store), load }, conversation: 'a' });
    expect(resumed).toEqual([]);
    await start(call);
    call.stt.hearWords(FakeSTT.result('count', 'final'));
    await call.scheduler.advance(5_000);
    expect(kept(store)).toEqual(['user: count', 'agent: One two three four.']);
  });

  it.each([['[]'], [{}], [5], [[null]], [[{ role: 'user', content: 'hi' }]]])(
    'names a store that loads %j',
    async (answer) => {
      const store = { ...of(new MemoryHistory()), load: () => answer as never };
      const { pipeline } = rig();
      await expect(remember(pipeline, { store, conversation: 'a' })).rejects.toMatchObject({ code: 'configuration' });
      expect(pipeline.history.items).toEqual([]);
    },
  );

  it('leaves nothing behind when the pipeline ends', async () => {
    const call = rig();
    await remember(call.pipeline, { store: new MemoryHistory(), conversation: 'a' });
    await start(call);
    const disposed = call.pipeline.dispose();
    await call.scheduler.advance(5_000);
    await disposed;
    expect(call.scheduler.pending).toBe(0);
  });
});
