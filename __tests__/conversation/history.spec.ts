import { History, type HistoryChange, type HistoryOptions, type Spoken } from 'rxvoice';

const spoken = (heard: string, generated: string = heard): Spoken => ({
  ...{ generated, heard, interrupted: heard !== generated, estimated: false },
});
const call = (id: string): { id: string; name: string; args: object; argsText: string } => ({
  ...{ id, name: 'look', args: {}, argsText: '{}' },
});
const result = (toolCallId: string, content = 'seen'): { toolCallId: string; content: string; isError: boolean } => ({
  ...{ toolCallId, content, isError: false },
});

/** A history of whole turns: a question, a tool round, an answer. */
function history(turns: number, options: HistoryOptions = {}): History {
  const made = new History(options);
  for (let turn = 1; turn <= turns; turn++) {
    made.addUser(`question ${turn}`);
    made.addToolRound('', [call(`c${turn}`)], [result(`c${turn}`)]);
    made.addAssistant(spoken(`answer ${turn}`));
  }
  return made;
}

const roles = (made: History): string =>
  made
    .messages()
    .flatMap(({ role }) => role[0] ?? [])
    .join('');

describe('History', () => {
  it('refuses an option that it does not have', () => {
    const options = { maxTurn: 5 } as HistoryOptions;
    expect(() => new History(options)).toThrow(
      'History: there is no option maxTurn, only maxTurns, maxTokens, countTokens',
    );
  });

  it('keeps 40 turns, whole ones, so that no tool call loses its result', () => {
    const made = history(43);
    expect(made.items).toHaveLength(40 * 4);
    expect(made.items[0]).toMatchObject({ role: 'user', text: 'question 4' });
    expect(roles(made)).toBe('uata'.repeat(40));
  });

  it('keeps within its budget of tokens, and the last turn whatever it takes', () => {
    const countTokens = (text: string): number => text.split(' ').length;
    // A turn is 2 + 2 + 1 + 2 words: the call counts too.
    const made = history(10, { maxTokens: 21, countTokens });
    expect(made.items.filter(({ role }) => role === 'user')).toHaveLength(3);
    const long = history(3, { maxTokens: 1, countTokens });
    expect(roles(long)).toBe('uata');
  });

  it('keeps to its defaults where an option is undefined', () => {
    const made = new History({ maxTurns: undefined, maxTokens: undefined, countTokens: undefined });
    for (let index = 1; index <= 50; index++) made.addAssistant(spoken(`notice ${index}`));
    expect(made.items).toHaveLength(40);
  });

  it('counts what the agent says of its own accord as turns', () => {
    const made = new History({ maxTurns: 3 });
    for (let index = 1; index <= 10; index++) made.addAssistant(spoken(`notice ${index}`));
    expect(made.items.map((item) => (item.role === 'assistant' ? item.heard : ''))).toEqual([
      ...['notice 8', 'notice 9', 'notice 10'],
    ]);
    expect(made.messages()).toEqual([{ role: 'assistant', content: 'notice 8 notice 9 notice 10' }]);
  });

  it('joins what the user says twice in a row, and forgets an answer that nobody heard', () => {
    const made = new History();
    made.addUser('book a table');
    made.addAssistant(spoken('', 'For whom?'));
    made.addUser('for two');
    expect(made.messages('Be brief.')).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'book a table for two' },
    ]);
  });

  it('tells the model what was heard, not what was generated', () => {
    const made = new History();
    made.addUser('tell me');
    made.addAssistant(spoken('One two', 'One two three four.'));
    expect(made.messages()[1]).toEqual({ role: 'assistant', content: 'One two' });
    expect(made.items[1]).toMatchObject({ generated: 'One two three four.', interrupted: true });
  });

  it('adds what the user may have said to what is sent, and to nothing else', () => {
    const made = history(1);
    expect(made.messages(undefined, 'perhaps').at(-1)).toEqual({ role: 'user', content: 'perhaps' });
    expect(made.items.at(-1)?.role).toBe('assistant');
  });

  it('replaces the result of a tool that finishes later, and ignores one that it has forgotten', () => {
    const made = history(1);
    made.updateToolResult(result('c1', 'seen at last'));
    made.updateToolResult(result('c9', 'of nobody'));
    expect(made.items.filter(({ role }) => role === 'tool')).toMatchObject([{ content: 'seen at last' }]);
  });

  it('goes out as JSON and comes back, as another copy', () => {
    const made = history(2);
    const copy = new History();
    copy.import(JSON.parse(JSON.stringify(made.export())) as ReturnType<History['export']>);
    expect(copy.messages()).toEqual(made.messages());
    copy.addUser('more');
    expect(roles(made)).toBe('uatauata');
    expect(new Set(copy.items.map(({ id }) => id)).size).toBe(copy.items.length);
  });

  it('comes back without a result that was never stored: models refuse a call that has none', () => {
    const [user, calls, first, ...rest] = history(2).export();
    if (!user || !calls || !first) throw new Error('there is none');
    const unknown = {
      role: 'tool',
      toolCallId: 'c1',
      content: expect.stringMatching(/^Unknown: /) as string,
      isError: true,
    };
    const killed = new History();
    killed.import([user, calls]);
    expect(killed.messages().slice(1)).toMatchObject([{ role: 'assistant' }, unknown]);
    expect(killed.items.at(-1)).toMatchObject({ ...unknown, id: 'item-3' });
    const gap = new History();
    gap.import([user, calls, ...rest]);
    expect(roles(gap)).toBe(roles(history(2)));
    expect(gap.messages()[2]).toMatchObject(unknown);
    const orphan = new History();
    orphan.import([first, user]);
    expect(roles(orphan)).toBe('u');
  });

  it('takes nothing but items, and stays as it was', () => {
    const made = history(1);
    const before = made.export();
    for (const [item, index] of [
      [{ role: 'user', content: 'in the form of a model' }, 1],
      [{ role: 'assistant', generated: 'half' }, 1],
      [{ role: 'system', text: 'no' }, 1],
      [null, 1],
      ['text', 1],
    ] as const) {
      const items = [before[0], item] as ReturnType<History['export']>;
      expect(() => made.import(items)).toThrow(
        `cannot import item ${index}: each item must be one of { role: 'user', text }`,
      );
    }
    expect(made.export()).toEqual(before);
  });

  it('takes no more than it may keep, and tells what became of what was there', () => {
    const made = history(1, { maxTurns: 2 });
    const changes: HistoryChange[] = [];
    made.changes$.subscribe((change) => changes.push(change));
    made.import(history(3).export());
    expect(roles(made)).toBe('uatauata');
    expect(changes[0]).toEqual({ type: 'truncated', removed: 4 });
    expect(changes.filter(({ type }) => type === 'added')).toHaveLength(12);
    expect(changes.at(-1)).toEqual({ type: 'truncated', removed: 4 });
  });

  it('keeps within its budget while tools run, too', () => {
    const made = history(3, { maxTokens: 30, countTokens: (text) => text.split(' ').length });
    made.addUser('look around');
    const long = result('c9', 'sea '.repeat(20));
    made.addToolRound('', [call('c9')], [long]);
    expect(roles(made)).toBe('uat');
  });

  it('says when, in which turn, by whom and in which language', () => {
    const made = new History();
    made.addUser('bonjour', [], { at: 10, turnId: 'turn-1', language: 'fr', speaker: 'S1' });
    made.addUser('and hello', [], { at: 20, turnId: 'turn-2', language: 'en' });
    made.addAssistant(spoken('hi'), { at: 30, turnId: 'turn-2' });
    const [user, agent] = made.items;
    // One message that began at 10, in the language and the turn of its end.
    expect(user).toMatchObject({ text: 'bonjour and hello', at: 10, turnId: 'turn-2', language: 'en', speaker: 'S1' });
    expect(agent).toMatchObject({ at: 30, turnId: 'turn-2' });
  });

  it('puts a summary in the place of its oldest items, which is nothing that the user said', () => {
    const made = history(2);
    const changes: HistoryChange[] = [];
    made.changes$.subscribe((change) => changes.push(change));
    made.dropOldest(8, 'They looked.');
    expect(made.items).toMatchObject([{ role: 'user', text: 'They looked.', isSummary: true }]);
    expect(changes).toMatchObject([{ type: 'truncated', removed: 8, summary: { text: 'They looked.' } }]);
    expect(made.lastSaid).toBeUndefined();
    made.addUser('and now?');
    expect(made.items).toHaveLength(2);
    expect(made.messages()).toEqual([{ role: 'user', content: 'They looked. and now?' }]);
  });

  it('tells of each change', () => {
    const made = new History({ maxTurns: 1 });
    const changes: string[] = [];
    made.changes$.subscribe((change) => changes.push(change.type));
    made.addUser('one');
    made.addUser('more');
    made.addAssistant(spoken('fine'));
    made.addUser('two');
    expect(changes).toEqual(['added', 'updated', 'added', 'added', 'truncated']);
  });
});
