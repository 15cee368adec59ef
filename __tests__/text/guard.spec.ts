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

/** A model's answer in tokens, with the arguments of calls in their place, as it passes a guard. */
async function pass(
  parts: readonly (string | LLMEvent)[],
  options: GuardOptions,
): Promise<{ text: string; events: LLMEvent[]; told: GuardReport[]; ended: number }> {
  const told: GuardReport[] = [];
  let ended = 0;
  const eventOf = (part: string | LLMEvent): LLMEvent =>
    typeof part === 'string' ? { type: 'token', text: part } : part;
  const source$ = from([...parts.map(eventOf), done]);
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

  it('there is no rule for another kind of personal data', () => {
    expect(() => personalData('ssn' as 'card')).toThrow('personalData() finds card, iban, mail, phone, not "ssn"');
  });

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
  it.each<readonly [unknown, string]>([
    [undefined, 'write guard({ rules: [ … ] })'],
    [{ rule: [blocklist(['bad'])] }, 'there is no option rule, only rules, sides, action, '],
    [{ rules: ['bad'] }, 'rules must be an array of rules such as blocklist()'],
    [{ rules: blocklist(['bad']) }, 'rules must be an array of rules such as blocklist()'],
    [{ sides: ['user'] }, 'sides must be an array of input, output, tools'],
    [{ sides: 'input' }, 'sides must be an array of input, output, tools'],
    [{ action: 'block' }, 'action must be replace, cut or end, not "block"'],
    [{ replacement: 5 }, 'replacement must be a text'],
    [{ moderate: true }, 'moderate must be a function or a class, not true'],
    [{ moderateTimeoutMs: NaN }, 'moderateTimeoutMs must be a number from 0 to ∞, not NaN'],
    [{ onModerationFailure: 'pass' }, 'onModerationFailure must be allow or block, not "pass"'],
  ])('that would let everything pass is refused: %j', (options, sentence) => {
    expect(() => guard(options as GuardOptions)).toThrow(`guard: ${sentence}`);
  });

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

  describe('of tool calls', () => {
    const call = (argsText: string): LLMEvent => {
      let args: unknown;
      try {
        args = JSON.parse(argsText);
      } catch {
        // As providers do.
      }
      return { type: 'tool-call', id: '1', name: 'book', args, argsText };
    };
    const sides = ['tools'] as const;

    it('replaces in texts, names and numbers at any depth, and leaves all else as it is', async () => {
      const argsText = '{"to": {"bad": ["a@b.example", 4111111111111111, 4, true, null]}, "on": "2024-05-03"}';
      const { events, told } = await pass([call(argsText)], { rules, sides });
      const args = { to: { '…': ['…', '…', 4, true, null] }, on: '2024-05-03' };
      expect(events).toEqual([{ ...call(argsText), args, argsText: JSON.stringify(args) }, done]);
      expect(told).toEqual([
        { side: 'tools', rule: 'blocklist', action: 'replace' },
        { side: 'tools', rule: 'mail', action: 'replace' },
        { side: 'tools', rule: 'card', action: 'replace' },
      ]);
    });

    it('finds what hides behind the escapes of JSON, and in arguments that are no JSON', async () => {
      const escaped = await pass([call('{"to":"a\\u0040b.example"}')], { rules, sides });
      expect(escaped.events[0]).toMatchObject({ args: { to: '…' }, argsText: '{"to":"…"}' });
      const broken = await pass([call('{"to":"a@b.example"')], { rules, sides });
      expect(broken.events[0]).toEqual({ ...call('{"to":"…"'), args: undefined });
    });

    it('gives a call in which there is nothing on as the service wrote it', async () => {
      const asWritten = call('{ "people" : 4.0 }');
      expect((await pass([asWritten], { rules, sides })).events).toEqual([asWritten, done]);
    });

    it('leaves alone what it is not asked to see', async () => {
      const spoken = await pass(['Bad, ', 'so ', call('{"to":"bad"}')], { rules });
      expect(spoken.events).toEqual([
        ...(await pass(['Bad, ', 'so '], { rules })).events.slice(0, -1),
        call('{"to":"bad"}'),
        done,
      ]);
      const called = await pass(['It is b', 'ad. ', call('{"to":"bad"}')], { rules, sides });
      expect(called.events.slice(0, 2)).toEqual([
        { type: 'token', text: 'It is b' },
        { type: 'token', text: 'ad. ' },
      ]);
      expect(called.events[2]).toMatchObject({ args: { to: '…' } });
    });

    it('drops a call, and what follows, where it cuts or ends', async () => {
      const parts = ['One moment.', call('{"to":"bad"}'), 'Done.'];
      const cut = await pass(parts, { rules, sides, action: 'cut', say: 'I may not.' });
      expect([cut.text, cut.ended]).toEqual(['One moment. I may not.', 0]);
      expect(cut.events.every(({ type }) => type === 'token')).toBe(true);
      const end = await pass(parts, { rules, sides, action: 'end', say: 'I may not.' });
      expect([end.text, end.ended]).toEqual(['One moment.', 1]);
    });

    it('asks the moderation about the arguments as the rules leave them', async () => {
      const asked: unknown[] = [];
      const moderate = async ({
        text: json,
        side,
      }: {
        readonly text: string;
        readonly side: string;
      }): Promise<boolean> => {
        asked.push([side, json]);
        await Promise.resolve();
        return !json.includes('secret');
      };
      const { events, told } = await pass(['Go. ', call('{"to":"bad"}'), call('{"to":["secret"],"n":1}')], {
        rules,
        sides,
        moderate,
      });
      expect(asked).toEqual([
        ['tools', '{"to":"…"}'],
        ['tools', '{"to":["secret"],"n":1}'],
      ]);
      expect(events.flatMap((event) => (event.type === 'tool-call' ? [event.args] : []))).toEqual([
        { to: '…' },
        { '…': '…' },
      ]);
      expect(told.map(({ side, rule }) => `${side} ${rule}`)).toEqual(['tools blocklist', 'tools moderation']);
    });
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
