// Slow: builds three programs, and starts each in a process of its own.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildProgram } from '../../bench/calls/build.ts';
import { turn } from '../../bench/calls/calls.ts';
import type { World } from '../../bench/calls/world.ts';
import { decodeMulaw } from 'rxvoice/audio';
import { absoluteSidesOf, lineUp, openCounting, sidesOf } from '../../bench/calls/rig.ts';

// It does the same job and speaks the same protocol: the smallest peer that there is.
const floor = new URL('../../bench/floor/calls.ts', import.meta.url);

describe("a peer's build", () => {
  it('is measured beside the floor and the library, in turns', async () => {
    await using lineup = await lineUp(sidesOf({ peer: fileURLToPath(floor) }));
    expect([...lineup.calls.keys()]).toEqual(['floor', 'peer', 'rxvoice']);
    for (const world of lineup.calls.values()) {
      const { overheadMs, clearMs, toldMs } = await turn(world, 5);
      expect(Math.min(overheadMs, clearMs, toldMs)).toBeGreaterThan(0);
    }
  });

  it('has an answer spoken although its voice is still connecting', async () => {
    for (const { open } of sidesOf({})) {
      await using rig = await open();
      const world = await rig.call({ handshakeMs: 150 });
      expect((await turn(world, 0)).overheadMs).toBeGreaterThan(0);
    }
  });

  it('may be JavaScript, which runs as it is', async () => {
    const peers = sidesOf({ peer: await buildProgram(floor) }).filter(({ name }) => name === 'peer');
    expect(peers).toHaveLength(1);
    for (const { open } of peers) {
      await using rig = await open();
      const world = await rig.call();
      expect((await turn(world, 0)).requestMs).toBeGreaterThan(0);
      const { cpuMs, heapBytes, handles } = await rig.vitals(true);
      expect(Math.min(cpuMs, heapBytes, handles)).toBeGreaterThan(0);
    }
  });

  it('that ends at once fails with its name and its exit code', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'peer-'));
    try {
      const program = join(folder, 'peer.mjs');
      writeFileSync(program, 'process.exit(3);');
      await expect(lineUp(sidesOf({ peer: program }))).rejects.toThrow(`${program} has ended (3)`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is not there unless it is asked for', () => {
    expect(sidesOf({}).map(({ name }) => name)).toEqual(['floor', 'rxvoice']);
    expect(absoluteSidesOf({}).map(({ name }) => name)).toEqual(['rxvoice']);
  });
});

describe('the voice in linear16 at 24 kHz', () => {
  it('reaches the phone through floor and library', async () => {
    await using lineup = await lineUp(sidesOf({}), { voice: 'linear16' });
    const levels = await Promise.all([...lineup.calls.values()].map(levelOf));
    // The service's tone has a peak of 8,000.
    for (const level of levels) expect(level).toBeGreaterThan(0.95 * (8000 / Math.SQRT2));
    for (const level of levels) expect(level).toBeLessThan(1.05 * (8000 / Math.SQRT2));
  });
});

describe('the subscriptions of the library', () => {
  it('are counted: a call has some, and takes them along when it ends', async () => {
    await using rig = await openCounting();
    const { subscriptions: before } = await rig.vitals();
    const world = await rig.call();
    const { subscriptions: during = 0 } = await rig.vitals();
    world.phone?.socket.close();
    let after: number | undefined;
    do after = (await rig.vitals()).subscriptions;
    while (after !== before);
    expect([before, during > 20]).toEqual([0, true]);
  });
});

/** The level of what the phone plays 100 to 120 ms into an answer: by then every filter has filled. */
async function levelOf(world: World): Promise<number> {
  const played: number[] = [];
  const enough = new Promise<number[]>((resolve) => {
    world.phone?.socket.on('message', (data: Buffer) => {
      const { event, media } = JSON.parse(data.toString()) as { event: string; media?: { payload: string } };
      if (event === 'media' && media) played.push(...decodeMulaw(new Uint8Array(Buffer.from(media.payload, 'base64'))));
      if (played.length >= 960) resolve(played.slice(800, 960));
    });
  });
  const [request, text] = [world.next('request'), world.next('text')];
  world.sayFinal('What is on the list today');
  await request;
  world.sendTokens('Here is the whole list for you. And');
  await text;
  world.sendAudio();
  const samples = await enough;
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}
