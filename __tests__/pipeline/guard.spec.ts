/** What nobody may hear, see or remember gets past a guard: in an answer, in say(), in what the user says. */
import { blocklist, guard, markdown, personalData, type VoiceEvent } from 'rxvoice';
import { audioToText, FakeSTT } from 'rxvoice/testing';
import { call, over, type Call } from './support/call.ts';
import { ofType } from './support/timeline.ts';

const rules = [blocklist(['darn']), personalData()];
const heard = ({ output }: Call): string => audioToText(output.heard, 100);
/** All that anybody is told but the user's own words. */
const told = ({ events }: Call): string =>
  JSON.stringify(events.filter(({ type }) => !/^(transcript|turn\.committed|audio)/.test(type)));
const acted = ({ events }: Call): string[] =>
  ofType(events, 'guard.acted').map(({ side, rule, action }) => `${side} ${rule} ${action}`);
const reasons = ({ events }: Call): string[] =>
  ofType(events, 'turn.ended').map(({ reason }: VoiceEvent<'turn.ended'>) => reason);

describe('a guard', () => {
  it('of answers: what it replaces is neither heard nor told nor remembered', async () => {
    const rig = await call({
      text: [markdown(), guard({ rules })],
      llm: { answer: () => 'Oh **da**rn it, the card is 4111 1111 1111 1111. All is well.' },
    });
    rig.pipeline.send('Go on.');
    await rig.scheduler.advance(10_000);
    expect(heard(rig)).toBe('Oh … it, the card is …. All is well.');
    expect(told(rig)).not.toMatch(/rn it|4111/);
    expect(rig.pipeline.history.items.at(-1)).toMatchObject({ heard: 'Oh **… it, the card is …. All is well.' });
    expect(acted(rig)).toEqual(['output blocklist replace', 'output card replace']);
    await over(rig);
  });

  it('of answers: the turn goes on after a cut, and ends at once where it must', async () => {
    for (const [action, said, reason] of [
      ['cut', 'It is fine. Let us talk of else.', 'completed'],
      ['end', '', 'refused'],
    ] as const) {
      const rig = await call({
        text: [markdown(), guard({ rules, action, say: 'Let us talk of else.' })],
        llm: { answer: () => 'It is fine. Well darn that. And more.' },
      });
      rig.pipeline.send('Go on.');
      await rig.scheduler.advance(10_000);
      expect(heard(rig).replace(/\s+/g, ' ')).toBe(said);
      expect(told(rig)).not.toMatch(/darn/);
      expect(reasons(rig)).toEqual([reason]);
      expect(ofType(rig.events, 'error')).toEqual([]);
      await over(rig);
    }
  });

  it('of what say() says, and of the greeting', async () => {
    const rig = await call({ text: [guard({ rules })], greeting: 'Darn, hello!' });
    await rig.scheduler.advance(3_000);
    rig.pipeline.say('Mail a@example.com now.');
    await rig.scheduler.advance(5_000);
    expect(heard(rig)).toBe('…, hello!Mail … now.');
    expect(told(rig)).not.toMatch(/[Dd]arn|example/);
    await over(rig);
  });

  it('of input: the model and the history get what it lets pass, and nothing is prepared before', async () => {
    const rig = await call({ text: [markdown(), guard({ rules, sides: ['input'] })] });
    rig.stt.hearWords(FakeSTT.result('My card is 4111 1111 1111 1111', 'preflight'));
    await rig.scheduler.advance(100);
    rig.stt.hearWords(FakeSTT.result('My card is 4111 1111 1111 1111', 'final'));
    await rig.scheduler.advance(10_000);
    expect(heard(rig)).toBe('You said My card is ….');
    expect(ofType(rig.events, 'preflight.started')).toEqual([]);
    expect(told(rig)).not.toMatch(/4111/);
    expect(acted(rig)).toEqual(['input card replace']);
    await over(rig);
  });

  it('of input: what it refuses never reaches the model or the hook', async () => {
    let asked = 0;
    for (const [action, said] of [
      ['cut', 'No.'],
      ['end', ''],
    ] as const) {
      const rig = await call({
        text: [markdown(), guard({ rules, sides: ['input'], action, say: 'No.' })],
        onUserTurn: () => void (asked += 1),
      });
      rig.pipeline.send('You darn thing');
      await rig.scheduler.advance(10_000);
      expect(heard(rig)).toBe(said);
      expect(reasons(rig)).toEqual(['refused']);
      expect(JSON.stringify(rig.pipeline.history.messages())).not.toMatch(/darn/);
      await over(rig);
    }
    expect(asked).toBe(0);
  });

  it('of what a hook says in place of an answer', async () => {
    for (const [action, said] of [
      ['replace', 'Ask … instead.'],
      ['cut', 'Let us talk of else.'],
      ['end', ''],
    ] as const) {
      const rig = await call({
        text: [markdown(), guard({ rules, action, say: 'Let us talk of else.' })],
        onUserTurn: () => ({ refuse: 'Ask a@example.com instead.' }),
      });
      rig.pipeline.send('Hello');
      await rig.scheduler.advance(10_000);
      expect(heard(rig)).toBe(said);
      expect(told(rig)).not.toMatch(/example/);
      expect(JSON.stringify(rig.pipeline.history.messages())).not.toMatch(/example/);
      expect(acted(rig)).toEqual([`output mail ${action}`]);
      expect(reasons(rig)).toEqual(['refused']);
      await over(rig);
    }
  });

  it('of input: a moderation that hangs blocks, and a hook that hangs lets nothing past it', async () => {
    const never = (): Promise<never> => new Promise(() => undefined);
    const blocked = await call({ text: [guard({ sides: ['input'], moderate: never, action: 'end' })] });
    blocked.pipeline.send('Hello');
    await blocked.scheduler.advance(3_000);
    expect(reasons(blocked)).toEqual(['refused']);
    expect(acted(blocked)).toEqual(['input moderation-failed block', 'input moderation end']);
    await over(blocked);

    const masked = await call({ text: [guard({ sides: ['input'], rules })], onUserTurn: never });
    masked.pipeline.send('You darn thing');
    await masked.scheduler.advance(10_000);
    expect(heard(masked)).toBe('You said You … thing.');
    expect(ofType(masked.events, 'error')).toMatchObject([{ code: 'timeout' }]);
    await over(masked);
  });

  it('of input: what a moderation refuses is replaced before the model and the hook see it', async () => {
    const seen: string[] = [];
    const rig = await call({
      text: [guard({ sides: ['input'], moderate: ({ text }) => !text.includes('secret') })],
      onUserTurn: ({ text }) => void seen.push(text),
    });
    rig.pipeline.send('My secret');
    await rig.scheduler.advance(5_000);
    expect(seen).toEqual(['…']);
    expect(heard(rig)).toBe('You said ….');
    expect(JSON.stringify(rig.pipeline.history.messages())).not.toMatch(/secret/);
    await over(rig);
  });

  describe('of input: what the user says is remembered once it is judged', () => {
    /** A moderation that decides when the test says so, and what it was asked about. */
    const moderation = (): {
      asked: string[];
      decide: (isAllowed: boolean) => void;
      moderate: () => Promise<boolean>;
    } => {
      const asked: string[] = [];
      const decisions: ((isAllowed: boolean) => void)[] = [];
      return {
        asked,
        decide: (isAllowed) => decisions.shift()?.(isAllowed),
        moderate: ({ text }: { text: string } = { text: '' }) => {
          asked.push(text);
          return new Promise((resolve) => decisions.push(resolve));
        },
      };
    };
    const remembered = ({ pipeline }: Call): string[] =>
      pipeline.history.items.flatMap((item) => (item.role === 'user' ? [item.text] : []));
    const say = (rig: Call, text: string): void => rig.stt.hearWords(FakeSTT.result(text, 'final'));

    it('and not while a moderation takes its time', async () => {
      const { asked, decide, moderate } = moderation();
      const rig = await call({ text: [guard({ sides: ['input'], moderate })] });
      say(rig, 'My secret');
      await rig.scheduler.advance(1_000);
      expect(asked).toEqual(['My secret']);
      expect(rig.pipeline.history.items).toEqual([]);
      expect(told(rig)).not.toMatch(/secret/);
      decide(true);
      await rig.scheduler.advance(5_000);
      expect(remembered(rig)).toEqual(['My secret']);
      expect(rig.pipeline.history.items[0]).toMatchObject({ turnId: 'turn-1', at: expect.any(Number) as number });
      expect(heard(rig)).toBe('You said My secret.');
      await over(rig);
    });

    it('nothing of it if it ends the turn, or the call ends first', async () => {
      const refused = await call({ text: [guard({ rules, sides: ['input'], action: 'end' })] });
      say(refused, 'You darn thing');
      await refused.scheduler.advance(5_000);
      expect(reasons(refused)).toEqual(['refused']);
      expect(refused.pipeline.history.items).toEqual([]);
      expect(told(refused)).not.toMatch(/darn/);
      await over(refused);

      const { moderate } = moderation();
      const stopped = await call({ text: [guard({ sides: ['input'], moderate })] });
      say(stopped, 'My secret');
      await stopped.scheduler.advance(1_000);
      await over(stopped);
      expect(stopped.pipeline.history.items).toEqual([]);
    });

    it('together with what the user adds before the verdict', async () => {
      const { asked, decide, moderate } = moderation();
      const rig = await call({ text: [guard({ rules, sides: ['input'], moderate })] });
      say(rig, 'My card is 4111');
      await rig.scheduler.advance(200);
      say(rig, '1111 1111 1111 and that is all');
      await rig.scheduler.advance(200);
      decide(true);
      decide(true);
      await rig.scheduler.advance(10_000);
      expect(asked).toEqual(['My card is 4111', 'My card is … and that is all']);
      expect(remembered(rig)).toEqual(['My card is … and that is all']);
      expect(acted(rig)).toEqual(['input card replace']);
      expect(told(rig)).not.toMatch(/1111/);
      await over(rig);
    });

    it('and judged again with what continues it', async () => {
      for (const [action, kept] of [
        ['replace', ['My card is … and that is all']],
        ['end', ['']],
      ] as const) {
        const slow = { firstTokenMs: 1_000 };
        const rig = await call({ text: [guard({ rules, sides: ['input'], action })], llm: slow });
        say(rig, 'My card is 4111');
        await rig.scheduler.advance(100);
        expect(remembered(rig)).toEqual(['My card is 4111']);
        // Nothing of the answer was heard yet.
        expect(rig.output.heard).toEqual([]);
        say(rig, '1111 1111 1111 and that is all');
        await rig.scheduler.advance(10_000);
        expect(remembered(rig)).toEqual(kept);
        expect(JSON.stringify(rig.pipeline.history.messages())).not.toMatch(/1111/);
        await over(rig);
      }
    });

    it('and is not lost with the guard', async () => {
      const { decide, moderate } = moderation();
      const rig = await call({ text: [guard({ sides: ['input'], moderate })] });
      say(rig, 'Hello');
      await rig.scheduler.advance(200);
      rig.pipeline.update({ text: [] });
      rig.pipeline.interrupt();
      await rig.scheduler.advance(200);
      say(rig, 'again');
      await rig.scheduler.advance(10_000);
      expect(remembered(rig)).toEqual(['Hello again']);
      decide(true);
      await over(rig);

      const early = await call({ text: [guard({ sides: ['input'], rules })] });
      early.pipeline.on('turn.committed', () => early.pipeline.update({ text: [] }));
      early.pipeline.send('Hello');
      await early.scheduler.advance(10_000);
      expect(remembered(early)).toEqual(['Hello']);
      expect(heard(early)).toBe('You said Hello.');
      await over(early);
    });
  });
});
