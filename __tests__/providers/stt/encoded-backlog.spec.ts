import type { AudioMetadata } from '../../../lib/audio/types.ts';
import { EncodedBacklog } from '../../../lib/providers/stt/audio-backlog.ts';
import { StreamingSTT, type StreamingSTTConfig } from '../../../lib/providers/stt/streaming-stt.ts';
import type { STTWire } from '../../../lib/providers/stt/stt-wire.ts';
import { clocked, connected, faked, record, settle } from './stt-fixture.ts';

const mebibyte = 1024 * 1024;
const chunk = (value: number, length: number = 4): Uint8Array<ArrayBuffer> => new Uint8Array(length).fill(value);
const opus: AudioMetadata = { encoding: 'opus', sampleRate: 48_000, channels: 1, container: 'ogg' };

const oggWire: STTWire<StreamingSTTConfig, undefined> = {
  name: 'OggSTT',
  baseUrl: () => 'wss://ogg.example',
  path: '/',
  accepts: () => [{ encoding: 'opus', sampleRates: [48_000], containers: ['ogg'] }],
  rules: {},
  minFrameMs: 50,
  catchUpSpeed: 2,
  gapMs: 500,
  start: () => undefined,
  read: {
    final: (state, { text, end }, context) => {
      const ms = Number(end);
      if (context.isFinal(ms)) return [state];
      return [state, { type: 'finalized', ms }, { type: 'result', kind: 'complete', text: String(text) }];
    },
  },
  farewell: () => ['bye'],
  gap: (state) => [state, { type: 'silence', ms: 500 }],
};

class OggSTT extends StreamingSTT<StreamingSTTConfig, undefined> {
  constructor(config: StreamingSTTConfig) {
    super(oggWire, config);
  }
}

describe('compressed audio that is kept', () => {
  it('is kept from its start, whatever is final', () => {
    const backlog = new EncodedBacklog();
    for (const value of [1, 2, 3]) backlog.push(chunk(value));
    backlog.release(60_000);
    expect([backlog.trim(0), backlog.startMs]).toEqual([0, 0]);
    expect(backlog.from(60_000).map(([first]) => first)).toEqual([1, 2, 3]);
  });

  it('is a copy, as what is sent of it: a caller may use its buffer again', () => {
    const backlog = new EncodedBacklog();
    const buffer = Buffer.from(chunk(1));
    const [sent] = backlog.push(buffer);
    buffer.fill(9);
    expect([sent, ...backlog.from()]).toEqual([chunk(1), chunk(1)]);
  });

  it('above 16 MiB is its first chunk and the newest, and begins where the last final ended', () => {
    const backlog = new EncodedBacklog();
    backlog.push(chunk(0, 100));
    for (let value = 1; value <= 20; value++) backlog.push(chunk(value, mebibyte));
    backlog.release(5_000);
    expect([backlog.trim(0), backlog.startMs]).toEqual([(5 * mebibyte) / 2, 5_000]);
    expect(backlog.from().map(([first]) => first)).toEqual([0, ...Array.from({ length: 15 }, (_, at) => at + 6)]);
    expect(backlog.trim(0)).toBe(0);
  });
});

describe('StreamingSTT: compressed audio', () => {
  const live = async () => {
    const { clock, config } = clocked();
    const stt = faked(new OggSTT(config));
    stt.configureAudio(opus);
    stt.sendAudio({ data: chunk(1) });
    await connected(stt);
    stt.sendAudio({ data: chunk(2, 3) });
    return { clock, stt, ...record(stt) };
  };

  it('goes out as it arrives, chunk by chunk, and is never replaced with silence', async () => {
    const { clock, stt, errors } = await live();
    await clock.advance(5_000);
    expect(stt.sockets.last.sent).toEqual([chunk(1), chunk(2, 3)]);
    expect(errors).toEqual([]);
  });

  it('F7: is heard from its start by another connection, and nothing is said twice', async () => {
    const { clock, stt, log } = await live();
    stt.sockets.last.say({ type: 'final', text: 'one', end: 900 });
    stt.sockets.last.drop(1011);
    await clock.advance(300);
    stt.sockets.last.accept();
    await settle();
    stt.sendAudio({ data: chunk(3) });
    expect(stt.sockets.last.sent).toEqual([chunk(1), chunk(2, 3), chunk(3)]);
    stt.sockets.last.say({ type: 'final', text: 'one', end: 900 });
    stt.sockets.last.say({ type: 'final', text: 'two', end: 1_800 });
    expect(log).toEqual(['. one', '. two']);
  });
});
