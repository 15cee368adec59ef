import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { of } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import type { VoiceError } from '../../../lib/core/errors.ts';
import { ChatVoiceC, type ChatVoiceCConfig } from '../../../lib/providers/platform/chat-voice-c.ts';

import type { ChatVoicePackages, VoiceConnectionLike } from '../../../lib/providers/platform/chat-voice-packages.ts';
import { TestClock } from '../../transport/test-clock.ts';

const stereo: AudioMetadata = { encoding: 'linear16', sampleRate: 48_000, channels: 2, bitDepth: 16 };
const speech = (ms: number, value = 7): AudioChunk => ({
  data: new Uint8Array(ms * 192).fill(value),
  metadata: stereo,
});

/** A codec that passes bytes through: a packet is one byte, 20 ms of it are its samples. */
class FakeCodec extends EventEmitter {
  static broken = false;
  readonly written: Uint8Array[] = [];
  readableLength = 0;
  destroyed = false;

  constructor() {
    super();
    if (FakeCodec.broken) throw new Error('Could not find an Opus module!');
  }
  write(data: Uint8Array): boolean {
    this.written.push(data);
    if (data[0] === 255) this.emit('error', new Error('corrupt'));
    else if (data[0] === 254) throw new Error('memory access out of bounds');
    else if (data.length === 3) this.emit('data', new Uint8Array(3840));
    else if (data.length === 1) this.emit('data', new Uint8Array(3840).fill(data[0] ?? 0));
    return true;
  }
  destroy(): void {
    this.destroyed = true;
  }
}

class FakePlayer extends EventEmitter {
  readonly played: { stream: FakeCodec; options: unknown }[] = [];
  stops: (boolean | undefined)[] = [];

  play(resource: object): void {
    this.played.push(resource as { stream: FakeCodec; options: unknown });
  }
  stop(force?: boolean): boolean {
    this.stops.push(force);
    return true;
  }
}

class FakeStream extends EventEmitter {
  destroyed = false;
  destroy(): void {
    this.destroyed = true;
  }
  fail(reason: string): void {
    this.emit('error', new Error(reason));
    this.emit('close');
  }
}

class FakeConnection extends EventEmitter {
  joinConfig = { selfDeaf: false };
  state: VoiceConnectionLike['state'] = { status: 'ready' };
  subscribed = 0;
  readonly streams = new Map<string, FakeStream[]>();
  readonly options: unknown[] = [];
  readonly receiver = {
    speaking: new EventEmitter(),
    subscribe: (userId: string, options?: object): FakeStream => {
      const stream = new FakeStream();
      this.options.push(options);
      this.streams.set(userId, [...(this.streams.get(userId) ?? []), stream]);
      return stream;
    },
  };
  subscribe(): { unsubscribe(): void } {
    this.subscribed++;
    return { unsubscribe: () => this.subscribed-- };
  }
  become(status: string, closeCode?: number): void {
    this.state = { status, ...(closeCode !== undefined && { closeCode }) };
    this.emit('stateChange', {}, this.state);
  }
  /** A member's packets; each is one byte. */
  speak(userId: string, ...packets: number[]): FakeStream {
    this.receiver.speaking.emit('start', userId);
    const stream = this.streams.get(userId)?.at(-1) ?? new FakeStream();
    for (const packet of packets) stream.emit('data', Uint8Array.of(packet));
    return stream;
  }
  get listeners_(): number {
    const count = (emitter: EventEmitter): number =>
      emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0);
    return count(this) + count(this.receiver.speaking);
  }
}

class Faked extends ChatVoiceC {
  readonly player = new FakePlayer();
  readonly playerOptions: unknown[] = [];
  protected override importPackages(): Promise<ChatVoicePackages> {
    const voice = {
      createAudioPlayer: (options: object) => {
        this.playerOptions.push(options);
        return this.player;
      },
      createAudioResource: (stream: object, options: object) => ({ stream, options }),
    };
    return Promise.resolve({ voice, opus: { Encoder: FakeCodec, Decoder: FakeCodec } });
  }
}

async function joined(config: ChatVoiceCConfig = {}) {
  const clock = new TestClock();
  const phone = new Faked({ scheduler: clock, ...config });
  const connection = new FakeConnection();
  const heard: AudioChunk[] = [];
  const spoken: string[] = [];
  const errors: VoiceError[] = [];
  const ends: string[] = [];
  phone.audio$.subscribe((chunk) => heard.push(chunk));
  phone.onSpeakerAudio(({ userId, chunk }) => spoken.push(`${userId}${chunk.data[0] ?? ''}`));
  phone.errors$.subscribe((error) => errors.push(error));
  phone.onCallEnded(({ reason }) => ends.push(reason));
  phone.attach(connection);
  await phone.initialize();
  await phone.start();
  return { clock, phone, connection, heard, spoken, errors, ends, player: phone.player };
}

describe('ChatVoiceC', () => {
  afterEach(() => {
    FakeCodec.broken = false;
  });

  it('says which package is missing, and how to install it', async () => {
    // Neither package is installed beside the library.
    await expect(new ChatVoiceC().initialize()).rejects.toMatchObject({
      code: 'missing_package',
      message: expect.stringContaining('npm install @discordjs/voice') as string,
    });
    FakeCodec.broken = true;
    await expect(new Faked().initialize()).rejects.toMatchObject({
      code: 'missing_package',
      message: expect.stringMatching(/@discordjs\/opus.*opusscript/) as string,
    });
  });

  it('declares each package that it needs, with either codec, as an optional peer', () => {
    const { peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      peerDependencies: Readonly<Record<string, string>>;
      peerDependenciesMeta: Readonly<Record<string, { optional?: boolean }>>;
    };
    const names = ['@discordjs/voice', 'prism-media', '@discordjs/opus', 'opusscript'];
    expect(names.filter((name) => !peerDependencies[name] || !peerDependenciesMeta[name]?.optional)).toEqual([]);
  });

  it('refuses a deafened connection, and values outside the limits', async () => {
    const deaf = new FakeConnection();
    deaf.joinConfig = { selfDeaf: true };
    expect(() => new Faked().attach(deaf)).toThrow('selfDeaf: false');
    for (const config of [{ silenceMs: 10 }, { leadMs: 1001 }, { reconnectMs: -1 }]) {
      await expect(new Faked(config).initialize()).rejects.toMatchObject({ code: 'configuration' });
    }
  });

  it('plays frames of 20 ms as one stream, which a gap does not end', async () => {
    const { clock, phone, player } = await joined();
    phone.play(of(speech(50))).subscribe();
    await clock.advance(1000);
    phone.play(of(speech(20))).subscribe();
    await clock.advance(100);
    expect(player.played).toHaveLength(1);
    const [{ stream, options } = { stream: new FakeCodec(), options: {} }] = player.played;
    expect(options).toEqual({ inputType: 'opus', silencePaddingFrames: 5 });
    expect(stream.written.every(({ length }) => length === 3840)).toBe(true);
    // Silence that brings the codec to rest: before the first voice, and after each.
    expect(stream.written.map((frame) => frame[0])).toEqual([0, 7, 7, 7, 0, 0, 7, 0, 0]);
    expect(stream.written[3]?.subarray(1920).every((byte) => byte === 0)).toBe(true);
    expect(phone.playerOptions).toEqual([{ behaviors: { noSubscriber: 'play', maxMissedFrames: 250 } }]);
    // The player has given up after five seconds: another stream begins.
    player.emit('idle');
    phone.play(of(speech(20))).subscribe();
    await clock.advance(100);
    expect(player.played).toHaveLength(2);
  });

  it('lets the codec rest only when the player has read everything', async () => {
    const { clock, phone, player } = await joined();
    phone.play(of(speech(20))).subscribe();
    await clock.advance(0);
    const stream = player.played[0]?.stream ?? new FakeCodec();
    stream.readableLength = 2;
    await clock.advance(500);
    expect(stream.written).toHaveLength(2);
    stream.readableLength = 0;
    await clock.advance(10);
    expect(stream.written).toHaveLength(4);
    await clock.advance(5000);
    expect([stream.written.length, clock.pending]).toEqual([4, 0]);
  });

  it('reports a codec that fails, and plays on with another', async () => {
    const { clock, phone, player, errors } = await joined();
    phone.play(of(speech(20, 254))).subscribe();
    await clock.advance(100);
    expect(errors.map(({ code, message }) => [code, message])).toEqual([
      ['internal', 'ChatVoiceC: the Opus codec failed: memory access out of bounds'],
    ]);
    expect(player.played[0]?.stream.destroyed).toBe(true);
    phone.play(of(speech(20))).subscribe();
    await clock.advance(100);
    expect(player.played[1]?.stream.written.map((frame) => frame[0])).toEqual([0, 7, 0, 0]);
  });

  it('falls silent in the tick of stop()', async () => {
    const { clock, phone, player } = await joined();
    phone.play(of(speech(5000))).subscribe();
    await clock.advance(500);
    await phone.stop();
    expect([player.stops, player.played[0]?.stream.destroyed, phone.positionMs]).toEqual([[true], true, 500]);
    const written = player.played[0]?.stream.written.length;
    await clock.advance(500);
    expect([player.played.length, player.played[0]?.stream.written.length]).toEqual([1, written]);
  });

  it('keeps a greeting until the connection is ready', async () => {
    const clock = new TestClock();
    const phone = new Faked({ scheduler: clock });
    const connection = new FakeConnection();
    connection.state = { status: 'signalling' };
    phone.attach(connection);
    await phone.initialize();
    phone.enqueue(speech(40));
    await clock.advance(1000);
    expect(phone.player.played).toEqual([]);
    connection.become('ready');
    await clock.advance(100);
    expect(phone.player.played[0]?.stream.written.map((frame) => frame[0])).toEqual([0, 7, 7, 0, 0]);
  });

  it('reports a player that fails, and plays on', async () => {
    const { clock, phone, player, errors } = await joined();
    phone.enqueue(speech(20));
    player.emit('error', new Error('codec'));
    phone.enqueue(speech(20));
    await clock.advance(100);
    expect([errors.map(({ code }) => code), player.played.length]).toEqual([['internal'], 2]);
  });

  it('hears members in both forms of packets, each with a decoder of its own, mixed and apart', async () => {
    const { clock, connection, heard, spoken } = await joined({ silenceMs: 500 });
    const speaking: string[] = [];
    connection.speak('a', 1, 2);
    const bob = connection.speak('b');
    bob.emit('data', { payload: Uint8Array.of(4), sequence: 1, timestamp: 960, ssrc: 1 });
    connection.receiver.speaking.emit('start', 'a');
    connection.receiver.speaking.emit('end', 'a');
    await clock.advance(300);
    expect(spoken).toEqual(['a1', 'a2', 'b4']);
    expect(heard.slice(0, 3).map(({ data }) => [data[0], data.length])).toEqual([
      [5, 1920],
      [2, 1920],
      [0, 1920],
    ]);
    expect([connection.options, connection.streams.get('a')?.length]).toEqual([
      [{ end: { behavior: 2, duration: 500 } }, { end: { behavior: 2, duration: 500 } }],
      1,
    ]);
    expect(speaking).toEqual([]);
  });

  it('subscribes anew to a member who speaks again after the end of a stream', async () => {
    const { connection, spoken } = await joined();
    const first = connection.speak('a', 1);
    connection.receiver.speaking.emit('end', 'a');
    first.emit('end');
    first.emit('close');
    expect(first.destroyed).toBe(true);
    connection.speak('a', 2);
    expect([connection.streams.get('a')?.length, spoken]).toEqual([2, ['a1', 'a2']]);
  });

  it('survives a corrupt packet and a stream that fails', async () => {
    const { connection, spoken, errors } = await joined();
    const stream = connection.speak('a', 1, 255, 2, 254, 5);
    stream.fail('decryption');
    // Still speaking.
    const next = connection.streams.get('a')?.at(-1);
    next?.emit('data', Uint8Array.of(6));
    next?.fail('again');
    connection.speak('a', 3);
    expect([spoken, connection.streams.get('a')?.length]).toEqual([['a1', 'a2', 'a5', 'a6', 'a3'], 3]);
    expect(errors.map(({ message }) => message)).toEqual([
      'ChatVoiceC: a packet cannot be decoded',
      "ChatVoiceC: a member's packets cannot be read",
    ]);
  });

  for (const [what, listensTo] of [
    ['a list', ['a']],
    ['a function', (userId: string) => userId === 'a'],
  ] as const) {
    it(`hears only whom ${what} names`, async () => {
      const { connection, spoken } = await joined({ listensTo });
      connection.speak('a', 1);
      connection.speak('bot', 2);
      expect([spoken, connection.streams.has('bot')]).toEqual([['a1'], false]);
    });
  }

  it('ignores members for whom a function fails, and reports it', async () => {
    const { connection, spoken, errors } = await joined({
      listensTo: (userId) => {
        if (userId === 'b') throw new Error('no such user');
        return true;
      },
    });
    connection.speak('b', 1);
    connection.speak('a', 2);
    expect([spoken, errors.map(({ message }) => message)]).toEqual([
      ['a2'],
      ['ChatVoiceC: listensTo failed: no such user'],
    ]);
  });

  it('tells who speaks, by stream and callback', async () => {
    const { phone, connection } = await joined();
    const seen: string[] = [];
    phone.onSpeaking(({ userId, isSpeaking }) => seen.push(`${userId} ${isSpeaking}`));
    phone.speaking$.subscribe(({ userId }) => seen.push(userId));
    connection.speak('a');
    connection.receiver.speaking.emit('end', 'a');
    expect(seen).toEqual(['a true', 'a', 'a false', 'a']);
  });

  it('bounds how many members it decodes', async () => {
    const { connection, errors } = await joined();
    for (let member = 0; member < 100; member++) connection.speak(`m${member}`, 1);
    expect([connection.streams.size, errors.length]).toEqual([64, 1]);
  });

  it('ends with a connection that is destroyed, or stays disconnected', async () => {
    const first = await joined();
    first.connection.become('destroyed');
    expect([first.ends, first.connection.listeners_, first.connection.subscribed]).toEqual([['destroyed'], 0, 0]);

    const second = await joined();
    second.connection.become('disconnected');
    await second.clock.advance(4000);
    second.connection.become('connecting');
    second.connection.become('ready');
    await second.clock.advance(10_000);
    expect(second.ends).toEqual([]);
    second.connection.become('disconnected');
    await second.clock.advance(5000);
    expect([second.ends, second.clock.pending]).toEqual([['disconnected'], 0]);
  });

  it('says why a connection may not get ready', async () => {
    const { clock, connection, errors } = await joined();
    connection.become('signalling');
    await clock.advance(20_000);
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringMatching(/GuildVoiceStates.*0\.19\.1.*daveEncryption/) as string,
    ]);
  });

  it('says so too when the package joins anew without end', async () => {
    const { clock, connection, errors, ends } = await joined();
    for (let turn = 0; turn < 12; turn++) {
      connection.become(turn % 2 === 0 ? 'signalling' : 'connecting');
      await clock.advance(2000);
    }
    expect([errors.map(({ code }) => code), ends]).toEqual([['connection'], []]);
    connection.become('ready');
    connection.become('connecting');
    await clock.advance(20_000);
    expect(errors).toHaveLength(2);
  });

  it('tells the code with which the platform closed', async () => {
    const { clock, phone, connection } = await joined();
    const ends: unknown[] = [];
    phone.callEnded$.subscribe((end) => ends.push(end));
    connection.become('disconnected', 4014);
    await clock.advance(5000);
    expect(ends).toEqual([{ reason: 'disconnected', closeCode: 4014 }]);
  });

  it('can be attached to the next connection as soon as one has ended', async () => {
    const { phone, connection, heard, clock } = await joined();
    const next = new FakeConnection();
    const undo = phone.onCallEnded(() => {
      undo();
      phone.attach(next);
    });
    connection.become('destroyed');
    phone.audio$.subscribe((chunk) => heard.push(chunk));
    await phone.start();
    next.speak('a', 9);
    await clock.advance(100);
    expect(heard.map(({ data }) => data[0])).toContain(9);
  });

  it('leaves nothing behind dispose() in any state', async () => {
    for (const state of ['signalling', 'ready', 'disconnected']) {
      const { clock, phone, connection, ends } = await joined();
      connection.become(state);
      const stream = connection.speak('a', 1);
      phone.enqueue(speech(1000));
      await Promise.all([phone.dispose(), phone.dispose()]);
      await phone.flush();
      expect([ends, connection.listeners_, connection.subscribed, stream.destroyed, clock.pending]).toEqual([
        ['detached'],
        0,
        0,
        true,
        0,
      ]);
    }
  });
});
