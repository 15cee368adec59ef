import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { filter, firstValueFrom, of, take, toArray, VirtualTimeScheduler } from 'rxjs';
import { WebSocket, WebSocketServer } from 'ws';
import { decodeMulaw } from '../../../lib/audio/g711.ts';
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import type { VoiceError } from '../../../lib/core/errors.ts';
import type { DomSocketEvent, DomSocketLike } from '../../../lib/providers/platform/attached-socket.ts';
import { PhoneStreamA, type PhoneStreamAConfig } from '../../../lib/providers/platform/phone-stream-a.ts';

const streamSid = 'MZ0123456789abcdef0123456789abcdef';
const mulaw: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1, bitDepth: 8 };

const connected = { event: 'connected', protocol: 'Call', version: '1.0.0' };
const start = {
  event: 'start',
  sequenceNumber: '1',
  start: {
    accountSid: 'AC0123456789abcdef0123456789abcdef',
    streamSid,
    callSid: 'CA0123456789abcdef0123456789abcdef',
    tracks: ['inbound'],
    mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
    customParameters: { user: '42' },
  },
  streamSid,
};
const media = (bytes: Uint8Array, timestamp: number) => ({
  event: 'media',
  sequenceNumber: '4',
  media: { track: 'inbound', chunk: '2', timestamp: String(timestamp), payload: Buffer.from(bytes).toString('base64') },
  streamSid,
});
const frame = (kind: number): Uint8Array<ArrayBuffer> => new Uint8Array(160).fill(kind);
const speech = (ms: number): AudioChunk => ({
  data: Uint8Array.from({ length: ms * 8 }, (_, at) => (at * 7) & 0xff),
  metadata: mulaw,
});

interface Sent {
  readonly event: string;
  readonly streamSid: string;
  readonly media?: { readonly payload: string };
  readonly mark?: { readonly name: string };
}

/** A socket in memory: what happens on it happens at once. */
class FakeSocket implements DomSocketLike {
  readyState = 1;
  bufferedAmount = 0;
  readonly sent: Sent[] = [];
  readonly closes: (number | undefined)[] = [];
  readonly #listeners = new Map<string, Set<(event: DomSocketEvent) => void>>();

  addEventListener(type: string, listener: (event: DomSocketEvent) => void): void {
    this.#listeners.set(type, (this.#listeners.get(type) ?? new Set()).add(listener));
  }
  removeEventListener(type: string, listener: (event: DomSocketEvent) => void): void {
    this.#listeners.get(type)?.delete(listener);
  }
  send(data: string): void {
    this.sent.push(JSON.parse(data) as Sent);
  }
  close(code?: number): void {
    this.closes.push(code);
    this.readyState = 3;
  }

  get listeners(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }
  say(message: unknown): void {
    this.raw(JSON.stringify(message));
  }
  raw(data: unknown): void {
    for (const listener of [...(this.#listeners.get('message') ?? [])]) listener({ data });
  }
  drop(): void {
    this.readyState = 3;
    for (const listener of [...(this.#listeners.get('close') ?? [])]) listener({});
  }
  of(event: string): Sent[] {
    return this.sent.filter((each) => each.event === event);
  }
  audio(): Buffer {
    return Buffer.concat(this.of('media').map((each) => Buffer.from(each.media?.payload ?? '', 'base64')));
  }
}

/** A phone on a virtual clock, initialized, with a call attached. */
async function phoned(config: PhoneStreamAConfig = {}) {
  const clock = new VirtualTimeScheduler();
  const phone = new PhoneStreamA({ scheduler: clock, ...config });
  const socket = new FakeSocket();
  const errors: VoiceError[] = [];
  const heard: AudioChunk[] = [];
  const ends: string[] = [];
  phone.errors$.subscribe((error) => errors.push(error));
  phone.audio$.subscribe((chunk) => heard.push(chunk));
  phone.onCallEnded(({ reason }) => ends.push(reason));
  await phone.initialize();
  phone.attach(socket);
  const at = (ms: number, work: () => void): void => void clock.schedule(work, ms);
  return { clock, phone, socket, errors, heard, ends, at };
}

describe('PhoneStreamA', () => {
  it('says the format of the caller before there is one', () => {
    const phone = new PhoneStreamA();
    expect(phone.getMetadata()).toEqual(mulaw);
    expect([phone.roles, phone.getCallSid(), phone.getCustomParameters()]).toEqual([
      ['input', 'output'],
      undefined,
      {},
    ]);
  });

  it('loses nothing of a call that comes before initialize() and start()', async () => {
    const phone = new PhoneStreamA({ scheduler: new VirtualTimeScheduler() });
    const socket = new FakeSocket();
    const heard: AudioChunk[] = [];
    phone.attach(socket);
    for (const message of [connected, start, media(frame(1), 0), media(frame(2), 20)]) socket.say(message);
    phone.audio$.subscribe((chunk) => heard.push(chunk));
    await phone.initialize();
    socket.say(media(frame(3), 40));
    expect(heard).toEqual([]);
    await phone.start();
    socket.say(media(frame(4), 60));
    expect(heard.map(({ data, timestamp }) => [data[0], data.length, timestamp])).toEqual([
      [1, 160, 0],
      [2, 160, 20],
      [3, 160, 40],
      [4, 160, 60],
    ]);
    expect(heard[0]?.metadata).toEqual(mulaw);
    expect(phone.getCallSid()).toBe(start.start.callSid);
    expect(phone.getCustomParameters()).toEqual({ user: '42' });
  });

  for (const [what, given] of [
    ['as it came', JSON.stringify(start)],
    ['parsed', start],
  ] as const) {
    it(`takes a start that the application has read, ${what}`, async () => {
      const { clock, phone } = await phoned();
      const socket = new FakeSocket();
      phone.attach(socket, { start: given });
      phone.enqueue(speech(20));
      clock.flush();
      expect(phone.getCallSid()).toBe(start.start.callSid);
      expect(socket.of('media')).toHaveLength(1);
    });
  }

  it('keeps a greeting until the call has its start, then sends exactly the shapes that the platform takes', async () => {
    const { clock, phone, socket, at } = await phoned();
    const events: string[] = [];
    phone.play(of(speech(50))).subscribe(({ type }) => events.push(`${type}@${clock.now()}`));
    at(500, () => {
      expect(socket.sent).toEqual([]);
      socket.say(connected);
      socket.say(start);
    });
    at(560, () => socket.say({ event: 'mark', sequenceNumber: '9', streamSid, mark: { name: 'm-1' } }));
    clock.flush();
    expect(socket.sent.map((message) => Object.keys(message))).toEqual([
      ['event', 'streamSid', 'media'],
      ['event', 'streamSid', 'media'],
      ['event', 'streamSid', 'media'],
      ['event', 'streamSid', 'mark'],
    ]);
    expect(socket.sent.every((message) => message.streamSid === streamSid)).toBe(true);
    expect([...socket.audio()]).toEqual([...speech(50).data]);
    expect(events).toEqual(['started@500', 'finished@560']);
  });

  it('flushes at the echo of the mark', async () => {
    const { clock, phone, socket, at } = await phoned();
    socket.say(start);
    phone.enqueue(speech(100));
    let flushedAt = NaN;
    const flushed = phone.flush().then(() => (flushedAt = clock.now()));
    at(180, () => socket.say({ event: 'mark', streamSid, mark: { name: 'm-1' } }));
    clock.flush();
    await flushed;
    expect(flushedAt).toBe(180);
  });

  it('flushes by the clock and 2 s when the platform never echoes', async () => {
    const { clock, phone, socket } = await phoned();
    socket.say(start);
    phone.enqueue(speech(100));
    const flushed = phone.flush();
    clock.flush();
    await flushed;
    expect(clock.now()).toBe(2100);
  });

  it('settles a flush that is pending when the caller hangs up, and takes nothing more', async () => {
    const { clock, phone, socket, ends, at } = await phoned();
    socket.say(start);
    phone.enqueue(speech(1000));
    const flushed = phone.flush();
    at(300, () => socket.drop());
    clock.flush();
    await flushed;
    const sent = socket.sent.length;
    let completed = 0;
    phone.enqueue(speech(1000));
    phone.play(of(speech(1000))).subscribe({ complete: () => completed++ });
    await phone.flush();
    clock.flush();
    expect([ends, phone.positionMs, completed, socket.sent.length]).toEqual([['closed'], 300, 1, sent]);
  });

  it('clears in the tick of stop(), and sends no frame after it', async () => {
    const { clock, phone, socket, at } = await phoned();
    socket.say(start);
    phone.play(of(speech(5000))).subscribe();
    at(1000, () => {
      void phone.stop();
      expect(socket.sent.at(-1)).toEqual({ event: 'clear', streamSid });
      expect(phone.positionMs).toBe(1000);
    });
    clock.flush();
    expect(socket.sent.at(-1)?.event).toBe('clear');
    expect(socket.of('clear')).toHaveLength(1);
  });

  it('pauses by a clear and sends what was not heard again, from the sample on', async () => {
    const { clock, phone, socket, at } = await phoned();
    socket.say(start);
    const audio = speech(1000);
    phone.play(of(audio)).subscribe();
    let before = 0;
    at(333, () => {
      phone.pause();
      before = socket.of('media').length;
    });
    at(1000, () => phone.resume());
    at(3000, () => {
      for (const { mark } of socket.of('mark')) socket.say({ event: 'mark', streamSid, mark });
    });
    clock.flush();
    const again = Buffer.concat(
      socket
        .of('media')
        .slice(before)
        .map((each) => Buffer.from(each.media?.payload ?? '', 'base64')),
    );
    expect(again.equals(Buffer.from(audio.data.subarray(333 * 8)))).toBe(true);
    expect(phone.positionMs).toBe(1000);
  });

  it('does not take the marks that a clear brings back for playback', async () => {
    const { clock, phone, socket, at } = await phoned();
    socket.say(start);
    const first = phone.play(of(speech(1000))).subscribe();
    at(100, () => {
      first.unsubscribe();
      const [mark] = socket.of('mark');
      phone.play(of(speech(1000))).subscribe();
      socket.say({ event: 'mark', streamSid, mark: mark?.mark });
      expect(phone.positionMs).toBe(0);
    });
    at(150, () => expect(phone.positionMs).toBe(50));
    clock.flush();
    const names = socket.of('mark').map(({ mark }) => mark?.name);
    expect(new Set(names).size).toBe(names.length);
  });

  for (const sampleRate of [8000, 16000, 24000, 44100, 48000]) {
    it(`converts linear16 at ${sampleRate} Hz, whatever the chunks`, async () => {
      const { clock, phone, socket } = await phoned();
      socket.say(start);
      const samples = Int16Array.from(
        { length: sampleRate },
        (_, at) => 12000 * Math.sin((2 * Math.PI * 400 * at) / sampleRate),
      );
      const bytes = new Uint8Array(samples.buffer);
      const metadata: AudioMetadata = { encoding: 'linear16', sampleRate, channels: 1 };
      const chunks: AudioChunk[] = [];
      for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7) % 4001) {
        chunks.push({ data: bytes.subarray(at, at + size), metadata });
      }
      phone.play(chunks).subscribe();
      clock.flush();
      const decoded = decodeMulaw(new Uint8Array(socket.audio()));
      expect(decoded.length).toBe(8000);
      let error = 0;
      let signal = 0;
      for (let at = 800; at < 7200; at++) {
        const wanted = 12000 * Math.sin((2 * Math.PI * 400 * at) / 8000);
        error += ((decoded[at] ?? NaN) - wanted) ** 2;
        signal += wanted ** 2;
      }
      // What mu-law itself can do is about 37 dB.
      expect(10 * Math.log10(signal / error)).toBeGreaterThan(34);
    });
  }

  it('gives keys, by stream and by callback, and isolates a callback that throws', async () => {
    const { phone, socket, errors } = await phoned();
    const keys: string[] = [];
    phone.onDtmf(() => {
      throw new Error('mine');
    });
    const undo = phone.onDtmf((digit) => keys.push(digit));
    phone.dtmf$.subscribe((digit) => keys.push(`$${digit}`));
    socket.say(start);
    for (const digit of ['5', '#', 'x', '', 55]) socket.say({ event: 'dtmf', streamSid, dtmf: { digit } });
    undo();
    socket.say({ event: 'dtmf', streamSid, dtmf: { digit: '*' } });
    expect(keys).toEqual(['5', '$5', '#', '$#', '$*']);
    expect(errors.filter(({ code }) => code === 'internal')).toHaveLength(3);
  });

  it('ends once, at stop or at the loss of the socket, whichever comes first', async () => {
    const { phone, socket, ends } = await phoned();
    let completed = 0;
    phone.audio$.subscribe({ complete: () => completed++ });
    await phone.start();
    socket.say(start);
    socket.say({ event: 'stop', streamSid, stop: {} });
    socket.drop();
    socket.say(media(frame(1), 0));
    phone.hangUp();
    expect([ends, completed, socket.closes]).toEqual([['stopped'], 1, [1000]]);
    const late = await firstValueFrom(phone.callEnded$);
    expect(late).toEqual({ reason: 'stopped' });
  });

  it('lets go of the first socket when a second one is attached, and serves the second as new', async () => {
    const { clock, phone, socket, heard, ends } = await phoned();
    await phone.start();
    socket.say(start);
    phone.enqueue(speech(1000));
    const second = new FakeSocket();
    phone.attach(second);
    expect([socket.closes, socket.listeners, ends]).toEqual([[1000], 0, ['closed']]);
    const sent = socket.sent.length;
    phone.audio$.subscribe((chunk) => heard.push(chunk));
    second.say({ ...start, streamSid: 'MZ2', start: { ...start.start, streamSid: 'MZ2', callSid: 'CA2' } });
    second.say({ ...media(frame(7), 0), streamSid: 'MZ2' });
    await phone.start();
    phone.enqueue(speech(20));
    clock.flush();
    expect([phone.getCallSid(), heard.map(({ data }) => data[0])]).toEqual(['CA2', [7]]);
    expect(second.sent[0]?.streamSid).toBe('MZ2');
    expect(second.of('media')).toHaveLength(1);
    expect(socket.sent).toHaveLength(sent);
  });

  it('can be attached to the next call as soon as one has ended', async () => {
    const { clock, phone, socket } = await phoned();
    const next = new FakeSocket();
    const undo = phone.onCallEnded(() => {
      undo();
      phone.attach(next);
    });
    socket.say(start);
    phone.enqueue(speech(1000));
    socket.drop();
    next.say({ ...start, streamSid: 'MZ2', start: { ...start.start, streamSid: 'MZ2' } });
    phone.enqueue(speech(20));
    clock.flush();
    expect(next.of('media')).toHaveLength(1);
  });

  it('tells of the end of the call before a play that it cuts off completes', async () => {
    const { phone, socket } = await phoned();
    const order: string[] = [];
    phone.callEnded$.subscribe(() => order.push('ended'));
    socket.say(start);
    phone.play(of(speech(1000))).subscribe({ complete: () => order.push('completed') });
    socket.drop();
    expect(order).toEqual(['ended', 'completed']);
  });

  it('knows that a socket was closed before it was attached', async () => {
    const { phone } = await phoned();
    const gone = new FakeSocket();
    gone.readyState = 3;
    phone.attach(gone);
    expect(await firstValueFrom(phone.callEnded$)).toEqual({ reason: 'closed' });
  });

  it('closes its socket and leaves nothing behind when it is disposed', async () => {
    const { clock, phone, socket, ends } = await phoned();
    socket.say(start);
    phone.play(of(speech(5000))).subscribe();
    await phone.dispose();
    clock.flush();
    expect([socket.closes, socket.listeners, ends, clock.actions.length]).toEqual([[1000], 0, ['closed'], 0]);
    expect(clock.now()).toBeLessThanOrEqual(200);
  });

  describe('with gaps in the caller’s audio', () => {
    const gappy = async (config: PhoneStreamAConfig) => {
      const rig = await phoned(config);
      await rig.phone.start();
      rig.socket.say(start);
      for (const [kind, timestamp] of [
        [1, 0],
        [2, 25],
        [3, 500],
        [4, 520],
      ] as const) {
        rig.socket.say(media(frame(kind), timestamp));
      }
      return rig.heard.map(({ data, timestamp }) => [data[0], data.length / 8, timestamp]);
    };

    it('leaves them alone by default', async () => {
      expect(await gappy({})).toEqual([
        [1, 20, 0],
        [2, 20, 25],
        [3, 20, 500],
        [4, 20, 520],
      ]);
    });

    it('fills them with silence when asked to, but no jitter', async () => {
      expect(await gappy({ fillGaps: true })).toEqual([
        [1, 20, 0],
        [2, 20, 25],
        [0xff, 455, 45],
        [3, 20, 500],
        [4, 20, 520],
      ]);
    });
  });

  describe('a hostile peer', () => {
    const nonsense: unknown[] = [
      '',
      'x',
      'null',
      '5',
      '"x"',
      '[]',
      '{',
      '{}',
      'true',
      '{"event":7}',
      '{"event":"__proto__"}',
    ];

    it('that talks nonsense is ignored, with one error a kind', async () => {
      const { phone, socket, errors, heard } = await phoned();
      await phone.start();
      for (let turn = 0; turn < 3; turn++) {
        for (const data of nonsense) socket.raw(data);
        for (const data of [null, undefined, 5, {}, new Uint8Array([0xff, 0xfe]), new ArrayBuffer(3)]) socket.raw(data);
        socket.say({ event: 'constructor', streamSid });
        if (turn === 0) socket.say(media(frame(1), 0));
        socket.say(start);
        socket.say({ ...media(frame(1), 0), streamSid: 'MZforeign' });
        socket.say({ ...media(frame(1), 0), streamSid: 7 });
        for (const body of [
          null,
          5,
          'x',
          [],
          {},
          { payload: 5 },
          { payload: '%%%' },
          { payload: null, timestamp: {} },
        ]) {
          socket.say({ event: 'media', streamSid, media: body });
          socket.say({ event: 'mark', streamSid, mark: body });
          socket.say({ event: 'dtmf', streamSid, dtmf: body });
        }
        socket.say({ event: 'media', streamSid, media: { track: 'outbound', payload: '/////w==' } });
      }
      expect(heard).toEqual([]);
      expect(socket.closes).toEqual([]);
      expect(errors.map(({ message }) => message).sort()).toEqual([
        'PhoneStreamA ignores a key that no phone has',
        'PhoneStreamA ignores a second start',
        'PhoneStreamA ignores media before start',
        'PhoneStreamA ignores media of another stream',
        'PhoneStreamA ignores media whose payload is no base64',
        'PhoneStreamA ignores messages of unknown types',
        'PhoneStreamA ignores what is no message of the platform',
      ]);
    });

    it('cannot change the call by a second start', async () => {
      const { phone, socket } = await phoned();
      socket.say(start);
      socket.say({ ...start, streamSid: 'MZ2', start: { ...start.start, streamSid: 'MZ2', callSid: 'CA2' } });
      expect(phone.getCallSid()).toBe(start.start.callSid);
    });

    it('with a format of its own is refused', async () => {
      const { socket, errors, ends } = await phoned();
      const mediaFormat = { encoding: 'audio/x-l16', sampleRate: 16000, channels: 1 };
      socket.say({ ...start, start: { ...start.start, mediaFormat } });
      expect([socket.closes, ends, errors.map(({ code }) => code)]).toEqual([
        [1008],
        ['closed'],
        ['unsupported_format'],
      ]);
    });

    it('with a message of more than 64 KiB is closed with 1009', async () => {
      const { socket, errors, ends } = await phoned();
      socket.say(start);
      socket.say(media(new Uint8Array(64 * 1024), 0));
      expect([socket.closes, ends, errors.map(({ code }) => code)]).toEqual([[1009], ['closed'], ['overflow']]);
    });

    it('that floods is closed with 1009, while a caller in real time and a burst after a stall are not', async () => {
      const { clock, phone, socket, heard } = await phoned();
      await phone.start();
      socket.say(start);
      for (let at = 0; at < 60_000; at += 20) {
        clock.frame = at;
        socket.say(media(frame(1), at));
      }
      for (let burst = 0; burst < 500; burst++) socket.say(media(frame(1), 60_000 + burst * 20));
      expect([socket.closes, heard.length]).toEqual([[], 3500]);
      for (let burst = 0; burst < 10_000; burst++) socket.say(media(frame(1), 0));
      expect(socket.closes).toEqual([1009]);
      expect(heard.length).toBeLessThan(6500);
    });

    it('that takes no audio is given up before it costs more than a megabyte', async () => {
      const { clock, phone, socket, ends, at } = await phoned();
      socket.say(start);
      phone.play(of(speech(60_000))).subscribe();
      at(1000, () => (socket.bufferedAmount = 2 * 1024 * 1024));
      clock.flush();
      expect([ends, socket.closes, clock.now()]).toEqual([['closed'], [1011], 1000]);
    });

    it('finds nothing to break in 20,000 mutated messages', async () => {
      const { clock, phone, socket, heard } = await phoned({ maxBytesPerSecond: Infinity });
      await phone.start();
      let seed = 20_261_121;
      const random = (below: number): number => {
        seed = (seed * 48271) % 2147483647;
        return seed % below;
      };
      const values = [
        null,
        0,
        -1,
        1e308,
        '',
        'x',
        '%%%',
        [],
        {},
        true,
        '__proto__',
        'MZ',
        { length: -1 },
        [[]],
        '\u0000',
      ];
      const mutate = (value: unknown, depth: number): unknown => {
        if (random(6) === 0 || depth > 4) return values[random(values.length)];
        if (typeof value !== 'object' || value === null) return value;
        const entries = Object.entries(value).filter(() => random(8) > 0);
        return Object.fromEntries(
          entries.map(([key, each]) => [random(12) ? key : 'constructor', random(3) ? each : mutate(each, depth + 1)]),
        );
      };
      const seeds: unknown[] = [
        connected,
        start,
        media(frame(1), 0),
        { event: 'dtmf', streamSid, dtmf: { digit: '1' } },
        { event: 'mark', streamSid, mark: { name: 'm-1' } },
      ];
      let uncaught = 0;
      for (let turn = 0; turn < 20_000; turn++) {
        const text = JSON.stringify(mutate(seeds[random(seeds.length)], 0)) as string | undefined;
        const cut = random(10) ? text : text?.slice(0, random(text.length + 1));
        try {
          socket.raw(random(5) ? cut : Buffer.from(cut ?? ''));
          if (socket.closes.length > 0) phone.attach(socket);
          socket.readyState = 1;
          socket.closes.length = 0;
        } catch {
          uncaught++;
        }
        if (turn % 100 === 0) phone.enqueue(speech(20));
      }
      clock.flush();
      expect(uncaught).toBe(0);
      expect(heard.every(({ data }) => data.length > 0)).toBe(true);
    });
  });

  describe('over real sockets', () => {
    let server: WebSocketServer;
    let url: string;
    beforeEach(async () => {
      server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
      await once(server, 'listening');
      url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/phone`;
    });
    afterEach(async () => {
      for (const client of server.clients) client.terminate();
      await new Promise((resolve) => server.close(resolve));
    });

    it('serves a call from its first message to the hang-up', async () => {
      const phone = new PhoneStreamA();
      await phone.initialize();
      await phone.start();
      server.on('connection', (socket) => phone.attach(socket));
      const ended = firstValueFrom(phone.callEnded$);
      const heard = firstValueFrom(phone.audio$.pipe(take(2), toArray()));
      const caller = new WebSocket(url);
      const received: Sent[] = [];
      caller.on('message', (data: Buffer) => {
        const message = JSON.parse(data.toString()) as Sent;
        received.push(message);
        if (message.event === 'mark') caller.send(JSON.stringify({ event: 'mark', streamSid, mark: message.mark }));
      });
      await once(caller, 'open');
      for (const message of [connected, start, media(frame(1), 0), media(frame(2), 20)])
        caller.send(JSON.stringify(message));
      expect((await heard).map(({ data }) => data[0])).toEqual([1, 2]);
      phone.enqueue(speech(100));
      await phone.flush();
      expect(phone.positionMs).toBe(100);
      expect(received.map(({ event }) => event)).toEqual(['media', 'media', 'media', 'media', 'media', 'mark']);
      caller.send(JSON.stringify({ event: 'stop', streamSid, stop: {} }));
      expect(await ended).toEqual({ reason: 'stopped' });
      const [code] = (await once(caller, 'close')) as [number];
      expect(code).toBe(1000);
      await phone.dispose();
    });

    it('notices a caller whose network is gone', async () => {
      const phone = new PhoneStreamA();
      await phone.initialize();
      server.on('connection', (socket) => phone.attach(socket));
      const ended = firstValueFrom(phone.callEnded$);
      const caller = new WebSocket(url);
      await once(caller, 'open');
      caller.send(JSON.stringify(start));
      caller.terminate();
      expect(await ended).toEqual({ reason: 'closed' });
      await phone.dispose();
    });

    it('closes a flood of large messages with 1009, and cuts off a peer that does not answer', async () => {
      const phone = new PhoneStreamA();
      await phone.initialize();
      server.on('connection', (socket) => phone.attach(socket));
      const overflow = firstValueFrom(phone.errors$.pipe(filter(({ code }) => code === 'overflow')));
      const caller = new WebSocket(url);
      caller.on('error', () => undefined);
      await once(caller, 'open');
      const closed = once(caller, 'close') as Promise<[number]>;
      caller.send(JSON.stringify(start));
      const large = JSON.stringify(media(new Uint8Array(768 * 1024), 0));
      for (let turn = 0; turn < 50; turn++) caller.send(large);
      await overflow;
      expect([1009, 1006]).toContain((await closed)[0]);
      await phone.dispose();
    });
  });
});
