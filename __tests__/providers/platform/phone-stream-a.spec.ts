/** Slow: ten calls at the speed of speech, floods and fuzz, over real sockets. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import fc from 'fast-check';
import { firstValueFrom, of, take, toArray, VirtualTimeScheduler } from 'rxjs';
import { WebSocket, WebSocketServer } from 'ws';
import { decodeMulaw } from '../../../lib/audio/g711.ts';
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import type { VoiceError } from '../../../lib/core/errors.ts';
import { dial } from '../../../samples/sandbox/phone-caller.ts';
import { describePhone, FakePhoneSocket, type Frame } from '../../conformance/phone.ts';
import { TestClock, until } from '../../transport/test-clock.ts';
import { verifyPhoneStreamASignature } from '../../../lib/providers/platform/phone-stream-a-signature.ts';
import { PhoneStreamA, type PhoneStreamAConfig } from '../../../lib/providers/platform/phone-stream-a.ts';
import type { NodeSocketLike } from '../../../lib/providers/platform/platform-socket.ts';

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

const sentBy = (sent: Frame): Sent => JSON.parse(String(sent)) as Sent;

/** A socket in memory that speaks the platform's JSON. */
class FakeSocket extends FakePhoneSocket {
  tell(...messages: readonly object[]): void {
    this.say(...messages.map((message) => JSON.stringify(message)));
  }
  get messages(): Sent[] {
    return this.sent.map(sentBy);
  }
  of(event: string): Sent[] {
    return this.messages.filter((each) => each.event === event);
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

const key = (digit: unknown): object => ({ event: 'dtmf', streamSid, dtmf: { track: 'inbound_track', digit } });
const oddBodies = [null, 5, 'x', [], {}, { payload: 5 }, { payload: '%%%' }, { payload: null, timestamp: {} }];

describePhone({
  name: 'PhoneStreamA',
  create: (config) => new PhoneStreamA(config),
  format: mulaw,
  begin: [JSON.stringify(connected), JSON.stringify(start)],
  parameters: { user: '42' },
  media: (audio, atMs) => JSON.stringify(media(audio, atMs)),
  key: (digit) => JSON.stringify(key(digit)),
  farewell: JSON.stringify({ event: 'stop', streamSid, stop: {} }),
  audioIn: (sent) => {
    const { media: audio } = sentBy(sent);
    return audio && Buffer.from(audio.payload, 'base64');
  },
  isClear: (sent) => sent !== '' && sentBy(sent).event === 'clear',
  echoOf: (sent) => {
    const { event, mark } = sentBy(sent);
    return event === 'mark' ? JSON.stringify({ event, streamSid, mark }) : undefined;
  },
  broken: [
    ...oddBodies.flatMap((body) => ['media', 'mark', 'dtmf'].map((event) => ({ event, streamSid, [event]: body }))),
    ...[{ event: 'unheard-of', streamSid }, media(frame(1), 0)].map((each) => ({ ...each, streamSid: 'MZforeign' })),
    ...[
      { ...media(frame(1), 0), streamSid: 7 },
      { event: 'mark', streamSid, mark: { name: 'm-1' } },
    ],
    { event: 'media', streamSid, media: { track: 'outbound', payload: '/////w==' } },
  ].map((each) => JSON.stringify(each)),
  seeds: [connected, start, media(frame(1), 0), key('1'), { event: 'mark', streamSid, mark: { name: 'm-1' } }],
  dial,
});

/** A socket of Node's kind in memory: text comes as bytes. */
class FakeNodeSocket implements NodeSocketLike {
  readonly readyState = 1;
  readonly #listeners: ((data: Uint8Array, isBinary: boolean) => void)[] = [];

  on(event: string, listener: (...values: never[]) => void): void {
    if (event === 'message') this.#listeners.push(listener as (data: Uint8Array, isBinary: boolean) => void);
  }
  off(): void {}
  send(): void {}
  close(): void {}
  say(message: Uint8Array): void {
    for (const listener of this.#listeners) listener(message, false);
  }
}

/** What is heard of a call's messages, and what is complained of. */
async function heardOf(socket: NodeSocketLike | FakeSocket, say: () => void): Promise<unknown> {
  const phone = new PhoneStreamA({ maxBytesPerSecond: Infinity, scheduler: new VirtualTimeScheduler() });
  const heard: unknown[] = [];
  const errors: string[] = [];
  phone.errors$.subscribe(({ message }) => errors.push(message));
  phone.audio$.subscribe(({ data, timestamp }) => heard.push([Buffer.from(data).toString('hex'), timestamp]));
  await phone.initialize();
  await phone.start();
  phone.attach(socket, { start });
  say();
  return { heard, errors };
}

/** A message is read by position from bytes, and by JSON from a text: both must always hear the same. */
async function heardBothWays(messages: readonly Uint8Array[]): Promise<[bytes: unknown, text: unknown]> {
  const [node, dom] = [new FakeNodeSocket(), new FakeSocket()];
  return [
    await heardOf(node, () => messages.forEach((message) => node.say(message))),
    await heardOf(dom, () => messages.forEach((message) => dom.say(new TextDecoder().decode(message)))),
  ];
}

describe('PhoneStreamA', () => {
  const known = JSON.stringify(media(frame(7), 2440));

  it('hears in bytes what it hears in a text, however a message of the known shape varies', async () => {
    const [before, after] = known.split(Buffer.from(frame(7)).toString('base64')) as [string, string];
    const withPayload = (payload: string): string => before + payload + after;
    const variants = [
      known,
      ...[
        '',
        '/',
        '//',
        '///',
        '////',
        '//8=',
        '/w==',
        '/w=',
        '=',
        '====',
        '-_-_',
        'AA A',
        'A\\u0041AA',
        '%',
        '"',
        'é',
      ].map(withPayload),
      ...['', '0', '007', '-5', '1.5', '1e3', ' 9', 'x', '58479596546586596', '182843782140913330'].map((time) =>
        known.replace('"2440"', `"${time}"`),
      ),
      ...['2440', 'null', '{}'].map((time) => known.replace('"2440"', time)),
      ...['outbound', 'inbound_track', '', 'INBOUND'].map((track) => known.replace('inbound', track)),
      ...['MZforeign', '', `${streamSid}0`, streamSid.slice(1)].map((sid) => known.replace(streamSid, sid)),
      ...['"__proto__":{"event":"stop"},', '"event":"stop",', '"extra":1,', ' '].flatMap((more) => [
        known.replace('{', `{${more}`),
        known.replace('"streamSid"', `${more}"streamSid"`),
        known.replace('"track"', `${more}"track"`),
      ]),
      ...['}', ' ', '\n', '{}', '\u0000'].flatMap((more) => [known + more, more + known]),
      known.replace('"}', '","track":"outbound"}'),
      known.replace('"}', `"},"media":{"payload":"/w==","timestamp":"1"}`),
      JSON.stringify({ streamSid, event: 'media', media: media(frame(9), 20).media }),
      known.slice(0, -1),
      known.slice(1),
    ];
    for (const variant of variants) {
      const [bytes, text] = await heardBothWays([Buffer.from(variant, 'utf8')]);
      expect([variant, bytes]).toEqual([variant, text]);
    }
    expect(await heardBothWays([Buffer.from(known)])).toEqual(
      Array(2).fill({ heard: [['07'.repeat(160), 2440]], errors: [] }),
    );
  });

  it('hears in bytes what it hears in a text, whatever happens to a message on its way', async () => {
    const seed = Buffer.from(JSON.stringify(media(frame(7).subarray(0, 5), 20)));
    const place = fc.nat(seed.length);
    const damage = fc.oneof(
      fc.record({ at: place, cut: fc.nat(3), put: fc.uint8Array({ maxLength: 2 }) }),
      fc.record({
        at: place,
        cut: fc.nat(3),
        put: fc.constantFrom('"', '\\', '{', '}', ':', ',', '0', 'A', '=', '-', ' ').map((text) => Buffer.from(text)),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(damage, { maxLength: 3 }), { minLength: 1, maxLength: 20 }), async (all) => {
        const messages = all.map((damages) =>
          damages.reduce<Buffer>(
            (message, { at, cut, put }) => Buffer.concat([message.subarray(0, at), put, message.subarray(at + cut)]),
            seed,
          ),
        );
        const [bytes, text] = await heardBothWays(messages);
        expect(bytes).toEqual(text);
      }),
      { numRuns: 300 * (Number(process.env['FUZZ']) || 1) },
    );
  });

  it('says the format of the caller before there is one', () => {
    const phone = new PhoneStreamA();
    expect(phone.getMetadata()).toEqual(mulaw);
    expect([phone.roles, phone.getCallSid(), phone.getCustomParameters()]).toEqual([
      ['input', 'output'],
      undefined,
      {},
    ]);
  });

  it("hands out the platform's ids of account, stream and call, and the parameters of the TwiML", async () => {
    const { phone, socket } = await phoned();
    const facts = (): unknown[] => [
      ...[phone.getAccountSid(), phone.getStreamSid(), phone.getCallSid()],
      phone.getCustomParameters(),
    ];
    expect(facts()).toEqual([undefined, undefined, undefined, {}]);
    socket.tell(connected, start);
    expect(facts()).toEqual([start.start.accountSid, streamSid, start.start.callSid, { user: '42' }]);
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
      socket.tell(connected);
      socket.tell(start);
    });
    at(560, () => socket.tell({ event: 'mark', sequenceNumber: '9', streamSid, mark: { name: 'm-1' } }));
    clock.flush();
    expect(socket.messages.map((message) => Object.keys(message))).toEqual([
      ['event', 'streamSid', 'media'],
      ['event', 'streamSid', 'mark'],
    ]);
    expect(socket.messages.every((message) => message.streamSid === streamSid)).toBe(true);
    expect([...socket.audio()]).toEqual([...speech(50).data]);
    expect(events).toEqual(['started@500', 'finished@560']);
  });

  it('flushes at the echo of the mark', async () => {
    const { clock, phone, socket, at } = await phoned();
    socket.tell(start);
    phone.enqueue(speech(100));
    let flushedAt = NaN;
    const flushed = phone.flush().then(() => (flushedAt = clock.now()));
    at(180, () => socket.tell({ event: 'mark', streamSid, mark: { name: 'm-1' } }));
    clock.flush();
    await flushed;
    expect(flushedAt).toBe(180);
  });

  it('does not count marks returned by a clear as played', async () => {
    const { clock, phone, socket, at } = await phoned();
    socket.tell(start);
    const first = phone.play(of(speech(1000))).subscribe();
    at(100, () => {
      first.unsubscribe();
      const [mark] = socket.of('mark');
      phone.play(of(speech(1000))).subscribe();
      socket.tell({ event: 'mark', streamSid, mark: mark?.mark });
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
      socket.tell(start);
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

  it('lets go of the first socket when a second one is attached, and serves the second as new', async () => {
    const { clock, phone, socket, heard, ends } = await phoned();
    await phone.start();
    socket.tell(start);
    phone.enqueue(speech(1000));
    const second = new FakeSocket();
    phone.attach(second);
    expect([socket.closes, socket.listeners, ends]).toEqual([[1000], 0, ['closed']]);
    const sent = socket.sent.length;
    phone.audio$.subscribe((chunk) => heard.push(chunk));
    second.tell({ ...start, streamSid: 'MZ2', start: { ...start.start, streamSid: 'MZ2', callSid: 'CA2' } });
    second.tell({ ...media(frame(7), 0), streamSid: 'MZ2' });
    await phone.start();
    phone.enqueue(speech(20));
    clock.flush();
    expect([phone.getCallSid(), heard.map(({ data }) => data[0])]).toEqual(['CA2', [7]]);
    expect(second.messages[0]?.streamSid).toBe('MZ2');
    expect(second.of('media')).toHaveLength(1);
    expect(socket.sent).toHaveLength(sent);
  });

  it('tells of the end of the call before a play that it cuts off completes', async () => {
    const { phone, socket } = await phoned();
    const order: string[] = [];
    phone.callEnded$.subscribe(() => order.push('ended'));
    socket.tell(start);
    phone.play(of(speech(1000))).subscribe({ complete: () => order.push('completed') });
    socket.drop();
    expect(order).toEqual(['ended', 'completed']);
  });

  describe('with gaps in the caller’s audio', () => {
    const gappy = async (config: PhoneStreamAConfig) => {
      const rig = await phoned(config);
      await rig.phone.start();
      rig.socket.tell(start);
      for (const [kind, timestamp] of [
        [1, 0],
        [2, 25],
        [3, 500],
        [4, 520],
      ] as const) {
        rig.socket.tell(media(frame(kind), timestamp));
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

    it('fills no more than the time that has passed, whatever the timestamps say', async () => {
      const { clock, phone, socket, heard, errors, at: later } = await phoned({ fillGaps: true });
      await phone.start();
      socket.tell(start);
      for (let at = 0; at < 400; at++) socket.tell(media(frame(1), at * 10_000));
      const silentMs = (): number => heard.reduce((ms, { data }) => ms + (data[0] === 0xff ? data.length / 8 : 0), 0);
      expect(silentMs()).toBe(9_980);
      expect(errors.map(({ message }) => message)).toEqual([
        'PhoneStreamA ignores gaps longer than the time that has passed',
      ]);
      later(4_000, () => socket.tell(media(frame(1), 4_100_000)));
      clock.flush();
      expect(silentMs()).toBe(14_000);
    });

    it('F45: goes on filling them when the clock was set back an hour', async () => {
      const { clock, phone, socket, heard, errors } = await phoned({ fillGaps: true });
      await phone.start();
      socket.tell(start, media(frame(1), 0));
      clock.frame -= 3_600_000;
      socket.tell(media(frame(1), 520));
      expect(heard.map(({ data }) => data.length / 8)).toEqual([20, 500, 20]);
      expect(errors).toEqual([]);
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

  describe('a hostile or broken peer', () => {
    it('reports each kind of ignored message once', async () => {
      const { phone, socket, errors, heard } = await phoned();
      await phone.start();
      for (let turn = 0; turn < 3; turn++) {
        socket.say('{"event":7}');
        socket.tell({ event: 'constructor', streamSid });
        if (turn === 0) socket.tell(media(frame(1), 0));
        socket.tell(start, { ...media(frame(1), 0), streamSid: 'MZforeign' }, key('55'));
        socket.tell({ event: 'media', streamSid, media: { payload: '%%%' } });
      }
      expect([heard, socket.closes]).toEqual([[], []]);
      expect(errors.map(({ message }) => message).sort()).toEqual([
        'PhoneStreamA ignores a second start',
        'PhoneStreamA ignores an unknown DTMF key',
        'PhoneStreamA ignores malformed messages',
        'PhoneStreamA ignores media before start',
        'PhoneStreamA ignores media of another stream',
        'PhoneStreamA ignores media whose payload is not base64',
        'PhoneStreamA ignores messages of unknown types',
      ]);
    });

    it('that numbers its messages wrongly is heard in the order in which it speaks', async () => {
      const { phone, socket, errors, heard } = await phoned();
      await phone.start();
      socket.tell(start);
      for (const [kind, sequenceNumber, chunk] of [
        [1, '9', '5'],
        [2, '9', '5'],
        [3, '2', '-1'],
        [4, 'x', ''],
        [5, 7, null],
      ] as const) {
        const message = media(frame(kind), kind * 20);
        socket.tell({ ...message, sequenceNumber, media: { ...message.media, chunk } });
      }
      expect([heard.map(({ data }) => data[0]), errors]).toEqual([[1, 2, 3, 4, 5], []]);
    });

    it('that stops before it starts ends nothing, and one that stops twice ends it once', async () => {
      const { phone, socket, ends } = await phoned();
      const stop = { event: 'stop', streamSid, stop: {} };
      socket.tell(stop, start);
      expect([ends, phone.getCallSid()]).toEqual([[], start.start.callSid]);
      socket.tell(stop, stop);
      expect([ends, socket.closes]).toEqual([['stopped'], [1000]]);
    });

    it('cannot change the call by a second start', async () => {
      const { phone, socket } = await phoned();
      socket.tell(start);
      socket.tell({ ...start, streamSid: 'MZ2', start: { ...start.start, streamSid: 'MZ2', callSid: 'CA2' } });
      expect(phone.getCallSid()).toBe(start.start.callSid);
    });

    it('with a format of its own is refused', async () => {
      const { socket, errors, ends } = await phoned();
      const mediaFormat = { encoding: 'audio/x-l16', sampleRate: 16000, channels: 1 };
      socket.tell({ ...start, start: { ...start.start, mediaFormat } });
      expect([socket.closes, ends, errors.map(({ code }) => code)]).toEqual([
        [1008],
        ['closed'],
        ['unsupported_format'],
      ]);
    });
  });

  describe("the reference's sessions, line by line", () => {
    /** What was sent since the last question, as events with their numbers. */
    const reader = (socket: FakeSocket): (() => string[]) => {
      let from = 0;
      return () => {
        const lines: string[] = [];
        for (const { event, mark } of socket.messages.slice(from)) {
          const line = mark ? `mark ${mark.name}` : event;
          const [last = '', count = '1'] = (lines.at(-1) ?? '').split(' x');
          if (line === 'media' && last === line) lines[lines.length - 1] = `media x${Number(count) + 1}`;
          else lines.push(line);
        }
        from = socket.sent.length;
        return lines;
      };
    };
    const mark = (name: string): object => ({ event: 'mark', sequenceNumber: '13', streamSid, mark: { name } });

    it('a call that goes well', async () => {
      const signature = 'rJsCV32Z3/hPCDXvZa3cviQqTJA=';
      const [authToken, url] = ['0123456789abcdef0123456789abcdef', 'wss://voice.example.com/phone'];
      expect(await verifyPhoneStreamASignature({ authToken, url, signature })).toBe(true);

      const clock = new TestClock();
      const phone = new PhoneStreamA({ scheduler: clock });
      const socket = new FakeSocket();
      const sent = reader(socket);
      const [heard, keys, ends]: [number[], string[], string[]] = [[], [], []];
      phone.audio$.subscribe(({ timestamp = NaN }) => heard.push(timestamp));
      phone.onDtmf((digit) => keys.push(digit));
      phone.dtmf$.subscribe((digit) => keys.push(`$${digit}`));
      phone.onCallEnded(({ reason }) => ends.push(reason));
      phone.callEnded$.subscribe(({ reason }) => ends.push(`$${reason}`));
      phone.attach(socket);
      await phone.initialize();
      await phone.start();
      socket.tell(connected, start, media(frame(1), 22));
      expect([phone.getCallSid(), phone.getCustomParameters()]).toEqual([start.start.callSid, { user: '42' }]);
      const { accountSid, streamSid } = start.start;
      expect([phone.getAccountSid(), phone.getStreamSid()]).toEqual([accountSid, streamSid]);

      phone.enqueue(speech(200));
      const flushed = phone.flush();
      await clock.advance(0);
      expect(sent()).toEqual(['media x2', 'mark m-1']);
      for (let at = 0; at < 10; at++) {
        await clock.advance(20);
        socket.tell(media(frame(1), 42 + at * 20));
      }
      socket.tell(mark('m-1'));
      await flushed;
      expect(phone.positionMs).toBe(200);

      const cut = phone.play(of(speech(1000))).subscribe();
      await clock.advance(200);
      socket.tell(mark('m-2'));
      await clock.advance(120);
      cut.unsubscribe();
      expect(sent()).toEqual(['media x2', 'mark m-2', 'media x3', 'mark m-3', 'media', 'clear']);
      const heardMs = phone.positionMs;
      socket.tell(mark('m-3'), mark('m-4'));
      await clock.advance(2500);
      expect([sent(), phone.positionMs, heardMs]).toEqual([[], 320, 320]);

      socket.tell(key('5'), { event: 'stop', sequenceNumber: '41', stop: {}, streamSid });
      socket.drop();
      expect([keys, ends, socket.closes]).toEqual([['5', '$5'], ['stopped', '$stopped'], [1000]]);
      expect(heard).toEqual([22, ...Array.from({ length: 10 }, (_, at) => 42 + at * 20)]);
      await phone.dispose();
      expect(clock.pending).toBe(0);
    });

    it('a caller who hangs up while a flush is pending: a reset, no stop, no mark', async () => {
      const clock = new TestClock();
      const phone = new PhoneStreamA({ scheduler: clock });
      const socket = new FakeSocket();
      const sent = reader(socket);
      const order: string[] = [];
      phone.attach(socket);
      await phone.initialize();
      socket.tell(connected, start);
      phone.onCallEnded(({ reason }) => order.push(reason));
      phone.play(of(speech(200))).subscribe({
        next: ({ type }) => type !== 'progress' && order.push(type),
        complete: () => order.push('over'),
      });
      void phone.flush().then(() => order.push('flushed'));
      await clock.advance(250);
      expect([sent(), order]).toEqual([['media x2', 'mark m-1'], ['started']]);
      socket.drop();
      await clock.advance(0);
      expect(order).toEqual(['started', 'closed', 'over', 'flushed']);
      phone.enqueue(speech(20));
      await phone.flush();
      expect([sent(), clock.pending]).toEqual([[], 0]);
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
      expect(received.map(({ event }) => event)).toEqual(['media', 'mark']);
      caller.send(JSON.stringify({ event: 'stop', streamSid, stop: {} }));
      expect(await ended).toEqual({ reason: 'stopped' });
      const [code] = (await once(caller, 'close')) as [number];
      expect(code).toBe(1000);
      await phone.dispose();
    });

    it('sends clear as text, like every other message', async () => {
      const phone = new PhoneStreamA();
      await phone.initialize();
      server.on('connection', (socket) => phone.attach(socket));
      const caller = new WebSocket(url);
      await once(caller, 'open');
      const received: string[] = [];
      caller.on('message', (data: Buffer, isBinary: boolean) => {
        received.push(`${(JSON.parse(data.toString()) as Sent).event} ${isBinary ? 'bytes' : 'text'}`);
      });
      for (const message of [connected, start]) caller.send(JSON.stringify(message));
      const play = phone.play(of(speech(1_000))).subscribe();
      await until(() => received.length > 0);
      play.unsubscribe();
      await until(() => received.at(-1)?.startsWith('clear') === true);
      expect(received.at(-1)).toBe('clear text');
      expect(received.filter((message) => !message.endsWith(' text'))).toEqual([]);
      await phone.dispose();
    });

    // Bun's sockets are its own.
    const itOnStreams = 'Bun' in globalThis ? it.skip : it;
    itOnStreams('writes the first piece of a burst at once, and the others together', async () => {
      const phone = new PhoneStreamA({ leadMs: 400 });
      await phone.initialize();
      const caller = new WebSocket(url);
      const [[socket]] = (await Promise.all([once(server, 'connection'), once(caller, 'open')])) as [[object], unknown];
      phone.attach(socket as WebSocket);
      for (const message of [connected, start]) caller.send(JSON.stringify(message));
      await until(() => phone.getCallSid() !== undefined);
      const writes: number[] = [];
      const stream = Reflect.get(socket, '_socket') as Duplex;
      const writev = stream._writev?.bind(stream);
      stream._writev = (chunks, done) => {
        const text = chunks.map(({ chunk }) => (chunk as Buffer).toString('latin1')).join('');
        writes.push(text.split('"payload"').length - 1);
        writev?.(chunks, done);
      };
      const received: string[] = [];
      caller.on('message', (data: Buffer) => received.push((JSON.parse(data.toString()) as Sent).event));
      phone.enqueue(speech(200));
      await until(() => received.length === 3);
      expect(received).toEqual(['media', 'media', 'mark']);
      expect(writes).toEqual([1, 1]);
      phone.hangUp();
      await phone.dispose();
    });
  });
});
