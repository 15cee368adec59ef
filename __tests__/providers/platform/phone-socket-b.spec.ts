/** Slow: ten calls at the speed of speech, floods and fuzz, over real sockets. */
import { firstValueFrom, of, VirtualTimeScheduler } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import type { VoiceError } from '../../../lib/core/errors.ts';
import { PhoneSocketB, type PhoneSocketBConfig } from '../../../lib/providers/platform/phone-socket-b.ts';
import { verifyPhoneSocketBSignature } from '../../../lib/providers/platform/phone-socket-b-signature.ts';
import { dialSocket, signToken } from '../../../samples/sandbox/phone-socket-caller.ts';
import { describePhone, FakePhoneSocket, type Frame } from '../../conformance/phone.ts';
import { settle, TestClock } from '../../transport/test-clock.ts';

const connected = (rate: number | string = 16000, headers: object = {}): string =>
  JSON.stringify({ event: 'websocket:connected', 'content-type': `audio/l16;rate=${rate}`, ...headers });
const linear = (sampleRate: number): AudioMetadata => ({
  encoding: 'linear16',
  sampleRate,
  channels: 1,
  bitDepth: 16,
});
const dtmf = (digit: unknown): object => ({ event: 'websocket:dtmf', digit, duration: 260 });
const speech = (ms: number, rate = 16000): AudioChunk => ({
  data: Uint8Array.from({ length: (ms * rate) / 500 }, (_, at) => at & 0x7f),
  metadata: linear(rate),
});

function phoneOf(notify: boolean): Parameters<typeof describePhone>[0] {
  const action = (sent: Frame): unknown => (typeof sent === 'string' ? (JSON.parse(sent) as object) : undefined);
  return {
    name: notify ? 'PhoneSocketB with notify' : 'PhoneSocketB',
    create: (config) => new PhoneSocketB({ notify, ...config }),
    format: linear(16000),
    begin: [connected(16000, { user: '42' })],
    parameters: { user: '42' },
    media: (audio) => audio,
    key: (digit) => JSON.stringify(dtmf(digit)),
    audioIn: (sent) => (typeof sent === 'string' ? undefined : sent),
    isClear: (sent) => sent === '{"action":"clear"}',
    ...(notify && {
      echoOf: (sent: Frame) => {
        const { action: what, payload } = (action(sent) ?? {}) as { action?: string; payload?: unknown };
        return what === 'notify' ? JSON.stringify({ event: 'websocket:notify', payload }) : undefined;
      },
    }),
    broken: [
      ...[dtmf(null), dtmf({}), { dtmf: 5 }, { dtmf: {} }, { event: 'websocket:notify' }].map((each) =>
        JSON.stringify(each),
      ),
      ...[{ event: 'websocket:notify', payload: { id: 7 } }, { event: 'websocket:unheard-of' }].map((each) =>
        JSON.stringify(each),
      ),
      ...['{"event":"websocket:cleared","x":[]}', '{"event":"websocket:hangup"}', '{"event":"websocket:disconnected"}'],
      new Uint8Array(0),
    ],
    seeds: [
      { event: 'websocket:connected', 'content-type': 'audio/l16;rate=16000', 'caller-id': '447700900123' },
      { event: 'websocket:notify', payload: { id: 'm-1' } },
      ...[dtmf('1'), { dtmf: { digit: '1' } }, { event: 'websocket:cleared' }],
    ],
    dial: dialSocket,
  };
}

describePhone(phoneOf(false));
describePhone(phoneOf(true));

describe('PhoneSocketB', () => {
  async function phoned(config: PhoneSocketBConfig = {}) {
    const clock = new VirtualTimeScheduler();
    const phone = new PhoneSocketB({ scheduler: clock, ...config });
    const socket = new FakePhoneSocket();
    const errors: VoiceError[] = [];
    const heard: AudioChunk[] = [];
    phone.errors$.subscribe((error) => errors.push(error));
    phone.audio$.subscribe((chunk) => heard.push(chunk));
    await phone.initialize();
    await phone.start();
    phone.attach(socket);
    return { clock, phone, socket, errors, heard };
  }

  it('reports no error when the leg is muted, or the platform says that it disconnects', async () => {
    const { socket, errors } = await phoned();
    socket.say(connected());
    for (const event of ['websocket:media:update', 'websocket:disconnected', 'websocket:hangup']) {
      socket.say(` {"event":"${event}","method":"update","active":0}`);
    }
    expect(errors).toEqual([]);
  });

  it('hears the keys of a bridge that gives its messages no name', async () => {
    const { phone, socket, errors } = await phoned();
    const keys: string[] = [];
    phone.dtmf$.subscribe((digit) => keys.push(digit));
    socket.say(connected(), ' {"digit":"5","duration":260}', ' {"digit":"#","duration":90}');
    expect([keys, errors]).toEqual([['5', '#'], []]);
  });

  it("says the platform's default format before the call has one", () => {
    const phone = new PhoneSocketB();
    expect([phone.roles, phone.getContentType(), phone.getMetadata(), phone.getHeaders()]).toEqual([
      ['input', 'output'],
      'audio/l16;rate=16000',
      linear(16000),
      {},
    ]);
  });

  for (const rate of [8000, 16000, 24000]) {
    it(`takes and gives linear16 at the negotiated ${rate} Hz, in frames of 20 ms exactly`, async () => {
      const { clock, phone, socket, heard } = await phoned();
      phone.play(of(speech(50, 24000))).subscribe();
      socket.say(
        connected(rate, { 'caller-id': '447700900123', language: 'en-GB' }),
        new Uint8Array(rate / 25).fill(3),
      );
      clock.flush();
      expect(phone.getContentType()).toBe(`audio/l16;rate=${rate}`);
      expect([phone.getMetadata(), heard[0]?.metadata]).toEqual([linear(rate), linear(rate)]);
      expect(phone.getHeaders()).toEqual({ 'caller-id': '447700900123', language: 'en-GB' });
      expect(socket.sent.map((frame) => frame.length)).toEqual([rate / 25, rate / 25, rate / 25]);
      const last = socket.sent.at(-1);
      expect(typeof last === 'object' && last.subarray(rate / 50).every((byte) => byte === 0)).toBe(true);
    });
  }

  it('passes audio of the negotiated format through as it is', async () => {
    const { clock, phone, socket } = await phoned();
    socket.say(connected());
    phone.play(of(speech(200))).subscribe();
    clock.flush();
    expect(Buffer.concat(socket.sent.map((frame) => Buffer.from(frame))).equals(Buffer.from(speech(200).data))).toBe(
      true,
    );
  });

  it('takes a first message that the application has read, as it came or parsed', async () => {
    for (const given of [connected(8000), JSON.parse(connected(8000)) as object]) {
      const { phone } = await phoned();
      phone.attach(new FakePhoneSocket(), { connected: given });
      expect(phone.getMetadata()).toEqual(linear(8000));
    }
  });

  it('keeps audio that comes before the first message, and ten seconds of it at most', async () => {
    const { socket, heard, errors } = await phoned({ maxBytesPerSecond: Infinity });
    for (let count = 1; count <= 501; count++) socket.say(new Uint8Array(960).fill(count & 0x7f));
    expect(heard).toEqual([]);
    socket.say(connected(24000), new Uint8Array(960).fill(9));
    expect([heard.length, heard[0]?.data[0], heard.at(-1)?.timestamp]).toEqual([501, 1, 10_000]);
    expect(errors.map(({ message }) => message)).toEqual([
      'PhoneSocketB ignores more than 10 s of audio before the first message',
    ]);
  });

  it('joins samples that the frames split', async () => {
    const { socket, heard } = await phoned();
    socket.say(connected(), new Uint8Array([1, 2, 3]), new Uint8Array([4, 5]), new Uint8Array([6]));
    expect(heard.map(({ data }) => [...data])).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
  });

  for (const type of ['audio/l16;rate=44100', 'audio/l16', 'audio/pcmu;rate=8000', 'x']) {
    it(`refuses a call in ${type}`, async () => {
      const { socket, errors } = await phoned();
      socket.say(JSON.stringify({ event: 'websocket:connected', 'content-type': type }));
      expect([socket.closes, errors.map(({ code }) => code)]).toEqual([[1008], ['unsupported_format']]);
    });
  }

  it('takes a call without a content-type for the default', async () => {
    const { phone, socket } = await phoned();
    socket.say('{"event":"websocket:connected"}');
    expect(phone.getMetadata()).toEqual(linear(16000));
  });

  it('does not let a second first message change the call', async () => {
    const { phone, socket, errors } = await phoned();
    socket.say(connected(8000, { a: 1 }), connected(24000, { a: 2 }));
    expect([phone.getMetadata().sampleRate, phone.getHeaders(), errors[0]?.message]).toEqual([
      8000,
      { a: 1 },
      'PhoneSocketB ignores a second first message',
    ]);
  });

  it('takes keys in each of their forms', async () => {
    const { phone, socket } = await phoned();
    const keys: string[] = [];
    phone.dtmf$.subscribe((digit) => keys.push(digit));
    socket.say(connected(), JSON.stringify(dtmf('5')), JSON.stringify(dtmf(6)), '{"dtmf":{"digit":"7"}}');
    expect(keys).toEqual(['5', '6', '7']);
  });

  it('asks for no notify unless configured to, and flushes when the pump has drained', async () => {
    const { clock, phone, socket } = await phoned();
    socket.say(connected());
    phone.enqueue(speech(300));
    let flushedAt = NaN;
    const flushed = phone.flush().then(() => (flushedAt = clock.now()));
    clock.flush();
    await flushed;
    expect([flushedAt, socket.sent.every((frame) => typeof frame !== 'string')]).toEqual([300, true]);
  });

  it('goes by the platform’s word with notify: the end is when it has played', async () => {
    const { clock, phone, socket } = await phoned({ notify: true });
    socket.say(connected());
    phone.enqueue(speech(100));
    let flushedAt = NaN;
    const flushed = phone.flush().then(() => (flushedAt = clock.now()));
    clock.schedule(() => socket.say('{"event":"websocket:notify","payload":{"id":"m-1"}}'), 170);
    clock.flush();
    await flushed;
    expect(socket.sent.filter((frame) => typeof frame === 'string')).toEqual([
      '{"action":"notify","payload":{"id":"m-1"}}',
    ]);
    expect(flushedAt).toBe(170);
  });

  it("never fills the platform's buffer, whatever the lead", async () => {
    const { clock, phone, socket } = await phoned({ leadMs: 20_000 });
    socket.say(connected());
    let most = 0;
    const watch = (): void => {
      most = Math.max(most, socket.sent.length - clock.now() / 20);
      if (clock.now() < 60_000) clock.schedule(watch, 10);
    };
    watch();
    phone.play(of(speech(60_000))).subscribe();
    clock.flush();
    expect(most).toBeGreaterThan(900);
    expect(most).toBeLessThanOrEqual(1024);
  });

  describe('initialize()', () => {
    it('waits for the first message of a call that is attached, so that the format is known', async () => {
      const clock = new TestClock();
      const phone = new PhoneSocketB({ scheduler: clock });
      const socket = new FakePhoneSocket();
      phone.attach(socket);
      const ready = phone.initialize();
      await clock.advance(5000);
      expect(phone.isReady()).toBe(false);
      socket.say(connected(8000));
      await ready;
      expect([phone.getMetadata().sampleRate, clock.pending]).toEqual([8000, 0]);
    });

    it('fails when that call ends before, or says nothing', async () => {
      const clock = new TestClock();
      const [gone, silent] = [0, 1].map(() => {
        const phone = new PhoneSocketB({ scheduler: clock, connectTimeoutMs: 3000 });
        const socket = new FakePhoneSocket();
        phone.attach(socket);
        return { socket, ready: phone.initialize().catch((error: unknown) => error as VoiceError) };
      });
      await settle();
      gone?.socket.drop();
      await clock.advance(3000);
      expect([await gone?.ready, await silent?.ready]).toMatchObject([{ code: 'connection' }, { code: 'timeout' }]);
      expect([silent?.socket.closes, clock.pending]).toEqual([[1008], 0]);
    });

    it('is given up at once by dispose()', async () => {
      const clock = new TestClock();
      const phone = new PhoneSocketB({ scheduler: clock });
      const socket = new FakePhoneSocket();
      phone.attach(socket);
      const ready = phone.initialize().catch((error: unknown) => error as VoiceError);
      await settle();
      await phone.dispose();
      expect([(await ready) instanceof Error, socket.closes, clock.pending]).toEqual([true, [1000], 0]);
    });

    it('does not wait without a call', async () => {
      const phone = new PhoneSocketB();
      await phone.initialize();
      expect(phone.isReady()).toBe(true);
      await phone.dispose();
    });
  });

  it('tells of keys and of the end of the call by stream and callback', async () => {
    const { phone, socket } = await phoned();
    const told: string[] = [];
    phone.onDtmf((digit) => told.push(digit));
    phone.dtmf$.subscribe((digit) => told.push(`$${digit}`));
    phone.onCallEnded(({ reason }) => told.push(reason));
    phone.callEnded$.subscribe(({ reason }) => told.push(`$${reason}`));
    socket.say(connected(), JSON.stringify(dtmf('1')));
    socket.drop();
    expect([told, await firstValueFrom(phone.callEnded$)]).toEqual([
      ['1', '$1', 'closed', '$closed'],
      { reason: 'closed' },
    ]);
  });

  describe("the reference's sessions, line by line", () => {
    const signatureSecret = 'a-signature-secret';

    it('a call that goes well', async () => {
      const authorization = `Bearer ${signToken(signatureSecret)}`;
      expect(await verifyPhoneSocketBSignature({ signatureSecret, authorization })).toBe(true);

      const clock = new TestClock();
      const phone = new PhoneSocketB({ scheduler: clock, notify: true });
      const socket = new FakePhoneSocket();
      const sent = (): (string | number)[] =>
        socket.sent.splice(0).map((each) => (typeof each === 'string' ? each : each.length));
      const frames = (count: number): number[] => Array.from({ length: count }, () => 640);
      const [heard, keys, ends]: [number[], string[], string[]] = [[], [], []];
      phone.audio$.subscribe(({ timestamp = NaN }) => heard.push(timestamp));
      phone.onDtmf((digit) => keys.push(digit));
      phone.onCallEnded(({ reason }) => ends.push(reason));
      phone.attach(socket);
      const ready = phone.initialize();
      socket.say(connected(16000, { 'caller-id': '447700900123' }));
      await ready;
      await phone.start();
      expect([phone.getContentType(), phone.getHeaders()]).toEqual([
        'audio/l16;rate=16000',
        { 'caller-id': '447700900123' },
      ]);

      const marks: string[] = [];
      phone.enqueue(speech(1000));
      const flushed = phone.flush();
      let audio = 0;
      for (let at = 0; at < 1000; at += 20) {
        socket.say(new Uint8Array(640));
        await clock.advance(20);
        for (const each of sent()) {
          if (typeof each === 'number') audio += each;
          else marks.push(each);
        }
      }
      expect([audio, heard.length, heard.at(-1)]).toEqual([50 * 640, 50, 980]);
      socket.say(JSON.stringify(dtmf('5')));
      expect(marks.at(-1)).toBe(`{"action":"notify","payload":{"id":"m-${marks.length}"}}`);
      for (const { payload } of marks.map((each) => JSON.parse(each) as { payload: object })) {
        socket.say(JSON.stringify({ event: 'websocket:notify', payload }));
      }
      await flushed;
      expect(phone.positionMs).toBe(1000);

      const cut = phone.play(of(speech(2000))).subscribe();
      await clock.advance(100);
      cut.unsubscribe();
      expect(sent()).toEqual([...frames(9), '{"action":"clear"}']);
      expect(phone.positionMs).toBe(100);
      socket.say('{"event":"websocket:cleared"}');
      await clock.advance(3000);
      socket.drop();
      expect([sent(), keys, ends]).toEqual([[], ['5'], ['closed']]);
      await phone.dispose();
      expect(clock.pending).toBe(0);
    });

    it('a server that refuses the token', async () => {
      const authorization = `Bearer ${signToken('another-secret')}`;
      expect(await verifyPhoneSocketBSignature({ signatureSecret, authorization })).toBe(false);
    });
  });
});
