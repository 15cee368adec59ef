import type { AudioChunk } from '../../lib/audio/types.ts';
import type { PlaybackEvent } from '../../lib/core/roles.ts';
import { LatePlayer, LatePlayout } from '../../lib/playback/late-playout.ts';
import { Playout } from '../../lib/playback/playout.ts';

const format = { encoding: 'linear16', sampleRate: 8000, channels: 1, bitDepth: 16 } as const;
const chunk = (value: number): AudioChunk => ({
  data: new Uint8Array(Int16Array.of(...Array<number>(160).fill(value)).buffer),
  metadata: format,
});

function rig(options: { readonly held?: boolean } = {}) {
  const written: number[] = [];
  const sink = {
    write: ({ data }: AudioChunk) => written.push(new DataView(data.buffer, data.byteOffset).getInt16(0, true)),
  };
  const playout = new LatePlayout(sink, { format, realtime: false, ...options });
  return { playout, written };
}

describe('LatePlayout', () => {
  it('has its streams before its player, and they are the same afterwards', async () => {
    const { playout } = rig();
    const [playback$, heard$] = [playout.playback$, playout.heard$];
    const seen: string[] = [];
    playback$.subscribe((event: PlaybackEvent) => seen.push(event.type));
    heard$.subscribe(() => seen.push('heard'));
    await playout.load('NullOutput');
    expect([playout.playback$, playout.heard$]).toEqual([playback$, heard$]);
    playout.enqueue(chunk(1));
    await playout.flush();
    expect(seen).toContain('started');
    expect(seen).toContain('heard');
  });

  it('keeps the volume that was set before there was a player', async () => {
    const { playout, written } = rig();
    playout.setVolume(0.5);
    await playout.load('NullOutput');
    playout.enqueue(chunk(1000));
    await playout.flush();
    expect(written).toEqual([500]);
  });

  it.each([
    { calls: ['release'], isHeard: true },
    { calls: [], isHeard: false },
    { calls: ['release', 'hold'], isHeard: false },
    { calls: ['hold', 'release'], isHeard: true },
  ] as const)('after $calls before there was a player, audio is written: $isHeard', async ({ calls, isHeard }) => {
    const { playout, written } = rig({ held: true });
    for (const call of calls) playout[call]();
    await playout.load('PhoneStreamA');
    playout.enqueue(chunk(1));
    expect(written).toEqual(isHeard ? [1] : []);
  });

  it('stands still until it is loaded', async () => {
    const { playout } = rig();
    playout.stop();
    playout.pause();
    playout.resume();
    playout.marked('m-1');
    await playout.flush();
    expect([playout.positionMs, playout.tailMs, playout.player]).toEqual([0, 0, undefined]);
  });
});

describe('LatePlayer', () => {
  it('names the provider when its code cannot be loaded, and tries again', async () => {
    const made = new Playout({ write: () => undefined });
    let attempts = 0;
    const player = new LatePlayer(() =>
      attempts++ === 0 ? Promise.reject(new Error('offline')) : Promise.resolve(made),
    );
    await expect(player.load('PageSocket')).rejects.toMatchObject({
      name: 'ProviderInitializationError',
      provider: 'PageSocket',
    });
    await player.load('PageSocket');
    expect(attempts).toBe(2);
    expect(player.player).toBe(made);
  });

  it('makes one player, however often it is loaded', async () => {
    const { playout } = rig();
    await Promise.all([playout.load('NullOutput'), playout.load('NullOutput')]);
    const first = playout.player;
    await playout.load('NullOutput');
    expect(playout.player).toBe(first);
  });
});
