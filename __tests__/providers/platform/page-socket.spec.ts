import {
  PageSockets,
  Pipeline,
  sharePipeline,
  VoiceError,
  type AudioChunk,
  type PageSocket,
  type PageSocketConfig,
} from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, inputContract, outputContract } from 'rxvoice/testing';
import { EMPTY, firstValueFrom, Subject } from 'rxjs';
import { parsePlayAudio, parseServerMessage } from '../../../lib/remote/server-messages.ts';
import {
  encodeAudioMessage,
  encodePageWire,
  type PageHello,
  type PageMessage,
} from '../../../lib/transport/page-wire.ts';
import { FakePhoneSocket } from '../../conformance/phone.ts';
import { settle, TestClock } from '../../transport/test-clock.ts';

const own = { headers: { host: 'localhost:8080', origin: 'http://localhost:8080' } };
const hello = (more: Partial<PageHello> = {}): PageHello => ({
  ...{ type: 'hello', rate: 16_000, received: 0, heard: 0, seen: 0 },
  ...more,
});
const format = { encoding: 'linear16', sampleRate: 24_000, channels: 1 } as const;
/** Audio in which no two frames are alike. */
const speech = (ms: number): AudioChunk => {
  const samples = Int16Array.from({ length: ms * 24 }, (_, at) => at % 32_768);
  return { data: new Uint8Array(samples.buffer), metadata: format };
};

class Page extends FakePhoneSocket {
  get messages(): Record<string, unknown>[] {
    return this.sent.flatMap((data) =>
      typeof data === 'string' ? [parseServerMessage(data) as unknown as Record<string, unknown>] : [],
    );
  }
  get types(): unknown[] {
    return this.messages.map(({ type }) => type);
  }
  /** Frames of audio received: from, to, by play. */
  get audio(): { play: number; at: number; frames: number; first: number }[] {
    return this.sent.flatMap((data) => {
      const frame = typeof data === 'string' ? undefined : parsePlayAudio(data);
      if (!frame) return [];
      const [first = 0] = new Int16Array(frame.data.buffer);
      return { play: frame.play, at: frame.at, frames: frame.data.length / 2, first };
    });
  }
  tell(...messages: readonly PageMessage[]): void {
    this.say(...messages.map(encodePageWire));
  }
}

/** A server's pages, on a clock that stands still. */
function serve(config: PageSocketConfig = {}, more: object = {}) {
  const clock = new TestClock();
  const opened: PageSocket[] = [];
  const pages = new PageSockets({ open: (page) => opened.push(page), scheduler: clock, config, ...more });
  const call = (message: unknown = hello(), request: object = own): Page => {
    const socket = new Page();
    pages.accept(socket, request as typeof own);
    socket.say(typeof message === 'string' ? message : encodePageWire(message as PageHello));
    return socket;
  };
  return { clock, opened, pages, call };
}

async function opened(config: PageSocketConfig = {}) {
  const server = serve(config);
  const socket = server.call();
  const [page] = server.opened;
  if (!page) throw new Error('not opened');
  const errors: string[] = [];
  page.errors$.subscribe(({ message }) => errors.push(message));
  await page.initialize();
  await page.start();
  const { session, token } = socket.messages[0] as { session: string; token: string };
  const back = (more: Partial<PageHello> = {}): Page => server.call(hello({ session, token, ...more }));
  return { ...server, socket, page, errors, session, token, back };
}

describe('PageSocket', () => {
  /** A page that hears what it gets at once. */
  class Listener extends Page {
    override send(data: string | Uint8Array<ArrayBuffer>): void {
      super.send(data);
      const frame = typeof data === 'string' ? undefined : parsePlayAudio(data);
      if (!frame) return;
      const at = frame.at + frame.data.length / 2;
      queueMicrotask(() => this.tell({ type: 'heard', play: frame.play, at, tailMs: 0 }));
    }
  }
  const sockets = new WeakMap<object, { readonly socket: Listener; at: number }>();
  const inCall = (): PageSocket => {
    const opened: PageSocket[] = [];
    const socket = new Listener();
    new PageSockets({ open: (page) => opened.push(page) }).accept(socket, own);
    socket.tell(hello());
    const [page] = opened;
    if (!page) throw new Error('not opened');
    sockets.set(page, { socket, at: 0 });
    return page;
  };
  const capture = (page: PageSocket): void => {
    const call = sockets.get(page);
    call?.socket.say(encodeAudioMessage([call.at], new Uint8Array(640)));
    if (call) call.at += 320;
  };
  const brief = { timeoutMs: 2_000, watchMs: 20 };

  describe('as an input', () => {
    for (const { name, run } of inputContract(inCall, { ...brief, capture })) it(name, run);
  });

  describe('as an output', () => {
    for (const { name, run } of outputContract(inCall, brief)) it(name, run);
  });
});

describe('PageSockets', () => {
  it.each([
    ['a page of this port', own, true],
    ['a program', { headers: { host: 'localhost:8080' } }, true],
    ['a page of another port', { headers: { host: 'localhost:8080', origin: 'http://localhost:3000' } }, false],
    ['a page elsewhere', { headers: { host: 'localhost:8080', origin: 'https://evil.example' } }, false],
    [
      'a name pointed at this machine',
      { headers: { host: 'evil.example:8080', origin: 'http://evil.example:8080' } },
      false,
    ],
    ['no origin that is one', { headers: { host: 'localhost:8080', origin: 'null' } }, false],
  ] as const)('by default, %s: %j', (_who, request, isAllowed) => {
    const { call, opened } = serve();
    const socket = call(hello(), request);
    expect([opened.length, socket.closes]).toEqual(isAllowed ? [1, []] : [0, [1008]]);
  });

  it('reads listed origins as browsers write them, and refuses what is none', () => {
    const pages = (origin: string): PageSockets => new PageSockets({ open: () => undefined, origins: [origin] });
    const request = { headers: { origin: 'https://app.example.com' } };
    expect(pages('https://App.example.com:443/').allows(request)).toBe(true);
    for (const origin of ['app.example.com', '*', 'https://app.example.com/page']) {
      expect(() => pages(origin)).toThrow(/origins must look like/);
    }
  });

  it('allows the listed origins alone', () => {
    const { call, opened } = serve({}, { origins: ['https://app.example.com'] });
    call(hello(), { headers: new Headers({ origin: 'https://app.example.com' }) });
    expect(opened).toHaveLength(1);
    expect(call(hello(), own).closes).toEqual([1008]);
  });

  it.each(['', '{}', 'x'.repeat(5000), '{"type":"ping"}', JSON.stringify(hello())])(
    'refuses a socket whose first message is no hello: %j',
    (first) => {
      const { call, opened } = serve();
      expect(call(first).closes).toEqual([1008]);
      expect(opened).toEqual([]);
    },
  );

  it('refuses a socket that says nothing for ten seconds, and a crowd of such sockets', async () => {
    const { clock, pages } = serve({}, { maxWaiting: 2 });
    const sockets = [new Page(), new Page(), new Page()];
    for (const socket of sockets) pages.accept(socket, own);
    expect(sockets.map(({ closes }) => closes)).toEqual([[], [], [1013]]);
    await clock.advance(9999);
    expect(sockets[0]?.closes).toEqual([]);
    await clock.advance(1);
    expect(sockets.map(({ closes }) => closes)).toEqual([[1008], [1008], [1013]]);
    expect(sockets.map(({ listeners }) => listeners)).toEqual([0, 0, 0]);
  });

  it('has room for so many pages, and refuses one that the application has no room for', () => {
    const full = serve({}, { maxPages: 1 });
    expect([full.call().closes, full.call().closes]).toEqual([[], [1013]]);
    const open = (): never => {
      throw new VoiceError('full', { code: 'overloaded' });
    };
    const { call, pages } = serve({}, { open });
    const refused = call();
    expect([refused.closes[0], refused.types, pages.all]).toEqual([1013, [], []]);
  });

  it('welcomes a page only once the application has opened it, which may take a while, or fail', async () => {
    const ways: ((page: PageSocket) => Promise<void>)[] = [];
    const open = (page: PageSocket): Promise<void> | undefined => ways.shift()?.(page);
    const { call, pages } = serve({}, { open });
    const ready$ = new Subject<void>();
    ways.push(() => firstValueFrom(ready$));
    const slow = call(hello({ rate: 48_000 }));
    const [page] = pages.all;
    page?.tell({ type: 'session.ready', at: 1 });
    expect([slow.types, page?.getMetadata().sampleRate]).toEqual([[], 48_000]);
    ready$.next();
    await settle();
    expect([slow.types, slow.closes]).toEqual([['welcome', 'event'], []]);

    const reject = (cause: Error) => () => Promise.reject(cause);
    ways.push(reject(new Error('no such user')), reject(new VoiceError('full', { code: 'overloaded' })));
    ways.push((mine) => {
      mine.hangUp();
      return Promise.resolve();
    });
    const [unknown, full, hungUp] = [call(), call(), call()];
    await settle();
    expect([unknown, full, hungUp].map(({ types, closes }) => [types, closes[0]])).toEqual([
      [[], 1011],
      [[], 1013],
      [[], 4000],
    ]);
    expect(pages.all).toEqual([page]);
  });

  it.each([
    ['closed', 3],
    ['closing', 2],
  ] as const)(
    'hangs up on a page whose socket is %s once the application has opened it',
    async (_state, readyState) => {
      const ready$ = new Subject<void>();
      const ends: unknown[] = [];
      const open = (page: PageSocket): Promise<void> => {
        page.onCallEnded(({ reason }) => ends.push(reason));
        return firstValueFrom(ready$);
      };
      const { call, pages, clock } = serve({}, { open, maxPages: 1 });
      const socket = call();
      if (readyState === 3) socket.drop();
      else socket.readyState = readyState;
      ready$.next();
      await settle();
      // Nobody could resume it: the page has learned neither session nor token.
      expect([pages.all, ends, socket.types, clock.pending]).toEqual([[], ['closed'], [], 0]);
      expect(call().closes).toEqual([]);
    },
  );

  it('lets nobody into a session without its token', async () => {
    const { call, session, token, socket } = await opened();
    const wrong = token.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    expect(call(hello({ session, token: wrong })).closes).toEqual([4002]);
    expect(call(hello({ session })).closes).toEqual([4002]);
    expect(call(hello({ session: token.slice(32), token })).closes).toEqual([4002]);
    expect(socket.closes).toEqual([]);
    expect(call(hello({ session, token })).types[0]).toBe('welcome');
    expect(socket.closes).toEqual([4001]);
  });

  it('ends all with its own end', async () => {
    const { pages, socket, call } = await opened();
    pages[Symbol.dispose]();
    expect([socket.closes, pages.all]).toEqual([[4000], []]);
    expect(call().closes).toEqual([1013]);
  });
});

describe('PageSocket', () => {
  it('delivers what the microphone hears once, whatever comes twice', async () => {
    const { page, socket, back, errors } = await opened();
    const heard: AudioChunk[] = [];
    page.audio$.subscribe((chunk) => heard.push(chunk));
    const frame = (at: number): Uint8Array<ArrayBuffer> =>
      encodeAudioMessage([at], new Uint8Array(640).fill(at / 320 + 1));
    socket.say(frame(0), frame(320));
    const again = back();
    expect(again.messages[0]).toMatchObject({ resumed: true, mic: 640 });
    again.say(frame(320), encodeAudioMessage([480], new Uint8Array(640).fill(9)), frame(960));
    expect(heard.map(({ data, timestamp }) => [data[0], data.length, timestamp])).toEqual([
      [1, 640, 0],
      [2, 640, 20],
      [9, 320, 40],
      [4, 640, 60],
    ]);
    again.say(new Uint8Array(3), 'nonsense', '{"type":"hello"}');
    expect(errors).toHaveLength(2);
  });

  it('sends as much as the lead, and more as it is heard', async () => {
    const { page, socket } = await opened({ leadMs: 1000 });
    const events: string[] = [];
    const done = page.play([speech(3000)]);
    done.subscribe({
      next: ({ type, positionMs }) => events.push(`${type} ${positionMs}`),
      complete: () => events.push('over'),
    });
    await settle();
    const sent = (): number => socket.audio.reduce((sum, { frames }) => sum + frames, 0);
    expect(sent()).toBe(24_000);
    socket.tell({ type: 'heard', play: 1, at: 12_000, tailMs: 0 });
    expect([sent(), page.positionMs]).toEqual([36_000, 500]);
    // Nobody has heard what was not sent.
    socket.tell(
      { type: 'heard', play: 1, at: 4_000_000, tailMs: 0 },
      { type: 'heard', play: 7, at: 72_000, tailMs: 0 },
    );
    expect(page.positionMs).toBe(1500);
    socket.tell({ type: 'heard', play: 1, at: 60_000, tailMs: 0 });
    expect(socket.messages.at(-1)).toEqual({ type: 'end', id: 1, at: 72_000 });
    socket.tell({ type: 'heard', play: 1, at: 72_000, tailMs: 0 });
    expect(events.at(0)).toBe('started 0');
    expect(events.slice(-2)).toEqual(['finished 3000', 'over']);
    expect(socket.audio.every(({ at, first }) => first === at % 32_768)).toBe(true);
  });

  it('goes on by the clock for a moment between two reports, and no further', async () => {
    const { page, socket, clock } = await opened();
    page.play([speech(3000)]).subscribe();
    await settle();
    expect(page.positionMs).toBe(0);
    socket.tell({ type: 'heard', play: 1, at: 2400, tailMs: 30 });
    await clock.advance(50);
    expect([page.positionMs, page.tailMs]).toEqual([150, 30]);
    await clock.advance(5000);
    expect(page.positionMs).toBe(300);
    page.pause();
    expect(socket.types.at(-1)).toBe('pause');
    await clock.advance(100);
    expect(page.positionMs).toBe(300);
    // The page tells where it has paused.
    socket.tell({ type: 'heard', play: 1, at: 7680, tailMs: 0 });
    expect(page.positionMs).toBe(320);
    page.setVolume(0.2);
    page.resume();
    expect(socket.types.slice(-2)).toEqual(['volume', 'resume']);
  });

  it('sends nothing of an answer after its cut (F41)', async () => {
    const { page, socket } = await opened({ leadMs: 1000 });
    const playing = page.play([speech(3000)]).subscribe();
    await settle();
    socket.tell({ type: 'heard', play: 1, at: 4800, tailMs: 0 });
    playing.unsubscribe();
    expect(socket.types.at(-1)).toBe('cut');
    const { length } = socket.sent;
    socket.tell({ type: 'heard', play: 1, at: 9600, tailMs: 0 });
    expect(socket.sent).toHaveLength(length);
    expect(page.positionMs).toBe(200);
  });

  it('goes on with what a page that is back has not received', async () => {
    const { page, socket, back } = await opened({ leadMs: 1000 });
    page.play([speech(3000)]).subscribe();
    await settle();
    socket.tell({ type: 'heard', play: 1, at: 4800, tailMs: 0 });
    socket.drop();
    const again = back({ play: 1, received: 20_000, heard: 19_000 });
    expect(again.messages[1]).toEqual({ type: 'play', id: 1, from: 20_000, paused: false, volume: 1 });
    expect(again.audio[0]).toMatchObject({ at: 20_000, first: 20_000 });
    const next = again.audio.reduce((at, frame) => (frame.at === at ? at + frame.frames : -1), 20_000);
    expect(next).toBe(19_000 + 24_000);
    expect(page.positionMs).toBeCloseTo(19_000 / 24, 0);
  });

  it('goes on from what was heard with a page that has lost all, and cuts what it should not play', async () => {
    const { page, socket, back } = await opened({ leadMs: 1000 });
    const playing = page.play([speech(3000)]).subscribe();
    await settle();
    socket.tell({ type: 'heard', play: 1, at: 4800, tailMs: 0 });
    page.pause();
    const reloaded = back();
    expect(reloaded.messages[1]).toEqual({ type: 'play', id: 1, from: 4800, paused: true, volume: 1 });
    expect(reloaded.audio[0]).toMatchObject({ at: 4800, first: 4800 });
    reloaded.drop();
    playing.unsubscribe();
    expect(back({ play: 1, received: 9600, heard: 9600 }).messages.at(-1)).toEqual({ type: 'cut', id: 1 });
  });

  it('carries out a command once that was sent twice, and tells which it has', async () => {
    const { page, socket, back } = await opened();
    const done: unknown[] = [];
    page.commands$.subscribe((command) => done.push(command));
    socket.tell({ type: 'send', text: 'one', seq: 1 }, { type: 'interrupt', seq: 2 });
    socket.drop();
    const again = back();
    expect(again.messages[0]).toMatchObject({ type: 'welcome', mic: 0, commands: 2 });
    again.tell({ type: 'interrupt', seq: 2 }, { type: 'send', text: 'two', seq: 3 }, { type: 'ping', seen: 0 });
    expect(again.messages.at(-1)).toEqual({ type: 'pong', mic: 0, commands: 3 });
    // Of a page that does not number them, each is another one.
    again.tell({ type: 'interrupt' }, { type: 'interrupt' });
    const interrupt = { type: 'interrupt' };
    expect(done).toEqual([
      { type: 'send', text: 'one' },
      interrupt,
      { type: 'send', text: 'two' },
      interrupt,
      interrupt,
    ]);
  });

  it('keeps events for a page that is away, within bounds, and sends each once', async () => {
    const { page, socket, back } = await opened();
    const token = (delta: string): object => ({ type: 'llm.token', at: 1, delta });
    page.tell(token('a'));
    page.tell(token('b'));
    socket.drop();
    page.tell(token('c'));
    const again = back({ seen: 1 });
    expect(again.messages.filter(({ type }) => type === 'event').map(({ seq }) => seq)).toEqual([2, 3]);
    again.tell({ type: 'ping', seen: 3 });
    expect(again.messages.at(-1)).toEqual({ type: 'pong', mic: 0, commands: 0 });
    again.drop();
    for (let count = 0; count < 11_000; count++) page.tell(token('x'));
    const late = back({ seen: 3 });
    expect(late.messages[0]).toMatchObject({ missed: 1000 });
    expect(late.messages.filter(({ type }) => type === 'event')).toHaveLength(10_000);
  });

  it('waits for a page that is gone, and ends when it does not return', async () => {
    const { page, socket, back, clock, call, session, token } = await opened({ resumeMs: 5000 });
    const told: string[] = [];
    page.presence$.subscribe((presence) => told.push(presence));
    page.onCallEnded(({ reason }) => told.push(reason));
    socket.drop();
    await clock.advance(4999);
    const again = back();
    await clock.advance(10_000);
    again.drop();
    await clock.advance(5000);
    expect(told).toEqual(['connected', 'away', 'connected', 'away', 'gone', 'closed']);
    expect(call(hello({ session, token })).closes).toEqual([4002]);
  });

  it('takes a silent page for gone, and a goodbye at its word', async () => {
    const { page, socket, clock, errors, back } = await opened();
    const failed: string[] = [];
    page.errors$.subscribe(({ code }) => failed.push(code));
    await clock.advance(15_000);
    expect(socket.closes).toEqual([1001]);
    expect([failed, errors]).toEqual([['connection'], ['PageSocket closed the call: no message for 15000 ms']]);
    const ends: string[] = [];
    page.onCallEnded(({ reason }) => ends.push(reason));
    const again = back();
    again.tell({ type: 'bye' });
    expect([ends, again.closes]).toEqual([['stopped'], [4000]]);
  });

  it('closes the socket of a page that floods it', async () => {
    const { socket, errors } = await opened();
    const frame = encodeAudioMessage([0], new Uint8Array(60_000));
    for (let count = 0; count < 30; count++) socket.say(frame);
    expect(socket.closes).toEqual([1009]);
    const huge = await opened();
    huge.socket.say(encodeAudioMessage([0], new Uint8Array(65_536)));
    expect(huge.socket.closes).toEqual([1009]);
    expect(errors).toHaveLength(1);
  });
});

describe('sharePipeline', () => {
  const streams = ['state$', 'transcripts$', 'tokens$', 'captions$', 'metrics$', 'tools$', 'errors$'] as const;
  function share(options?: Parameters<typeof sharePipeline>[2]) {
    const sources = Object.fromEntries(streams.map((name) => [name, new Subject<object>()]));
    const done: string[] = [];
    const pipeline = {
      ...sources,
      send: (text: string) => done.push(`send ${text}`),
      interrupt: () => done.push('interrupt'),
      beginTurn: () => done.push('beginTurn'),
    } as unknown as Pipeline;
    const told: object[] = [];
    const commands$ = new Subject<{ type: 'interrupt' | 'beginTurn' } | { type: 'send'; text: string }>();
    sharePipeline(pipeline, { commands$, callEnded$: EMPTY, tell: (event) => told.push(event) }, options);
    sources['state$']?.next({ type: 'agent.state', at: 1, state: 'listening' });
    commands$.next({ type: 'send', text: 'x' });
    commands$.next({ type: 'interrupt' });
    commands$.next({ type: 'beginTurn' });
    sources['tools$']?.next({ type: 'tool.call', at: 1, call: { args: { card: '4111' } } });
    sources['errors$']?.next({ type: 'error', at: 1, provider: 'NuLLM', message: 'm', cause: new Error('secret') });
    sources['state$']?.next({ type: 'session.closed', at: 1, usage: [{ role: 'llm', provider: 'NuLLM' }] });
    const metadata = { words: [], language: 'en', requestId: 'vendor' };
    const result = { text: 'a', isFinal: true, utteranceComplete: true, isPreflight: false, metadata };
    sources['transcripts$']?.next({ type: 'transcript.final', at: 1, provider: 'AlphaFlux', text: 'a', result });
    return { told, done };
  }

  it("lets out what is listed, without providers, services' fields and causes", () => {
    const { told, done } = share();
    const { metadata, ...rest } = {
      ...{ text: 'a', isFinal: true, utteranceComplete: true, isPreflight: false },
      metadata: { words: [], language: 'en' },
    };
    expect(told).toEqual([
      { type: 'agent.state', at: 1, state: 'listening' },
      { type: 'session.closed', at: 1, usage: [] },
      { type: 'transcript.final', at: 1, text: 'a', result: { ...rest, metadata } },
    ]);
    expect(done).toEqual(['send x', 'interrupt', 'beginTurn']);
  });

  it('does what is listed, and nothing else', () => {
    const { told, done } = share({ streams: ['tools$', 'errors$'], commands: ['interrupt'] });
    expect(told.map((event) => JSON.parse(JSON.stringify(event)) as object)).toEqual([
      { type: 'tool.call', at: 1, call: { args: { card: '4111' } } },
      { type: 'error', at: 1, message: 'm' },
    ]);
    expect(done).toEqual(['interrupt']);
    expect(share({ streams: [], commands: [] })).toEqual({ told: [], done: [] });
  });

  it('keeps what a page sends while the services still connect: it is answered, in order', async () => {
    const scheduler = new TestClock();
    const llm = new FakeLLM({ scheduler });
    const stt = new FakeSTT({ scheduler });
    const [input, tts, output] = [
      new FakeInput({ scheduler }),
      new FakeTTS({ scheduler }),
      new FakeOutput({ scheduler }),
    ];
    await using pipeline = new Pipeline({ scheduler, providers: [input, stt, llm, tts, output] });
    const commands$ = new Subject<{ type: 'send'; text: string }>();
    sharePipeline(pipeline, { commands$, callEnded$: EMPTY, tell: () => undefined });
    commands$.next({ type: 'send', text: 'are you' });
    commands$.next({ type: 'send', text: 'there?' });
    await pipeline.start();
    await scheduler.advance(5_000);
    expect(llm.requests.at(-1)?.messages.at(-1)).toEqual({ role: 'user', content: 'are you there?' });
    expect(pipeline.history.messages().at(-1)?.role).toBe('assistant');
  });
});
