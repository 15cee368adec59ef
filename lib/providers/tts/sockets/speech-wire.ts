import type { AudioMetadata } from '../../../audio/types.ts';
import type { VoiceError } from '../../../core/errors.ts';
import type { WireObject } from '../../../core/guard.ts';
import type { Step } from '../../../stream/fold.ts';
import type { SocketData } from '../../../transport/reconnecting-socket.ts';
import type { SynthesisEvent } from '../utterance.ts';
import type { WireErrors } from '../voice-service.ts';

/** What a service produces while speaking. */
export type SpokenEvent = Extract<SynthesisEvent, { readonly type: 'audio' | 'word' }>;

/** The effect of a message. */
export type ReadEffect =
  /** Audio or, by id, a word; times count from the start of its context. */
  | SpokenEvent
  /** Audio as a message has it; `undefined` where that is not base64. */
  | { readonly type: 'audio'; readonly data: Uint8Array<ArrayBuffer> | undefined }
  /** By id: the context is complete. By order: everything before the oldest unanswered flush was spoken. */
  | { readonly type: 'end' }
  /** By id: the oldest piece of text without this answer was spoken to its end. */
  | { readonly type: 'spoken' }
  /** By order: the newest unanswered flush was refused, and is not answered otherwise; its text waits for another. */
  | { readonly type: 'unflushed' }
  /** By order: everything before the oldest unanswered clear is gone; none of its audio follows. */
  | { readonly type: 'cleared' }
  /** The service has given up the context or, without one, all of them. */
  | { readonly type: 'error'; readonly error: VoiceError }
  /** A warning; reported once per text. */
  | { readonly type: 'warning'; readonly text: string }
  /** For the log. */
  | { readonly type: 'note'; readonly text: string };

/** What a message reader gets besides the message. */
export interface Reading {
  /** The raw message. */
  readonly data: SocketData;
  /** The format of the context's audio. */
  readonly format: AudioMetadata;
  readonly errors: WireErrors;
}

/** The messages of one context. */
export interface ContextMessages {
  /** The readers' state before its first message. Default: {@link SpeechWire.start}. */
  readonly start?: unknown;
  /** Sent before the first text. */
  readonly opening?: readonly SocketData[];
  /** Adds a piece of text, which ends with a space. */
  readonly say: (text: string) => SocketData;
  /** By id: no more text follows, speak the rest. */
  readonly ending?: readonly SocketData[];
  /** By id: a context that is ending takes no further message, {@link ContextMessages.cancel} included. */
  readonly endsForGood?: boolean;
  /** Silences the context. */
  readonly cancel: SocketData;
}

/** The frozen settings of one synthesis: opens a context for it, and another if the first is lost. */
export type ContextVoice = (id: string) => ContextMessages;

/** A message's effect on its context's state. */
export type MessageReader<S> = {
  /** The next state and its effects. Pure. */
  read(state: S, message: WireObject, reading: Reading): Step<S, ReadEffect>;
}['read'];

/** How to read a service's messages. */
export interface SpeechWire<S> {
  /** Readers by message type; `binary` reads anything but JSON. */
  readonly read: Readonly<Record<string, MessageReader<S>>>;
  /** The type of a message: a key of {@link SpeechWire.read}. */
  readonly typeOf: (message: WireObject) => string | undefined;
  /** The service's id of the connection, in a message that has one. Default: that of the upgrade, in Node. */
  readonly requestIdOf?: (message: WireObject) => string | undefined;
  /** A new context's state. */
  readonly start: S;
  /** Keeps a context open, or the connection if there is none. Default: nothing is sent. */
  readonly keepAlive?: (id: string | undefined) => SocketData | undefined;
  /** A context without text, for a service that keeps no connection open without one: counts against its limit. */
  readonly keeper?: { readonly id: string; readonly opening: SocketData };
}
