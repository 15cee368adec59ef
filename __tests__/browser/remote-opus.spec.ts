// Slow: starts a browser.
import OpusScript from 'opusscript';
import type { Page } from 'playwright-core';
import { int16Bytes } from 'rxvoice/audio';
import { encodeAudioMessage, encodePageWire } from '../../lib/transport/page-wire.ts';
import { lagOf, likeness, sweep } from '../providers/platform/sweep.ts';
import { TestBrowser } from './support/browser.ts';

/** A message of a server for a page: text, or the bytes of a binary one. */
type Message = string | number[];

/** What a page did, in order. */
interface Deeds {
  /** The speaker's orders: `begin 0`, `push`, `end`, `stop`. */
  readonly orders: readonly string[];
  readonly plays: readonly (readonly number[])[];
  /** What was sent, socket by socket. */
  readonly sent: readonly (readonly Message[])[];
  readonly problems: readonly string[];
  /** Why a connection was lost. */
  readonly losses: readonly string[];
  readonly logs: readonly string[];
}

const session = { session: 'a'.repeat(32), token: 'b'.repeat(64), resumed: false, resumeMs: 30_000 };
const welcome = (more: object = {}): string =>
  encodePageWire({
    type: 'welcome',
    ...session,
    rate: 48_000,
    mic: 0,
    missed: 0,
    audio: 'opus',
    ...more,
  });
const begin = (id: number, from = 0): string => encodePageWire({ type: 'play', id, from, paused: false, volume: 1 });
const end = (id: number, at: number): string => encodePageWire({ type: 'end', id, at });

/** The packets of a play, from a position on. */
function packets(id: number, samples: Int16Array<ArrayBuffer>, from = 0): number[][] {
  const codec = new OpusScript(48_000, 1, OpusScript.Application.AUDIO);
  const all = Array.from({ length: Math.ceil((samples.length + 312) / 960) }, (_, index) => {
    const frame = new Int16Array(960);
    frame.set(samples.slice(index * 960, (index + 1) * 960));
    return [
      ...encodeAudioMessage([id, from + index * 960], codec.encode(int16Bytes(frame) as Buffer<ArrayBuffer>, 960)),
    ];
  });
  codec.delete();
  return all;
}

/**
 * A page and its server's messages, socket by socket; each socket's come at once. Ends when the speaker was told the end
 * of a play, or when the page has sent a message with this type.
 */
function listen(page: Page, sockets: readonly (readonly Message[])[], talk: { said?: number[]; until?: string } = {}) {
  return page.evaluate(
    async ({ sockets: messages, said = [], until = '' }): Promise<Deeds> => {
      const orders: string[] = [];
      const plays: number[][] = [];
      const sent: Message[][] = [];
      const problems: string[] = [];
      const losses: string[] = [];
      const logs: string[] = [];
      const over = new rxjs.Subject<void>();
      const speaker = {
        ...{ heard: 0, tailMs: 0, moved$: rxjs.NEVER, open: () => Promise.resolve() },
        ...{ pause: () => undefined, resume: () => undefined, setVolume: () => undefined, close: () => undefined },
        begin(from: number) {
          orders.push(`begin ${from}`);
          plays.push([]);
        },
        push(samples: Int16Array) {
          orders.push('push');
          plays.at(-1)?.push(...samples);
        },
        end() {
          orders.push('end');
          over.next();
        },
        stop: () => orders.push('stop'),
      };
      const openSocket = (): WebSocket => {
        const mine: Message[] = [];
        const theirs = messages[sent.length] ?? [];
        sent.push(mine);
        const socket = new EventTarget() as WebSocket;
        const send = (data: string | Uint8Array): void => {
          mine.push(typeof data === 'string' ? data : [...data]);
          if (until && typeof data === 'string' && data.includes(`"${until}"`)) over.next();
          if (mine.length > 1) return;
          for (const each of theirs) {
            const raw = typeof each === 'string' ? each : Uint8Array.from(each).buffer;
            socket.dispatchEvent(new MessageEvent('message', { data: raw }));
          }
        };
        const close = (): void => {
          Object.assign(socket, { readyState: 3 });
          socket.dispatchEvent(new CloseEvent('close', { code: 1006 }));
        };
        Object.assign(socket, { readyState: 1, bufferedAmount: 0, send, close });
        queueMicrotask(() => socket.dispatchEvent(new Event('open')));
        return socket;
      };
      const microphone = new rxvoice.BufferInput({ sampleRate: 16_000 });
      const logger = rxvoice.createLogger({ ...console, warn: (message) => logs.push(message) });
      const pipeline = new remote.RemotePipeline({
        ...{ url: 'ws://server', audio: 'opus', microphone, openSocket, logger },
        speaker: speaker,
      });
      pipeline.errors$.subscribe(({ message }) => problems.push(message));
      pipeline.link$.subscribe((link) => {
        if (link.type === 'reconnecting') losses.push(link.error.message);
      });
      const done = rxjs.firstValueFrom(over);
      await pipeline.start();
      microphone.push(pcm.int16Bytes(Int16Array.from(said)));
      if (until) pipeline.commitTurn();
      await done;
      await pipeline.dispose();
      return { orders, plays, sent, problems, losses, logs };
    },
    { sockets, ...talk },
  );
}

const binary = (messages: readonly Message[] = []): number[][] => messages.filter((each) => typeof each !== 'string');
const types = (messages: readonly Message[] = []): string[] =>
  messages.map((each) => (typeof each === 'string' ? (JSON.parse(each) as { type: string }).type : 'audio'));

describe('A page that talks Opus', () => {
  let browser: TestBrowser;
  let page: Page;
  beforeAll(async () => {
    browser = await TestBrowser.start();
    page = await browser.open();
  });
  afterAll(() => browser[Symbol.asyncDispose]());
  afterEach(() => {
    expect(browser.failures).toEqual([]);
  });

  it('plays each sample at its position, to the last, and no more', async () => {
    const said = sweep(990, 48_000);
    const all = packets(1, said);
    const { plays, orders, problems } = await listen(page, [
      // What comes again, and what misses its turn, is no one's.
      [
        welcome(),
        begin(1),
        ...all.slice(0, 9),
        ...all.slice(3, 5),
        ...all.slice(11, 12),
        ...all.slice(9, -1),
        end(1, said.length),
        ...all.slice(-1),
      ],
    ]);
    const [heard = []] = plays;
    expect(heard).toHaveLength(said.length);
    expect(lagOf(said, Int16Array.from(heard))).toBe(0);
    expect(likeness(said, heard)).toBeGreaterThan(0.98);
    expect(orders.filter((order) => order !== 'push')).toEqual(['begin 0', 'end']);
    expect(problems).toEqual([]);
  });

  it.each([
    ['a cut', [encodePageWire({ type: 'cut', id: 1 })]],
    ['the next answer', []],
  ])('plays nothing of an answer late after %s, and nothing of it in the next (F31)', async (_what, cut) => {
    const silence = new Int16Array(9600);
    const { orders, plays } = await listen(page, [
      [
        ...[welcome(), begin(1), ...packets(1, sweep(2000, 48_000, 2000)), ...cut],
        ...[begin(2), ...packets(2, silence), end(2, silence.length)],
      ],
    ]);
    // All came at once, before the browser had decoded anything.
    expect(orders.filter((order) => order !== 'push')).toEqual(['begin 0', ...cut.map(() => 'stop'), 'begin 0', 'end']);
    expect(plays[0]).toEqual([]);
    expect(plays[1]).toHaveLength(silence.length);
    expect(Math.max(...(plays[1] ?? []))).toBeLessThan(10);
  });

  it('plays nothing of what was cut while it was decoded', async () => {
    const all = [begin(1), ...packets(1, sweep(2000, 48_000)), encodePageWire({ type: 'cut', id: 1 })];
    // Encoding so much takes longer than decoding that.
    const { orders } = await listen(page, [[welcome(), ...all]], {
      said: [...sweep(4000, 16_000)],
      until: 'commitTurn',
    });
    expect(orders).toEqual(['begin 0', 'stop']);
  });

  it('goes on at a new connection where it was, with what comes again for the decoder', async () => {
    const said = sweep(1000, 48_000);
    const { plays, orders, sent, problems, losses } = await listen(page, [
      // A packet that no codec accepts ends the first connection.
      [
        welcome(),
        begin(1),
        ...packets(1, said).slice(0, 20),
        [...encodeAudioMessage([1, 19_200], Uint8Array.of(0x7b, 0x41, 200, 1))],
      ],
      [...[welcome({ resumed: true }), begin(1, 9600), ...packets(1, said.slice(9600), 9600), end(1, said.length)]],
    ]);
    const again = JSON.parse(String(sent[1]?.[0])) as object;
    expect(again).toMatchObject({ type: 'hello', audio: 'opus', play: 1, session: session.session });
    expect(problems).toEqual([expect.stringContaining('the Opus codec failed') as string]);
    expect(losses).toEqual(['RemotePipeline: the connection to the server was lost (1006)']);
    const [heard = []] = plays;
    expect(plays).toHaveLength(1);
    expect(orders.at(-1)).toBe('end');
    expect(heard).toHaveLength(said.length);
    expect(lagOf(said, Int16Array.from(heard))).toBe(0);
    expect(likeness(said, heard)).toBeGreaterThan(0.97);
  });

  it('sends what the microphone heard before the command that came after it', async () => {
    const said = sweep(990, 16_000);
    const { sent } = await listen(page, [[welcome()]], { said: [...said], until: 'commitTurn' });
    // Ten milliseconds more would be a packet.
    expect(types(sent[0])).toEqual([
      'hello',
      'ping',
      ...Array.from({ length: 49 }, () => 'audio'),
      'commitTurn',
      'bye',
    ]);
    const codec = new OpusScript(16_000, 1, OpusScript.Application.AUDIO);
    const heard = binary(sent[0]).flatMap((bytes, index) => {
      expect(bytes.slice(0, 4)).toEqual([...encodeAudioMessage([index * 320], new Uint8Array(0))]);
      const decoded = codec.decode(Buffer.from(bytes.slice(4)));
      return [...new Int16Array(new Uint8Array(decoded).buffer)];
    });
    codec.delete();
    expect(lagOf(said, Int16Array.from(heard.slice(104)))).toBe(0);
    expect(binary(sent[0]).flat().length).toBeLessThan((said.length * 2) / 5);
  });

  it('talks linear16 with a server that has no Opus, and says so', async () => {
    const said = [...sweep(100, 16_000)];
    const { sent, logs } = await listen(page, [[welcome({ audio: undefined, rate: 24_000 })]], {
      said,
      until: 'commitTurn',
    });
    expect(types(sent[0])).toEqual(['hello', 'audio', 'ping', 'commitTurn', 'bye']);
    expect(binary(sent[0])[0]).toHaveLength(4 + 3200);
    expect(logs).toEqual([expect.stringMatching(/linear16 instead of Opus.*the server/) as string]);
  });

  it.each(['AudioEncoder', 'AudioDecoder'])('talks linear16 in a browser without %s, and says so', async (missing) => {
    const bare = await browser.open();
    await bare.evaluate((name) => Reflect.deleteProperty(globalThis, name), missing);
    const { sent, logs } = await listen(bare, [[welcome({ audio: undefined, rate: 24_000 })]], { until: 'commitTurn' });
    expect(JSON.parse(String(sent[0]?.[0]))).not.toHaveProperty('audio');
    expect(logs).toEqual([expect.stringMatching(/linear16 instead of Opus.*this browser/) as string]);
    await bare.close();
  });
});
