// Slow: hundreds of turns, over real sockets.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { turn } from '../../bench/calls/calls.ts';
import { openWith } from '../../bench/calls/rig.ts';
import type { World } from '../../bench/calls/world.ts';

const [calls, turnsOfCall, pieces] = [4, 50, 25];
const payload = Buffer.alloc(160, 0x7f).toString('base64');

describe('the hidden classes of V8', () => {
  // Until Node 22, `{ ...before, added }` has one of its own for each object, so that whatever reads them is slow:
  // `{ added, ...before }` has not.
  it('are the same in each turn: no line makes new ones turn after turn', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'classes-'));
    try {
      const log = join(folder, 'v8.log');
      const flags = ['--log-maps', '--no-log-maps-details', '--no-logfile-per-isolate', `--logfile=${log}`];
      await hold(flags);
      const made = newClasses(readFileSync(log, 'utf8'));
      expect(made.total).toBeGreaterThan(1_000);
      expect(made.often).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

/** Holds conversations with the library, in a process with these flags. */
async function hold(flags: readonly string[]): Promise<void> {
  await using rig = await openWith(flags);
  const worlds = await Promise.all(Array.from({ length: calls }, () => rig.call()));
  await Promise.all(worlds.map(converse));
}

async function converse(world: World): Promise<void> {
  const media = { track: 'inbound', chunk: '1', timestamp: '0', payload };
  for (let count = 0; count < turnsOfCall; count++) {
    world.phone?.send({ event: 'media', sequenceNumber: '2', media, streamSid: world.phone.streamSid });
    await turn(world, 0);
  }
  await listen(world);
}

/** Hears a long answer, of which only the first piece of audio tells its format. */
async function listen(world: World): Promise<void> {
  const [request, text, media] = [world.next('request'), world.next('text'), world.next('media')];
  world.sayFinal('What is on the list today');
  await request;
  world.sendTokens('Here is the whole list for you. And');
  await text;
  for (let piece = 0; piece < pieces; piece++) world.sendAudio();
  await media;
  const told = world.next('told');
  world.sayInterim('Wait a moment');
  await told;
}

/** All new classes of a log, and the lines of the program that still make them at its end, with the key. */
function newClasses(log: string): { readonly total: number; readonly often: readonly string[] } {
  const made = log.split('\n').flatMap((line) => {
    // map,Transition,<time>,<from>,<to>,<pc>,<line>,<column>,<reason>,<key>
    const [type, kind, time, , , , at, , , key] = line.split(',');
    return type === 'map' && kind === 'Transition' ? [{ time: Number(time), place: `line ${at}: ${key}` }] : [];
  });
  const [first, last] = [made[0]?.time ?? NaN, made.at(-1)?.time ?? NaN];
  const counts = new Map<string, number>();
  for (const { time, place } of made) {
    if (time > last - (last - first) / 3) counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  const often = [...counts].filter(([, count]) => count > (calls * turnsOfCall) / 10).map(([place]) => place);
  return { total: made.length, often };
}
