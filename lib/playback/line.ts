import type { AudioMetadata } from '../audio/types.ts';
import type { ByteQueue } from '../audio/byte-queue.ts';

/** A play, as seen by the line that carries it. Offsets are bytes of the play, in the line's format. */
export interface LinePlay {
  /** Known before the first byte. */
  readonly format: AudioMetadata | undefined;
  readonly queue: ByteQueue;
  /** End of the whole samples in the queue. */
  readonly end: number;
  /** No more audio is expected: the rest may be sent even if it does not fill a frame. */
  readonly isDrained: boolean;
  /** Paused or over. */
  readonly isSilent: boolean;
  /** When the next `progress` event is due, in milliseconds of the play; `Infinity` without listeners. */
  readonly nextProgressMs: number;
  /** Reports that audio is sounding. */
  sounds(): void;
  /** Reports that the queue is empty but more is expected. */
  dries(): void;
  /** Reports that the play-head has moved. */
  moves(): void;
}

/**
 * Carries audio to the listener, one play after the other, and is its clock: it knows, to the sample, what was heard.
 * It pulls from the play's queue as needed.
 */
export interface PlaybackLine {
  /** The format to convert a play's audio to; `undefined` while not yet known. */
  formatFor(from: AudioMetadata): AudioMetadata | undefined;
  start(play: LinePlay): void;
  /** Called when more audio has arrived, or no more is expected. */
  feed(): void;
  /** Silences playback at once, and rewinds to the last sample that was heard. */
  halt(): void;
  /** Continues after {@link PlaybackLine.halt}. */
  go(): void;
  /** Ends the play: everything was heard. */
  finish(): void;
  /** Silences the play for good. */
  cut(): void;
  /** Drops whatever may still sound of earlier plays. */
  clear(): void;
  /** Offset of the last play's first unheard byte. Never goes back. */
  readonly heard: number;
  /** How long what it cannot take back would still sound if it were cut now, in milliseconds. */
  readonly tailMs: number;
  /** Whether everything before an offset was definitely heard. */
  isHeard(offset: number): boolean;
  /** Sets the volume from now on, a factor from 0 to 1. */
  setVolume(volume: number): void;
}
