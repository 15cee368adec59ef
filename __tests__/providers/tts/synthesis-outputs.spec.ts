import { EMPTY, ignoreElements, NEVER, of, Subject, take, throwError } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import type { SynthesisEvent } from '../../../lib/providers/tts/utterance.ts';
import { marbles } from '../../operators/marbles.ts';
import { audio, bytesOf, FakeTTS, listenTo, ms, pcm } from './fixture.ts';

async function ready(wire: FakeTTS['wire'] = () => EMPTY): Promise<FakeTTS> {
  const tts = new FakeTTS({ apiKey: 'key' });
  tts.wire = wire;
  await tts.initialize();
  return tts;
}

describe('TTS provider members', () => {
  it('covers the role tts by default', () => {
    expect(new FakeTTS({ apiKey: 'key' }).roles).toEqual(['tts']);
  });

  it('needs apiKey or proxyUrl', async () => {
    await expect(new FakeTTS({}).initialize()).rejects.toThrow('FakeTTS could not be initialized');
  });

  it('gives a new shallow copy of the configuration each time', () => {
    const headers = { apiKey: 'key', endpoint: 'https://x.example' };
    const tts = new FakeTTS(headers);
    expect(tts.getConfig()).toEqual(headers);
    expect(tts.getConfig()).not.toBe(tts.getConfig());
    Object.assign(tts.getConfig(), { endpoint: 'https://changed.example' });
    expect(tts.getConfig().endpoint).toBe('https://x.example');
  });

  it('takes a chunk for ready when it has data', () => {
    const tts = new FakeTTS({ apiKey: 'key' });
    expect([tts.isAudioReady({ data: ms(1) }), tts.isAudioReady({ data: new Uint8Array(0) })]).toEqual([true, false]);
  });

  it('delivers audio and format to the callbacks, the format first', async () => {
    const tts = await ready(() => of(audio(1), audio(2)));
    const calls: (AudioChunk | AudioMetadata)[] = [];
    tts.onAudio((chunk) => calls.push(chunk));
    tts.onMetadata((metadata) => calls.push(metadata));
    tts.speak(of('x')).subscribe();
    expect(calls.map((call) => ('data' in call ? call.data.length : call))).toEqual([pcm, 2, 4]);
  });

  it('drops audio and format silently when no callback is registered', async () => {
    const tts = await ready(() => of(audio(1)));
    const { errors, chunks } = listenTo(tts);
    tts.onAudio(undefined);
    tts.onMetadata(undefined);
    tts.speak(of('x')).subscribe();
    expect([errors.length, chunks.length]).toEqual([0, 1]);
  });

  it('isolates a callback that throws, and reports it (F60)', async () => {
    const tts = await ready(() => of(audio(1), audio(2)));
    const { errors } = listenTo(tts);
    const seen: AudioChunk[] = [];
    tts.onAudio(() => {
      throw new Error('mine');
    });
    tts.onMetadata(() => {
      throw new Error('mine too');
    });
    tts.speak(of('x')).subscribe((chunk) => seen.push(chunk));
    expect(bytesOf(seen).length).toBe(6);
    expect(errors.map(({ code, message }) => [code, message])).toEqual([
      ['internal', 'FakeTTS: the onMetadata callback threw'],
      ['internal', 'FakeTTS: the onAudio callback threw'],
      ['internal', 'FakeTTS: the onAudio callback threw'],
    ]);
  });
});

describe('SynthesisOutputs.speak', () => {
  it('says that it needs initialize() when it is not ready', () => {
    const errors: unknown[] = [];
    new FakeTTS({ apiKey: 'key' }).speak(of('x')).subscribe({ error: (error: unknown) => errors.push(error) });
    expect(errors.map((error) => VoiceError.is(error) && error.code)).toEqual(['not_ready']);
  });

  it('publishes what it emits, in the same order: format, audio, words', async () => {
    const tts = await ready(() => of<SynthesisEvent[]>(audio(10), { type: 'segment', text: 'a bc' }));
    const story: string[] = [];
    tts.metadata$.subscribe(() => story.push('format'));
    tts.audio$.subscribe(() => story.push('audio'));
    tts.words$.subscribe(({ text }) => story.push(text));
    tts.speak(of('a bc')).subscribe(() => story.push('chunk'));
    expect(story).toEqual(['format', 'audio', 'chunk', 'a', 'bc']);
  });

  it('gives each utterance an id of its own, on its chunks and words', async () => {
    const tts = await ready(() => of<SynthesisEvent[]>(audio(10), { type: 'segment', text: 'word' }));
    const { chunks, words } = listenTo(tts);
    tts.speak(of('x')).subscribe();
    tts.speak(of('x')).subscribe();
    const ids = chunks.map(({ utteranceId }) => utteranceId);
    expect(new Set(ids).size).toBe(2);
    expect(words.map(({ utteranceId }) => utteranceId)).toEqual(ids);
    expect(chunks.map(({ metadata }) => metadata)).toEqual([pcm, pcm]);
  });

  it('lets each caller hear only its own utterance (F62)', async () => {
    const wires = [new Subject<SynthesisEvent>(), new Subject<SynthesisEvent>()];
    let next = 0;
    const tts = await ready(() => wires[next++] ?? NEVER);
    const heard: number[][] = [[], []];
    heard.forEach((mine) => tts.speak(of('x')).subscribe(({ data }) => mine.push(...data)));
    wires[0]?.next(audio(1, 1));
    wires[1]?.next(audio(1, 2));
    wires[0]?.next(audio(1, 3));
    expect(heard).toEqual([
      [1, 1, 3, 3],
      [2, 2],
    ]);
  });

  it('lets late audio of a cancelled utterance go nowhere (F31)', async () => {
    const wire$ = new Subject<SynthesisEvent>();
    const tts = await ready(() => wire$);
    const { chunks } = listenTo(tts);
    const subscription = tts.speak(of('x')).subscribe();
    wire$.next(audio(1));
    subscription.unsubscribe();
    expect(wire$.observed).toBe(false);
    wire$.next(audio(1));
    expect(chunks.length).toBe(1);
  });

  it('emits nothing more to a listener that has had enough in the middle of a chunk', async () => {
    const tts = await ready(() => of(audio(1), audio(1), audio(1)));
    const { chunks } = listenTo(tts);
    const seen: AudioChunk[] = [];
    tts
      .speak(of('x'))
      .pipe(take(1))
      .subscribe((chunk) => seen.push(chunk));
    expect([seen.length, chunks.length]).toEqual([1, 1]);
  });

  it('passes the wire through in time, and its error as a VoiceError', async () => {
    const tts = await ready();
    const failure = new VoiceError('broken', { code: 'server' });
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const wire$ = cold<SynthesisEvent>('-a--b-#', { a: audio(1), b: audio(2) }, failure);
      tts.wire = () => wire$;
      const speak$ = tts.speak(of('x'));
      expectObservable(tts.audio$, '^------!').toBe('-a--b--', {
        a: expect.objectContaining({ data: ms(1) }) as AudioChunk,
        b: expect.objectContaining({ data: ms(2) }) as AudioChunk,
      });
      expectObservable(speak$).toBe(
        '-a--b-#',
        {
          a: expect.objectContaining({ data: ms(1), metadata: pcm, timestamp: 0 }) as AudioChunk,
          b: expect.objectContaining({ data: ms(2), timestamp: 1 }) as AudioChunk,
        },
        failure,
      );
      expectSubscriptions(wire$.subscriptions).toBe('^-----!');
    });
  });

  it('fails a running utterance when the provider is disposed, and ends its wire', async () => {
    const wire$ = new Subject<SynthesisEvent>();
    const tts = await ready(() => wire$);
    const errors: unknown[] = [];
    tts.speak(of('x')).subscribe({ error: (error: unknown) => errors.push(error) });
    await tts.dispose();
    expect(errors.map((error) => VoiceError.is(error) && error.code)).toEqual(['aborted']);
    expect(wire$.observed).toBe(false);
  });

  it('passes an error of the text on', async () => {
    const tts = await ready((text$) => text$.pipe(ignoreElements()));
    const errors: unknown[] = [];
    const cause = new Error('the model failed');
    tts.speak(throwError(() => cause)).subscribe({ error: (error: unknown) => errors.push(error) });
    expect(errors).toEqual([cause]);
  });
});

describe('SynthesisOutputs.speak: the forms of its text', () => {
  const forms: Readonly<Record<string, () => Parameters<FakeTTS['speak']>[0]>> = {
    Observable: () => of('one', 'two'),
    array: () => ['one', 'two'],
    promise: () => Promise.resolve('one'),
    'async generator': async function* () {
      yield await Promise.resolve('one');
      yield 'two';
    },
    ReadableStream: () => streamOf('one', 'two'),
    string: () => 'one',
  };
  for (const [name, form] of Object.entries(forms)) {
    it(`takes a ${name}`, async () => {
      const pieces: string[] = [];
      const done = new Promise<void>((resolve, reject) => {
        void ready((text$) => {
          text$.subscribe({ next: (piece) => pieces.push(piece), complete: resolve, error: reject });
          return NEVER;
        }).then((tts) => tts.speak(form()).subscribe());
      });
      await done;
      expect(pieces).toEqual(['one', 'two'].slice(0, pieces.length));
      expect(pieces.length).toBeGreaterThan(0);
    });
  }

  it('ends a source that is silent, at once', async () => {
    let cancelled: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (cancelled = resolve));
    const silent = new ReadableStream<string>({ cancel: () => cancelled() });
    const tts = await ready((text$) => text$.pipe(ignoreElements()));
    tts.speak(silent).subscribe().unsubscribe();
    await ended;
  });
});

function streamOf(...values: string[]): ReadableStream<string> {
  return new ReadableStream({
    start: (controller) => {
      for (const value of values) controller.enqueue(value);
      controller.close();
    },
  });
}
