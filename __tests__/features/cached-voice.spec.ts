/** A phrase that is paid for twice, comes in yesterday's voice, or is broken, half, or late. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import * as files from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finalize, firstValueFrom, of, Subject, toArray, type Observable, type Subscription } from 'rxjs';
import { BufferInput, cachedVoice, FilePhrases, MemoryPhrases, Pipeline } from 'rxvoice';
import type { AudioChunk, CachedPhrase, CachedVoice, SpokenWord } from 'rxvoice';
import { FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { until } from '../transport/test-clock.ts';

const fake = (): FakeTTS => new FakeTTS({ latencyMs: 0, msPerCharacter: 10 });
const say = (voice: Pick<CachedVoice, 'speak'>, ...pieces: string[]): Promise<AudioChunk[]> =>
  firstValueFrom(voice.speak(of(...pieces)).pipe(toArray()));
const bytesOf = (chunks: readonly AudioChunk[]): number[] => chunks.flatMap(({ data }) => [...data]);

describe('cachedVoice', () => {
  const folder = mkdtempSync(join(tmpdir(), 'phrases-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ['memory', () => new MemoryPhrases()],
    ['files', () => new FilePhrases(join(folder, 'new'), files)],
  ])('asks its service once, and says the same bytes with the same words from %s', async (_, create) => {
    const tts = fake();
    const store = create();
    const voice = cachedVoice(tts, { store });
    const words: string[][] = [[], []];
    let round = 0;
    voice.words$?.subscribe(({ text, startMs }) => words[round]?.push(`${text} ${startMs}`));
    const first = await say(voice, 'Hello there. ', 'How are you?');
    expect(tts.pieces).toHaveLength(2);
    round = 1;
    const key = await found(store, voice, tts);
    expect(key).toBe(true);
    expect(words[1]).toEqual(words[0]);
    expect(words[0]?.length).toBeGreaterThan(3);
    const again = await say(voice, 'Hello there. How are you?');
    expect(tts.pieces).toHaveLength(2);
    expect(bytesOf(again)).toEqual(bytesOf(first));
    expect(again[0]?.metadata).toEqual(first[0]?.metadata);
    expect(new Set([...first, ...again].map(({ utteranceId }) => utteranceId)).size).toBe(2);
  });

  /** Says it again once the store has it. */
  async function found(store: object, voice: CachedVoice, tts: FakeTTS): Promise<boolean> {
    if (store instanceof FilePhrases)
      await until(
        () =>
          readdirSync(folder).includes('new') &&
          readdirSync(join(folder, 'new')).some((name) => name.endsWith('.phrase')),
      );
    await say(voice, 'Hello there.', 'How are you?');
    return tts.pieces.length === 2;
  }

  it('asks again with a changed setting, another text, or another voice', async () => {
    const tts = fake();
    const store = new MemoryPhrases();
    let speed = 1;
    const voice = cachedVoice(tts, { store, settings: () => ({ speed }) });
    await voice.prepare(['Hello.']);
    expect(tts.pieces).toHaveLength(1);
    speed = 2;
    await voice.prepare(['Hello.', 'Hello!']);
    expect(tts.pieces).toHaveLength(3);
    const longer = new FakeTTS({ latencyMs: 0, msPerCharacter: 20 });
    await cachedVoice(longer, { store }).prepare(['Hello.']);
    await cachedVoice(tts, { store }).prepare(['Hello.']);
    expect([longer.pieces.length, tts.pieces.length]).toEqual([1, 4]);
  });

  it('has what it prepared ready before the call', async () => {
    const tts = fake();
    const voice = cachedVoice(tts, { store: new MemoryPhrases() });
    await voice.prepare(['Hello! How can I help you?', 'One moment, please.']);
    const { length } = tts.pieces;
    await say(voice, 'Hello! ', 'How can I help you?');
    await say(voice, 'One moment, please.');
    expect(tts.pieces).toHaveLength(length);
  });

  it('passes an answer that is still being written straight through, and keeps none of it', async () => {
    const tts = fake();
    const keys: string[] = [];
    const store = { get: () => undefined, set: (key: string) => void keys.push(key) };
    const text$ = new Subject<string>();
    const said = firstValueFrom(cachedVoice(tts, { store }).speak(text$).pipe(toArray()));
    text$.next('One. ');
    expect(tts.pieces).toEqual(['One. ']);
    text$.next('Two.');
    text$.complete();
    expect(bytesOf(await said).length).toBeGreaterThan(0);
    expect(tts.pieces).toEqual(['One. ', 'Two.']);
    expect(keys).toEqual([]);
  });

  it('keeps no half of a phrase that was cut off', async () => {
    const tts = fake();
    const keys: string[] = [];
    const store = { get: () => undefined, set: (key: string) => void keys.push(key) };
    await firstValueFrom(cachedVoice(tts, { store }).speak(of('Hello there.', 'How are you?')));
    await until(() => tts.cancelled === 1);
    expect(keys).toEqual([]);
  });

  const whole: CachedPhrase = {
    ...{ text: 'Hello.', format: { encoding: 'linear16', sampleRate: 8_000, channels: 1 } },
    ...{ audio: new Uint8Array(160), words: [] },
  };
  it.each<[string, () => unknown]>([
    ['of another text', () => ({ ...whole, text: 'Goodbye.' })],
    ['without audio', () => ({ ...whole, audio: new Uint8Array(0) })],
    ['without a format', () => ({ ...whole, format: undefined })],
    ['with words that are none', () => ({ ...whole, words: [{ text: 'Hello.' }] })],
    ['that is no phrase', () => 'Hello.'],
    ['that cannot be read', () => Promise.reject(new Error('bad sector'))],
  ])('takes an entry %s for a phrase that it does not have', async (_, entry) => {
    const tts = fake();
    await say(cachedVoice(tts, { store: { get: () => entry() as CachedPhrase, set: () => undefined } }), 'Hello.');
    expect(tts.pieces).toEqual(['Hello.']);
  });

  it('takes a file that broke off for a phrase that it does not have, and writes it anew', async () => {
    const tts = fake();
    const path = join(folder, 'broken');
    const store = new FilePhrases(path, files);
    const names = (): string[] =>
      readdirSync(folder).includes('broken') ? readdirSync(path).filter((name) => name.endsWith('.phrase')) : [];
    const first = await say(cachedVoice(tts, { store }), 'Hello.');
    await until(() => names().length === 1);
    const file = join(path, names()[0] ?? '');
    const { length } = readFileSync(file);
    writeFileSync(file, readFileSync(file).subarray(0, -10));
    expect(bytesOf(await say(cachedVoice(tts, { store }), 'Hello.'))).toEqual(bytesOf(first));
    expect(tts.pieces).toHaveLength(2);
    await until(() => readFileSync(file).length === length);
  });

  /** A voice that says what it is told to, when it is told to. */
  class Slow extends FakeTTS {
    readonly told: Subject<AudioChunk>[] = [];
    readonly spoken$ = new Subject<SpokenWord>();
    override get words$(): Observable<SpokenWord> {
      return this.spoken$;
    }
    override speak(): Observable<AudioChunk> {
      const chunk$ = new Subject<AudioChunk>();
      this.told.push(chunk$);
      return chunk$.pipe(finalize(() => (this.cut += 1)));
    }
    cut = 0;
  }
  const metadata = { encoding: 'linear16', sampleRate: 8_000, channels: 1 } as const;
  const chunkOf = (byte: number): AudioChunk => ({ data: new Uint8Array(2).fill(byte), metadata, utteranceId: 'own' });
  const slowly = async (): Promise<{
    readonly tts: Slow;
    readonly voice: CachedVoice;
    readonly heard: (readonly (number | string)[])[];
    readonly join: () => Subscription;
    readonly first: Subscription;
  }> => {
    const tts = new Slow({ latencyMs: 0, msPerCharacter: 10 });
    const voice = cachedVoice(tts, { store: new MemoryPhrases() });
    const heard: (number | string)[][] = [];
    const join = (): Subscription => {
      const own: (number | string)[] = [];
      heard.push(own);
      const chunk$ = voice.speak(of('Hello.'));
      const next = ({ data }: AudioChunk): unknown => own.push(data[0] ?? -1);
      return chunk$.subscribe({ next, complete: () => own.push('end'), error: () => own.push('error') });
    };
    const first = join();
    await until(() => tts.told.length === 1);
    return { tts, voice, heard, join, first };
  };

  it('lets whoever wants a phrase that is being synthesized hear what there is of it, and go on with it', async () => {
    const { tts, voice, heard, join } = await slowly();
    const words: string[] = [];
    voice.words$?.subscribe(({ text, utteranceId }) => words.push(`${utteranceId} ${text}`));
    const [source] = tts.told;
    tts.spoken$.next({ text: 'other', startMs: 0, endMs: 1, utteranceId: 'another' });
    tts.spoken$.next({ text: 'Hel', startMs: 0, endMs: 1, utteranceId: 'own' });
    source?.next(chunkOf(1));
    source?.next(chunkOf(2));
    words.length = 0;
    join();
    await until(() => heard[1]?.length === 2);
    expect(heard).toEqual([
      [1, 2],
      [1, 2],
    ]);
    tts.spoken$.next({ text: 'lo.', startMs: 1, endMs: 2, utteranceId: 'own' });
    source?.next(chunkOf(3));
    source?.complete();
    expect(heard).toEqual([
      [1, 2, 3, 'end'],
      [1, 2, 3, 'end'],
    ]);
    expect(words.toSorted()).toEqual(['cached-1 Hel', 'cached-1 lo.', 'own lo.']);
    join();
    await until(() => heard[2]?.includes('end') === true);
    expect(tts.told).toHaveLength(1);
  });

  it('goes on for whoever is left when the first is cut off, and ends with the last', async () => {
    const { tts, heard, join, first } = await slowly();
    tts.told[0]?.next(chunkOf(1));
    const second = join();
    await until(() => heard[1]?.length === 1);
    first.unsubscribe();
    tts.told[0]?.next(chunkOf(2));
    expect([heard, tts.cut]).toEqual([[[1], [1, 2]], 0]);
    second.unsubscribe();
    expect(tts.cut).toBe(1);
    join();
    await until(() => tts.told.length === 2);
  });

  it('asks again for whoever has heard nothing yet when the synthesis fails, and fails for who has', async () => {
    const { tts, heard, join } = await slowly();
    join();
    await until(() => tts.told[0]?.observed === true);
    await new Promise(setImmediate);
    tts.told[0]?.error(new Error('lost'));
    await until(() => tts.told.length === 2);
    tts.told[1]?.next(chunkOf(1));
    join();
    await until(() => heard[2]?.length === 1);
    tts.told[1]?.error(new Error('lost'));
    expect(heard).toEqual([['error'], [1, 'error'], [1, 'error']]);
  });

  it('synthesizes a phrase once that is wanted twice at the same time, and anew if it was cut off', async () => {
    const tts = new FakeTTS({ latencyMs: 20, msPerCharacter: 10 });
    const voice = cachedVoice(tts, { store: new MemoryPhrases() });
    const [first, second] = await Promise.all([say(voice, 'Hello.'), say(voice, 'Hello.'), voice.prepare(['Hello.'])]);
    expect(tts.pieces).toEqual(['Hello.']);
    expect(bytesOf(second)).toEqual(bytesOf(first));
    // It is cut off as its first audio comes, however late that is.
    const cut = firstValueFrom(voice.speak(of('Goodbye.')));
    await until(() => tts.pieces.length === 2);
    await cut;
    await until(() => tts.cancelled === 1);
    const third = say(voice, 'Goodbye.');
    const fourth = say(voice, 'Goodbye.');
    expect(bytesOf(await third)).toEqual(bytesOf(await fourth));
    expect(tts.pieces).toEqual(['Hello.', 'Goodbye.', 'Goodbye.']);
  });

  it('keeps what it may alone, but what was prepared in any case', async () => {
    const tts = fake();
    const store = new MemoryPhrases();
    const voice = cachedVoice(tts, { store, keeps: (text) => !text.includes('balance') });
    for (const text of ['Hello.', 'Hello.', 'Your balance is 3.', 'Your balance is 3.']) await say(voice, text);
    expect(tts.pieces).toEqual(['Hello.', 'Your balance is 3.', 'Your balance is 3.']);
    await voice.prepare(['No balance.']);
    await cachedVoice(tts, { store }).prepare(['No balance.']);
    expect(tts.pieces).toHaveLength(4);
  });

  it('keeps nothing that is too long', async () => {
    const tts = fake();
    const voice = cachedVoice(tts, { store: new MemoryPhrases(), maxPhraseBytes: 1_000 });
    const first = await say(voice, 'Hi.', 'How are you?');
    expect(bytesOf(await say(voice, 'Hi.', 'How are you?'))).toEqual(bytesOf(first));
    expect(tts.pieces).toHaveLength(4);
  });

  it.each([
    [
      'a store that never answers',
      { store: { get: () => new Promise<undefined>(() => undefined), set: () => undefined } },
    ],
    ['settings that cannot be told', { store: new MemoryPhrases(), settings: () => ({ big: 1n }) }],
    ['a rule that throws', { store: new MemoryPhrases(), keeps: () => JSON.parse('no') as boolean }],
  ])('speaks in spite of %s', async (_, options) => {
    const tts = fake();
    await say(cachedVoice(tts, { patienceMs: 20, ...options }), 'Hello.');
    expect(tts.pieces).toEqual(['Hello.']);
  });

  it("knows a long text of say() by the pipeline's sentences, as it was prepared", async () => {
    const tts = fake();
    const voice = cachedVoice(tts, { store: new MemoryPhrases() });
    const text = Array.from({ length: 8 }, (_, index) => `This is a rather long sentence, number ${index}.`).join(' ');
    const providers = [new BufferInput(), new FakeSTT(), new FakeLLM(), voice, new FakeOutput()];
    await using pipeline = new Pipeline({ providers });
    await pipeline.initialize();
    await voice.prepare([text]);
    const { length } = tts.pieces;
    await pipeline.start();
    const handle = pipeline.say(text);
    await firstValueFrom(voice.audio$);
    handle.interrupt();
    await handle.done;
    expect(tts.pieces).toHaveLength(length);
  });

  it('keeps no credential, and nothing that does not sound', async () => {
    const store = new MemoryPhrases();
    class Voice extends FakeTTS {
      constructor(more: object) {
        super({ latencyMs: 0, msPerCharacter: 10, ...more });
      }
    }
    const first = new Voice({ apiKey: 'one', endpoint: 'http://a' });
    const second = new Voice({ apiKey: 'two', endpoint: 'http://b' });
    await cachedVoice(first, { store }).prepare(['Hello.']);
    await until(() => true);
    await cachedVoice(second, { store }).prepare(['Hello.']);
    expect(second.pieces).toEqual([]);
  });
});

describe('FilePhrases', () => {
  it('deletes what was written first, and halves that were left, when there is too much', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'phrases-'));
    const store = new FilePhrases(folder, files, { maxBytes: 1_000 });
    const phrase: CachedPhrase = {
      ...{ text: 'x', format: { encoding: 'linear16', sampleRate: 8_000, channels: 1 }, words: [] },
      audio: new Uint8Array(300),
    };
    writeFileSync(join(folder, 'x.phrase.half'), new Uint8Array(900));
    utimesSync(join(folder, 'x.phrase.half'), 1, 1);
    writeFileSync(join(folder, 'other.txt'), new Uint8Array(900));
    for (const [at, key] of ['a', 'b', 'c'].entries()) {
      await store.set(key, phrase);
      await store.set('d', { ...phrase, audio: new Uint8Array(1_001) });
      if (key !== 'c') utimesSync(join(folder, `${key}.phrase`), at + 2, at + 2);
    }
    expect(readdirSync(folder).sort()).toEqual(['b.phrase', 'c.phrase', 'other.txt']);
    expect((await store.get('c'))?.audio.length).toBe(300);
    rmSync(folder, { recursive: true });
  });
});

describe('MemoryPhrases', () => {
  it('forgets what was used least recently when there is too much audio', () => {
    const phrase = (bytes: number): CachedPhrase => ({
      ...{ text: 'x', format: { encoding: 'linear16', sampleRate: 8_000, channels: 1 }, words: [] },
      audio: new Uint8Array(bytes),
    });
    const store = new MemoryPhrases({ maxBytes: 100 });
    store.set('a', phrase(40));
    store.set('b', phrase(40));
    store.get('a');
    store.set('a', phrase(50));
    store.set('c', phrase(40));
    expect(['a', 'b', 'c'].map((key) => store.get(key)?.audio.length)).toEqual([50, undefined, 40]);
    store.set('d', phrase(101));
    expect(['a', 'c', 'd'].map((key) => store.get(key)?.audio.length)).toEqual([50, 40, undefined]);
  });
});
