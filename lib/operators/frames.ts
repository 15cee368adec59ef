import type { MonoTypeOperatorFunction } from 'rxjs';
import { durationMs } from '../audio/formats.ts';
import { FrameSplitter } from '../audio/frame-splitter.ts';
import type { AudioChunk } from '../audio/types.ts';
import { stretches } from '../stream/stretches.ts';

/** Options of {@link frames}. */
export interface FramesOptions {
  /** Length of each frame in milliseconds, rounded down to whole samples. Telephony uses 20. */
  readonly ms: number;
  /** Fills the last frame of an utterance up with silence. Default: false, it is shorter. */
  readonly padLast?: boolean;
}

/**
 * Cuts audio into frames of one length, however long the source's chunks are, samples split over chunks included. What
 * is left leaves when an utterance or the source ends, or the format changes; half a sample at the end is dropped.
 *
 * Each frame carries metadata and, where its chunk had one, the timestamp of its first sample. Frames may be views on
 * the source's bytes. An error of the source passes at once and drops what is left.
 *
 * ```text
 * source                -a-----b-----c-|          30 ms each
 * frames({ ms: 20 })    -d-----(ef)--g-(h|)       20 ms each, h: 10 ms
 * ```
 *
 * @example
 * ```ts
 * import { of } from 'rxjs';
 * import { frames } from 'rxvoice/operators';
 *
 * const metadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1 } as const;
 * const chunk = { data: new Uint8Array(400), metadata };
 * of(chunk).pipe(frames({ ms: 20 })).subscribe(({ data }) => console.log(data.length)); // 160, 160, 80
 * ```
 *
 * Errors: VoiceError `unsupported_format` when the first chunk has no metadata, the audio is compressed, or a frame would
 * hold no sample.
 */
export function frames({ ms, padLast = false }: FramesOptions): MonoTypeOperatorFunction<AudioChunk> {
  return stretches('frames', (metadata) => {
    const splitter = new FrameSplitter(metadata, ms);
    const frameMs = durationMs(splitter.frameLength, metadata);
    return {
      metadata,
      push: (chunk) => {
        const { timestamp } = chunk;
        const startMs = timestamp === undefined ? undefined : timestamp - durationMs(splitter.pending, metadata);
        return splitter.push(chunk.data).map((data, index) => {
          const frame = { ...chunk, data, metadata };
          return startMs === undefined ? frame : { ...frame, timestamp: startMs + index * frameMs };
        });
      },
      flush: () => splitter.flush(padLast),
    };
  });
}
