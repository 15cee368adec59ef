import type { VoiceEvent } from 'rxvoice';
import { user, voiceTest } from 'rxvoice/testing';
import {
  conversed,
  silence,
  spokenLine,
  splitHeard,
  type Conversation,
} from '../../../samples/playground/page/conversation.ts';
import { conversation, ofType } from './conversations.ts';

const show = (events: readonly VoiceEvent[]): Conversation => events.reduce(conversed, silence);

describe('The conversation on the page', () => {
  const events = conversation();
  const { lines, caption } = show(events);

  it('has a line for everything that was said, in order', () => {
    expect(lines.map(({ kind }) => kind)).toEqual(['user', 'agent', 'user', 'agent', 'user', 'agent']);
    expect(lines.filter(({ kind }) => kind === 'user').map(({ text }) => text)).toEqual([
      'tell me a story',
      'stop that please',
      'thank you',
    ]);
    expect(caption).toBeUndefined();
  });

  it('parts what was heard of an interrupted answer from what never was', () => {
    const line = lines[1];
    const [ended] = ofType(events, 'speech.ended');
    if (line?.kind !== 'agent' || !ended) throw new Error('no answer');
    expect(line.interrupted).toBe(true);
    const { heard, unheard } = splitHeard(line.text, line.heard ?? '');
    expect(heard.trim()).toBe(ended.heardText.trim());
    expect(heard + unheard).toBe('Once upon a time there was a very long story that nobody ever heard to its end.');
    expect(unheard).toMatch(/to its end\.$/);
  });

  it('follows an answer word by word where captions tell it', () => {
    const [created] = ofType(events, 'speech.created');
    const word = (text: string, from: number): VoiceEvent => ({
      ...{ type: 'caption.word', at: 0, speechId: created?.speechId ?? '', text, startMs: 0, endMs: 1 },
      ...{ range: [from, from + text.length], estimated: false },
    });
    const said = (shown: Conversation): (number | undefined)[] =>
      shown.lines.map((line) => (line.kind === 'agent' ? line.spokenTo : undefined));
    const before = show(events);
    expect(said(before)).toEqual(Array(6).fill(undefined));
    const during = [word('Once', 0), word('upon', 5)].reduce(conversed, before);
    expect(said(during)).toEqual([undefined, 'Once upon'.length, undefined, undefined, undefined, undefined]);
  });

  it('shows beside each line what the model will remember: what was heard', () => {
    const remembered = lines.map(({ memory = [] }) => memory.map(({ text }) => text.trim()).join(' '));
    const [ended] = ofType(events, 'speech.ended');
    expect(remembered.slice(0, 3)).toEqual(['tell me a story', ended?.heardText.trim(), 'stop that please']);
    expect(remembered).not.toContain('');
  });

  it('shows interim words as a caption, and takes them back when they were ignored or are final', () => {
    const until = (type: VoiceEvent['type']): Conversation =>
      show(events.slice(0, events.findIndex((event) => event.type === type) + 1));
    expect(until('transcript.interim').caption).toEqual({ text: 'tell', isPreflight: false });
    expect(until('transcript.preflight').caption).toEqual({ text: 'tell me a story', isPreflight: true });
    expect(until('turn.committed').caption).toBeUndefined();
    const ignored = voiceTest({
      llm: { answer: () => 'a long answer that goes on and on and on for quite a while' },
      steps: {
        0: user.final('go'),
        1_500: [user.starts, user.interim('yeah')],
        1_700: [user.falls, user.final('yeah')],
      },
    }).events;
    expect(ofType(ignored, 'bargeIn.ignored').length + ofType(ignored, 'bargeIn.resumed').length).toBeGreaterThan(0);
    expect(show(ignored).caption).toBeUndefined();
  });

  it('moves what is remembered to the newest line when two utterances became one message', () => {
    const merged = voiceTest({
      llm: { firstTokenMs: 3_000 },
      steps: { 0: user.final('book a table'), 500: user.final('for two', '2') },
    });
    const users = show(merged.events).lines.filter(({ kind }) => kind === 'user');
    expect(users.map(({ text, memory }) => [text, memory?.map((each) => each.text)])).toEqual([
      ['book a table', undefined],
      ['for two', ['book a table for two']],
    ]);
  });

  it('shows calls of tools with their results', () => {
    const call = { id: 'call-1', name: 'get_time', args: {}, argsText: '{}' };
    const item = { id: 'item-3', role: 'tool', toolCallId: 'call-1', content: '12:30', isError: false } as const;
    const called: readonly VoiceEvent[] = [
      { type: 'turn.committed', at: 1, turnId: 'turn-1', text: 'what time is it', endedBy: 'stt' },
      { type: 'tool.call', at: 2, turnId: 'turn-1', call },
      { type: 'tool.result', at: 3, turnId: 'turn-1', call, content: '12:30', durationMs: 1 },
      { type: 'history.added', at: 3, item },
    ];
    const tool = show(called).lines.find(({ kind }) => kind === 'tool');
    expect(tool).toMatchObject({ text: 'get_time({})', result: '12:30', phase: 'ended', memory: [{ text: '12:30' }] });
    expect(tool && spokenLine(tool)).toBe('Tool get_time({}): 12:30');
  });

  it('knows where in the answer a tool was called, which turn it was, and how long that took', () => {
    const call = { id: 'call-1', name: 'get_time', args: {}, argsText: '{}' };
    const { lines: called } = show([
      { type: 'turn.started', at: 0, turnId: 'turn-7', source: 'speech' },
      { type: 'turn.committed', at: 1, turnId: 'turn-7', text: 'what time is it', endedBy: 'stt' },
      { type: 'llm.token', at: 2, turnId: 'turn-7', delta: 'One moment.' },
      { type: 'tool.call', at: 3, turnId: 'turn-7', call },
      { type: 'llm.token', at: 5, turnId: 'turn-7', delta: ' It is noon.' },
      { type: 'turn.metrics', at: 9, turnId: 'turn-7', total: 700, preflightLead: 299 },
    ]);
    const [asked, answer, tool] = called;
    expect(asked).toMatchObject({ kind: 'user', turn: 1 });
    expect(answer).toMatchObject({ text: 'One moment. It is noon.', metrics: { total: 700, preflightLead: 299 } });
    expect(tool).toMatchObject({ within: { key: answer?.key, at: 'One moment.'.length } });
  });

  it('reads finals aloud, once they are, and never what was not heard', () => {
    const spoken = lines.map(spokenLine);
    expect(spoken[0]).toBe('You: tell me a story');
    expect(spoken[1]).toMatch(/^Agent, interrupted: Once/);
    expect(spoken[1]).not.toContain('to its end');
    const running = show(events.slice(0, events.findIndex(({ type }) => type === 'speech.started') + 1));
    expect(running.lines.at(-1)?.kind).toBe('agent');
    expect(running.lines.map(spokenLine).at(-1)).toBeUndefined();
  });

  it('keeps the lines that do not change, so that the page need not redraw them', () => {
    const before = show(events.slice(0, -5));
    const after = events.slice(-5).reduce(conversed, before);
    before.lines.slice(0, -2).forEach((line, index) => expect(after.lines[index]).toBe(line));
  });
});

describe('splitHeard', () => {
  for (const [text, heard, split] of [
    ['one two three', 'one two', ['one two', ' three']],
    ['one two three', '', ['', 'one two three']],
    ['**one** two three', 'one two', ['**one** two', ' three']],
    ['one', 'one', ['one', '']],
    ['one', 'one two three', ['one', '']],
    ['One moment. It is noon.', 'One moment.It', ['One moment. It', ' is noon.']],
  ] as const) {
    it(`"${heard}" of "${text}"`, () => {
      const { heard: before, unheard } = splitHeard(text, heard);
      expect([before, unheard]).toEqual(split);
    });
  }
});
