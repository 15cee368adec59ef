// Slow: conversations at the speed of sound.
import { filter, firstValueFrom } from 'rxjs';
import { transcript, VoiceError, type TranscriptLine, type VoiceEvent } from 'rxvoice';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { PageUser, RemoteServer } from './support/remote.ts';

const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** The next event of a type on the server. */
function next<T extends VoiceEvent['type']>(server: RemoteServer, type: T): Promise<VoiceEvent<T>> {
  return firstValueFrom(server.pipeline.events$.pipe(filter((event) => event.type === type))) as Promise<VoiceEvent<T>>;
}

describe('A page as a telephone, over the sandbox', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  it('carries a whole conversation: hears, speaks, and shows the listed events alone', async () => {
    await using server = await new RemoteServer(sandbox, { pipeline: { greeting: 'Hi there.' } }).listen();
    await using user = new PageUser(server.url);
    await user.remote.start();
    expect(user.remote.state).toBe('running');
    await next(server, 'speech.ended');
    const ended = next(server, 'turn.ended');
    user.microphone.say('hello');
    await ended;
    await user.next('turn.metrics');
    expect(user.speaker.text()).toBe('Hi there. Hello! How can I help you?');
    expect(server.pipeline.history.messages().map(({ role, content }) => [role, content])).toEqual([
      ['assistant', 'Hi there.'],
      ['user', expect.stringMatching(/^hello\W?$/i)],
      ['assistant', 'Hello! How can I help you?'],
    ]);
    const types = new Set(user.events.map(({ type }) => type.split('.')[0]));
    expect([...types].sort()).toEqual(['agent', 'caption', 'llm', 'session', 'transcript', 'turn', 'usage', 'user']);
    expect(user.events.filter(({ type }) => type.startsWith('turn.')).map(({ type }) => type)).toEqual([
      'turn.metrics',
    ]);
    expect(user.events.some((event) => 'provider' in event)).toBe(false);
    expect(user.events.flatMap((event) => (event.type === 'llm.token' ? event.delta : [])).join('')).toBe(
      'Hello! How can I help you?',
    );
    const captions = user.events.flatMap((event) => (event.type === 'caption.word' ? event.text : []));
    expect(words(captions.join(' '))).toEqual(words('Hi there. Hello! How can I help you?'));
    const closed = next(server, 'session.closed');
    await user.remote.stop();
    await closed;
    expect(user.links).toEqual(['connecting', 'connected', 'closed']);
    expect(server.pages.all).toEqual([]);
  }, 60_000);

  it('cuts an answer off for the user who speaks, remembers what was heard of it, and plays nothing late', async () => {
    await using server = await new RemoteServer(sandbox).listen();
    await using user = new PageUser(server.url);
    await user.remote.start();
    user.microphone.say('tell a story');
    await user.speaker.hears(2500);
    const ended = next(server, 'speech.ended');
    const confirmed = next(server, 'bargeIn.confirmed');
    user.microphone.say('no thanks');
    await confirmed;
    const { heardText } = await ended;
    const atCut = user.speaker.heardMs;
    const remembered = words(heardText);
    const audible = words(user.speaker.text());
    expect(remembered.length).toBeGreaterThan(1);
    expect(audible.slice(0, remembered.length)).toEqual(remembered);
    expect(audible.length - remembered.length).toBeLessThanOrEqual(2);
    await next(server, 'llm.started');
    expect(user.speaker.heardMs - atCut).toBeLessThan(100);
  }, 60_000);

  it('goes on in the middle of an answer when the connection is lost: nothing is lost or heard twice', async () => {
    await using server = await new RemoteServer(sandbox).listen();
    await using user = new PageUser(server.url);
    await user.remote.start();
    const ended = next(server, 'turn.ended');
    user.microphone.say('count to 20');
    await user.speaker.hears(1000);
    user.isOnline = false;
    server.cut();
    await user.link('reconnecting');
    // What the page has been sent is heard meanwhile, to the end.
    await user.speaker.hears(2500);
    user.isOnline = true;
    await user.link('connected');
    expect((await ended).reason).toBe('completed');
    const counted = Array.from({ length: 20 }, (_, index) => `${index + 1}`);
    expect(words(user.speaker.text())).toEqual(counted);
    expect(words(server.pipeline.history.messages().at(-1)?.content ?? '')).toEqual(counted);
    const tokens = user.events.flatMap((event) => (event.type === 'llm.token' ? event.delta : [])).join('');
    expect(words(tokens)).toEqual(counted);
  }, 60_000);

  it('shows a page what was said, line by line, also of an answer that was cut off', async () => {
    const share = { streams: ['transcripts$', 'captions$', 'turns$', 'speech$', 'state$'] } as const;
    await using server = await new RemoteServer(sandbox, { share }).listen();
    await using user = new PageUser(server.url);
    const seen: (readonly TranscriptLine[])[] = [];
    transcript(user.remote).subscribe((lines) => seen.push(lines));
    await user.remote.start();
    user.microphone.say('count to 9');
    await user.speaker.hears(1500);
    user.remote.interrupt();
    await user.next('speech.ended');
    const [question, answer] = seen.at(-1) ?? [];
    expect(question).toMatchObject({
      speaker: 'user',
      text: expect.stringMatching(/^count to 9/i) as string,
      isFinal: true,
    });
    expect(answer).toMatchObject({ speaker: 'agent', isFinal: true });
    expect([...words(answer?.text ?? ''), ...words(answer?.unheard ?? '')]).toEqual(
      Array.from({ length: 9 }, (_, index) => `${index + 1}`),
    );
    // While it was said: what was heard of it, word by word.
    const open = seen.flatMap((lines) =>
      lines.filter(({ isFinal }) => !isFinal).map(({ id, text }) => `${id}: ${text}`),
    );
    expect(open).toContain('agent: 1,');
    expect(open.some((line) => /^user: count/i.test(line))).toBe(true);
    expect(server.pipeline.history.messages().at(-1)?.content).toBe(answer?.text);
  }, 60_000);

  it('hears what is said while the connection is lost', async () => {
    await using server = await new RemoteServer(sandbox).listen();
    await using user = new PageUser(server.url);
    await user.remote.start();
    user.isOnline = false;
    server.cut();
    await user.link('reconnecting');
    const final = user.next('transcript.final');
    user.microphone.say('say it works');
    await new Promise((resolve) => user.microphone.audio$.pipe(filter((_chunk, at) => at === 50)).subscribe(resolve));
    user.isOnline = true;
    expect((await final).text).toMatch(/^say it works\W?$/i);
  }, 60_000);

  it('ends the conversation of a page that does not return, and tells one that returns too late', async () => {
    await using server = await new RemoteServer(sandbox, { pages: { config: { resumeMs: 300 } } }).listen();
    await using user = new PageUser(server.url);
    await user.remote.start();
    const closed = next(server, 'session.closed');
    user.isOnline = false;
    server.cut();
    await closed;
    expect(server.pages.all).toEqual([]);
    await user.link('closed');
    expect(user.remote.state).toBe('idle');
  }, 60_000);

  it('tells a page that was never let in where to look, and one whose connection is lost that it was lost', async () => {
    await using server = await new RemoteServer(sandbox).listen();
    await using user = new PageUser(server.url);
    user.isOnline = false;
    await expect(user.remote.start()).rejects.toMatchObject({
      code: 'connection',
      message: 'RemotePipeline: no connection to the server (1006): it is down, or refuses this page',
    });
    user.isOnline = true;
    await user.remote.start();
    const lost = firstValueFrom(user.remote.link$.pipe(filter(({ type }) => type === 'reconnecting')));
    server.cut();
    expect(await lost).toMatchObject({
      error: { message: 'RemotePipeline: the connection to the server was lost (1006)' },
    });
  }, 60_000);

  it('tells a page why its start failed: no room, or an application that cannot open the conversation', async () => {
    const causes = [new VoiceError('full', { code: 'overloaded' }), new Error('no such user')];
    const open = (): Promise<never> => Promise.reject(causes.shift() ?? new Error('unexpected'));
    await using server = await new RemoteServer(sandbox, { pages: { open } }).listen();
    await using user = new PageUser(server.url);
    await expect(user.remote.start()).rejects.toMatchObject({
      ...{ code: 'overloaded', message: 'RemotePipeline: the server has no room: try later' },
    });
    await expect(user.remote.start()).rejects.toMatchObject({
      ...{ code: 'connection', status: 1011 },
      message: 'RemotePipeline: the server could not open the conversation, and its log says why',
    });
    expect(user.links).toEqual(['connecting', 'closed', 'connecting', 'closed']);
  }, 60_000);

  it('does what the page asks for, where the server lets it', async () => {
    await using server = await new RemoteServer(sandbox, {
      pipeline: { turnTaking: { strategy: 'manual' } },
      share: { streams: ['tokens$', 'speech$', 'turns$'], commands: ['send', 'turns'] },
    }).listen();
    await using user = new PageUser(server.url);
    await user.remote.start();
    const answered = user.next('turn.ended');
    user.remote.send('hello');
    await answered;
    expect(user.speaker.text()).toBe('Hello! How can I help you?');
    user.remote.beginTurn();
    user.microphone.say('say it works');
    await new Promise((resolve) => user.microphone.audio$.pipe(filter((_chunk, at) => at === 90)).subscribe(resolve));
    const started = user.next('speech.started');
    user.remote.commitTurn();
    await started;
    user.remote.interrupt();
    expect(await user.next('speech.ended')).toMatchObject({ interrupted: false, heardText: 'it works' });
  }, 60_000);
});
