import type { MonoTypeOperatorFunction, SchedulerLike } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { frames } from '../../operators/frames.ts';
import { transcode } from '../../operators/transcode.ts';
import { pace } from '../../playback/pace.ts';

/** What a phone delivers, and most microphones. */
const frameMs = 20;

/** Most of a recording that waits to be played: an hour, 115 MB at 16 kHz. */
const maxQueueMs = 3_600_000;

/** Delivers a recording as a microphone would: in its format, in frames of one length, in real time. */
export function asCaptured(format: AudioMetadata, scheduler: SchedulerLike): MonoTypeOperatorFunction<AudioChunk> {
  return (audio$) => audio$.pipe(transcode(format), frames({ ms: frameMs }), pace({ maxQueueMs, scheduler }));
}
