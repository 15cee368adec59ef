import type { AudioMetadata } from '../../../audio/types.ts';
import type { VoiceError } from '../../../core/errors.ts';
import type { WireObject } from '../../../core/guard.ts';
import type { Query, SocketCredentials } from '../../../core/remote-provider.ts';
import type { Step } from '../../../stream/fold.ts';
import type { SocketClose, SocketData } from '../../../transport/reconnecting-socket.ts';
import type { SynthesisEvent } from '../utterance.ts';
import type { VoiceService, WireErrors } from '../voice-service.ts';

/** What a service gives while it speaks. */
export type SpokenEvent = Extract<SynthesisEvent, { readonly type: 'audio' | 'word' }>;

/** What a message means. */
export type ReadEffect =
  /** Audio, or a word; the times of words count from the beginning of their context. */
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

/**
 * One connection speaks one text at a time, tells by answers to flushes how far it has come, and is silenced by a clear.
 * Texts at the same time get a connection each.
 */
export interface FlushConnection {
  readonly by: 'order';
  /** Asks the service to speak what it was told. */
  readonly flush: SocketData;
  readonly charactersPerMinute: number;
  readonly flushesPerMinute: number;
  /** Flushes of a minute that are kept for the ends of texts; only the rest is spent on single sentences. */
  readonly flushReserve: number;
}

/** One connection speaks any number of texts, each in a context with an id that the service's messages carry. */
export interface ContextConnection {
  readonly by: 'id';
  /** Most contexts at once. */
  readonly maxContexts: number;
  /** Whether a cancelled context counts until the service has said that it is over. */
  readonly endsCancelled: boolean;
  /** Whether each piece of text is spoken at once; else the service may wait for more. */
  readonly speaksAtOnce: boolean;
  /** Milliseconds after which a context that has spoken all its text takes no more. Default: it always does. */
  readonly expiresMs?: number;
}

/** What a message does to what is known of its context, and what it means. */
export type MessageReader<S> = {
  /** What becomes of the state, and what follows. Pure. */
  read(state: S, message: WireObject, reading: Reading): Step<S, ReadEffect>;
}['read'];

/** How a service speaks: what its messages mean, and how they find the text that they are for. */
export interface SpeechWire<S> {
  /** The reader of a message by its type; `binary` reads what is no JSON. */
  readonly read: Readonly<Record<string, MessageReader<S>>>;
  /** The type of a message: a key of {@link SpeechWire.read}. */
  readonly typeOf: (message: WireObject) => string | undefined;
  /** The context that a message is for. By order: none is needed. */
  readonly contextOf?: (message: WireObject) => string | undefined;
  /** What a new context knows. */
  readonly start: S;
  /** Keeps a context open, or the connection where there is none. Default: nothing is sent. */
  readonly keepAlive?: (id: string | undefined) => SocketData;
}

/** A text-to-speech service on a WebSocket. */
export interface SocketWire<C, S> extends VoiceService<C>, SpeechWire<S> {
  /** What an upgrade carries. Default: the Authorization header and the subprotocols of SPEC.md. */
  credentials?(key: string, config: C): SocketCredentials;
  /** The address; what it holds is fixed for a connection: where it changes, the next text opens another. */
  address(config: C): { readonly path: string; readonly query?: Query };
  /** How messages find their text, and the service's limits; a change opens another connection. */
  connection(config: C): FlushConnection | ContextConnection;
  /** The voice of the next synthesis. */
  voice(config: C): ContextVoice;
  /** Ends the connection gracefully. */
  readonly farewell?: readonly SocketData[];
  /** What it means when the service closes the connection while it speaks. Default: another try is worth it. */
  closeError?(close: SocketClose, errors: WireErrors): VoiceError | undefined;
}
