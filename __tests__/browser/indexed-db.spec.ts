/** A page that is reloaded, and has forgotten the conversation, or synthesizes its greeting again. */
import { TestBrowser } from './support/browser.ts';

describe('in the IndexedDB of a browser', () => {
  let browser: TestBrowser;

  beforeAll(async () => {
    browser = await TestBrowser.start();
  });

  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
  });

  it('a conversation and a phrase outlive their page', async () => {
    const first = await browser.open();
    await first.evaluate(async () => {
      const history = new rxvoice.IndexedDbHistory();
      await history.put('a', { id: 'item-1', role: 'user', text: 'one' });
      await history.put('a', { id: 'item-2', role: 'user', text: 'two' });
      await history.put('a', { id: 'item-1', role: 'user', text: 'one more' });
      await history.save('b', [{ id: 'item-1', role: 'user', text: 'other' }]);
      const format = { encoding: 'linear16', sampleRate: 8_000, channels: 1 } as const;
      await new rxvoice.IndexedDbPhrases().set('k', { text: 'x', format, audio: Uint8Array.of(1, 2), words: [] });
    });
    await first.close();
    const second = await browser.open();
    const found = await second.evaluate(async () => {
      const history = new rxvoice.IndexedDbHistory();
      const a = await history.load('a');
      await history.delete('b');
      const phrases = new rxvoice.IndexedDbPhrases();
      const phrase = await phrases.get('k');
      const small = new rxvoice.IndexedDbPhrases({ name: 'small', maxBytes: 5 });
      const format = { encoding: 'linear16', sampleRate: 8_000, channels: 1 } as const;
      for (const [key, bytes] of [
        ['m', 2],
        ['n', 2],
        ['m', 3],
        ['o', 2],
        ['p', 6],
      ] as const)
        await small.set(key, { text: key, format, audio: new Uint8Array(bytes), words: [] });
      const kept: (string | undefined)[] = [];
      for (const key of ['m', 'n', 'o', 'p']) kept.push((await small.get(key))?.text);
      const none = [...(await history.load('b')), await phrases.get('l')];
      return { a, audio: [...(phrase?.audio ?? [])], text: phrase?.text, none, kept };
    });
    expect(found.a).toEqual([
      { id: 'item-1', role: 'user', text: 'one more' },
      { id: 'item-2', role: 'user', text: 'two' },
    ]);
    expect(found).toMatchObject({ audio: [1, 2], text: 'x' });
    expect(found.none).toHaveLength(1);
    expect(found.kept).toEqual(['m', undefined, 'o', undefined]);
    expect(browser.failures).toEqual([]);
  });
});
