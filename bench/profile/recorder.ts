import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

/** What of a process is recorded: where its CPU time goes, or who made what is left on its heap at the end. */
export type ProfileKind = 'cpu' | 'heap';

/** What the parent process asks: to begin, and to write what was recorded since. */
export type RecorderMessage = { readonly record: ProfileKind } | { readonly writeTo: string };

/** Microseconds between two looks at the stack. */
const samplingUs = 500;
/** Bytes between two allocations that are looked at, on average. */
const samplingBytes = 4_096;

const commands = {
  cpu: ['Profiler.start', 'Profiler.stop'],
  heap: ['HeapProfiler.startSampling', 'HeapProfiler.stopSampling'],
} as const;

/** Records this process when its parent asks for it. Until then it costs nothing. */
export function record(): void {
  let session: Session | undefined;
  let stop: string | undefined;
  const post = (method: string, parameters: object = {}): Promise<object> =>
    new Promise((resolve, reject) => {
      session?.post(method, parameters, (error, result) => {
        if (error) reject(error);
        else resolve(result ?? {});
      });
    });
  const answer = async (message: RecorderMessage): Promise<string> => {
    if ('record' in message) {
      session = new Session();
      session.connect();
      const [start, end] = commands[message.record];
      stop = end;
      if (message.record === 'cpu') {
        await post('Profiler.enable');
        await post('Profiler.setSamplingInterval', { interval: samplingUs });
      } else await post('HeapProfiler.collectGarbage');
      await post(start, { samplingInterval: samplingBytes });
      return 'recording';
    }
    if (stop === undefined) throw new Error('nothing was recorded');
    if (stop.startsWith('Heap')) await post('HeapProfiler.collectGarbage');
    const { profile } = (await post(stop)) as { profile: object };
    writeFileSync(message.writeTo, JSON.stringify(profile));
    return 'written';
  };
  process.on('message', (message: unknown) => {
    if (typeof message !== 'object' || message === null) return;
    answer(message as RecorderMessage).then(
      (done) => process.send?.(done),
      (error: unknown) => process.send?.(String(error)),
    );
  });
}
