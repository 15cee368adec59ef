import type { VoiceError } from '../../../core/errors.ts';
import type { SocketClose, SocketData } from '../../../transport/socket-session.ts';

/** What a service says that speaks on a flush. */
export type LaneMessage =
  | { readonly type: 'audio'; readonly data: Uint8Array<ArrayBuffer> }
  /** Everything before the oldest unanswered flush has been spoken. */
  | { readonly type: 'flushed' }
  /** Everything before the oldest unanswered clear is gone; no audio of it follows. */
  | { readonly type: 'cleared' };

/** The wire of a service that is given text, told to speak it by a flush, and silenced by a clear. */
export interface LaneWire {
  readonly speak: (text: string) => SocketData;
  readonly flush: SocketData;
  readonly clear: SocketData;
  /** Ends the connection gracefully. */
  readonly close: SocketData;
  readonly read: (data: SocketData) => LaneMessage | undefined;
  /** Most characters of one message. */
  readonly maxTextLength: number;
  readonly charactersPerMinute: number;
  readonly flushesPerMinute: number;
  /** Flushes of a minute that are kept for the ends of utterances; only the rest is spent on single sentences. */
  readonly flushReserve: number;
  /** What it means when the service closes the connection in the middle of an utterance. */
  readonly classifyClose: (close: SocketClose) => 'retry' | VoiceError;
}
