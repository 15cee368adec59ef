import type { AudioMetadata } from '../audio/types.ts';
import type { ByteQueue } from './byte-queue.ts';

/** What a line sees of the play that it carries. All offsets are bytes of the play, in the format of the line. */
export interface LinePlay {
  /** Known before the first byte is. */
  readonly format: AudioMetadata | undefined;
  readonly queue: ByteQueue;
  /** Where the whole samples in the queue end. */
  readonly end: number;
  /** What there is may go although it fills no frame: nothing more is expected. */
  readonly isDrained: boolean;
  /** Paused, or over. */
  readonly isSilent: boolean;
  /** Where the next `progress` event is due, in milliseconds of the play; `Infinity` while nobody listens. */
  readonly nextProgressMs: number;
  /** Audio sounds now. */
  sounds(): void;
  /** Everything that there was has been taken, and more is expected. */
  dries(): void;
  /** The play-head has moved. */
  moves(): void;
}

/**
 * What carries audio to the ear, one play after the other, and its clock: what was heard, to the sample, at any moment.
 * It takes from the play's queue what it needs, when it needs it.
 */
export interface PlaybackLine {
  /** The format that it takes of a play that brings another; `undefined` while that is not known. */
  formatFor(from: AudioMetadata): AudioMetadata | undefined;
  start(play: LinePlay): void;
  /** More audio has come, or no more is expected. */
  feed(): void;
  /** Silence, at once, and back to the last sample that was heard. */
  halt(): void;
  /** Goes on after {@link PlaybackLine.halt}. */
  go(): void;
  /** The play is over: all of it was heard. */
  finish(): void;
  /** Silence, for good. */
  cut(): void;
  /** Drops what may still sound of plays that are over. */
  clear(): void;
  /** Offset of the first byte of the last play that was not heard. Never goes back. */
  readonly heard: number;
  /** Whether everything before an offset was heard for certain. */
  isHeard(offset: number): boolean;
  /** From now on, as a factor, 0 to 1. */
  setVolume(volume: number): void;
}
