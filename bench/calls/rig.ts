import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { dirname, extname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { BenchOptions, Contender } from '../harness.ts';
import { recordingOf } from '../profile/recording.ts';
import { buildProgram } from './build.ts';
import type { Question, Vitals } from './control.ts';
import { patienceMs, World, type WorldOptions } from './world.ts';

/** A system under test, in a process of its own. */
export interface Rig extends AsyncDisposable {
  /** @param collected - Whether garbage is collected first. */
  vitals(collected?: boolean): Promise<Vitals>;
  /** Calls it; resolves as soon as it listens. Each call has services of its own. */
  call(options?: WorldOptions): Promise<World>;
  /** What is measured begins: with `--profile`, so does the recording. */
  begin(): Promise<void>;
}

/** A contender, ready to be started as often as a benchmark needs it. */
export interface Side {
  readonly name: Contender;
  readonly open: () => Promise<Rig>;
}

/** The library under test. */
export const ours: Side = { name: 'rxvoice', open: () => openOurs() };

/** The library, its subscriptions counted in its vitals. */
export const openCounting = (): Promise<Rig> => openOurs(['--subscriptions']);

/** The library under flags of V8, such as those that log what it does. */
export const openWith = (flags: readonly string[]): Promise<Rig> => openOurs([], flags);

/** Everybody who does the same job: the floor, by hand; a peer, if there is one; the library. */
export function sidesOf({ peer }: BenchOptions): Side[] {
  const floor: Side = { name: 'floor', open: () => openBuilt(new URL('../floor/calls.ts', import.meta.url)) };
  return [floor, ...(peer === undefined ? [] : [{ name: 'peer' as const, open: () => openPeer(peer) }]), ours];
}

/** The library alone, unless it is compared with a peer: of rows that are not ratios. */
export const absoluteSidesOf = (options: BenchOptions): Side[] =>
  options.peer === undefined ? [ours] : sidesOf(options);

async function openOurs(args: readonly string[] = [], flags: readonly string[] = []): Promise<Rig> {
  const recording = recordingOf();
  const program = await buildProgram(new URL('./subject.ts', import.meta.url), recording !== undefined);
  const rig = await openRig(program, args, flags);
  if (!recording) return rig;
  return {
    ...rig,
    begin: () => recording.begin(rig.child),
    [Symbol.asyncDispose]: async () => {
      await recording.end(rig.child);
      await rig[Symbol.asyncDispose]();
    },
  };
}

const openBuilt = async (script: URL): Promise<Rig> => openRig(await buildProgram(script));

/** JavaScript runs as it is, with the packages beside it; TypeScript is built first, and finds this repository's. */
function openPeer(path: string): Promise<Rig> {
  const program = resolve(path);
  return extname(program) === '.ts' ? openBuilt(pathToFileURL(program)) : openRig(program);
}

async function openRig(
  program: string,
  args: readonly string[] = [],
  flags: readonly string[] = [],
): Promise<Rig & { readonly child: ChildProcess }> {
  const child = fork(program, args, { execArgv: ['--expose-gc', ...flags], cwd: dirname(program) });
  const exited = once(child, 'exit');
  const answer = async <T>(): Promise<T> => {
    const [message] = (await Promise.race([
      once(child, 'message'),
      exited.then(([code, signal]) => {
        throw new Error(`${program} has ended (${String(code ?? signal)})`);
      }),
      sleep(patienceMs, undefined, { ref: false }).then(() => {
        throw new Error(`${program} did not answer the benchmark within ${patienceMs / 1000} s`);
      }),
    ])) as [T];
    return message;
  };
  const { port } = await answer<{ port: number }>();
  const worlds: World[] = [];
  return {
    child,
    vitals: (collected = false) => {
      child.send((collected ? 'collect' : 'look') satisfies Question);
      return answer<Vitals>();
    },
    call: async (options) => {
      const world = await World.open(options);
      worlds.push(world);
      await world.dial(port);
      const giveUpAt = performance.now() + patienceMs;
      while (world.listeners === 0) {
        if (performance.now() > giveUpAt) throw new Error(`${program} has not called its speech-to-text service`);
        await sleep(10);
      }
      return world;
    },
    begin: () => Promise.resolve(),
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await exited;
      await Promise.all(worlds.map((world) => world.close()));
    },
  };
}

/** The programs of several sides, with a call to each. */
export interface Lineup extends AsyncDisposable {
  readonly rigs: readonly Rig[];
  readonly calls: ReadonlyMap<Contender, World>;
  begin(): Promise<void>;
}

/** Starts all sides and calls each. */
export async function lineUp(sides: readonly Side[], options: WorldOptions = {}): Promise<Lineup> {
  const rigs: Rig[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(rigs.map((rig) => rig[Symbol.asyncDispose]()));
  };
  const calls = new Map<Contender, World>();
  try {
    for (const { name, open } of sides) {
      const rig = await open();
      rigs.push(rig);
      calls.set(name, await rig.call(options));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    rigs,
    calls,
    begin: async () => {
      for (const rig of rigs) await rig.begin();
    },
    [Symbol.asyncDispose]: close,
  };
}
