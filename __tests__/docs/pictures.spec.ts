/**
 * The marble diagrams of the operators are played: the streams above an operator's name go in, and the one beside its name
 * must come out. The guide shows the same diagrams; `RXVOICE_DIAGRAMS=write` writes them into it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { catchError, map, throwError, type Observable } from 'rxjs';
import { TestScheduler, type RunHelpers } from 'rxjs/testing';
import { bargeIn, turnTaking, type BargeInSign, type TranscriptionResult, type UserSignal } from 'rxvoice';
import { createTranscoder, encodeSamples, type AudioChunk, type AudioMetadata } from 'rxvoice/audio';
import * as operators from 'rxvoice/operators';
import { lanesOf } from '../../samples/marbles/picture.ts';

/** What a picture says: its lanes by name, the texts of its letters, and the numbers of its options. */
interface Picture {
  readonly text: string;
  readonly name: string;
  readonly lanes: Readonly<Record<string, string>>;
  readonly texts: Readonly<Record<string, string>>;
  readonly numbers: Readonly<Record<string, number>>;
}

function pictureOf(text: string): Picture | undefined {
  const lines = lanesOf(text)?.filter(({ marbles, note }) => marbles || note) ?? [];
  const name = /^(\w+)\(\)$/.exec(lines.filter(({ marbles }) => marbles).at(-1)?.name ?? '')?.[1];
  if (!name) return undefined;
  const notes = lines.map(({ note }) => note).join('\n');
  const texts = [...notes.matchAll(/\b(\w): "([^"]*)"/g)].map(([, letter, said]) => [letter, said] as const);
  const numbers = [...notes.matchAll(/\b(\w{3,}): (\d+)/g)].map(([, key, value]) => [key, Number(value)] as const);
  return {
    ...{ text, name },
    lanes: Object.fromEntries(lines.filter(({ marbles }) => marbles).map((line) => [line.name, line.marbles])),
    texts: Object.fromEntries(texts) as Record<string, string>,
    numbers: Object.fromEntries(numbers) as Record<string, number>,
  };
}

/** The diagrams of a source file's docs, or of a guide. */
function picturesIn(file: string): Picture[] {
  const text = readFileSync(file, 'utf8').replace(/^ \* ?/gm, '');
  const fences = [...text.matchAll(/```text\n([\s\S]*?)\n```/g)].map(([, fence = '']) => fence);
  return fences.flatMap((fence) => fence.split(/\n\s*\n/)).flatMap((block) => pictureOf(block) ?? []);
}

const folders = [
  'lib/operators',
  'lib/stream',
  'lib/playback',
  'lib/conversation/turn-taking',
  'lib/conversation/barge-in',
];
const reference = folders
  .flatMap((folder) => readdirSync(folder).map((name) => `${folder}/${name}`))
  .filter((file) => file.endsWith('.ts'))
  .flatMap(picturesIn)
  .filter(({ name }) => name in operators || name === 'turnTaking' || name === 'bargeIn');

type Letters<T> = Readonly<Record<string, T>>;

const interim = (text: string): TranscriptionResult => ({
  ...{ text, isFinal: false, utteranceComplete: false, isPreflight: false },
});
const final = (text: string): TranscriptionResult => ({ ...interim(text), isFinal: true });
const complete = (text: string): TranscriptionResult => ({ ...final(text), utteranceComplete: true });
const preflight = (text: string): TranscriptionResult => ({ ...interim(text), isPreflight: true });
const mapped = <T, R>(letters: Letters<T>, to: (value: T) => R): Letters<R> =>
  Object.fromEntries(Object.entries(letters).map(([letter, value]) => [letter, to(value)]));

/** Audio of which a sample is a millisecond and a byte. */
const metadata: AudioMetadata = { encoding: 'mulaw', sampleRate: 1000, channels: 1 };
const audio = (letters: string, ms: number): Letters<AudioChunk> =>
  Object.fromEntries([...letters].map((letter) => [letter, { data: new Uint8Array(ms).fill(255), metadata }]));

/** The durations that a picture names. */
const lengthsIn = (text: string): number[] => [...text.matchAll(/(\d+) ms/g)].map(([, ms]) => Number(ms));

/** What comes out of a picture, and what its letters are then. */
type Play = (
  picture: Picture,
  helpers: RunHelpers,
  scheduler: TestScheduler,
) => [Observable<unknown>, Letters<unknown>?];

const transcripts = (signals: Letters<TranscriptionResult>): Letters<UserSignal> =>
  mapped(signals, (result) => ({ type: 'transcript', result }));

const plays: Readonly<Record<string, Play>> = {
  utterances({ lanes, texts: { f = '', c = '', d = '', ...texts } }, { cold }) {
    const results = { i: interim('b'), j: interim('book'), f: final(f), c: { ...complete(c), utteranceId: '1' } };
    const source$ = cold(lanes['source'] ?? '', { ...results, d: complete(d) });
    return [
      source$.pipe(
        operators.utterances(),
        map(({ text }) => text),
      ),
      texts,
    ];
  },
  wakePhrase({ lanes, texts }, { cold, hot }) {
    const values = { i: interim('and'), ...mapped(texts, complete) };
    const source$ = cold(lanes['source'] ?? '', values);
    return [source$.pipe(operators.wakePhrase('hey Nova', { sleep$: hot(lanes['sleep'] ?? '') })), values];
  },
  sentences: ({ lanes, texts }, { cold }) => [cold(lanes['source'] ?? '', texts).pipe(operators.sentences()), texts],
  speakable({ lanes, texts }, { cold }) {
    const spoken = map(({ spoken: said }: { spoken: string }) => said);
    return [cold(lanes['source'] ?? '', texts).pipe(operators.speakable(), spoken), texts];
  },
  holdUntil: ({ lanes }, { cold }) => [
    cold(lanes['source'] ?? '').pipe(operators.holdUntil(cold(lanes['gate'] ?? ''))),
  ],
  bufferUntil({ lanes }, { cold }) {
    const values = audio('abcd', 20);
    const ready$ = cold(lanes['ready'] ?? '', { t: true, f: false });
    return [cold(lanes['source'] ?? '', values).pipe(operators.bufferUntil(ready$)), values];
  },
  frames({ lanes, text }, { cold }) {
    const [chunkMs = 0, ms = 0, h = 0] = lengthsIn(text);
    const source$ = cold(lanes['source'] ?? '', audio('abc', chunkMs));
    const lengths = map(({ data }: AudioChunk) => data.length);
    return [source$.pipe(operators.frames({ ms }), lengths), { d: ms, e: ms, f: ms, g: ms, h }];
  },
  transcode({ lanes }, { cold }) {
    const [from, to] = [16_000, 8000].map((sampleRate) => ({ encoding: 'linear16', sampleRate, channels: 1 }) as const);
    if (!from || !to) throw new Error('two formats');
    const data = encodeSamples(
      Float32Array.from({ length: 320 }, (_, at) => Math.sin(at / 5) / 2),
      'linear16',
    );
    const converter = createTranscoder(from, to);
    const [d, e, f] = [converter.push(data), converter.push(data), converter.push(data)];
    const chunk = { data, metadata: from };
    const source$ = cold(lanes['source'] ?? '', { a: chunk, b: chunk, c: chunk });
    const bytes = map(({ data: converted, metadata: told }: AudioChunk) => [...converted, told?.sampleRate]);
    const values = mapped({ d, e, f, g: converter.flush() }, (out) => [...out, 8000]);
    return [source$.pipe(operators.transcode(to), bytes), values];
  },
  pace({ lanes, text }, { cold }) {
    const [ms = 0] = lengthsIn(text);
    const values = audio('abc', ms);
    return [cold(lanes['source'] ?? '', values).pipe(operators.pace()), values];
  },
  beeps({ lanes, text }, { cold }) {
    const [ms = 0] = lengthsIn(text);
    const format = { encoding: 'linear16', sampleRate: 8000, channels: 1 } as const;
    const [s, B] = [0, 0.3].map((level) => {
      const samples = Float32Array.from({ length: ms * 8 }, (_, at) => level * Math.sin((at / 8) * 2 * Math.PI));
      return { data: encodeSamples(samples, 'linear16'), metadata: format };
    });
    if (!s || !B) throw new Error('two sounds');
    const told = map(
      ({ frequency, startMs, endMs }: { frequency: number; startMs: number; endMs: number }) =>
        `from ${startMs} to ${endMs} ms, of ${Math.round(frequency)} Hz`,
    );
    return [cold(lanes['source'] ?? '', { s, B }).pipe(operators.beeps(), told), { b: /\bb: (.*)/.exec(text)?.[1] }];
  },
  retryBackoff({ lanes, numbers }, { cold }) {
    return [cold(lanes['source'] ?? '').pipe(operators.retryBackoff({ ...numbers, jitter: 'none' }))];
  },
  stallTimeout: ({ lanes, numbers }, { cold }) => [
    cold(lanes['source'] ?? '').pipe(operators.stallTimeout({ idleMs: 0, ...numbers })),
  ],
  turnTaking({ lanes, texts: { i = '', p = '', f = '' } }, { hot }, scheduler) {
    const words = transcripts({ i: interim(i), p: preflight(p), f: complete(f) });
    const pressed: Letters<UserSignal> = {
      b: { type: 'begin' },
      c: { type: 'commit' },
      ...transcripts({ f: final(f) }),
    };
    const [source = '', options, letters] = lanes['button']
      ? [lanes['button'], { strategy: 'manual' } as const, pressed]
      : [lanes['signals'], {}, words];
    const values = { w: 'words', S: 'speculate', R: 'retract', F: 'finalize', C: 'commit' };
    return [
      hot(source, letters).pipe(
        turnTaking(options, scheduler),
        map(({ type }) => type),
      ),
      values,
    ];
  },
  bargeIn({ lanes, numbers }, { hot }, scheduler) {
    const signs: Letters<BargeInSign> = {
      s: { type: 'voice-started' },
      e: { type: 'voice-ended' },
      2: { type: 'words', count: 2, final: false },
    };
    const rules = { pauseAfterMs: 0, minWords: 0, resumeAfterMs: 0, immediate: false, voiceEnds: true, ...numbers };
    const values = { S: 'suspected', P: 'paused', C: 'confirmed', R: 'resumed' };
    return [hot(lanes['signs'] ?? '', signs).pipe(bargeIn(() => rules, scheduler)), values];
  },
};

function play(picture: Picture): void {
  const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
  scheduler.run((helpers) => {
    const [result$, letters] = plays[picture.name]?.(picture, helpers, scheduler) ?? [helpers.cold('')];
    // It stands for any error.
    const cross = new Error('#');
    const played$ = result$.pipe(catchError(() => throwError(() => cross)));
    helpers.expectObservable(played$).toBe(picture.lanes[`${picture.name}()`] ?? '', letters, cross);
  });
}

const guide = 'docs/operators.md';
const inPictures = /(## In pictures\n\n```text\n)([\s\S]*?)(\n```)/;

describe('The marble diagrams of the operators', () => {
  for (const picture of reference) it(`show what happens: ${picture.name}`, () => play(picture));

  it('show each operator', () => {
    const others = ['markdown', 'pronunciations', 'spokenForms', 'visualRange'];
    const functions = Object.entries(operators).filter(([name]) => /^[a-z]/.test(name) && !others.includes(name));
    const names = [...functions.map(([name]) => name), 'turnTaking', 'bargeIn'];
    expect(reference.map(({ name }) => name).sort()).toEqual(names.sort());
  });

  it('are those of the guide, in the order of its table', () => {
    const text = readFileSync(guide, 'utf8');
    const order = [...text.matchAll(/^\| `(\w+)\(/gm)].map(([, name]) => name);
    const pictures = order.map((name) => reference.find((picture) => picture.name === name)?.text).join('\n\n');
    if (process.env['RXVOICE_DIAGRAMS'] === 'write') {
      writeFileSync(
        guide,
        text.replace(inPictures, (_, before: string, __, after: string) => before + pictures + after),
      );
    } else expect(inPictures.exec(text)?.[2]).toBe(pictures);
  });

  for (const [at, picture] of picturesIn('docs/turn-taking.md').entries()) {
    it(`show what happens in the guide to turn-taking: ${picture.name} ${at + 1}`, () => play(picture));
  }
});
