import { concat, defer, from, ignoreElements, merge, NEVER, type Observable } from 'rxjs';
import { sameFormat } from '../../audio/described.ts';
import { isPcmLike, silence } from '../../audio/formats.ts';
import type { AudioChunk, AudioFormat } from '../../audio/types.ts';
import type { InputProvider, OutputProvider, PlaybackEvent } from '../../core/roles.ts';
import { casesOfAll, casesOfWork } from './cases.ts';
import { Bench, check, fail, Recorded, shown, type ContractCase, type ContractOptions } from './contract.ts';
import { letsGo } from './model-and-voice.ts';

/** Options of {@link inputContract}. */
export interface InputContractOptions<P extends InputProvider = InputProvider> extends ContractOptions<P> {
  /**
   * Makes the provider capture at least one chunk, as its device or its line would. Default: it captures by itself, as a
   * microphone does; then the case that two of them never hear each other is left out, for they are in one room.
   */
  readonly capture?: (provider: P) => void | Promise<void>;
}

/**
 * The rules of an input, as tests: one case for each.
 *
 * @param create - Makes a provider that is not initialized.
 */
export function inputContract<P extends InputProvider>(
  create: () => P,
  options: InputContractOptions<P> = {},
): readonly ContractCase[] {
  const { capture = () => undefined } = options;
  const started$ = (input: P): Observable<never> =>
    defer(async () => {
      await input.start();
      await capture(input);
    }).pipe(ignoreElements());
  const bench = new Bench<P, AudioChunk>({
    ...{ create, options, role: 'input', streams: ['audio$'] },
    work$: (input) => merge(input.audio$, started$(input)),
    hot$: (input) => input.audio$,
  });
  const hears = async (recorded: Recorded<AudioChunk>, when: string): Promise<void> => {
    for (let waited = 0; recorded.heard.length === 0; waited += bench.watchMs) {
      check(waited < bench.timeoutMs, `${when}, audio$ emits nothing`);
      await bench.watch();
    }
  };
  const hearsNothing = async (input: P, when: string): Promise<void> => {
    const recorded = new Recorded(input.audio$);
    try {
      await capture(input);
    } catch {
      // Who is stopped or disposed of may refuse; what matters is what is heard.
    }
    await bench.watch();
    check(recorded.heard.length === 0, `${when}, audio$ emits`);
    recorded.close();
  };
  const hearsOn = async (input: P, when: string): Promise<void> => {
    const recorded = new Recorded(input.audio$);
    await capture(input);
    await hears(recorded, `${when}, which is the output's`);
    recorded.close();
  };
  return [
    ...casesOfAll(bench),

    bench.with('audio$: two listeners hear the same', async (input) => {
      const [one, two] = [new Recorded(input.audio$), new Recorded(input.audio$)];
      await bench.inTime(input.start(), 'start()');
      await capture(input);
      await hears(one, 'after start()');
      check(one.heard.length === two.heard.length, 'two listeners of audio$ heard different things');
      check([...one.ends, ...two.ends].length === 0, `audio$ ${one.ends.join()}`);
      one.close();
      two.close();
    }),

    bench.with('audio$: nothing comes before start()', (input) => hearsNothing(input, 'before start()')),

    bench.with('audio$: nothing comes after stop()', async (input) => {
      await bench.inTime(input.start(), 'start()');
      await bench.inTime(input.stop(), 'stop()');
      await (isCall(input) ? hearsOn : hearsNothing)(input, 'after stop()');
    }),

    bench.with('audio$: nothing comes between pause() and resume()', async (input) => {
      await bench.inTime(input.start(), 'start()');
      input.pause();
      if (isCall(input)) return hearsOn(input, 'after pause()');
      await hearsNothing(input, 'after pause()');
      const recorded = new Recorded(input.audio$);
      input.resume();
      await capture(input);
      await hears(recorded, 'after resume()');
      recorded.close();
    }),

    bench.with('audio$: nothing comes after dispose()', async (input) => {
      await bench.inTime(input.start(), 'start()');
      await bench.inTime(input.dispose(), 'dispose()');
      await hearsNothing(input, 'after dispose()');
    }),

    bench.with('audio$: its chunks are in the format that getMetadata() returns', async (input) => {
      const recorded = new Recorded(input.audio$);
      await bench.inTime(input.start(), 'start()');
      await capture(input);
      await hears(recorded, 'after start()');
      const metadata = recorded.heard[0]?.metadata ?? input.getMetadata();
      check(sameFormat(metadata, input.getMetadata()), `its first chunk is ${shown(JSON.stringify(metadata))}`);
      recorded.close();
    }),

    ...ofTwo(bench, options.capture),
    ...ofDevice(bench),
  ];
}

/** Of a call, which is an output as well, `stop()`, `pause()` and `resume()` are the output's. */
const isCall = ({ roles }: InputProvider): boolean => roles.includes('output');

function ofTwo<P extends InputProvider>(
  bench: Bench<P, AudioChunk>,
  capture: InputContractOptions<P>['capture'],
): ContractCase[] {
  if (!capture) return [];
  return [
    bench.with('start(): two of them never hear each other', async (input) => {
      const other = bench.kit.create();
      try {
        await bench.inTime(other.initialize(), 'initialize()');
        await bench.inTime(other.start(), 'start()');
        const recorded = new Recorded(other.audio$);
        await bench.inTime(input.start(), 'start()');
        await capture(input);
        await bench.watch();
        check(recorded.heard.length === 0, 'one of two heard what the other captured');
        recorded.close();
      } finally {
        await other.dispose();
      }
    }),
  ];
}

function ofDevice<P extends InputProvider>(bench: Bench<P, AudioChunk>): ContractCase[] {
  const { inUse } = bench.kit.options;
  if (!inUse) return [];
  return (['stop', 'dispose'] as const).map((method) =>
    bench.with(`${method}() releases what it captures from`, async (input) => {
      const idle = inUse();
      await bench.inTime(input.start(), 'start()');
      await bench.uses((count) => count > idle, 'start() does not use the device');
      if (method === 'stop' && isCall(input)) return;
      await bench.inTime(input[method](), `${method}()`);
      await bench.uses((count) => count <= idle, `${method}() does not release the device`);
    }),
  );
}

/** Options of {@link outputContract}. */
export interface OutputContractOptions extends ContractOptions<OutputProvider> {
  /** What it plays. Default: 200 ms of silence in the first format that it accepts, which has to be uncompressed. */
  readonly audio?: readonly AudioChunk[];
}

/**
 * The rules of an output, as tests: one case for each. It plays for less than two seconds in all.
 *
 * @param create - Makes a provider that is not initialized.
 */
export function outputContract(
  create: () => OutputProvider,
  options: OutputContractOptions = {},
): readonly ContractCase[] {
  const audio = (output: OutputProvider): readonly AudioChunk[] => options.audio ?? quiet(output.accepts);
  const bench = new Bench<OutputProvider, PlaybackEvent>({
    ...{ create, options, role: 'output', streams: ['playback$'] },
    work$: (output) => defer(() => output.play(from(audio(output)))),
    hot$: (output) => output.playback$,
  });
  const typesOf = (events: readonly PlaybackEvent[]): string =>
    events.flatMap(({ type }) => (type === 'progress' ? [] : [type])).join();
  return [
    ...casesOfAll(bench),
    ...casesOfWork(bench, 'play()'),

    bench.with('play(): what comes late of a cancelled one goes nowhere', async (output) => {
      // More follows: it cannot have been heard to its end.
      const cancelled = bench.begin(output.play(concat(from(audio(output)), NEVER)));
      await cancelled.begun('the work');
      cancelled.cancel();
      const recorded = new Recorded(output.playback$);
      const own = typesOf(await bench.whole(output, 1));
      await bench.watch();
      check(
        typesOf(recorded.heard) === own,
        `after a cancelled one, playback$ told ${typesOf(recorded.heard)}, not ${own}`,
      );
      recorded.close();
    }),

    bench.with('play(): it tells the start, then the end, and goes forward between them', async (output) => {
      const events = await bench.whole(output, 0);
      check(typesOf(events) === 'started,finished', `it told ${typesOf(events)}, not started,finished`);
      const goesBack = events.some(({ positionMs }, at) => positionMs < (events[at - 1]?.positionMs ?? 0));
      check(!goesBack, 'its positions go back');
    }),

    bench.with('play(): two of them never hear each other', async (output) => {
      const other = create();
      try {
        await bench.inTime(other.initialize(), 'initialize()');
        const recorded = new Recorded(other.playback$);
        await bench.whole(output, 0);
        check(recorded.heard.length === 0, 'one of two told what the other played');
        recorded.close();
      } finally {
        await other.dispose();
      }
    }),

    bench.with('flush() waits until what is enqueued was heard', async (output) => {
      const recorded = new Recorded(output.playback$);
      for (const chunk of audio(output)) output.enqueue(chunk);
      await bench.inTime(output.flush(), 'flush()');
      const { positionMs } = output;
      check(recorded.heard.length > 0, 'playback$ emitted nothing before flush() resolved');
      await bench.watch();
      check(output.positionMs === positionMs, 'it played on after flush() resolved');
      recorded.close();
    }),

    letsGo(
      ...([bench, 'play()', 'audio'] as const),
      (output, audio$: Observable<AudioChunk>) => output.play(audio$),
      (output) => audio(output)[0],
    ),
  ];
}

function quiet(accepts: readonly AudioFormat[]): AudioChunk[] {
  const format = accepts.find(
    ({ encoding, containers = ['raw'] }) => isPcmLike(encoding) && containers.includes('raw'),
  );
  if (!format) fail('outputContract: it accepts no uncompressed audio: pass some as `audio`');
  const { encoding, sampleRates: [sampleRate = 16_000] = [], channels: [channels = 1] = [] } = format;
  const metadata = { encoding, sampleRate, channels };
  return Array.from({ length: 10 }, () => ({ data: silence(metadata, 20), metadata }));
}
