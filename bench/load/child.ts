import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

type Answers = Readonly<Record<string, (input: never) => unknown>>;

interface Question {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

interface Answer {
  readonly id: number;
  readonly output?: unknown;
  readonly error?: string;
}

/** In a process that was started by {@link start}: answers its questions. */
export function serve(answers: Answers): void {
  process.on('message', ({ id, name, input }: Question) => {
    const answer = answers[name] as ((input: unknown) => unknown) | undefined;
    Promise.resolve(input)
      .then(answer)
      .then((output) => process.send?.({ id, output } satisfies Answer))
      .catch((error: unknown) => process.send?.({ id, error: String(error) } satisfies Answer));
  });
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
}

/** A process of the benchmark, and what can be asked of it. */
export interface Child {
  ask<T>(name: string, input?: unknown): Promise<T>;
  end(): Promise<void>;
}

/** Starts one of this folder's programs. */
export async function start(program: string): Promise<Child> {
  const execArgv = ['--conditions=rxvoice-source', '--import', 'tsx'];
  const child = fork(fileURLToPath(new URL(program, import.meta.url)), { execArgv });
  const pending = new Map<number, Asked>();
  let asked = 0;
  await once(child, 'message');
  child.on('message', ({ id, output, error }: Answer) => {
    if (error === undefined) pending.get(id)?.resolve(output);
    else pending.get(id)?.reject(new Error(`${program}: ${error}`));
    pending.delete(id);
  });
  const exited = once(child, 'exit');
  child.once('exit', (code) => {
    for (const { reject } of pending.values()) reject(new Error(`${program} has ended (${code ?? 'killed'})`));
  });
  return {
    ask: <T>(name: string, input?: unknown) =>
      new Promise<T>((resolve, reject) => {
        const id = ++asked;
        pending.set(id, { resolve: (output) => resolve(output as T), reject });
        child.send({ id, name, input } satisfies Question);
      }),
    end: async () => {
      child.kill();
      await exited;
    },
  };
}

interface Asked {
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}
