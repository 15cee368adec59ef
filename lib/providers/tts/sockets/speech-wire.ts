import type { AudioMetadata } from '../../../audio/types.ts';
import type { VoiceError } from '../../../core/errors.ts';
import type { WireObject } from '../../../core/guard.ts';
import type { Step } from '../../../stream/fold.ts';
import type { SocketData } from '../../../transport/reconnecting-socket.ts';
import type { SynthesisEvent } from '../utterance.ts';
import type { WireErrors } from '../voice-service.ts';

/** What a service gives while it speaks. */
export type SpokenEvent = Extract<SynthesisEvent, { readonly type: 'audio' | 'word' }>;

/** What a message means. */
export type ReadEffect =
  /** Audio, or by id a word; its times count from the beginning of its context. */
  | SpokenEvent
  /** By id: nothing of the context follows. By order: all before the oldest unanswered flush has been spoken. */
  | { readonly type: 'end' }
  /** By order: all before the oldest unanswered clear is gone; no audio of it follows. */
  | { readonly type: 'cleared' }
  /** The service has given up the context, or, without a context, all of them. */
  | { readonly type: 'error'; readonly error: VoiceError }
  /** The service warns; reported once for each text. */
  | { readonly type: 'warning'; readonly text: string }
  /** For the log. */
  | { readonly type: 'note'; readonly text: string };

/** What readers of messages are given beside the message. */
export interface Reading {
  /** The message as it came. */
  readonly data: SocketData;
  /** The format of the context's audio. */
  readonly format: AudioMetadata;
  readonly errors: WireErrors;
}

/** The messages of one context. */
export interface ContextMessages {
  /** Sent before the first text. */
  readonly opening?: readonly SocketData[];
  /** Adds a piece of text, which ends with a space. */
  readonly say: (text: string) => SocketData;
  /** By id: no more text will come, the rest is to be spoken. */
  readonly ending?: readonly SocketData[];
  /** Silences the context. */
  readonly cancel: SocketData;
}

/** The settings of one synthesis, frozen: opens a context for it, and another one where the first was lost. */
export type ContextVoice = (id: string) => ContextMessages;

/** What a message does to what is known of its context, and what it means. */
export type MessageReader<S> = {
  /** What becomes of the state, and what follows. Pure. */
  read(state: S, message: WireObject, reading: Reading): Step<S, ReadEffect>;
}['read'];

/** What a service's messages mean. */
export interface SpeechWire<S> {
  /** The reader of a message by its type; `binary` reads what is no JSON. */
  readonly read: Readonly<Record<string, MessageReader<S>>>;
  /** The type of a message: a key of {@link SpeechWire.read}. */
  readonly typeOf: (message: WireObject) => string | undefined;
  /** What a new context knows. */
  readonly start: S;
  /** Keeps a context open, or the connection where there is none. Default: nothing is sent. */
  readonly keepAlive?: (id: string | undefined) => SocketData;
}
