import OpusScript from 'opusscript';
import {
  createLogger,
  PageSockets,
  type AudioChunk,
  type PageSocket,
  type PageSocketConfig,
  type PlaybackEvent,
} from 'rxvoice';
import { int16Bytes, int16View } from 'rxvoice/audio';
import { PageOpus } from '../../../lib/providers/platform/page-opus.ts';
import { parsePlayAudio, parseServerMessage } from '../../../lib/remote/server-messages.ts';
import { encodeAudioMessage, encodePageWire, type PageHello } from '../../../lib/transport/page-wire.ts';
import { FakePhoneSocket } from '../../conformance/phone.ts';
import { settle, TestClock, until } from '../../transport/test-clock.ts';
import { lagOf, likeness, sweep } from './sweep.ts';

const micRate = 16_000;
const micFrame = micRate / 50;
/** What libopus holds back: 6.5 ms. */
const micDelay = 104;
const playDelay = 312;

/** No 20 ms of Opus. */
const hostile: readonly number[][] = [
  [],
  [0xff],
  // 60 ms, 2.5 ms, and 48 frames of them.
  [0x18, 1, 2, 3],
  [0xe0, 1, 2, 3],
  [0xe3, 48, 1, 2],
  Array.from({ length: 1276 }, () => 0x78),
  Array.from({ length: 60_000 }, () => 0xff),
];

const joined = (parts: readonly Int16Array[]): Int16Array<ArrayBuffer> =>
  Int16Array.from(parts.flatMap((part) => [...part]));

/** A page that talks Opus, without a browser. */
class OpusPage extends FakePhoneSocket {
  readonly codecs: OpusScript[] = [];
  readonly #encoder = this.#open(micRate);

  #open(rate: 16_000 | 48_000): OpusScript {
    const codec = new OpusScript(rate, 1, OpusScript.Application.AUDIO);
    this.codecs.push(codec);
    return codec;
  }

  get messages(): Record<string, unknown>[] {
    return this.sent.flatMap((data) =>
      typeof data === 'string' ? [parseServerMessage(data) as unknown as Record<string, unknown>] : [],
    );
  }

  get bytes(): number {
    return this.sent.reduce((sum, data) => sum + data.length, 0);
  }

  /** The binary messages for what the microphone hears. */
  packets(samples: Int16Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
    return Array.from({ length: Math.floor(samples.length / micFrame) }, (_, index) => {
      const frame = samples.slice(index * micFrame, (index + 1) * micFrame);
      const packet = this.#encoder.encode(int16Bytes(frame) as Buffer<ArrayBuffer>, micFrame);
      return encodeAudioMessage([index * micFrame], packet);
    });
  }

  /** What is heard of each play, from its first position on, as a page's decoder has it. */
  plays(): { id: number; from: number; samples: Int16Array<ArrayBuffer> }[] {
    const plays: { id: number; from: number; parts: Int16Array[]; length: number; end?: number }[] = [];
    let decoder: OpusScript | undefined;
    for (const data of this.sent) {
      const play = plays.at(-1);
      if (typeof data !== 'string') {
        const frame = parsePlayAudio(data, true);
        if (!frame || !decoder || frame.play !== play?.id) throw new Error('a packet of no play');
        const samples = new Int16Array(new Uint8Array(decoder.decode(frame.data as Buffer<ArrayBuffer>)).buffer);
        const at = frame.at - playDelay;
        const news = samples.subarray(play.from + play.length - at, (play.end ?? Infinity) - at);
        play.parts.push(news);
        play.length += news.length;
        continue;
      }
      const message = parseServerMessage(data);
      if (message?.type === 'play') {
        decoder = this.#open(48_000);
        plays.push({ id: message.id, from: message.from, parts: [], length: 0 });
      }
      if (message?.type === 'end' && play) play.end = message.at;
    }
    return plays.map(({ id, from, parts }) => ({ id, from, samples: joined(parts) }));
  }
}

const format = { encoding: 'linear16', sampleRate: 48_000, channels: 1 } as const;
const chunk = (samples: Int16Array<ArrayBuffer>): AudioChunk => ({ data: int16Bytes(samples), metadata: format });

describe('PageSocket with Opus', () => {
  const ends: (() => void)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  function serve(config: PageSocketConfig = {}) {
    const clock = new TestClock();
    const opened: PageSocket[] = [];
    const logs: string[] = [];
    const sink = { debug: () => undefined, info: () => undefined, error: () => undefined };
    const logger = createLogger({ ...sink, warn: (message) => logs.push(message) });
    const pages = new PageSockets({ open: (page) => opened.push(page), scheduler: clock, config, logger });
    ends.push(() => pages[Symbol.dispose]());
    const call = (more: Partial<PageHello> = {}, asks = true): OpusPage => {
      const socket = new OpusPage();
      ends.push(() => {
        for (const codec of socket.codecs) codec.delete();
      });
      pages.accept(socket, { headers: {} });
      const hello: PageHello = { type: 'hello', rate: micRate, received: 0, heard: 0, seen: 0, ...more };
      socket.say(encodePageWire({ ...hello, ...(asks && { audio: 'opus' }) }));
      return socket;
    };
    return { clock, opened, logs, call };
  }

  async function talking(config: PageSocketConfig = {}) {
    const server = serve(config);
    const socket = server.call();
    await until(() => server.opened.length > 0);
    const [page] = server.opened;
    if (!page) throw new Error('not opened');
    const errors: string[] = [];
    const heard: AudioChunk[] = [];
    page.errors$.subscribe(({ message }) => errors.push(message));
    page.audio$.subscribe((audio) => heard.push(audio));
    await page.initialize();
    await page.start();
    const { session, token } = socket.messages[0] as { session: string; token: string };
    const back = (more: Partial<PageHello> = {}): OpusPage => server.call({ session, token, ...more });
    const samples = (): Int16Array<ArrayBuffer> => joined(heard.map(({ data }) => int16View(data)));
    return { ...server, socket, page, errors, heard, samples, back };
  }

  it('hears the microphone where it was, to the sample, and each packet once', async () => {
    const { socket, heard, samples, back, errors } = await talking();
    expect(socket.messages[0]).toMatchObject({ audio: 'opus', rate: 48_000 });
    const said = sweep(1000, micRate);
    const packets = socket.packets(said);
    socket.say(...packets.slice(0, 20));
    socket.drop();
    const again = back();
    expect(again.messages[0]).toMatchObject({ audio: 'opus', resumed: true, mic: 20 * micFrame });
    // The same encoder goes on: what the page is unsure of comes again.
    again.say(...packets.slice(17));
    expect(samples()).toHaveLength(said.length - micDelay);
    expect(lagOf(said, samples())).toBe(0);
    expect(likeness(said.subarray(0, said.length - 400), samples())).toBeGreaterThan(0.98);
    let at = 0;
    for (const { data, timestamp } of heard) {
      expect(timestamp).toBeCloseTo((at / micRate) * 1000, 6);
      at += data.length / 2;
    }
    const bytes = packets.reduce((sum, { length }) => sum + length, 0);
    expect(bytes).toBeLessThan((said.length * 2) / 5);
    expect(errors).toEqual([]);
  });

  it('plays each sample at its position, to the very last', async () => {
    const { socket, page } = await talking();
    const said = sweep(990, 48_000);
    const events: PlaybackEvent[] = [];
    page.play([chunk(said.slice(0, 10_000)), chunk(said.slice(10_000))]).subscribe((event) => events.push(event));
    await settle();
    const [play] = socket.plays();
    expect(play?.samples).toHaveLength(said.length);
    expect(lagOf(said, play?.samples ?? said)).toBe(0);
    expect(likeness(said, play?.samples ?? [])).toBeGreaterThan(0.98);
    expect(socket.bytes).toBeLessThan((990 * 48) / 5);
    socket.say(encodePageWire({ type: 'heard', play: 1, at: said.length, tailMs: 0 }));
    expect(events.at(-1)).toMatchObject({ type: 'finished', positionMs: 990 });
  });

  it('lets nothing of an answer into the next one, and goes on with a new encoder where a page is back', async () => {
    const { socket, page, back } = await talking({ leadMs: 1010 });
    const silence = new Int16Array(19_000);
    const [first, second] = [sweep(3000, 48_000, 2000), joined([silence, sweep(2600, 48_000)])];
    const playing = page.play([chunk(first)]).subscribe();
    await settle();
    playing.unsubscribe();
    page.play([chunk(second)]).subscribe();
    await settle();
    const [, reply] = socket.plays();
    expect(reply).toMatchObject({ id: 2, from: 0 });
    expect(Math.max(...(reply?.samples.subarray(0, 18_000) ?? [9999]))).toBeLessThan(10);
    expect(lagOf(second.slice(19_000, 40_000), reply?.samples.subarray(19_000) ?? second)).toBe(0);
    socket.say(encodePageWire({ type: 'heard', play: 2, at: 9600, tailMs: 0 }));
    socket.drop();
    const again = back({ play: 2, received: 20_001, heard: 19_000 });
    const [rest] = again.plays();
    // Some of what it has comes again, for the new encoder.
    expect(rest).toMatchObject({ id: 2, from: 20_001 - 1001 });
    expect(lagOf(second.slice(19_000, 50_000), rest?.samples ?? second)).toBe(0);
    expect(rest?.samples.length).toBeGreaterThan(40_000);
  });

  it('goes on after an end that was none, without a gap or a repeated sample', async () => {
    const { socket, page } = await talking();
    const said = sweep(1000, 48_000);
    page.enqueue(chunk(said.slice(0, 20_123)));
    const flushed = page.flush();
    await settle();
    page.enqueue(chunk(said.slice(20_123)));
    void page.flush();
    await settle();
    const plays = socket.plays();
    const again = 20_123 - 3840;
    expect(plays.map(({ id, from }) => [id, from])).toEqual([
      [1, 0],
      [1, again],
    ]);
    const [first, second] = plays.map(({ samples }) => samples);
    const all = joined([first ?? said, second?.subarray(3840) ?? said]);
    expect(all).toHaveLength(said.length);
    // Where it goes on as well.
    expect(likeness(said, all)).toBeGreaterThan(0.98);
    expect(likeness(said.subarray(20_123, 20_843), all.subarray(20_123))).toBeGreaterThan(0.95);
    socket.say(encodePageWire({ type: 'heard', play: 1, at: said.length, tailMs: 0 }));
    await flushed;
  });

  it('drops packets that are no 20 ms of Opus, with one warning, and goes on (F35)', async () => {
    const { socket, heard, samples, errors } = await talking();
    const said = sweep(1000, micRate);
    const packets = socket.packets(said);
    socket.say(...packets.slice(0, 10));
    const { length } = heard;
    socket.say(...hostile.map((bytes) => encodeAudioMessage([10 * micFrame], Uint8Array.from(bytes))));
    // This one is 20 ms long, if one believes its beginning: its padding ends beyond it.
    socket.say(encodeAudioMessage([11 * micFrame], Uint8Array.of(0x7b, 0x41, 200, 1)));
    // The first one took the place of a packet.
    expect(heard).toHaveLength(length);
    expect(errors).toEqual([expect.stringContaining('malformed audio') as string]);
    // Noise in the frame of a packet is noise, and no more.
    let seed = 7;
    const random = (): number => (seed = (seed * 48_271) % 0x7fff_ffff) & 0xff;
    for (let index = 12; index < 411; index++) {
      const noise = Uint8Array.from({ length: 1 + (index % 90) }, random);
      noise[0] = 0x48;
      socket.say(encodeAudioMessage([index * micFrame], noise));
    }
    expect(heard.slice(length).every(({ data }) => data.length === micFrame * 2)).toBe(true);
    socket.say(
      ...packets.slice(10).map((packet, index) => encodeAudioMessage([(411 + index) * micFrame], packet.subarray(4))),
    );
    const end = samples().subarray(-20 * micFrame);
    expect(likeness(said.subarray(-20 * micFrame - micDelay, -micDelay), end)).toBeGreaterThan(0.95);
    expect(errors).toHaveLength(1);
    expect(socket.closes).toEqual([]);
  });

  it('shows the codec no packet of another length', () => {
    const shown: Uint8Array[] = [];
    const codec = {
      encode: (samples: Uint8Array) => samples,
      decode: (packet: Uint8Array) => (shown.push(packet), new Uint8Array(640)),
      ...{ set: () => undefined, close: () => undefined },
    };
    const opus = new PageOpus(() => codec, micRate);
    expect(hostile.map((bytes) => opus.decode({ at: 0, data: Uint8Array.from(bytes) }))).toEqual(
      hostile.map(() => undefined),
    );
    expect(shown).toEqual([]);
    expect(opus.decode({ at: 1_000, data: Uint8Array.of(0x78, 1) })?.data).toHaveLength(640);
  });

  it('talks linear16 with a page that does not ask, and where the server may not', () => {
    const { call, opened, logs } = serve();
    const page = call({}, false);
    expect(opened).toHaveLength(1);
    expect(page.messages[0]).toMatchObject({ rate: 24_000 });
    const off = serve({ opus: false });
    const asking = off.call();
    expect(off.opened).toHaveLength(1);
    for (const { messages } of [page, asking]) expect('audio' in (messages[0] ?? {})).toBe(false);
    expect(logs).toEqual([]);
  });

  it('opens nothing for a page that leaves while the codec loads', async () => {
    const { call, opened } = serve();
    call().drop();
    call();
    await until(() => opened.length > 0);
    await settle();
    expect(opened).toHaveLength(1);
  });

  it('talks linear16 where the codec has no room, says so, and has room again after a call', async () => {
    const { call, opened, logs } = serve();
    const sockets = Array.from({ length: 33 }, () => call());
    await until(() => opened.length === 33);
    const codecs = sockets.map(({ messages }) => messages[0]?.['audio'] ?? 'linear16');
    expect(codecs.filter((codec) => codec === 'opus')).toHaveLength(32);
    expect(codecs.at(-1)).toBe('linear16');
    expect(logs).toEqual([expect.stringMatching(/linear16 instead of Opus: .*64 codecs.*@discordjs\/opus/) as string]);
    // Each codec has memory of its own, also among so many.
    const said = sockets.map((_socket, index) => sweep(200, micRate, 300 + index * 60));
    const heard = opened.map((page) => {
      const parts: Int16Array[] = [];
      page.audio$.subscribe(({ data }) => parts.push(int16View(data)));
      return parts;
    });
    for (const page of opened) {
      await page.initialize();
      await page.start();
      page.play([chunk(sweep(200, 48_000))]).subscribe();
    }
    const packets = sockets.map((socket, index) => socket.packets(said[index] ?? new Int16Array(0)));
    for (let at = 0; at < 10; at++) sockets.forEach((socket, index) => socket.say(packets[index]?.[at] ?? ''));
    for (let index = 0; index < 32; index++) {
      expect(likeness(said[index]?.subarray(0, 2400) ?? [], joined(heard[index] ?? []))).toBeGreaterThan(0.97);
    }
    opened[0]?.hangUp();
    const later = call();
    await until(() => opened.length === 34);
    expect(later.messages[0]).toMatchObject({ audio: 'opus' });
  });
});
