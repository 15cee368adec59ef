import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { dial, sign } from '../../../samples/sandbox/phone-caller.ts';
import type { CallOptions, PhoneCaller } from '../../../samples/sandbox/phone-caller.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { concatBytes, readSamples } from '../../../samples/sandbox/pcm.ts';
import { globalClock } from '../../transport/global-clock.ts';
import { speech } from './audio.ts';

interface Media {
  readonly event: string;
  readonly [field: string]: unknown;
}

/** The application's end of a call. */
class Application {
  readonly messages: Media[] = [];
  readonly #socket: WebSocket;
  readonly #waiting = new Set<() => void>();

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => {
      this.messages.push(JSON.parse((data as Buffer).toString()) as Media);
      for (const check of [...this.#waiting]) check();
    });
  }

  get streamSid(): string {
    const start = this.messages.find(({ event }) => event === 'start');
    return String(start?.['streamSid']);
  }

  get audio(): Uint8Array<ArrayBuffer> {
    const payloads = this.messages.flatMap(({ event, media }) =>
      event === 'media' ? [(media as { payload: string }).payload] : [],
    );
    return concatBytes(payloads.map((payload) => Buffer.from(payload, 'base64')));
  }

  raw(data: string | Uint8Array): void {
    this.#socket.send(data);
  }

  media(bytes: Uint8Array): void {
    this.raw(
      JSON.stringify({
        event: 'media',
        streamSid: this.streamSid,
        media: { payload: Buffer.from(bytes).toString('base64') },
      }),
    );
  }

  mark(name: string): void {
    this.raw(JSON.stringify({ event: 'mark', streamSid: this.streamSid, mark: { name } }));
  }

  clear(): void {
    this.raw(JSON.stringify({ event: 'clear', streamSid: this.streamSid }));
  }

  until(condition: (messages: readonly Media[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!condition(this.messages)) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
      check();
    });
  }
}

describe('the phone caller', () => {
  let server: Server;
  let url: string;
  let requests: IncomingMessage[];
  let applications: ((application: Application) => void)[];
  const sockets = new WebSocketServer({ noServer: true });

  beforeEach(async () => {
    requests = [];
    applications = [];
    server = createServer();
    server.on('upgrade', (request, socket, head) => {
      requests.push(request);
      if (request.url === '/refuse') {
        socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
        return;
      }
      sockets.handleUpgrade(request, socket, head, (open) => applications.shift()?.(new Application(open)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    for (const socket of sockets.clients) socket.terminate();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });

  const call = async (options: Partial<CallOptions> = {}): Promise<[PhoneCaller, Application]> => {
    const accepted = new Promise<Application>((resolve) => applications.push(resolve));
    const caller = await dial({ url: `${url}/phone`, speed: 'manual', ...options });
    const application = await accepted;
    await application.until((messages) => messages.length >= 2);
    return [caller, application];
  };

  it('begins with connected and start', async () => {
    const [caller, application] = await call({ customParameters: { user: '42' } });
    expect(application.messages).toEqual([
      { event: 'connected', protocol: 'Call', version: '1.0.0' },
      {
        ...{ event: 'start', sequenceNumber: '1', streamSid: caller.streamSid },
        start: {
          ...{
            accountSid: caller.accountSid,
            streamSid: caller.streamSid,
            callSid: caller.callSid,
            tracks: ['inbound'],
          },
          ...{
            mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
            customParameters: { user: '42' },
          },
        },
      },
    ]);
    await caller.hangUp();
  });

  it('sends what the caller says in frames of 20 ms, and silence between', async () => {
    const [caller, application] = await call();
    caller.say('Hello.');
    caller.pause(100);
    caller.say('Bye.');
    caller.advance(1000);
    await application.until((messages) => messages.filter(({ event }) => event === 'media').length === 50);
    const frames = application.messages.filter(({ event }) => event === 'media');
    expect(frames[2]).toMatchObject({ sequenceNumber: '4', media: { track: 'inbound', chunk: '3', timestamp: '40' } });
    expect(
      new Set(frames.map(({ media }) => Buffer.from((media as { payload: string }).payload, 'base64').length)),
    ).toEqual(new Set([160]));
    expect(decodeSamples(readSamples(application.audio, 'mulaw'), 8000, 80).utterances).toEqual(['Hello.', 'Bye.']);
    await caller.hangUp();
  });

  it('plays what it is sent on its own clock, and echoes a mark when all before it was played', async () => {
    const [caller, application] = await call();
    application.media(speech(['Hi there.'], 'mulaw', 8000));
    application.mark('m-1');
    application.media(speech(['You.'], 'mulaw', 8000));
    application.mark('m-2');
    await caller.until(({ bufferedMs }) => bufferedMs === 13 * 80);
    caller.advance(700);
    expect([caller.playedMs, caller.marks]).toEqual([700, []]);
    caller.advance(20);
    expect([caller.playedMs, caller.marks]).toEqual([720, ['m-1']]);
    caller.advance(1000);
    await caller.until(({ marks }) => marks.includes('m-2'));
    expect([caller.playedMs, caller.marks, caller.bufferedMs]).toEqual([1040, ['m-1', 'm-2'], 0]);
    expect(caller.heard().text).toBe('Hi there.You.');
    await application.until((messages) =>
      messages.some(({ mark }) => (mark as { name?: string } | undefined)?.name === 'm-2'),
    );
    await caller.hangUp();
  });

  it('echoes a mark at once when nothing waits', async () => {
    const [caller, application] = await call();
    application.mark('now');
    await caller.until(({ marks }) => marks.includes('now'));
    expect(caller.nowMs).toBe(0);
    await caller.hangUp();
  });

  it('clear silences at once, returns the marks, and what was heard is cut there', async () => {
    const [caller, application] = await call();
    application.media(speech(['This will be cut.'], 'mulaw', 8000));
    application.mark('m-1');
    await caller.until(({ bufferedMs }) => bufferedMs > 0);
    caller.advance(500);
    application.clear();
    await caller.until(({ clears }) => clears === 1);
    expect([caller.bufferedMs, caller.marks]).toEqual([0, ['m-1']]);
    caller.advance(500);
    expect(caller.playedMs).toBe(500);
    expect(caller.heard()).toMatchObject({ text: 'This w', cut: true, words: [{ text: 'This' }] });
    await caller.hangUp();
  });

  it('runs by itself, as fast as it is told', async () => {
    using clock = globalClock();
    const [caller, application] = await call({ speed: 20 });
    const said = speech(['As fast as that.'], 'mulaw', 8000);
    application.media(said);
    application.mark('end');
    await caller.until(({ bufferedMs }) => bufferedMs > 0);
    const endMs = said.length / 8 / 20;
    await clock.advance(Math.floor(endMs) - 1);
    expect(caller.marks).toEqual([]);
    await clock.advance(2);
    await caller.until(({ marks }) => marks.includes('end'));
    expect(caller.heard().text).toBe('As fast as that.');
    await caller.hangUp();
  });

  it('presses keys, and hangs up with stop or without a word', async () => {
    const [caller, application] = await call();
    caller.press('5');
    expect(await caller.hangUp()).toBe(1005);
    expect(application.messages.slice(2)).toEqual([
      { event: 'dtmf', streamSid: caller.streamSid, sequenceNumber: '2', dtmf: { track: 'inbound_track', digit: '5' } },
      {
        event: 'stop',
        sequenceNumber: '3',
        stop: { accountSid: caller.accountSid, callSid: caller.callSid },
        streamSid: caller.streamSid,
      },
    ]);
    const [other, silent] = await call();
    expect(await other.hangUp('abruptly')).toBe(1006);
    expect(silent.messages).toHaveLength(2);
    await expect(other.until(() => false)).rejects.toThrow('ended');
  });

  it('warns of what the platform would warn of', async () => {
    const [caller, application] = await call();
    const sid = application.streamSid;
    application.raw(new Uint8Array([1, 2, 3]));
    const wrong = [
      'not JSON',
      '[]',
      JSON.stringify({ event: 'media', streamSid: 'MZ0', media: { payload: '//8=' } }),
      JSON.stringify({ event: 'media', streamSid: sid, sequenceNumber: '1', media: { payload: '//8=' } }),
      JSON.stringify({ event: 'media', streamSid: sid, media: { payload: '//8=', track: 'outbound' } }),
      JSON.stringify({ event: 'media', streamSid: sid, media: { payload: '%%%' } }),
      JSON.stringify({ event: 'mark', streamSid: sid, mark: {} }),
      JSON.stringify({ event: 'clear', streamSid: sid, clear: {} }),
      JSON.stringify({ event: 'stop', streamSid: sid }),
      JSON.stringify({ event: '__proto__', streamSid: sid }),
    ];
    for (const text of wrong) application.raw(text);
    application.mark('end');
    await caller.until(({ marks }) => marks.includes('end'));
    expect(caller.warnings.map(({ code }) => code)).toEqual([31950, ...wrong.map(() => 31951)]);
    expect(caller.bufferedMs).toBe(0);
    await caller.hangUp();
  });

  it('signs the upgrade as the platform does', async () => {
    const token = '0123456789abcdef0123456789abcdef';
    expect(sign(token, 'wss://voice.example.com/phone')).toBe('rJsCV32Z3/hPCDXvZa3cviQqTJA=');
    expect(sign(token, 'wss://voice.example.com/phone/')).toBe('nFb2FQ0fxjStwYvIs2y+wnUMIKg=');
    const [caller] = await call({ authToken: token, publicUrl: 'wss://voice.example.com/phone' });
    expect(requests.at(-1)?.headers['x-twilio-signature']).toBe('rJsCV32Z3/hPCDXvZa3cviQqTJA=');
    await caller.hangUp();
  });

  it('says with what the application refused the call', async () => {
    await expect(dial({ url: `${url}/refuse` })).rejects.toThrow('31920: the server answered the upgrade with 403');
  });
});
