/** Both ends of a page's wire; inputs are whole sessions, one message a line. */
import { BufferInput, type AudioChunk, type PageSocket, type VoiceError, type VoiceEvent } from 'rxvoice';
import { PageSockets } from 'rxvoice';
import { RemotePipeline } from 'rxvoice/remote';
import { NEVER } from 'rxjs';
import { eventStreams } from '../../lib/conversation/event-streams.ts';
import { parsePageMessage } from '../../lib/providers/platform/page-messages.ts';
import type { RemoteSpeaker } from '../../lib/remote/speaker.ts';
import { parseServerMessage } from '../../lib/remote/server-messages.ts';
import { FakePhoneSocket } from '../conformance/phone.ts';
import { settle, TestClock } from '../transport/test-clock.ts';
import { assert, textOf, type Bytes, type Target } from './promises.ts';

const framesOf = (bytes: Bytes): (string | Bytes)[] =>
  textOf(bytes)
    .split('\n')
    .map((line) => (line.startsWith('{') ? line : new TextEncoder().encode(line)));

const metadata = { encoding: 'linear16', sampleRate: 24_000, channels: 1 } as const;
const types: ReadonlySet<string> = new Set(Object.values(eventStreams).flat());

/** A speaker that hears all at once. */
class InstantSpeaker implements RemoteSpeaker {
  readonly moved$ = NEVER;
  readonly tailMs = 0;
  heard = 0;
  volume = 1;
  open(): Promise<void> {
    return Promise.resolve();
  }
  begin(from: number): void {
    this.heard = from;
  }
  push(samples: Int16Array<ArrayBuffer>): void {
    assert(samples.length > 0, 'nothing empty is played');
    this.heard += samples.length;
  }
  setVolume(volume: number): void {
    this.volume = volume;
  }
  end(): void {}
  pause(): void {}
  resume(): void {}
  stop(): void {}
  close(): void {}
}

export const pageTargets: Readonly<Record<string, Target>> = {
  /** What a hostile page says to a server that speaks. */
  pageSocket: async (bytes) => {
    const clock = new TestClock();
    const errors: VoiceError[] = [];
    const heard: AudioChunk[] = [];
    const opened: PageSocket[] = [];
    const config = { maxBytesPerSecond: Infinity, scheduler: clock };
    const pages = new PageSockets({ open: (page) => opened.push(page), config, scheduler: clock });
    const [first = '', ...rest] = framesOf(bytes);
    const socket = new FakePhoneSocket();
    pages.accept(socket, { headers: {} });
    const [page] = (socket.say(first), opened);
    if (!page) {
      assert(socket.closes.length === 1, 'who says no hello is shown the door');
      return;
    }
    page.errors$.subscribe((error) => errors.push(error));
    page.audio$.subscribe((chunk) => heard.push(chunk));
    await page.initialize();
    await page.start();
    let position = 0;
    page.playback$.subscribe(({ positionMs, type }) => {
      assert(type === 'started' || positionMs >= position, 'a position never goes back');
      position = positionMs;
    });
    page.enqueue({ data: new Uint8Array(96_000), metadata });
    for (const frame of rest) socket.say(frame);
    assert(page.positionMs <= 2000, 'no more is heard than was played');
    const isOk = heard.every(({ data, timestamp = -1 }) => data.length > 0 && data.length % 2 === 0 && timestamp >= 0);
    assert(isOk, 'audio is whole samples, and has a time');
    const isKnown = socket.sent.every((sent) => typeof sent !== 'string' || parseServerMessage(sent) !== undefined);
    assert(isKnown, 'a server says what pages know');
    assert(
      errors.every(({ code }) => code !== 'internal'),
      'nothing breaks',
    );
    pages[Symbol.dispose]();
    await page.dispose();
    assert(clock.pending === 0, 'no timer is left');
  },

  /** What a hostile server says to a page. */
  remotePipeline: async (bytes) => {
    const clock = new TestClock();
    const socket = new FakePhoneSocket();
    const speaker = new InstantSpeaker();
    const events: VoiceEvent[] = [];
    const microphone = new BufferInput({ sampleRate: 16_000, scheduler: clock });
    const openSocket = (): FakePhoneSocket => socket;
    const remote = new RemotePipeline({ url: 'ws://server', microphone, speaker, openSocket, scheduler: clock });
    remote.events$.subscribe((event) => events.push(event));
    const started = remote.start().catch(() => undefined);
    await settle();
    socket.open();
    for (const frame of framesOf(bytes)) socket.say(frame);
    microphone.push(new Uint8Array(640));
    await clock.advance(200);
    const isKnown = socket.sent.every((sent) => typeof sent !== 'string' || parsePageMessage(sent) !== undefined);
    assert(isKnown, 'a page says what servers know');
    assert(
      events.every(({ type, at }) => types.has(type) && Number.isFinite(at)),
      'an event is one of the known',
    );
    assert(speaker.volume >= 0 && speaker.volume <= 1, 'a volume is a factor');
    assert(!('polluted' in {}), 'no prototype is changed');
    await remote.dispose();
    await started;
    assert(clock.pending === 0, 'no timer is left');
  },
};
