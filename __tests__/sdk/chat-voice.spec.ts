/** Slow: the real player plays at the speed of speech. */
import { createRequire } from 'node:module';
import type { Readable } from 'node:stream';
import { concatMap, delay, firstValueFrom, map, of, range, type Subscription } from 'rxjs';
import { ChatVoiceC, type AudioChunk, type AudioMetadata } from '../../lib/index.ts';
import { int16Bytes, int16View } from '../../lib/audio/index.ts';
import type { ChatVoicePackages, VoiceConnectionLike } from '../../lib/providers/platform/chat-voice-packages.ts';
import { concatBytes } from '../../samples/sandbox/pcm.ts';
import { decodeSamples, encodeText } from '../../samples/sandbox/modem.ts';
import { settle, TestClock } from '../transport/test-clock.ts';
import type * as Voice from './node_modules/@discordjs/voice/dist/index.js';
import type * as Prism from './node_modules/prism-media/typings/index.js';

/** The real packages; only the network and the time are fakes. */
const require = createRequire(import.meta.url);
const voice = require('@discordjs/voice') as typeof Voice;
const prism = require('prism-media') as typeof Prism;

const silence = Buffer.from([0xf8, 0xff, 0xfe]);
const opusFormat = { rate: 48_000, channels: 2, frameSize: 960 };
const linear = (sampleRate: number): AudioMetadata => ({ encoding: 'linear16', sampleRate, channels: 1 });

class RealChatVoice extends ChatVoiceC {
  protected override importPackages(): Promise<ChatVoicePackages> {
    const { createAudioPlayer } = voice;
    // The package's type of a stream is Node's.
    const createAudioResource = (stream: object, options: object): object =>
      voice.createAudioResource(stream as Readable, options);
    return Promise.resolve({ voice: { createAudioPlayer, createAudioResource }, opus: prism.opus });
  }
}

/** The package's own timers on a clock of the test's, until it is disposed of. */
function onClock(clock: TestClock): Disposable {
  const { setTimeout, clearTimeout } = globalThis;
  const { now } = Date;
  const timers = {
    setTimeout: (work: () => void, ms = 0) => clock.schedule(() => work(), ms),
    clearTimeout: (timer?: Subscription) => timer?.unsubscribe(),
  };
  Object.assign(globalThis, timers);
  Date.now = () => clock.now();
  return {
    [Symbol.dispose]: () => {
      Object.assign(globalThis, { setTimeout, clearTimeout });
      Date.now = now;
    },
  };
}

const stereo = (samples: Int16Array): Uint8Array<ArrayBuffer> =>
  int16Bytes(Int16Array.from({ length: Math.ceil(samples.length / 960) * 1920 }, (_, at) => samples[at >> 1] ?? 0));

/** Somebody in the channel, whose client encodes without a break, and marks the end of what was said with silence. */
class Member {
  readonly #encoder = new prism.opus.Encoder(opusFormat);
  readonly #packets: Buffer[] = [];

  constructor() {
    this.#encoder.on('data', (packet: Buffer) => this.#packets.push(packet));
  }

  /** The packets of a voice. */
  async say(samples: Int16Array): Promise<Buffer[]> {
    this.#encoder.write(stereo(Int16Array.of(...samples, ...new Int16Array(1920))));
    await settle();
    return [...this.#packets.splice(0), ...Array.from({ length: 5 }, () => silence)];
  }

  leave(): void {
    this.#encoder.destroy();
  }
}

/** A voice channel: a real connection of the package, whose network keeps what it is given. */
class Channel {
  readonly sent: Buffer[] = [];
  readonly connection: Voice.VoiceConnection;
  readonly #clock: TestClock;
  readonly #members = new Map<string, Member>();

  constructor(clock: TestClock) {
    this.#clock = clock;
    const join = { channelId: '1', guildId: '2', selfDeaf: false, selfMute: false, group: 'test' };
    const adapterCreator = () => ({ sendPayload: () => true, destroy: () => undefined });
    this.connection = new voice.VoiceConnection(join, { adapterCreator });
    let prepared: Buffer | undefined;
    const networking = {
      prepareAudioPacket: (packet: Buffer) => (prepared = packet),
      dispatchAudio: () => {
        if (prepared) this.sent.push(prepared);
        prepared = undefined;
        return true;
      },
      ...{ setSpeaking: () => undefined, destroy: () => undefined, on: () => undefined, off: () => undefined },
      state: { code: 4 },
    };
    const ready = { ...this.connection.state, status: 'ready', networking };
    this.connection.state = ready as unknown as Voice.VoiceConnectionState;
  }

  /** What the members hear: mono, at 48 kHz. */
  async heard(): Promise<Int16Array> {
    const decoder = new prism.opus.Decoder(opusFormat);
    const parts: Buffer[] = [];
    decoder.on('data', (part: Buffer) => parts.push(part));
    for (const packet of this.sent) decoder.write(packet);
    decoder.end();
    await new Promise((resolve) => decoder.on('end', resolve));
    return int16View(new Uint8Array(concatBytes(parts))).filter((_, index) => index % 2 === 0);
  }

  /** A member begins to say something, in packets of 20 ms at the speed of speech. */
  async say(userId: string, samples: Int16Array): Promise<void> {
    const member = this.#members.get(userId) ?? new Member();
    this.#members.set(userId, member);
    this.send(userId, await member.say(samples));
  }

  /** Packets of a member, one each 20 ms. */
  send(userId: string, packets: readonly Buffer[]): void {
    const { receiver } = this.connection;
    packets.forEach((packet, index) =>
      this.#clock.schedule(() => {
        receiver.speaking.onPacket(userId);
        receiver.subscriptions.get(userId)?.push(packet);
      }, index * 20),
    );
  }

  close(): void {
    for (const member of this.#members.values()) member.leave();
  }
}

/** 100 ms that begin and end at once, up to 2.3 times the level, and another each time. */
const burst = (index: number, level: number): Int16Array<ArrayBuffer> =>
  Int16Array.from({ length: 4800 }, (_, at) => {
    const sum = Math.sin(at * 0.05 * (1 + index * 0.03)) + Math.sin(at * 0.13) + 0.3 * Math.sin(at * 0.31 + 1);
    return level * sum;
  });
/** How long, and up to which level, each stretch between silences sounds. */
function stretches(samples: Int16Array, level: number): { ms: number; peak: number }[] {
  const found: { ms: number; peak: number }[] = [];
  let [from, last] = [-1, -Infinity];
  samples.forEach((sample, at) => {
    if (Math.abs(sample) < level / 2) return;
    if (at - last > 1200) {
      found.push({ ms: 0, peak: 0 });
      from = at;
    }
    last = at;
    const stretch = found.at(-1);
    if (stretch) Object.assign(stretch, { ms: (last - from) / 48, peak: Math.max(stretch.peak, Math.abs(sample)) });
  });
  return found;
}
const speech = (text: string, sampleRate: number): AudioChunk => ({
  data: int16Bytes(encodeText(text, sampleRate)),
  metadata: linear(sampleRate),
});
const textOf = (chunks: readonly AudioChunk[]): string =>
  decodeSamples(int16View(concatBytes(chunks.map(({ data }) => data))), 48_000).text;

describe('ChatVoiceC with the packages of the platform', () => {
  let clock: TestClock;
  let timers: Disposable;
  let phone: RealChatVoice;
  let channel: Channel;
  beforeEach(async () => {
    clock = new TestClock();
    timers = onClock(clock);
    channel = new Channel(clock);
    phone = new RealChatVoice({ scheduler: clock });
    // The real class has all that is used of it.
    const connection: VoiceConnectionLike = channel.connection;
    phone.attach(connection);
    await phone.initialize();
    await phone.start();
  });
  afterEach(async () => {
    await phone.dispose();
    channel.close();
    await clock.advance(1000);
    timers[Symbol.dispose]();
  });

  const alphabet = 'ABCDEFGHIJKLMNOPQRST';
  const letters = alphabet.split('');

  for (const [what, gapMs] of [
    ['a moment', () => 100],
    ['gaps that would end a reply elsewhere', (index: number) => 150 + 37 * index],
    ['pauses that end one', () => 6000],
  ] as const) {
    it(`says every word as it was, at another rate, from its first sample on, after ${what}`, async () => {
      for (const [index, letter] of letters.entries()) {
        phone.play(of(speech(letter, 24_000))).subscribe();
        await clock.advance(80 + gapMs(index));
      }
      await clock.advance(500);
      expect(decodeSamples(await channel.heard(), 48_000).text).toBe(alphabet);
    });
  }

  for (const gapMs of [100, 6000]) {
    it(`says what begins and ends at once at its own level and length, ${gapMs} ms apart`, async () => {
      const level = 9000;
      for (const [index] of letters.entries()) {
        phone.play(of({ data: int16Bytes(burst(index, level)), metadata: linear(48_000) })).subscribe();
        await clock.advance(100 + gapMs);
      }
      await clock.advance(500);
      const bursts = stretches(await channel.heard(), level);
      expect(bursts).toHaveLength(alphabet.length);
      for (const { ms, peak } of bursts) {
        expect(Math.abs(ms - 100)).toBeLessThan(3);
        expect(peak / level).toBeLessThan(2.6);
      }
    });
  }

  it('loses no part of a voice that its source holds up in the middle of a sound, and adds none', async () => {
    // A sine, so that each sample can be told from its neighbours; 150 ms come, then 100 ms do not.
    const samples = Int16Array.from({ length: 48_000 }, (_, at) => 9000 * Math.sin((2 * Math.PI * 440 * at) / 48_000));
    const metadata = linear(48_000);
    phone
      .play(
        range(0, 4).pipe(
          concatMap((part) => of(part).pipe(delay(part === 0 ? 0 : 250, clock))),
          map((part) => ({ data: int16Bytes(samples.slice(part * 7200, (part + 1) * 7200)), metadata })),
        ),
      )
      .subscribe();
    await clock.advance(2000);
    const heard = await channel.heard();
    const loudMs = heard.filter((sample) => Math.abs(sample) > 100).length / 48;
    // All but the samples near the sine's zeros; the codec rings where it breaks off.
    expect(loudMs).toBeGreaterThan(600 * 0.985);
    expect(loudMs).toBeLessThan(600 * 1.015);
    // No burst at any seam.
    expect(heard.every((sample) => Math.abs(sample) < 9900)).toBe(true);
  });

  it('is silent at once when it is interrupted, and says the next thing from its start', async () => {
    phone.enqueue(speech('This will be cut off in the middle.', 48_000));
    await clock.advance(700);
    const heardMs = phone.positionMs;
    await phone.stop();
    const before = channel.sent.length;
    await clock.advance(150);
    expect(channel.sent.length - before).toBeLessThanOrEqual(1);
    expect(Math.abs(before * 20 - heardMs)).toBeLessThanOrEqual(40);
    phone.enqueue(speech('Next.', 48_000));
    await clock.advance(1000);
    expect(decodeSamples(await channel.heard(), 48_000).text).toMatch(/^This.{0,5}Next\.$/);
  });

  it('tells two members who speak at once apart, and mixes them for one listener', async () => {
    const voices = new Map<string, AudioChunk[]>();
    const heard: AudioChunk[] = [];
    phone.onSpeakerAudio(({ userId, chunk }) => voices.set(userId, [...(voices.get(userId) ?? []), chunk]));
    phone.audio$.subscribe((chunk) => heard.push(chunk));
    await Promise.all([
      channel.say('a', encodeText('I am Ann.', 48_000)),
      channel.say('b', encodeText('My name is Bob.', 48_000)),
    ]);
    await clock.advance(3000);
    await channel.say('a', encodeText('Alone.', 48_000));
    await clock.advance(1500);
    expect([...voices].map(([userId, chunks]) => [userId, textOf(chunks)])).toEqual([
      ['a', 'I am Ann.Alone.'],
      ['b', 'My name is Bob.'],
    ]);
    expect(textOf(heard)).toMatch(/Alone\.$/);
    expect(heard.every(({ data }) => data.length === 1920)).toBe(true);
  });

  it('hears a member from the first sample on, each time after a silence that ended the stream', async () => {
    const heard: AudioChunk[] = [];
    phone.onSpeakerAudio(({ chunk }) => heard.push(chunk));
    const subscribed = new Set<unknown>();
    for (const letter of letters) {
      await channel.say('a', encodeText(letter, 48_000));
      await clock.advance(200);
      subscribed.add(channel.connection.receiver.subscriptions.get('a'));
      await clock.advance(1500);
    }
    expect([textOf(heard), subscribed.size]).toEqual([alphabet, alphabet.length]);
  });

  it('hears a member whose client sends silence instead of nothing', async () => {
    const heard: AudioChunk[] = [];
    phone.onSpeakerAudio(({ chunk }) => heard.push(chunk));
    const member = new Member();
    const before = await member.say(encodeText('Before.', 48_000));
    const rest = Array.from({ length: 100 }, () => silence);
    channel.send('a', [...before, ...rest, ...(await member.say(encodeText('After.', 48_000)))]);
    member.leave();
    await clock.advance(5000);
    expect(textOf(heard)).toBe('Before.After.');
  });

  it('hears the rest of what a member says when packets cannot be decrypted', async () => {
    const errors: string[] = [];
    const heard: AudioChunk[] = [];
    phone.errors$.subscribe(({ message }) => errors.push(message));
    phone.onSpeakerAudio(({ chunk }) => heard.push(chunk));
    await channel.say('a', encodeText('Before and after.', 48_000));
    for (let times = 0; times < 3; times++) {
      await clock.advance(200);
      channel.connection.receiver.subscriptions.get('a')?.destroy(new Error('Failed to decrypt'));
    }
    await clock.advance(3000);
    expect(textOf(heard)).toMatch(/^Be.*after\.$/);
    expect(errors).toEqual(["ChatVoiceC: a member's packets cannot be read"]);
  });

  it('hears a quiet member at that level, each time after a silence that ended the stream', async () => {
    const level = 300;
    const heard: AudioChunk[] = [];
    phone.onSpeakerAudio(({ chunk }) => heard.push(chunk));
    for (const [index] of letters.entries()) {
      await channel.say('a', burst(index, level));
      await clock.advance(1700);
    }
    const bursts = stretches(int16View(concatBytes(heard.map(({ data }) => data))), level);
    expect(bursts.map(({ peak }) => peak / level).filter((peak) => peak > 2.6)).toEqual([]);
    expect(bursts).toHaveLength(alphabet.length);
  });

  it('hears as many members as the codec has memory for, says that it is full, and recovers', async () => {
    const errors: string[] = [];
    const voices = new Map<string, AudioChunk[]>();
    phone.errors$.subscribe(({ message }) => errors.push(message));
    phone.onSpeakerAudio(({ userId, chunk }) => voices.set(userId, [...(voices.get(userId) ?? []), chunk]));
    const packets = await new Member().say(encodeText('Hi.', 48_000));
    const crowd = async (ids: readonly string[]): Promise<void> => {
      for (const packet of packets) {
        for (const userId of ids) {
          channel.connection.receiver.speaking.onPacket(userId);
          channel.connection.receiver.subscriptions.get(userId)?.push(packet);
        }
        await clock.advance(20);
      }
      await clock.advance(2000);
    };
    const ids = Array.from({ length: 30 }, (_, index) => `member ${index}`);
    await crowd(ids);
    await crowd(ids.slice(-5));
    expect(errors).toEqual(['ChatVoiceC: more than 16 members are speaking: the others are not heard']);
    expect([...voices].map(([userId, chunks]) => [userId, textOf(chunks)])).toEqual(
      [...ids.slice(0, 16), ...ids.slice(-5)].map((userId) => [userId, 'Hi.']),
    );
  });

  it('ends with the connection', async () => {
    const ended = firstValueFrom(phone.callEnded$);
    let completed = 0;
    phone.audio$.subscribe({ complete: () => completed++ });
    phone.enqueue(speech('Hello.', 48_000));
    channel.connection.state = { status: 'destroyed' } as unknown as Voice.VoiceConnectionState;
    expect([await ended, completed]).toEqual([{ reason: 'destroyed' }, 1]);
    await phone.flush();
  });
});
