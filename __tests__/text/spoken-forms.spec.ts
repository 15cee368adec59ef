import { Subject } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { LLMEvent } from '../../lib/core/messages.ts';
import { speakable } from '../../lib/operators/speakable.ts';
import { markdown } from '../../lib/text/markdown.ts';
import { spokenForms } from '../../lib/text/spoken-forms.ts';
import { visualRange, type SpokenPiece } from '../../lib/text/spoken-piece.ts';
import {
  chained,
  type GuardContext,
  type TextContext,
  type TextStage,
  type TextTransform,
} from '../../lib/text/text-transform.ts';
import { leastMs } from '../transport/least-time.ts';
import { corpus, someSplits, soups } from './corpus.ts';
import { spokenCases } from './spoken-cases.ts';

const run = (stage: TextStage, parts: readonly string[]): SpokenPiece[] => [
  ...parts.flatMap((part) => [...stage.push(part)]),
  ...stage.flush(),
];
const spoken = (pieces: readonly SpokenPiece[]): string => pieces.map((piece) => piece.spoken).join('');
const visual = (pieces: readonly SpokenPiece[]): string => pieces.map((piece) => piece.visual).join('');
const start = (transform: TextTransform, context: TextContext = {}): TextStage => chained([transform], context);
const loaded = new Map(Object.keys(spokenCases).map((locale) => [locale, spokenForms(locale)]));
const formsOf = (locale: string): TextTransform => loaded.get(locale) ?? spokenForms(locale);

beforeAll(() => Promise.all([...loaded.values()].map(({ load }) => load())));

describe.each(Object.entries(spokenCases))('spokenForms(%j)', (locale, cases) => {
  it.each(cases)('%s', (written, said) => {
    const pieces = run(start(formsOf(locale)), [written]);
    expect([visual(pieces), spoken(pieces)]).toEqual([written, said]);
  });

  it('says the same however the text arrives', () => {
    const text = cases.map(([written]) => written).join(' ');
    const texts = [text, ...cases.map(([written]) => written), ...Object.values(corpus), ...soups(10)];
    for (const each of texts) {
      const expected = spoken(run(start(formsOf(locale)), [each]));
      for (const parts of [...someSplits(each, 3), Array.from({ length: each.length }, (_, at) => each.charAt(at))]) {
        const pieces = run(start(formsOf(locale)), parts);
        if (spoken(pieces) !== expected || visual(pieces) !== each) {
          expect([parts, spoken(pieces), visual(pieces)]).toEqual([parts, expected, each]);
        }
      }
    }
  });
});

describe('spokenForms()', () => {
  it('has at least fifteen cases for each of its languages', () => {
    const counts = new Map<string, number>();
    for (const [locale, cases] of Object.entries(spokenCases)) {
      const language = locale.slice(0, 2);
      counts.set(language, (counts.get(language) ?? 0) + cases.length);
    }
    expect(counts.size).toBe(10);
    expect(Math.min(...counts.values())).toBeGreaterThanOrEqual(15);
  });

  it('finds what was heard in what is written', () => {
    const [piece] = run(chained([markdown(), formsOf('en-US')], {}), ['Pay **$5** by 3 pm now.']);
    if (!piece) throw new Error('no piece');
    const heard = (said: string): string => {
      const at = piece.spoken.indexOf(said);
      return piece.visual.slice(...visualRange(piece, at, at + said.length));
    };
    expect(piece.spoken).toBe('Pay five dollars by three p m now.');
    expect(['Pay', 'five dollars', 'three p m', 'now'].map(heard)).toEqual(['Pay', '$5', '3 pm', 'now']);
    // What was cut off in the middle was not heard.
    expect(piece.visual.slice(0, visualRange(piece, 0, 'Pay five'.length)[1])).toBe('Pay ');
  });

  it('holds nothing back but what may go on', () => {
    const stage = start(formsOf('en-US'));
    expect(spoken([...stage.push('It costs $5. ')])).toBe('It costs five dollars. ');
    expect(spoken([...stage.push('On May ')])).toBe('On ');
    expect(spoken([...stage.push('5 we ')])).toBe('May fifth we ');
    expect(spoken([...stage.push('go home. ')])).toBe('go home. ');
    expect([...stage.flush()]).toEqual([]);
  });

  it('keeps little of a text that never ends', () => {
    const stage = start(formsOf('en-US'));
    const text = '1'.repeat(5_000) + ' 7'.repeat(5_000);
    expect(visual([...stage.push(text)]).length).toBeGreaterThan(text.length - 400);
  });

  it('takes no longer for one endless word than it is long', () => {
    const msFor = (length: number): number => leastMs(() => run(start(formsOf('en-US')), ['１'.repeat(length)]));
    expect(msFor(131_072)).toBeLessThan(msFor(16_384) * 24);
  });

  it('leaves a text to a voice that says it itself', () => {
    const say = (transform: TextTransform, context: TextContext): string =>
      spoken(run(start(transform, context), ['5 km ']));
    const forms = formsOf('en-US');
    expect(say(forms, { normalizesText: true })).toBe('5 km ');
    expect(say(forms, { normalizesText: ['en', 'zh'] })).toBe('5 km ');
    expect(say(forms, { normalizesText: ['zh'] })).toBe('five kilometers ');
    expect(say(forms, { normalizesText: false })).toBe('five kilometers ');
  });

  it('says it for every voice where that is asked for', async () => {
    const forms = spokenForms('en-US', { always: true });
    await forms.load();
    expect(spoken(run(start(forms, { normalizesText: true }), ['5 km']))).toBe('five kilometers');
  });

  it('follows the language of the conversation among its own', async () => {
    const forms = spokenForms(['en-GB', 'de-DE']);
    await forms.load();
    const say = (locale?: string): string => spoken(run(start(forms, { locale }), ['5 km']));
    expect([undefined, 'en', 'de-AT', 'pl'].map(say)).toEqual([
      'five kilometres',
      'five kilometres',
      'fünf Kilometer',
      '5 km',
    ]);
  });

  it('refuses a language that it does not know', () => {
    expect(() => spokenForms('tlh')).toThrow(
      new RangeError('spokenForms() knows ar, de, en, es, fr, hi, it, ja, pt, zh, not "tlh"'),
    );
  });

  it('waits for its language, but not longer than it may', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ cold, expectObservable }) => {
      // No promise resolves in virtual time, so that the language never comes.
      const context: GuardContext = { scheduler, tell: () => undefined, end: () => undefined };
      const event: LLMEvent = { type: 'token', text: '5 km' };
      const events$ = cold<LLMEvent>('a 99ms (a|)', { a: event });
      const answer$ = spokenForms('it', { loadTimeoutMs: 300 }).answer?.(events$, context);
      expectObservable(answer$ ?? events$).toBe('300ms (aa|)', { a: event });
    });
  });

  it('speaks as written until then, and in words from the first text after', async () => {
    const forms = spokenForms('fr');
    const early = start(forms);
    const text$ = new Subject<string>();
    const said: string[] = [];
    text$.pipe(speakable([forms])).subscribe(({ spoken: piece }) => said.push(piece));
    expect(spoken(run(early, ['5 km ']))).toBe('5 km ');
    await forms.load();
    // The voice listened before the language was there, but nothing had come.
    text$.next('5 km ');
    text$.complete();
    expect(said.join('')).toBe('cinq kilomètres ');
  });
});
