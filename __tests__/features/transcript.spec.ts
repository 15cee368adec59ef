/** A chat of what was said: lines that nobody heard, that come twice, or that flicker when they are over. */
import { lastValueFrom, timer } from 'rxjs';
import { transcript, type Tool, type TranscriptLine } from 'rxvoice';
import { FakeSTT, type FakeLLMConfig } from 'rxvoice/testing';
import { call, over, type Call } from '../pipeline/support/call.ts';
import { ofType } from '../pipeline/support/timeline.ts';
import { TestClock } from '../transport/test-clock.ts';

function follow({ pipeline }: Call): readonly (readonly TranscriptLine[])[] {
  const told: (readonly TranscriptLine[])[] = [];
  transcript(pipeline).subscribe((lines) => told.push(lines));
  return told;
}
const brief = (lines: readonly TranscriptLine[] = []): string[] =>
  lines.map(({ speaker, text, isFinal, unheard }) =>
    [speaker, isFinal ? '.' : '~', text, ...(unheard === undefined ? [] : ['|', unheard.trim()])].join(' '),
  );

/** Whose agent says something before it looks something up. */
function looksUp(toolMs: number): Promise<Call> {
  const scheduler = new TestClock();
  const answer: FakeLLMConfig['answer'] = (messages) =>
    messages.at(-1)?.role === 'tool'
      ? 'It rains.'
      : [
          { type: 'token', text: 'One moment. ' },
          { type: 'tool-call', id: '1', name: 'look', args: {}, argsText: '{}' },
          { type: 'done', finishReason: 'tool-calls' },
        ];
  const look: Tool = { name: 'look', execute: () => timer(toolMs, scheduler) };
  return call({ scheduler, llm: { answer }, tools: [look] });
}

describe('transcript()', () => {
  it('begins with what there is, and grows with each word that is heard', async () => {
    const rig = await call();
    rig.pipeline.history.import([{ id: '', role: 'user', text: 'Hello' }]);
    const told = follow(rig);
    expect(told.map(brief)).toEqual([['user . Hello']]);
    rig.pipeline.say('One two three.');
    await rig.scheduler.advance(5_000);
    expect(told.slice(1).map((lines) => brief(lines).at(-1))).toEqual([
      ...['agent ~ One', 'agent ~ One two', 'agent ~ One two three.', 'agent . One two three.'],
    ]);
    await over(rig);
  });

  it('completes with the pipeline, and has what was heard last', async () => {
    const rig = await call();
    const last = lastValueFrom(transcript(rig.pipeline));
    rig.pipeline.say('One two three.');
    await rig.scheduler.advance(300);
    await over(rig);
    expect(brief(await last)).toEqual(['agent . One | two three.']);
  });

  it('shows what the user is saying, and each line once when it is over', async () => {
    const rig = await call();
    const told = follow(rig);
    rig.stt.hearWords(FakeSTT.result('what', 'interim'));
    rig.stt.hearWords(FakeSTT.result('what time', 'interim'));
    rig.stt.hearWords(FakeSTT.result('what time is it', 'final'));
    await rig.scheduler.advance(10_000);
    expect(told.slice(0, 3).map(brief)).toEqual([[], ['user ~ what'], ['user ~ what time']]);
    const last = brief(told.at(-1));
    expect([last[0], last.length]).toEqual(['user . what time is it', 2]);
    expect(last[1]).toMatch(/^agent \. /);
    // Never twice, and never gone for a moment.
    for (const lines of told.slice(3).map(brief)) {
      expect(lines.filter((line) => line.startsWith('user'))).toHaveLength(1);
    }
    await over(rig);
  });

  it('tells what an interrupted agent was not heard to say', async () => {
    const rig = await call();
    const told = follow(rig);
    rig.pipeline.say('One two three extraordinarily four five.');
    await rig.scheduler.advance(1_600);
    rig.pipeline.interrupt();
    await rig.scheduler.advance(5_000);
    expect(brief(told.at(-1))).toEqual(['agent . One two three | extraordinarily four five.']);
    await over(rig);
  });

  it.each([
    ['with spaces', 'One two three extraordinarily four five.', 1_600],
    ['without', '你好，我是你的助手，很高兴认识你。', 1_300],
  ])('joins what was heard and what was not, in a script %s', async (_, text, heardMs) => {
    const rig = await call();
    const told = follow(rig);
    rig.pipeline.say(text);
    await rig.scheduler.advance(heardMs);
    rig.pipeline.interrupt();
    await rig.scheduler.advance(5_000);
    const [line] = told.at(-1) ?? [];
    const parts = [line?.text, line?.unheard];
    expect(parts.every(Boolean)).toBe(true);
    expect(parts.join('')).toBe(text);
    await over(rig);
  });

  it.each([
    ['while it is said', 0],
    ['after it was said', 3_000],
  ])('shows what is said before a tool once, whose result comes %s', async (_, toolMs) => {
    const rig = await looksUp(toolMs);
    const told = follow(rig);
    rig.pipeline.send('What is the weather?');
    await rig.scheduler.advance(10_000);
    const shown = told.map((lines) =>
      brief(lines)
        .slice(1)
        .map((line) => line.trim())
        .join(', '),
    );
    expect(shown.filter((line, at) => line !== (shown[at - 1] ?? ''))).toEqual([
      ...['agent ~ One', 'agent ~ One moment.', 'agent ~ One moment. It', 'agent ~ One moment. It rains.'],
      'agent . One moment., agent . It rains.',
    ]);
    await over(rig);
  });

  it.each([
    ['before', 450, ['agent . One | moment.']],
    ['after', 1_700, ['agent . One moment. ', 'agent . It | rains.']],
  ])('tells what was not heard of an agent that is interrupted %s its tool', async (_, ms, lines) => {
    const rig = await looksUp(0);
    const told = follow(rig);
    rig.pipeline.send('What is the weather?');
    await rig.scheduler.advance(ms);
    rig.pipeline.interrupt();
    await rig.scheduler.advance(5_000);
    expect(brief(told.at(-1)).slice(1)).toEqual(lines);
    // Never gone for a moment.
    const shown = told.map((each) => brief(each).slice(1).join());
    expect(shown.slice(shown.findIndex(Boolean)).every((each) => each.includes('One'))).toBe(true);
    await over(rig);
  });

  it('has no line of an answer that nobody heard, with or without a history', async () => {
    const rig = await call({ llm: { firstTokenMs: 200 } });
    const told = follow(rig);
    const { events$, captions$ } = rig.pipeline;
    let remote: readonly TranscriptLine[] = [];
    transcript({ events$, captions$ }).subscribe((lines) => (remote = lines));
    rig.stt.hearVoice('started');
    rig.stt.hearWords(FakeSTT.result('book a table', 'final', 'a'));
    await rig.scheduler.advance(30);
    rig.stt.hearVoice('started');
    await rig.scheduler.advance(270);
    rig.stt.hearWords(FakeSTT.result('for two', 'final', 'b'));
    await rig.scheduler.advance(8_000);
    expect(ofType(rig.events, 'turn.ended').map(({ reason }) => reason)).toContain('merged');
    const heard = (lines: readonly TranscriptLine[] = []): string[] =>
      brief(lines).filter((line) => line.startsWith('agent'));
    expect(heard(remote)).toEqual(heard(told.at(-1)));
    expect(heard(remote)).toHaveLength(1);
    await over(rig);
  });

  it('keeps the line of an agent that pauses, and goes on with it', async () => {
    const rig = await call();
    const told = follow(rig);
    rig.pipeline.say('One two three four five six.');
    await rig.scheduler.advance(500);
    rig.stt.hearVoice('started');
    await rig.scheduler.advance(4_500);
    expect(brief(told.at(-1))).toEqual(['agent ~ One two']);
    rig.stt.hearVoice('ended');
    await rig.scheduler.advance(2_000);
    expect(brief(told.at(-1))[0]).toMatch(/^agent ~ One two three/);
    await over(rig);
  });
});
