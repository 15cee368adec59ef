import {
  asyncScheduler,
  connect,
  debounceTime,
  defer,
  distinctUntilChanged,
  finalize,
  interval,
  map,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { durationMs, isPcmLike } from '../audio/formats.ts';
import { peakLevel, rmsLevel } from '../audio/levels.ts';
import { decodeSamples } from '../audio/samples.ts';
import type { AudioMetadata } from '../audio/types.ts';
import type { InputProvider } from '../core/roles.ts';
import { incremental } from '../stream/incremental.ts';
import { merge } from '../stream/merge.ts';

/** How loud something is. */
export interface AudioLevel {
  /** Root mean square, 0 to 1 of full scale. Voices are at about 0.01 to 0.3. */
  readonly rms: number;
  /** The largest magnitude, 0 to 1 of full scale. */
  readonly peak: number;
}

/** What {@link audioLevels} can measure: an input, or an output of the browser such as `BrowserAudioOutput`. */
export type LevelSource = Pick<InputProvider, 'audio$' | 'getMetadata'> | { readonly audioNode: AudioNode | undefined };

/** Options of {@link audioLevels}. */
export interface AudioLevelsOptions {
  /** How much audio a level covers, in milliseconds. Default: 50. */
  readonly intervalMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

const silent: AudioLevel = { rms: 0, peak: 0 };

/** Intervals without audio after which an input counts as silent. */
const quietIntervals = 4;

/**
 * The level of a microphone, or of what a browser's output plays, for a meter: one value per interval, zero when there
 * is no audio. Inputs of compressed audio have no levels. Completes with an input; never errors. Cold.
 *
 * @example
 * ```ts
 * import { audioLevels, MicrophoneInput } from 'rxvoice';
 *
 * declare const meter: HTMLMeterElement;
 *
 * const microphone = new MicrophoneInput();
 * audioLevels(microphone).subscribe(({ peak }) => (meter.value = peak));
 * ```
 */
export function audioLevels(
  source: LevelSource,
  { intervalMs = 50, scheduler = asyncScheduler }: AudioLevelsOptions = {},
): Observable<AudioLevel> {
  return 'audioNode' in source
    ? levelsOfOutput(source, intervalMs, scheduler)
    : levelsOfInput(source, intervalMs, scheduler);
}

function levelsOfInput(
  input: Pick<InputProvider, 'audio$' | 'getMetadata'>,
  intervalMs: number,
  scheduler: SchedulerLike,
): Observable<AudioLevel> {
  return defer(() => {
    const levels$ = input.audio$.pipe(
      incremental(() => {
        let metadata: AudioMetadata | undefined;
        let [ms, energy, peak] = [0, 0, 0];
        return {
          push: (chunk) => {
            metadata = chunk.metadata ?? metadata ?? input.getMetadata();
            if (!isPcmLike(metadata.encoding) || chunk.data.length === 0) return [];
            const samples = decodeSamples(chunk.data, metadata.encoding);
            const chunkMs = durationMs(chunk.data.length, metadata);
            ms += chunkMs;
            energy += rmsLevel(samples) ** 2 * chunkMs;
            peak = Math.max(peak, peakLevel(samples));
            if (ms < intervalMs) return [];
            const level = { rms: Math.sqrt(energy / ms), peak };
            [ms, energy, peak] = [0, 0, 0];
            return [level];
          },
          flush: () => [],
        };
      }),
    );
    const quiet$ = (level$: Observable<AudioLevel>): Observable<AudioLevel> =>
      level$.pipe(
        debounceTime(quietIntervals * intervalMs, scheduler),
        map(() => silent),
      );
    return levels$.pipe(
      connect((level$) => merge(level$, quiet$(level$))),
      distinctUntilChanged(areSame),
    );
  });
}

function levelsOfOutput(
  output: { readonly audioNode: AudioNode | undefined },
  intervalMs: number,
  scheduler: SchedulerLike,
): Observable<AudioLevel> {
  return defer(() => {
    let [node, analyser]: [AudioNode | undefined, AnalyserNode | undefined] = [undefined, undefined];
    let samples = new Float32Array(0);
    const follow = (next: AudioNode | undefined): void => {
      if (node === next) return;
      if (analyser) node?.disconnect(analyser);
      analyser = next && new AnalyserNode(next.context, { fftSize: windowOf(next.context, intervalMs) });
      if (analyser) next?.connect(analyser);
      samples = new Float32Array(analyser?.fftSize ?? 0);
      node = next;
    };
    return interval(intervalMs, scheduler).pipe(
      map((): AudioLevel => {
        // A new one after each `initialize()`.
        follow(output.audioNode);
        if (!analyser) return silent;
        analyser.getFloatTimeDomainData(samples);
        return { rms: rmsLevel(samples), peak: Math.min(1, peakLevel(samples)) };
      }),
      distinctUntilChanged(areSame),
      finalize(() => follow(undefined)),
    );
  });
}

/** The power of two that covers an interval, within an analyser's limits. */
function windowOf({ sampleRate }: BaseAudioContext, intervalMs: number): number {
  return Math.min(32_768, Math.max(32, 2 ** Math.ceil(Math.log2((intervalMs / 1_000) * sampleRate))));
}

const areSame = (a: AudioLevel, b: AudioLevel): boolean => a.rms === b.rms && a.peak === b.peak;
