import type { AudioChunk } from '../../lib/audio/types.ts';
import { LatePlayer, type PlayerStreams } from '../../lib/playback/late-player.ts';
import { Playout } from '../../lib/playback/playout.ts';

const format = { encoding: 'linear16', sampleRate: 8000, channels: 1, bitDepth: 16 } as const;
const chunk = (value: number): AudioChunk => ({
  data: new Uint8Array(Int16Array.of(...Array<number>(160).fill(value)).buffer),
  metadata: format,
});

/** @param failures - How often its code cannot be loaded at first. */
function rig({ failures = 0 } = {}) {
  const written: number[] = [];
  const made: Playout[] = [];
  const write = ({ data }: AudioChunk): void => {
    written.push(new DataView(data.buffer, data.byteOffset).getInt16(0, true));
  };
  const make = async (streams: PlayerStreams): Promise<Playout> => {
    const playout = new Playout({ write }, { format, realtime: false, ...streams });
    if (made.push(playout) <= failures) throw new Error('offline');
    return Promise.resolve(playout);
  };
  return { player: new LatePlayer(make), written, made };
}

describe('LatePlayer', () => {
  it('has its streams before its player, and they are the same afterwards', async () => {
    const { player } = rig();
    const [playback$, heard$] = [player.playback$, player.heard$];
    const seen: string[] = [];
    playback$.subscribe(({ type }) => seen.push(type));
    heard$.subscribe(() => seen.push('heard'));
    await player.load('PageSocket');
    expect([player.playback$, player.heard$]).toEqual([playback$, heard$]);
    player.enqueue(chunk(1));
    await player.flush();
    expect(seen).toContain('started');
    expect(seen).toContain('heard');
  });

  it('keeps the volume that was set before there was a player', async () => {
    const { player, written } = rig();
    player.setVolume(0.5);
    await player.load('PageSocket');
    player.enqueue(chunk(1000));
    await player.flush();
    expect(written).toEqual([500]);
  });

  it('stands still until it is loaded', async () => {
    const { player } = rig();
    player.stop();
    player.pause();
    player.resume();
    player.hold();
    await player.flush();
    expect([player.positionMs, player.tailMs, player.player]).toEqual([0, 0, undefined]);
  });

  it('names the provider when its code cannot be loaded, and tries again', async () => {
    const { player, made } = rig({ failures: 1 });
    await expect(player.load('PageSocket')).rejects.toMatchObject({
      name: 'ProviderInitializationError',
      provider: 'PageSocket',
    });
    await player.load('PageSocket');
    expect(made).toHaveLength(2);
    expect(player.player).toBe(made[1]);
  });

  it('keeps one player, however often it is loaded', async () => {
    const { player } = rig();
    await Promise.all([player.load('PageSocket'), player.load('PageSocket')]);
    const first = player.player;
    await player.load('PageSocket');
    expect(player.player).toBe(first);
  });
});
