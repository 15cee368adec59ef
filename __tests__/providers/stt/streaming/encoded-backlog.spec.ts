import type { AudioMetadata } from '../../../../lib/audio/types.ts';
import type { AudioFormat } from '../../../../lib/audio/types.ts';
import { EncodedBacklog } from '../../../../lib/providers/stt/streaming/encoded-backlog.ts';
import { StreamingSTT, type StreamingSTTConfig } from '../../../../lib/providers/stt/streaming-stt.ts';
import type { SocketRequest } from '../../../../lib/transport/socket-session.ts';
import { clocked, connected, faked, record, settle } from '../stt-fixture.ts';

const mebibyte = 1024 * 1024;
const chunk = (value: number, length: number = 4): Uint8Array<ArrayBuffer> => new Uint8Array(length).fill(value);
const opus: AudioMetadata = { encoding: 'opus', sampleRate: 48_000, channels: 1, container: 'ogg' };

class OggSTT extends StreamingSTT<StreamingSTTConfig> {
  readonly name = 'OggSTT';
  readonly accepts: readonly AudioFormat[] = [{ encoding: 'opus', sampleRates: [48_000], containers: ['ogg'] }];
  protected readonly defaultBaseUrl = 'wss://ogg.example';
  protected override readonly gapMs: number = 500;
  protected override readonly minFrameMs: number = 50;
  protected override readonly catchUpSpeed: number = 2;
  protected readonly handlers = {
    final: ({ text, end }: Record<string, unknown>): void => {
      if (this.finalized(Number(end))) this.utterances.result('complete', String(text));
    },
  };

  protected override request(): Promise<SocketRequest> {
    return Promise.resolve({ url: this.resolveSocketUrl('/') });
  }

  protected override farewell(): { farewell: string[] } {
    return { farewell: ['bye'] };
  }

  protected override wantsSilence(): boolean {
    return true;
  }
}

describe('compressed audio that is kept', () => {
  it('is kept from its start, whatever is final', () => {
    const backlog = new EncodedBacklog();
    for (const value of [1, 2, 3]) backlog.push(chunk(value));
    backlog.release(60_000);
    expect([backlog.trim(0), backlog.startMs]).toEqual([false, 0]);
    expect(backlog.from(60_000).map(([first]) => first)).toEqual([1, 2, 3]);
  });

  it('above 16 MiB is its first chunk and the newest, and begins where the last final ended', () => {
    const backlog = new EncodedBacklog();
    backlog.push(chunk(0, 100));
    for (let value = 1; value <= 20; value++) backlog.push(chunk(value, mebibyte));
    backlog.release(5_000);
    expect([backlog.trim(0), backlog.startMs]).toEqual([true, 5_000]);
    expect(backlog.from().map(([first]) => first)).toEqual([0, ...Array.from({ length: 15 }, (_, at) => at + 6)]);
    expect(backlog.trim(0)).toBe(false);
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

  it('goes out as it comes, chunk by chunk, and no silence stands in for it', async () => {
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
