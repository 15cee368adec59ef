import { map, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { isWav } from '../../audio/wav-header.ts';
import { VoiceError } from '../../core/errors.ts';
import { frames } from '../../operators/frames.ts';
import { transcode } from '../../operators/transcode.ts';
import { pace } from '../../playback/pace.ts';

/** What a phone delivers, and most microphones. */
const frameMs = 20;

/** Most of a recording that waits to be played: an hour, 115 MB at 16 kHz. */
const maxQueueMs = 3_600_000;

/** Delivers a recording as a microphone would: in its format, in frames of one length, in real time. */
export function asCaptured(format: AudioMetadata, scheduler: SchedulerLike): MonoTypeOperatorFunction<AudioChunk> {
  return (audio$) =>
    audio$.pipe(map(withFormat), transcode(format), frames({ ms: frameMs }), pace({ maxQueueMs, scheduler }));
}

/** The bytes of a WAV file as a chunk, whose header takes precedence over `format`. */
export function wavFile(data: Uint8Array<ArrayBuffer>, format: AudioMetadata): AudioChunk {
  if (isWav(data)) return { data, metadata: { ...format, container: 'wav' } };
  const message =
    'BufferInput: these bytes are not a WAV file: decode them, or give their format: play([{ data, metadata }])';
  throw new VoiceError(message, { code: 'unsupported_format', provider: 'BufferInput' });
}

/** The path of a file, given in place of its chunks, has no format. */
function withFormat(chunk: AudioChunk, index: number): AudioChunk {
  if (index > 0 || chunk.metadata) return chunk;
  const message =
    'BufferInput: play() takes the bytes of a WAV file, or chunks, the first with its format: write [{ data, metadata }]';
  throw new VoiceError(message, { code: 'unsupported_format' });
}
