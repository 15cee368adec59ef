import { map, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
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

/** The path or the bytes of a file, given in place of its chunks, have no format. */
function withFormat(chunk: AudioChunk, index: number): AudioChunk {
  if (index > 0 || chunk.metadata) return chunk;
  const message = 'BufferInput: play() takes chunks, the first with its format: write [{ data, metadata }]';
  throw new VoiceError(message, { code: 'unsupported_format' });
}
