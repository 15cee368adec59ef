import fc from 'fast-check';
import {
  followCall,
  newCall,
  type Call,
  type CallContext,
  type CallEffect,
  type CallInput,
} from '../../lib/remote/call-fold.ts';
import {
  encodeAudioMessage,
  encodePageWire,
  opusDelayFrames,
  opusPacketFrames,
  opusRate,
  type ServerMessage,
} from '../../lib/transport/page-wire.ts';
import { eachEffect } from '../../lib/stream/fold.ts';

const rate = 16_000;
/** 20 ms of the microphone. */
const captured = 320;
const id = '0123456789abcdef0123456789abcdef';

/** A page's call, and a server that does by the letter what docs/remote.md says. */
class World {
  call: Call = newCall;
  effects: CallEffect[] = [];
  context: CallContext;
  /** Whether the page's socket is open; what it sends is lost otherwise. */
  isUp = false;
  /** The position up to which the server has the microphone's audio, and the gaps in it. */
  micAt = 0;
  gaps = 0;
  commands: unknown[] = [];
  /** The number of the last command that the server has; `undefined` of a server that does not count them. */
  seq: number | undefined = 0;
  /** What the page's user asked for. */
  given: unknown[] = [];
  /** Sent, and not yet received. */
  flying: (string | Uint8Array)[] = [];
  /** Frames that the encoder has. */
  encoder = 0;

  readonly isOpus: boolean;

  constructor(isOpus = false) {
    this.isOpus = isOpus;
    this.context = { now: 0, socket: 'closed', hasOpus: isOpus, rate, heard: 0, tailMs: 40 };
  }

  take(input: CallInput): CallEffect[] {
    if (input.type === 'command') this.given.push(input.command);
    const step = followCall(this.call, input, this.context);
    this.call = step[0];
    const effects: CallEffect[] = [];
    eachEffect(step, (effect) => effects.push(effect));
    this.effects.push(...effects);
    for (const effect of effects) {
      if (effect.type === 'send' && this.isUp) this.flying.push(effect.data);
      else if (effect.type === 'encode') this.encoder += 1;
      else if (effect.type === 'encoder.close') this.encoder = 0;
    }
    return effects;
  }

  receive(message: ServerMessage<object>): CallEffect[] {
    return this.take({ type: 'received', data: encodePageWire(message) });
  }

  connect(): CallEffect[] {
    this.isUp = true;
    this.context = { ...this.context, socket: 'open' };
    this.take({ type: 'open' });
    this.land();
    return this.welcome();
  }

  welcome(): CallEffect[] {
    const audio = this.isOpus ? ({ audio: 'opus' } as const) : {};
    const counts = { ...this.arrived, missed: 0, resumeMs: 30_000, rate: opusRate };
    return this.receive({ type: 'welcome', session: id, token: id, resumed: true, ...counts, ...audio });
  }

  get arrived(): { readonly mic: number; readonly commands?: number } {
    return { mic: this.micAt, ...(this.seq !== undefined && { commands: this.seq }) };
  }

  /** The last messages on their way never arrive. */
  lose(count: number): void {
    this.isUp = false;
    this.context = { ...this.context, socket: 'closed' };
    this.flying.splice(Math.max(0, this.flying.length - count));
    this.land();
    this.take({ type: 'lost', attempt: 1, delayMs: 250, error: undefined as never });
  }

  capture(frames = captured): CallEffect[] {
    return this.take({ type: 'captured', audio: new Uint8Array(frames * 2).fill(1) });
  }

  encode(): void {
    if (this.encoder === 0) return;
    this.encoder -= 1;
    this.take({ type: 'encoded', packet: new Uint8Array([1, 2, 3]) });
  }

  /** What is on its way arrives. */
  land(): void {
    for (const data of this.flying.splice(0)) {
      if (typeof data === 'string') {
        const { seq = 0, ...message } = JSON.parse(data) as { readonly type: string; readonly seq?: number };
        if (message.type !== 'send' || (this.seq !== undefined && seq <= this.seq)) continue;
        if (this.seq !== undefined) this.seq = seq;
        this.commands.push(message);
      } else {
        const at = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
        const frames = this.isOpus ? opusPacketFrames(rate) : (data.length - 4) / 2;
        if (at > this.micAt) this.gaps += 1;
        this.micAt = Math.max(this.micAt, at + frames);
      }
    }
  }

  audio(play: number, at: number, frames: number): CallEffect[] {
    const samples = Int16Array.from({ length: frames }, (_, index) => at + index);
    const bytes = this.isOpus ? new Uint8Array([7]) : new Uint8Array(samples.buffer);
    return this.take({ type: 'received', data: encodeAudioMessage([play, at], bytes).buffer });
  }
}

const typesOf = (effects: readonly CallEffect[]): string[] => effects.map(({ type }) => type);

describe('a page’s call', () => {
  it('asks to continue where it was: session, play, what was received, heard and seen', () => {
    const world = new World();
    world.connect();
    world.receive({ type: 'play', id: 3, from: 100, paused: false, volume: 1 });
    world.audio(3, 100, 50);
    world.receive({ type: 'event', seq: 9, event: { type: 'user.idle', idleMs: 15_000, at: 1 } });
    world.context = { ...world.context, heard: 120.7 };
    world.lose(0);
    const [hello] = world.take({ type: 'open' });
    expect(hello?.type === 'send' && JSON.parse(hello.data as string)).toEqual({
      ...{ type: 'hello', version: 1, rate, session: id, token: id },
      ...{ play: 3, received: 150, heard: 120, seen: 9 },
    });
  });

  it('keeps what is said while no socket is open, and sends it in order', () => {
    const world = new World();
    world.connect();
    world.lose(0);
    world.capture();
    world.take({ type: 'command', command: { type: 'send', text: 'now' } });
    world.capture();
    world.connect();
    world.land();
    expect({ micAt: world.micAt, gaps: world.gaps, commands: world.commands }).toEqual({
      ...{ micAt: 2 * captured, gaps: 0 },
      commands: [{ type: 'send', text: 'now' }],
    });
  });

  it('sends a command again that was lost with the audio before it, and only once', () => {
    const world = new World();
    world.connect();
    world.capture();
    world.take({ type: 'command', command: { type: 'send', text: 'now' } });
    world.lose(world.flying.length);
    world.connect();
    world.capture();
    world.land();
    world.lose(0);
    world.connect();
    world.land();
    expect(world.commands).toEqual([{ type: 'send', text: 'now' }]);
  });

  it('keeps a command however long the connection is lost, and ten seconds of speech', () => {
    const world = new World();
    world.connect();
    world.lose(0);
    world.take({ type: 'command', command: { type: 'send', text: 'now' } });
    for (let frame = 0; frame < 600; frame++) world.capture();
    expect(world.call.outgoing.filter(({ isAudio }) => isAudio)).toHaveLength(500);
    world.connect();
    world.land();
    expect(world.commands).toEqual([{ type: 'send', text: 'now' }]);
  });

  it('sends nothing past a packet that is still being encoded', () => {
    const world = new World(true);
    world.connect();
    world.capture();
    const command = world.take({ type: 'command', command: { type: 'interrupt' } });
    expect(typesOf(command)).toEqual([]);
    expect(world.take({ type: 'encoded', packet: new Uint8Array([1]) })).toEqual([
      { type: 'send', data: encodeAudioMessage([0], new Uint8Array([1])) },
      { type: 'send', data: encodePageWire({ type: 'interrupt', seq: 1 }) },
    ]);
  });

  it('drops a codec that failed, with what it had, and connects anew', () => {
    const world = new World(true);
    world.connect();
    world.capture();
    expect(typesOf(world.take({ type: 'codec.failed', cause: 'broken' }))).toEqual([
      ...['encoder.close', 'error', 'reconnect'],
    ]);
    expect(world.call.outgoing).toEqual([]);
    world.lose(0);
    world.connect();
    world.capture();
    expect(world.take({ type: 'encoded', packet: new Uint8Array([2]) })).toEqual([
      { type: 'send', data: encodeAudioMessage([captured], new Uint8Array([2])) },
    ]);
  });

  it('encodes whole packets, whatever the microphone delivers at a time', () => {
    const world = new World(true);
    world.connect();
    expect(typesOf(world.capture(captured / 2))).not.toContain('encode');
    const [packet] = world.capture(captured);
    expect(packet?.type === 'encode' && packet.frame).toEqual(new Uint8Array(captured * 2).fill(1));
    expect(typesOf(world.capture(captured / 2))).toContain('encode');
  });

  it('tells each event once, and follows one welcome a socket', () => {
    const world = new World();
    const event = { type: 'user.idle', idleMs: 15_000, at: 1 };
    world.connect();
    const told = world.receive({ type: 'event', seq: 4, event });
    const again = [4, 3].flatMap((seq) => world.receive({ type: 'event', seq, event }));
    expect([typesOf(told), again]).toEqual([['event'], []]);
    expect(world.welcome()).toEqual([]);
  });

  it('gives a socket up that accepts no more data', () => {
    const world = new World();
    world.connect();
    world.capture();
    world.context = { ...world.context, socket: 'full' };
    expect(typesOf(world.capture())).toEqual(['reconnect']);
  });

  it('reports what was heard every 100 ms, and the end at once', () => {
    const world = new World();
    world.connect();
    world.receive({ type: 'play', id: 1, from: 0, paused: false, volume: 1 });
    world.audio(1, 0, 1000);
    const tell = (now: number, heard: number): unknown[] => {
      world.context = { ...world.context, now, heard };
      return world
        .take({ type: 'moved' })
        .map((effect) => effect.type === 'send' && (JSON.parse(effect.data as string) as { at: number }).at);
    };
    expect([tell(0, 10), tell(50, 300), tell(100, 500), tell(200, 500)]).toEqual([[10], [], [500], []]);
    world.receive({ type: 'end', id: 1, at: 1000 });
    expect([tell(150, 2000), tell(900, 2000)]).toEqual([[1000], []]);
  });

  it('begins a decoder’s samples before the play: its delay is not heard', () => {
    const world = new World(true);
    world.connect();
    expect(typesOf(world.receive({ type: 'play', id: 1, from: 0, paused: false, volume: 1 }))).toEqual([
      ...['volume', 'begin', 'decoder.open'],
    ]);
    expect(typesOf(world.audio(1, 0, 960))).toEqual(['decode']);
    // Not the one that is expected next.
    expect(typesOf(world.audio(1, 0, 960))).toEqual([]);
    const [push] = world.take({ type: 'decoded', samples: new Int16Array(960) });
    expect(push?.type === 'push' && push.samples.length).toBe(960 - opusDelayFrames(opusRate));
  });

  it('ends when a server sends more than a minute ahead of what is heard', () => {
    const world = new World();
    world.connect();
    world.receive({ type: 'play', id: 1, from: 0, paused: false, volume: 1 });
    world.audio(1, 0, 60 * opusRate);
    expect(() => world.audio(1, 60 * opusRate, 1)).toThrow('the server sends too much');
  });

  it('understands nothing on a socket before its welcome', () => {
    const world = new World();
    world.connect();
    world.lose(0);
    world.take({ type: 'open' });
    expect(world.receive({ type: 'volume', value: 0.5 })).toEqual([]);
    expect(world.audio(1, 0, 10)).toEqual([]);
  });
});

type Op = (world: World) => void;

const op = (name: string, run: Op): fc.Arbitrary<Op> => fc.constant(Object.assign(run, { toString: () => name }));
const traffic = fc.oneof(
  op('connect', (world) => world.isUp || world.connect()),
  fc
    .nat(3)
    .map((count): Op =>
      Object.assign((world: World) => world.isUp && world.lose(count), { toString: () => `lose ${count}` }),
    ),
  op('capture', (world) => world.capture()),
  op('half a frame', (world) => world.capture(captured / 2)),
  op('encode', (world) => world.encode()),
  op('land', (world) => world.land()),
  op('pong', (world) => world.isUp && world.receive({ type: 'pong', ...world.arrived })),
);

describe('whatever happens to the sockets', () => {
  for (const isOpus of [false, true]) {
    it(`the server gets all of the microphone, in order and without a gap, as ${isOpus ? 'Opus' : 'linear16'}`, () => {
      fc.assert(
        fc.property(fc.array(traffic, { maxLength: 60 }), (ops) => {
          const world = new World(isOpus);
          world.connect();
          for (const each of ops) each(world);
          if (!world.isUp) world.connect();
          while (world.encoder > 0) world.encode();
          world.land();
          expect(world.gaps).toBe(0);
          expect(world.micAt).toBe(world.call.micAt);
          world.receive({ type: 'pong', ...world.arrived });
          expect(world.call.outgoing).toEqual([]);
        }),
        { numRuns: 2_000 },
      );
    });
  }

  const command = fc.nat(9).map(
    (text): Op =>
      (world) =>
        world.take({ type: 'command', command: { type: 'send', text: `${text}` } }),
  );

  it('each command arrives once, in its place, whatever is lost', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(traffic, command), { maxLength: 60 }), (ops) => {
        const world = new World();
        world.connect();
        for (const each of ops) each(world);
        if (!world.isUp) world.connect();
        world.land();
        expect(world.commands).toEqual(world.given);
        world.receive({ type: 'pong', ...world.arrived });
        expect(world.call.outgoing).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('with a server that does not count them, each arrives once while what is on its way arrives', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(traffic, command), { maxLength: 60 }), (ops) => {
        const world = new World();
        world.seq = undefined;
        world.connect();
        // A socket that closes by itself loses nothing.
        for (const each of ops) if (!String(each).startsWith('lose')) each(world);
        world.lose(0);
        world.connect();
        world.land();
        expect(world.commands).toEqual(world.given);
      }),
    );
  });
});

describe('whatever a server sends of a play', () => {
  const part = fc.record({ skip: fc.integer({ min: -30, max: 30 }), frames: fc.integer({ min: 1, max: 40 }) });

  it('the speaker gets each sample once, in order, up to the end', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), fc.nat(600), (parts, end) => {
        const world = new World();
        world.connect();
        world.receive({ type: 'play', id: 1, from: 0, paused: false, volume: 1 });
        world.receive({ type: 'end', id: 1, at: end });
        let at = 0;
        for (const { skip, frames } of parts) {
          world.audio(1, Math.max(0, at + skip), frames);
          at = Math.max(0, at + skip) + frames;
        }
        const heard = world.effects.flatMap((effect) => (effect.type === 'push' ? [...effect.samples] : []));
        expect(heard).toEqual(heard.map((_, index) => index));
        expect(heard.length).toBeLessThanOrEqual(end);
        const ends = world.effects.filter(({ type }) => type === 'end').length;
        expect(ends).toBe(heard.length === end ? 1 : 0);
      }),
      { numRuns: 2_000 },
    );
  });
});
