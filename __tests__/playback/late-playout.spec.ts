import type { AudioChunk } from '../../lib/audio/types.ts';
import { LatePlayout } from '../../lib/playback/late-playout.ts';

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

  it('takes no mark before it is loaded', async () => {
    const { playout } = rig();
    playout.marked('m-1');
    await playout.load('PhoneStreamA');
    expect(playout.positionMs).toBe(0);
  });
});
