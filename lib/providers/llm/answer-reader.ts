import type { LLMEvent } from '../../core/messages.ts';
import type { ServerSentEvent } from '../../transport/sse.ts';

/** Reads one answer of a service. Its methods throw the VoiceError that the answer is. */
export interface AnswerReader {
  /** True when the service has said all that it will say, whatever bytes follow. */
  readonly isComplete: boolean;
  /** What an event says; nothing (`[]`) is progress too, such as reasoning, while `undefined` is none. */
  read(event: ServerSentEvent): readonly LLMEvent[] | undefined;
  /** What is left to say when the answer has ended: tool calls and `done`. */
  finish(): readonly LLMEvent[];
  /** Reads a whole answer in one JSON document, from a service that does not stream. */
  readWhole?(json: unknown): readonly LLMEvent[];
}

/** What a reader needs of its provider. */
export interface AnswerReaderContext {
  /** The error that a refusal in the middle of the stream is; `text` is its JSON. */
  readonly refused: (text: string, status?: number) => Error;
  /** The error of an answer that ended before its end. */
  readonly truncated: () => Error;
  /** Told of each event that is not readable. */
  readonly unreadable: () => void;
}
