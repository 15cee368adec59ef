/**
 * Calls over the server that a runtime has of its own. `Bun.serve()` gives its sockets no events, and calls handlers: a
 * phone that was attached to one threw, and took the process with it.
 */
import { once } from 'node:events';
import { firstValueFrom, of } from 'rxjs';
import { WebSocket } from 'ws';
import { PageSockets, PhoneSocketB, PhoneStreamA, socketHandlers, VoiceError, type PlatformSocket } from 'rxvoice';
import { dial } from '../../../samples/sandbox/phone-caller.ts';
import { dialSocket } from '../../../samples/sandbox/phone-socket-caller.ts';
import { TestClock } from '../../transport/test-clock.ts';
import { serveSockets, type OwnServer } from './support/own-server.ts';

/** A server's socket in memory. */
class Handled {
  readyState: number = 1;
  queued: number = 0;
  pings: number = 0;
  terminated: number = 0;
  readonly sent: (string | Uint8Array)[] = [];
  readonly closes: (number | undefined)[] = [];

  send(data: string | Uint8Array): number {
    return this.sent.push(data);
  }
  close(code?: number): void {
    this.closes.push(code);
    this.readyState = 2;
  }
  ping(): void {
    this.pings += 1;
  }
  terminate(): void {
    this.terminated += 1;
  }
  getBufferedAmount(): number {
    return this.queued;
  }
}

const start = JSON.stringify({ event: 'start', start: { streamSid: 'MZ1', callSid: 'CA1' }, streamSid: 'MZ1' });
const frame = new Uint8Array(160).fill(7);
const media = JSON.stringify({
  ...{ event: 'media', streamSid: 'MZ1' },
  media: { track: 'inbound', timestamp: '0', payload: Buffer.from(frame).toString('base64') },
});

async function attached(handled: Handled = new Handled()) {
  const clock = new TestClock();
  const phone = new PhoneStreamA({ scheduler: clock });
  const [heard, ends]: [number[], string[]] = [[], []];
  phone.audio$.subscribe(({ data }) => heard.push(data.length));
  phone.onCallEnded(({ reason }) => ends.push(reason));
  await phone.initialize();
  await phone.start();
  const handlers = socketHandlers<Handled>((socket) => phone.attach(socket));
  handlers.open(handled);
  handlers.message(handled, start);
  return { clock, phone, heard, ends, handled, handlers };
}

describe('socketHandlers()', () => {
  it('tells a phone what the server tells its handlers, of its own socket alone', async () => {
    const { phone, heard, ends, handled, handlers } = await attached();
    handlers.message(handled, media);
    handlers.message(new Handled(), media);
    handlers.close(new Handled());
    expect([phone.getCallSid(), heard, ends]).toEqual(['CA1', [160], []]);
    handlers.close(handled);
    handlers.message(handled, media);
    expect([heard, ends]).toEqual([[160], ['closed']]);
    await phone.dispose();
  });

  it('a peer that vanishes is pinged, and given up like any other', async () => {
    const { clock, phone, ends, handled, handlers } = await attached();
    await clock.advance(16_000);
    handlers.pong(handled);
    await clock.advance(16_000);
    expect([handled.pings, ends]).toEqual([2, []]);
    await clock.advance(60_000);
    expect([handled.closes, handled.terminated, ends]).toEqual([[1011], 1, ['closed']]);
    await phone.dispose();
  });

  it('a silent peer is not given up where the server cannot ping', async () => {
    const { clock, phone, ends } = await attached(Object.assign(new Handled(), { ping: undefined }));
    await clock.advance(60_000);
    expect(ends).toEqual([]);
    await phone.dispose();
  });

  it('a peer that takes no audio is given up when a megabyte waits', async () => {
    const { clock, phone, ends, handled } = await attached();
    const speech = { data: new Uint8Array(1600), metadata: phone.getMetadata() };
    handled.queued = 1024 * 1024 + 1;
    phone.play(of(speech)).subscribe();
    await clock.advance(100);
    expect([handled.closes, handled.sent.length, ends]).toEqual([[1011], 0, ['closed']]);
    await phone.dispose();
  });

  it('a socket without events is refused, with what to do', () => {
    const bare = new Handled() as unknown as PlatformSocket;
    const pages = new PageSockets({ open: () => undefined });
    for (const attach of [
      () => new PhoneStreamA().attach(bare),
      () => new PhoneSocketB().attach(bare),
      () => pages.accept(bare, { headers: {} }),
    ]) {
      let error: unknown;
      try {
        attach();
      } catch (cause) {
        error = cause;
      }
      expect(VoiceError.is(error) && [error.code, error.message]).toEqual([
        'configuration',
        expect.stringContaining('socketHandlers('),
      ]);
    }
  });
});

describe("calls over the runtime's own server", () => {
  let server: OwnServer | undefined;
  afterEach(() => server?.close());

  it.each([
    ['PhoneStreamA', PhoneStreamA, dial],
    ['PhoneSocketB', PhoneSocketB, dialSocket],
  ] as const)('%s hears, is heard, and learns of the end', async (_name, Phone, call) => {
    const phone = new Phone();
    server = await serveSockets((socket) => phone.attach(socket));
    const [caller] = await Promise.all([call({ url: server.url }), firstValueFrom(phone.started$)]);
    await phone.initialize();
    await phone.start();
    phone.audio$.subscribe((chunk) => phone.enqueue(chunk));
    const keys: string[] = [];
    phone.onDtmf((key) => keys.push(key));
    caller.press('5');
    caller.say('hi');
    await caller.until(() => caller.heard().text.includes('hi'));
    expect([keys, caller.warnings]).toEqual([['5'], []]);
    const ended = firstValueFrom(phone.callEnded$);
    await caller.hangUp();
    await ended;
    await phone.dispose();
  });

  it('the application hangs up', async () => {
    const phone = new PhoneStreamA();
    server = await serveSockets((socket) => phone.attach(socket));
    const [caller] = await Promise.all([dial({ url: server.url }), firstValueFrom(phone.started$)]);
    phone.hangUp();
    expect(await caller.ended).toBe(1000);
    await phone.dispose();
  });

  it('a page says hello', async () => {
    const opened: string[] = [];
    const pages = new PageSockets({ open: ({ name }) => opened.push(name) });
    server = await serveSockets((socket, request) => pages.accept(socket, request));
    const page = new WebSocket(server.url);
    await once(page, 'open');
    const welcome = once(page, 'message');
    page.send(JSON.stringify({ type: 'hello', version: 1, rate: 16_000, received: 0, heard: 0, seen: 0 }));
    expect(JSON.parse(String((await welcome)[0]))).toMatchObject({ type: 'welcome', resumed: false });
    expect(opened).toEqual(['PageSocket']);
    const closed = once(page, 'close');
    pages[Symbol.dispose]();
    await closed;
  });
});
