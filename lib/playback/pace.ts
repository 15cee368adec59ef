import { asyncScheduler, Observable, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs';
import { describeFormat } from '../audio/described.ts';
import { durationMs, isPcmLike } from '../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import { feed } from '../stream/feed.ts';
import { Fifo } from '../stream/fifo.ts';
import { PlaybackClock } from './clock.ts';
import { Pacer } from './pacer.ts';

/** Options of {@link pace}. */
export interface PaceOptions {
  /** How far ahead of real time audio may be sent, in milliseconds. Default: 0. */
  readonly leadMs?: number;
  /** Most audio to queue, in milliseconds. Default: 300,000. */
  readonly maxQueueMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * Lets audio through in real time, as a microphone would deliver it: each chunk when the ones before it have sounded.
 * Due times are absolute, so late timers never add up; after a blocked event loop at most 200 ms are sent at once, and
 * the rest of the schedule shifts. After a gap in the source it continues from there, without a burst. Completes when
 * the last chunk has sounded; an error of the source passes at once.
 *
 * ```text
 * source    (abc|)        a, b, c: 3 ms each
 * pace()    a--b--c--|
 * ```
 *
 * @example
 * ```ts
 * import { from } from 'rxjs';
 * import { pace } from 'rxvoice/operators';
 *
 * const metadata = { encoding: 'linear16', sampleRate: 16000, channels: 1 } as const;
 * const frames = [{ data: new Uint8Array(640), metadata }, { data: new Uint8Array(640) }];
 * from(frames).pipe(pace()).subscribe((frame) => console.log(frame.data.length)); // 640, 20 ms later 640
 * ```
 *
 * Errors: VoiceError `unsupported_format` for audio of unknown duration, `overflow` beyond `maxQueueMs`.
 */
export function pace(options: PaceOptions = {}): MonoTypeOperatorFunction<AudioChunk> {
  const { leadMs = 0, maxQueueMs = 300_000, scheduler = asyncScheduler } = options;
  return (source$) =>
    new Observable((subscriber) => {
      const clock = PlaybackClock.of(scheduler);
      const pacer = new Pacer(clock, leadMs);
      const queue = new Fifo<{ readonly chunk: AudioChunk; readonly ms: number }>();
      let waitingMs = 0;
      let format: AudioMetadata | undefined;
      let completed = false;
      let running = false;

      const send = (): number | undefined => {
        const next = subscriber.closed ? undefined : queue.shift();
        if (!next) return undefined;
        waitingMs -= next.ms;
        subscriber.next(next.chunk);
        return next.ms;
      };
      const wake = (): void => {
        running = true;
        const wait = pacer.run(send);
        running = false;
        if (subscriber.closed) return;
        const done = queue.length === 0;
        const delay = done && completed ? pacer.until(pacer.sentMs - leadMs) : wait;
        if (done && completed && delay === 0) subscriber.complete();
        else clock.wake(sleeper, !done || completed ? clock.now() + delay : Infinity);
      };
      const sleeper = { wake };

      const accept = (chunk: AudioChunk): void => {
        format = chunk.metadata ?? format;
        if (!format || !isPcmLike(format.encoding)) throw untimed(format);
        const ms = durationMs(chunk.data.length, format);
        if (waitingMs > 0 && waitingMs + ms > maxQueueMs) throw overflow(maxQueueMs);
        const idle = queue.length === 0;
        queue.push({ chunk, ms });
        waitingMs += ms;
        // A subscriber may push while being served: the running loop continues.
        if (!idle || running) return;
        pacer.skipGap();
        wake();
      };

      subscriber.add(() => clock.wake(sleeper, Infinity));
      feed(source$, subscriber, {
        next: accept,
        complete: () => {
          completed = true;
          if (queue.length === 0 && !running) wake();
        },
      });
    });
}

function untimed(format: AudioMetadata | undefined): VoiceError {
  const what = format ? `${describeFormat(format)} is compressed` : 'the audio has no metadata';
  return new VoiceError(`pace() cannot determine the duration of this audio: ${what}`, { code: 'unsupported_format' });
}

function overflow(maxQueueMs: number): VoiceError {
  return new VoiceError(
    `more than ${maxQueueMs} ms of audio queued in pace(): read the source more slowly, or raise maxQueueMs`,
    {
      code: 'overflow',
    },
  );
}
