// Slow: conversations at the speed of sound, and services that make them wait.
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { TestCaller } from './support/caller.ts';

const words = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** What goes wrong with a service in the middle of a conversation, over real sockets (docs/faults.md). */
describe('a conversation in which', () => {
  let sandbox: Sandbox;
  let caller: TestCaller;
  /** Asks, and waits for the end of the turn. */
  const ask = async (text: string): Promise<string> => {
    const ended = caller.next('turn.ended');
    caller.say(text);
    return (await ended).reason;
  };
  const errors = (): unknown[] =>
    caller.events.flatMap((event) => (event.type === 'error' ? [[event.role, event.code]] : []));
  const remembered = (): string[] =>
    caller.pipeline.history.messages().map(({ role, content }) => `${role}: ${content}`);
  /** What was audible is what is remembered: the agent's words, in order, none of them twice. */
  const expectHeard = (): void => {
    const said = caller.pipeline.history.messages().filter(({ role }) => role === 'assistant');
    const heard = words(caller.readBack(0, Infinity));
    expect(heard.startsWith(words(said.map(({ content }) => content).join(' ')))).toBe(true);
  };

  beforeEach(async () => {
    sandbox = await startSandbox();
    caller = new TestCaller(sandbox, { preflight: false });
  });

  afterEach(async () => {
    await caller[Symbol.asyncDispose]();
    await sandbox.close();
  });

  it('the speech-to-text service is lost in the middle of a word continues, and no word is lost (F7)', async () => {
    sandbox.setFault('alpha-flux', { kind: 'dropAfter', messages: 4, times: 1 });
    await caller.connect();
    expect(await ask('hello my good friends')).toBe('completed');
    expect(remembered()[0]).toBe('user: hello my good friends');
    const lost = caller.events.filter(({ type, role }) => type === 'provider.reconnecting' && role === 'stt');
    expect(lost).toHaveLength(1);
    expect(errors()).toEqual([]);
    expectHeard();
  });

  it('the speech-to-text service is lost for good still speaks, and hears again as soon as the service does (F5)', async () => {
    sandbox.setFault('alpha-flux', { kind: 'dropAfter', messages: 1 });
    await caller.connect();
    await caller.next('provider.lost');
    expect(errors()).toEqual([['stt', 'connection']]);
    expect(await caller.pipeline.say('I am deaf.').done).toMatchObject({ interrupted: false });
    caller.say('no one hears');
    await caller.pipeline.say('Still not, whatever you say.').done;
    const committed = caller.next('turn.committed');
    sandbox.clearFaults();
    // What was said meanwhile is heard as well.
    expect((await committed).text).toBe('no one hears');
    await caller.next('turn.ended');
    expect(await ask('hi')).toBe('completed');
    expect(remembered().filter((message) => message.startsWith('user'))).toEqual(['user: no one hears', 'user: hi']);
  });

  it('the model’s answer breaks off keeps what was said as it was heard, and answers the next one (F20)', async () => {
    await caller.connect();
    sandbox.setFault('nu-llm', { kind: 'dropAfter', messages: 10, times: 1 });
    expect(await ask('tell a story')).toBe('error');
    expect(errors()).toEqual([['llm', 'connection']]);
    expect(remembered()).toEqual(['user: tell a story', expect.stringMatching(/^assistant: Once upon/)]);
    expectHeard();
    expect(await ask('thanks')).toBe('completed');
    expect(remembered().slice(2)).toEqual(['user: thanks', 'assistant: You are welcome.']);
    expectHeard();
  });

  it('the model is busy waits exactly as long as it asks for (F18)', async () => {
    await caller.connect();
    sandbox.setFault('nu-llm', { kind: 'status', status: 429, retryAfter: 1, times: 1 });
    expect(await ask('hi')).toBe('completed');
    const at = (type: string): number => caller.events.find((event) => event.type === type)?.at ?? 0;
    expect(at('llm.token') - at('llm.started')).toBeGreaterThanOrEqual(1_000);
    expect(at('llm.token') - at('llm.started')).toBeLessThan(3_000);
    expect(errors()).toEqual([]);
  });

  it('the model is busy for ten minutes says so at once, and continues (F18)', async () => {
    await caller.connect();
    sandbox.setFault('nu-llm', { kind: 'status', status: 429, retryAfter: 600, times: 1 });
    expect(await ask('hi')).toBe('error');
    const error = caller.events.find((event) => event.type === 'error');
    expect(error).toMatchObject({ role: 'llm', code: 'rate_limited', retryAfterMs: 600_000 });
    expect(await ask('hi')).toBe('completed');
    expect(sandbox.records('nu-llm')).toHaveLength(2);
    expect(remembered()).toEqual(['user: hi hi', 'assistant: Hello! How can I help you?']);
  });

  it('the user continues while the model is busy asks once more, with all of it (F18, F40)', async () => {
    await caller.connect();
    sandbox.setFault('nu-llm', { kind: 'status', status: 503, retryAfter: 5 });
    const merged = caller.next('turn.ended');
    const waiting = caller.next('llm.started');
    caller.say('say alpha');
    await waiting;
    caller.say('beta');
    expect((await merged).reason).toBe('merged');
    sandbox.clearFaults();
    expect((await caller.next('turn.ended')).reason).toBe('completed');
    expect(remembered()).toEqual(['user: say alpha beta', 'assistant: alpha beta']);
    expect(errors()).toEqual([]);
    expectHeard();
  });

  it('the voice is lost in the middle of an answer says the rest on another connection (F26)', async () => {
    sandbox.setFault('alpha-tts', { kind: 'dropAfter', messages: 6, times: 1 });
    await caller.connect();
    expect(await ask('say one two. three four')).toBe('completed');
    expect(caller.events.filter(({ type, role }) => type === 'provider.reconnecting' && role === 'tts')).toHaveLength(
      1,
    );
    expect(remembered()[1]).toBe('assistant: one two. three four');
    expect(errors()).toEqual([]);
  });

  it('the voice is not to be had ends the turn, and retries in the next one (F25)', async () => {
    sandbox.setFault('alpha-tts', { kind: 'dropAfter', messages: 1, times: 1 });
    await caller.connect();
    sandbox.setFault('alpha-tts', { kind: 'refuse' });
    expect(await ask('say one')).toBe('error');
    const failed = caller.events.filter(({ type, turnId }) => type === 'error' && turnId);
    expect(failed).toMatchObject([{ role: 'tts', code: 'connection' }]);
    sandbox.clearFaults();
    expect(await ask('two')).toBe('completed');
    expect(remembered()).toEqual(['user: say one two', 'assistant: one two']);
    expectHeard();
  });
});
