/** A summary that delays an answer, tears a call from its result, or puts words in the place of others. */
import { NEVER, Observable, of, throwError } from 'rxjs';
import { History, summarize, type LLMEvent, type Message, type Summary, type SummarizeOptions } from 'rxvoice';
import { TestClock } from '../transport/test-clock.ts';

const call = (id: string): { id: string; name: string; args: object; argsText: string } => ({
  ...{ id, name: 'look', args: {}, argsText: '{"at":"sea"}' },
});

/** A turn: a question, a tool's round, an answer. */
function addTurn(history: History, turn: number): void {
  history.addUser(`question ${turn}`);
  history.addToolRound('', [call(`c${turn}`)], [{ toolCallId: `c${turn}`, content: `seen ${turn}`, isError: false }]);
  const answer = `answer ${turn}`;
  history.addAssistant({ generated: answer, heard: answer, interrupted: false, estimated: false });
}

const token = (text: string): LLMEvent => ({ type: 'token', text });
const done: LLMEvent = { type: 'done', finishReason: 'stop' };

interface Rig {
  readonly history: History;
  readonly requests: (readonly Message[])[];
  readonly told: Summary[];
  readonly scheduler: TestClock;
  readonly stop: () => void;
}

function rig(
  options: Partial<SummarizeOptions> = {},
  answer: (request: number) => Observable<LLMEvent> = (request) => of(token(`sum `), token(`${request}`), done),
): Rig {
  const history = new History();
  const requests: (readonly Message[])[] = [];
  const told: Summary[] = [];
  const scheduler = new TestClock();
  const generate = (messages: readonly Message[]): Observable<LLMEvent> => answer(requests.push(messages));
  const llm = { name: 'Model', generate };
  const running = summarize(history, { llm, maxTurns: 4, keepTurns: 2, scheduler, ...options }).subscribe((summary) =>
    told.push(summary),
  );
  return { history, requests, told, scheduler, stop: () => running.unsubscribe() };
}

const texts = ({ history }: Rig): string[] =>
  history.items.flatMap((item) => {
    if (item.role === 'user') return item.text;
    return item.role === 'tool' ? item.content : item.heard || 'calls';
  });

describe('summarize', () => {
  it('puts a summary in the place of the oldest whole turns, and tells the model of it as what the user said', () => {
    const made = rig();
    for (let turn = 1; turn <= 4; turn++) addTurn(made.history, turn);
    expect(made.requests).toEqual([]);
    addTurn(made.history, 5);
    expect(made.requests).toHaveLength(1);
    expect(made.requests[0]?.[1]?.content).toBe(
      [1, 2, 3]
        .map(
          (n) =>
            `User: question ${n}\nCalls the tool look with {"at":"sea"}\nResult of the tool: seen ${n}\nAssistant: answer ${n}`,
        )
        .join('\n'),
    );
    expect(texts(made)).toEqual([
      'Earlier in this conversation: sum 1',
      ...['question 4', 'calls', 'seen 4', 'answer 4', 'question 5', 'calls', 'seen 5', 'answer 5'],
    ]);
    expect(made.history.messages()[0]).toEqual({
      ...{ role: 'user', content: 'Earlier in this conversation: sum 1 question 4' },
    });
    expect(made.told).toEqual([{ type: 'summarized', text: 'sum 1', removed: 12 }]);
  });

  it('summarizes the summary with what followed', () => {
    const made = rig();
    for (let turn = 1; turn <= 7; turn++) addTurn(made.history, turn);
    expect(made.requests).toHaveLength(2);
    expect(made.requests[1]?.[1]?.content).toMatch(/^Earlier in this conversation: sum 1\nUser: question 4\n/);
    expect(texts(made)[0]).toBe('Earlier in this conversation: sum 2');
    expect(made.history.items.filter((item) => item.role === 'user' && item.isSummary)).toHaveLength(1);
  });

  it('goes by tokens, those of calls and results included', () => {
    const countTokens = (text: string): number => text.split(' ').length;
    const made = rig({ maxTurns: 100, maxTokens: 20, countTokens });
    for (let turn = 1; turn <= 2; turn++) addTurn(made.history, turn);
    expect(made.requests).toEqual([]);
    addTurn(made.history, 3);
    expect(made.told).toMatchObject([{ removed: 4 }]);
  });

  it('asks nothing while the user waits: not with the message, nor while tools run', () => {
    const made = rig();
    for (let turn = 1; turn <= 4; turn++) addTurn(made.history, turn);
    made.history.addUser('question 5');
    made.history.addToolRound('One moment.', [call('c5')], [{ toolCallId: 'c5', content: 'seen', isError: false }]);
    expect(made.requests).toEqual([]);
  });

  it('keeps what was said while the summary was written, and asks for one at a time', async () => {
    let write = (_text: string): void => undefined;
    const made = rig({}, () => {
      return new Observable<LLMEvent>((subscriber) => {
        write = (text) => {
          subscriber.next(token(text));
          subscriber.complete();
        };
      });
    });
    for (let turn = 1; turn <= 6; turn++) addTurn(made.history, turn);
    made.history.addUser('question 7');
    expect(made.requests).toHaveLength(1);
    write('short');
    expect(texts(made).filter((text) => /question|Earlier/.test(text))).toEqual([
      ...['Earlier in this conversation: short', 'question 4', 'question 5', 'question 6', 'question 7'],
    ]);
    await made.scheduler.advance(60_000);
    expect(made.scheduler.pending).toBe(0);
  });

  it('changes nothing that was dropped or replaced meanwhile', () => {
    let write = (): void => undefined;
    const made = rig(
      {},
      () =>
        new Observable<LLMEvent>((subscriber) => {
          write = () => {
            subscriber.next(token('of another conversation'));
            subscriber.complete();
          };
        }),
    );
    for (let turn = 1; turn <= 5; turn++) addTurn(made.history, turn);
    made.history.import([{ id: 'x', role: 'user', text: 'hello' }]);
    write();
    expect(texts(made)).toEqual(['hello']);
    expect(made.told).toMatchObject([{ removed: 0 }]);
  });

  it.each<[string, () => Observable<LLMEvent>, string]>([
    ['fails', () => throwError(() => new Error('overloaded')), 'overloaded'],
    ['says nothing', () => of(done), 'Model: the summary is empty'],
    ['is silent', () => NEVER, 'Model: no summary came within 30 seconds'],
  ])('leaves everything as it is when the model %s, and tries again with the next turn', async (_, answer, message) => {
    const made = rig({}, (request) => (request === 1 ? answer() : of(token('at last'), done)));
    for (let turn = 1; turn <= 5; turn++) addTurn(made.history, turn);
    await made.scheduler.advance(31_000);
    expect(made.told).toMatchObject([{ type: 'failed', error: { message } }]);
    expect(made.history.items).toHaveLength(20);
    addTurn(made.history, 6);
    expect(texts(made)[0]).toBe('Earlier in this conversation: at last');
  });

  it('aborts its request when nobody wants it anymore', () => {
    let isAborted = false;
    const made = rig({}, () => new Observable<LLMEvent>(() => () => void (isAborted = true)));
    for (let turn = 1; turn <= 5; turn++) addTurn(made.history, turn);
    made.stop();
    expect(isAborted).toBe(true);
  });

  it('refuses to summarize more often than there is something new', () => {
    expect(() => rig({ maxTurns: 4, keepTurns: 4 })).toThrow(/maxTurns \(4\) more than that/);
    expect(() => rig({ keepTurns: 0 })).toThrow(/keepTurns \(0\) must be at least 1/);
  });
});
