import { createRequire } from 'node:module';
import { filter, firstValueFrom, of } from 'rxjs';
import {
  ChatVoiceC,
  int16Bytes,
  int16View,
  type AudioChunk,
  type AudioMetadata,
  type VoiceConnectionLike,
} from '../../lib/index.ts';
import type { ChatVoicePackages } from '../../lib/providers/platform/chat-voice-packages.ts';
import { concatBytes } from '../../samples/sandbox/pcm.ts';
import { decodeSamples, encodeText } from '../../samples/sandbox/modem.ts';
import type * as Voice from './node_modules/@discordjs/voice/dist/index.js';
import type * as Prism from './node_modules/prism-media/typings/index.js';

/** The real packages; only the network is a fake. */
const require = createRequire(import.meta.url);
const voice = require('@discordjs/voice') as typeof Voice;
const prism = require('prism-media') as typeof Prism;

const opusFormat = { rate: 48_000, channels: 2, frameSize: 960 };
const linear = (sampleRate: number): AudioMetadata => ({ encoding: 'linear16', sampleRate, channels: 1 });

class RealChatVoice extends ChatVoiceC {
  protected override importPackages(): Promise<ChatVoicePackages> {
    return Promise.resolve({ voice, opus: prism.opus } as unknown as ChatVoicePackages);
  }
}

/** A voice channel: a real connection of the package, whose network keeps what it is given. */
class Channel {
  readonly sent: Buffer[] = [];
  readonly connection: Voice.VoiceConnection;

  constructor() {
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

  /** What the members hear, as text. */
  async text(): Promise<string> {
    const decoder = new prism.opus.Decoder(opusFormat);
    const parts: Buffer[] = [];
    decoder.on('data', (part: Buffer) => parts.push(part));
    for (const packet of this.sent) decoder.write(packet);
    decoder.end();
    await new Promise((resolve) => decoder.on('end', resolve));
    const samples = int16View(new Uint8Array(concatBytes(parts)));
    return decodeSamples(
      samples.filter((_, index) => index % 2 === 0),
      48_000,
    ).text;
  }

  /** A member says something, in packets of 20 ms at the speed of speech. */
  async say(userId: string, text: string): Promise<void> {
    const encoder = new prism.opus.Encoder(opusFormat);
    const packets: Buffer[] = [];
    encoder.on('data', (packet: Buffer) => packets.push(packet));
    const samples = encodeText(text, 48_000);
    const stereo = Int16Array.from(
      { length: Math.ceil(samples.length / 960) * 1920 },
      (_, at) => samples[at >> 1] ?? 0,
    );
    encoder.write(int16Bytes(stereo));
    encoder.end();
    await new Promise((resolve) => encoder.on('end', resolve));
    const began = performance.now();
    for (const [index, packet] of packets.entries()) {
      const { receiver } = this.connection;
      receiver.speaking.onPacket(userId);
      receiver.subscriptions.get(userId)?.push(packet);
      const wait = began + (index + 1) * 20 - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

/** A codec needs some frames to settle after silence that it did not make: 200 ms of quiet, then the text. */
const speech = (text: string, sampleRate: number): AudioChunk => {
  const words = encodeText(text, sampleRate);
  const samples = new Int16Array(sampleRate / 5 + words.length);
  samples.set(words, sampleRate / 5);
  return { data: int16Bytes(samples), metadata: linear(sampleRate) };
};
const textOf = (chunks: readonly AudioChunk[]): string =>
  decodeSamples(int16View(concatBytes(chunks.map(({ data }) => data))), 48_000).text;

describe('ChatVoiceC with the packages of the platform', () => {
  let phone: RealChatVoice;
  let channel: Channel;
  beforeEach(async () => {
    channel = new Channel();
    phone = new RealChatVoice();
    // The real class has all that is used of it.
    const connection: VoiceConnectionLike = channel.connection;
    phone.attach(connection);
    await phone.initialize();
    await phone.start();
  });
  afterEach(async () => {
    await phone.dispose();
  });

  it('says every word, at another rate, over gaps that would end a reply', async () => {
    const say = (text: string): Promise<unknown> =>
      new Promise((resolve) => {
        phone.play(of(speech(text, 24_000))).subscribe({ complete: () => resolve(undefined) });
      });
    await say('One two.');
    await new Promise((resolve) => setTimeout(resolve, 400));
    await say('Three.');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await channel.text()).replace(/\s/g, '')).toBe('Onetwo.Three.');
  });

  it('is silent at once when it is interrupted, and says the next thing from its start', async () => {
    phone.enqueue(speech('This will be cut off in the middle.', 48_000));
    await firstValueFrom(phone.playback$.pipe(filter(({ positionMs }) => positionMs > 700)));
    const heardMs = phone.positionMs;
    await phone.stop();
    const before = channel.sent.length;
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(channel.sent.length - before).toBeLessThanOrEqual(1);
    expect(Math.abs(before * 20 - heardMs)).toBeLessThan(200);
    phone.enqueue(speech('Next.', 48_000));
    await phone.flush();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await channel.text()).toMatch(/^This.{0,4}Next\.$/);
  });

  it('tells two members who speak at once apart, and mixes them for one listener', async () => {
    const voices = new Map<string, AudioChunk[]>();
    const heard: AudioChunk[] = [];
    phone.onSpeakerAudio(({ userId, chunk }) => voices.set(userId, [...(voices.get(userId) ?? []), chunk]));
    phone.audio$.subscribe((chunk) => heard.push(chunk));
    await Promise.all([channel.say('a', 'I am Ann.'), channel.say('b', 'My name is Bob.')]);
    await new Promise((resolve) => setTimeout(resolve, 1200));
    await channel.say('a', 'Alone.');
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect([...voices].map(([userId, chunks]) => [userId, textOf(chunks)])).toEqual([
      ['a', 'I am Ann.Alone.'],
      ['b', 'My name is Bob.'],
    ]);
    expect(textOf(heard)).toMatch(/Alone\.$/);
    expect(heard.every(({ data }) => data.length === 1920)).toBe(true);
  });

  it('ends with the connection', async () => {
    const ended = firstValueFrom(phone.callEnded$);
    let completed = 0;
    phone.audio$.subscribe({ complete: () => completed++ });
    phone.enqueue({ data: int16Bytes(encodeText('Hello.', 48_000)), metadata: linear(48_000) });
    channel.connection.state = { status: 'destroyed' } as unknown as Voice.VoiceConnectionState;
    expect([await ended, completed]).toEqual([{ reason: 'destroyed' }, 1]);
    await phone.flush();
  });
});
