import type { MonoTypeOperatorFunction } from 'rxjs';
import { createTranscoder, type TranscoderOptions } from '../audio/transcoder.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { stretches } from '../stream/stretches.ts';

/**
 * Converts audio to another format: encoding, sample rate, channels, WAV. Audio already in that format passes
 * unchanged. Whatever the converter still holds is emitted when an utterance or the source ends, or the format changes.
 *
 * Chunks keep their utterance and timestamp; converted ones have the new metadata. Bytes may be views of the source's.
 * An error of the source passes at once and drops the rest.
 *
 * ```text
 * source         -a-b-c-|       a, b, c: 16 kHz
 * transcode()    -d-e-f-(g|)    d, e, f: 8 kHz
 *                               g: what the resampler still held
 * ```
 *
 * @example
 * ```ts
 * import { of } from 'rxjs';
 * import { transcode } from 'rxvoice/operators';
 *
 * const metadata = { encoding: 'linear16', sampleRate: 8000, channels: 1 } as const;
 * const phone = { encoding: 'mulaw', sampleRate: 8000, channels: 1 } as const;
 * const chunk = { data: new Uint8Array(320), metadata };
 * of(chunk).pipe(transcode(phone)).subscribe(({ data }) => console.log(data.length)); // 160
 * ```
 *
 * Errors: VoiceError `unsupported_format` when the first chunk has no metadata, or one of two different formats is
 * compressed.
 */
export function transcode(to: AudioMetadata, options: TranscoderOptions = {}): MonoTypeOperatorFunction<AudioChunk> {
  return stretches('transcode', (from) => {
    const transcoder = createTranscoder(from, to, options);
    return {
      metadata: to,
      push: (chunk) => {
        if (transcoder.passthrough) return [chunk];
        const data = transcoder.push(chunk.data);
        return data.length === 0 && chunk.data.length > 0 ? [] : [{ ...chunk, data, metadata: to }];
      },
      flush: () => transcoder.flush(),
    };
  });
}
