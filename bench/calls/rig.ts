import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { buildProgram } from './build.ts';
import type { Vitals } from './control.ts';
import { World, type WorldOptions } from './world.ts';

/** A system under test, in a process of its own. */
export interface Rig extends AsyncDisposable {
  /** @param collected - Whether garbage is collected first. */
  vitals(collected?: boolean): Promise<Vitals>;
  /** Calls it; resolves as soon as it listens. Each call has services of its own. */
  call(options?: WorldOptions): Promise<World>;
}

/** The library under test. */
export const openOurs = (): Promise<Rig> => openRig(new URL('./subject.ts', import.meta.url));
/** The same job by hand. */
export const openFloor = (): Promise<Rig> => openRig(new URL('../floor/calls.ts', import.meta.url));

async function openRig(script: URL): Promise<Rig> {
  const child = fork(await buildProgram(script), {
    execArgv: ['--expose-gc'],
    cwd: fileURLToPath(new URL('.', script)),
  });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const worlds: World[] = [];
  return {
    vitals: async (collected = false) => {
      child.send(collected ? 'collect' : 'look');
      const [vitals] = (await once(child, 'message')) as [Vitals];
      return vitals;
    },
    call: async (options) => {
      const world = await World.open(options);
      worlds.push(world);
      await world.dial(port);
      while (world.listeners === 0) await sleep(10);
      return world;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await Promise.all(worlds.map((world) => world.close()));
    },
  };
}
