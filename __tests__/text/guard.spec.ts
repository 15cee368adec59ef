/** What a guard lets pass: words that hide from its rules, in marks, in other widths, or between two tokens. */
import { from, lastValueFrom, Observable, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { LLMEvent } from '../../lib/core/messages.ts';
import { guard, type GuardOptions } from '../../lib/text/guard.ts';
import { blocklist, findAll, pattern, personalData, type GuardRule } from '../../lib/text/guard-rules.ts';
import type { GuardReport } from '../../lib/text/text-transform.ts';
import { someSplits } from './corpus.ts';

const scheduler = new TestScheduler(() => undefined);
const done: LLMEvent = { type: 'done', finishReason: 'stop' };

const found = (text: string, ...rules: GuardRule[]): string[] =>
  findAll(text, rules).ranges.map((range) => text.slice(...range));

/** A model's answer in tokens, as it passes a guard. */
async function pass(
  parts: readonly string[],
  options: GuardOptions,
): Promise<{ text: string; events: LLMEvent[]; told: GuardReport[]; ended: number }> {
  const told: GuardReport[] = [];
  let ended = 0;
  const source$ = from([...parts.map((text): LLMEvent => ({ type: 'token', text })), done]);
  const context = { scheduler, tell: (report: GuardReport) => void told.push(report), end: () => void (ended += 1) };
  const events$ = guard(options).answer?.(source$, context) ?? source$;
  const events = await lastValueFrom(events$.pipe(toArray()));
  return { text: events.map((event) => (event.type === 'token' ? event.text : '')).join(''), events, told, ended };
}

describe('rules', () => {
  const bad = blocklist(['bad', 'very bad thing', 'müll', '馬鹿']);
  it.each([
    ['a bad day', ['bad']],
    ['BAD, Bad. bad', ['BAD', 'Bad', 'bad']],
    ['badge, forbad, not_bad', []],
    ['a b**a**d day', ['b**a**d']],
    ['a b<b>a</b>d day', ['b<b>a</b>d']],
    ['a b[a](https://x.org)d day', ['b[a](https://x.org)d']],
    ['a b\u00ada\u200bd day', ['b\u00ada\u200bd']],
    ['a ｂａｄ day', ['ｂａｄ']],
    ['a very  bad-thing', ['very  bad-thing']],
    ['Müll, Müllmann', ['Müll']],
    ['お前は馬鹿です', ['馬鹿']],
    ['```\nbad\n```', ['bad']],
    ['bädbad', []],
  ])('a blocklist finds whole words in %j', (text, expected) => expect(found(text, bad)).toEqual(expected));

  it('a pattern has the boundaries of words in any script', () => {
    expect(found('кот, котик, Кот', pattern(/кот/i))).toEqual(['кот', 'Кот']);
    expect(found('naïve na', pattern(/na/))).toEqual(['na']);
  });

  it.each<[string, string, readonly string[]]>([
    ['card', 'Card 4111 1111 1111 1111, please', ['4111 1111 1111 1111']],
    ['card', 'Card 4111-1111-1111-1111.', ['4111-1111-1111-1111']],
    ['card', 'Card 4111111111111112', []],
    ['card', 'Card ٤١١١ ١١١١ ١١١١ ١١١١', ['٤١١١ ١١١١ ١١١١ ١١١١']],
    ['card', 'zeros 0000 0000 0000 0000', []],
    ['iban', 'To DE89 3704 0044 0532 0130 00 today', ['DE89 3704 0044 0532 0130 00']],
    ['iban', 'To GB82WEST12345698765432', ['GB82WEST12345698765432']],
    ['iban', 'To DE88 3704 0044 0532 0130 00', []],
    ['mail', 'Write to jane.doe+x@mail.example.com.', ['jane.doe+x@mail.example.com']],
    ['mail', 'not @home or a@b', []],
    ['phone', 'Call +49 30 1234567 or (030) 123-4567', ['+49 30 1234567', '(030) 123-4567']],
    ['phone', 'Call 555-123-4567 now', ['555-123-4567']],
    ['phone', 'On 2024-05-03, 03.05.2024, order 12345678, 1,000,000', []],
  ])('personal data: %s in %j', (kind, text, expected) => {
    expect(found(text, ...personalData(kind as 'card'))).toEqual(expected);
  });
});

describe('guard()', () => {
  const rules = [blocklist(['bad', 'very bad thing']), personalData()];
  const text =
    'Well, this is **b**ad. Pay with 4111 1111, 1111 1111! And a very bad thing happened; mail a.b@example.com, please. ' +
    'On and on it goes without a mark '.repeat(14) +
    'very bad thing';

  it('replaces what it finds, however the text arrives', async () => {
    const { text: expected } = await pass([text], { rules, buffered: true });
    expect(expected).toMatch(/^Well, this is \*\*…\. Pay with …! And a … happened; mail …, please\. On/);
    expect(expected).not.toMatch(/bad|example|thing/);
    for (const parts of someSplits(text, 12)) expect((await pass(parts, { rules })).text).toBe(expected);
    expect((await pass([...text], { rules })).text).toBe(expected);
  });

  it('passes each clause as soon as it is over', async () => {
    const { events } = await pass(['Well, ', 'this ', 'is good. ', 'So', ' be it.'], { rules });
    expect(events.slice(0, -1).map((event) => event.type === 'token' && event.text)).toEqual([
      'Well, ',
      'this is good. ',
      'So be it.',
    ]);
    const buffered = await pass(['Well, ', 'this ', 'is good. '], { rules, buffered: true });
    expect(buffered.events).toEqual([{ type: 'token', text: 'Well, this is good. ' }, done]);
  });

  it('cuts before the clause, and has the last word', async () => {
    const cut = await pass(['It is fine. ', 'It is bad, ', 'is it not? '], { rules, action: 'cut', say: 'Sorry.' });
    expect(cut.text).toBe('It is fine. Sorry.');
    expect(cut.told).toEqual([{ side: 'output', rule: 'blocklist', action: 'cut' }]);
    expect(cut.ended).toBe(0);
  });

  it('ends the turn', async () => {
    const end = await pass(['It is fine. ', 'It is bad, ', 'is it not? '], { rules, action: 'end' });
    expect([end.text, end.ended]).toEqual(['It is fine. ', 1]);
  });

  it('tells what was done, never what was said', async () => {
    const { told } = await pass([text], { rules });
    expect(new Set(told.map(({ rule }) => rule))).toEqual(new Set(['blocklist', 'card', 'mail']));
    expect(JSON.stringify(told)).not.toMatch(/bad|4111|example/);
  });

  it('stops the model when it cuts', async () => {
    let isOpen = false;
    const source$ = new Observable<LLMEvent>((subscriber) => {
      isOpen = true;
      subscriber.add(() => (isOpen = false));
      subscriber.next({ type: 'token', text: 'Bad. Go' });
    });
    const context = { scheduler, tell: () => undefined, end: () => undefined };
    const events$ = guard({ rules, action: 'cut' }).answer?.(source$, context) ?? source$;
    expect(await lastValueFrom(events$.pipe(toArray()))).toEqual([]);
    expect(isOpen).toBe(false);
  });

  describe('moderation', () => {
    it('is asked in order, and what it refuses is not said', async () => {
      const asked: string[] = [];
      const moderate = async ({ text: clause }: { readonly text: string }): Promise<boolean> => {
        asked.push(clause);
        await Promise.resolve();
        return !clause.includes('secret');
      };
      const { text: safe, told } = await pass(['One, ', 'my secret, ', 'bad three.'], { rules, moderate });
      expect(safe).toBe('One, … … three.');
      expect(asked).toEqual(['One, ', 'my secret, ', '… three.']);
      expect(told.map(({ rule }) => rule)).toEqual(['moderation', 'blocklist']);
    });

    it.each([
      ['block', '…'],
      ['allow', 'Hello.'],
    ] as const)('that fails or hangs: %s', (onModerationFailure, expected) => {
      for (const moderate of [
        (): boolean => {
          throw new Error('down');
        },
        (): Promise<boolean> => new Promise(() => undefined),
      ]) {
        const clock = new TestScheduler((actual, wanted) => expect(actual).toEqual(wanted));
        let isAborted = false;
        clock.run(({ cold, expectObservable }) => {
          const told: GuardReport[] = [];
          const context = { scheduler: clock, tell: (each: GuardReport) => void told.push(each), end: () => undefined };
          const transform = guard({
            ...{ moderateTimeoutMs: 20, onModerationFailure },
            moderate: ({ signal }) => {
              signal.addEventListener('abort', () => (isAborted = true));
              return moderate();
            },
          });
          const source$ = cold<LLMEvent>('(a|)', { a: { type: 'token', text: 'Hello.' } });
          const isSlow = String(moderate).includes('Promise');
          const safe: LLMEvent = { type: 'token', text: expected };
          expectObservable(transform.answer?.(source$, context) ?? source$).toBe(isSlow ? '20ms (a|)' : '(a|)', {
            a: safe,
          });
          clock.flush();
          expect(told).toEqual([
            { side: 'output', rule: 'moderation-failed', action: onModerationFailure },
            ...(onModerationFailure === 'block' ? [{ side: 'output', rule: 'moderation', action: 'replace' }] : []),
          ]);
        });
        expect(isAborted).toBe(true);
      }
    });
  });
});
