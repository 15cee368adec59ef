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
});
