import type { MonoTypeOperatorFunction } from 'rxjs';
import { durationMs } from '../audio/formats.ts';
import { FrameSplitter } from '../audio/frame-splitter.ts';
import type { AudioChunk } from '../audio/types.ts';
import { stretches } from '../stream/stretches.ts';

/** Options of {@link frames}. */
export interface FramesOptions {
  /** Length of each frame in milliseconds, rounded down to whole samples. Telephony uses 20. */
  readonly ms: number;
  /** Pads the last frame of an utterance with silence. Default: false, it is shorter. */
  readonly padLast?: boolean;
}

/**
 * Splits audio into frames of one length, whatever the size of the source's chunks, even if they split samples. The
 * rest is emitted when an utterance or the source ends, or the format changes; half a sample at the end is dropped.
 *
 * Each frame has metadata and, if its chunk had one, the timestamp of its first sample. Frames may be views of the
 * source's bytes. An error of the source passes at once and drops the rest.
 *
 * ```text
 * source      -a-----b-----c-|       a, b, c: 30 ms each
 * frames()    -d-----(ef)--g-(h|)    d, e, f, g: 20 ms each, h: 10 ms
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
 * Errors: VoiceError `unsupported_format` when the first chunk has no metadata, the audio is compressed, or a frame
 * would contain no sample.
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
