import type { AudioMetadata } from '../../../audio/types.ts';
import type { VoiceError } from '../../../core/errors.ts';
import type { WireObject } from '../../../core/guard.ts';
import type { SocketClose } from '../../../transport/socket-session.ts';
import type { SynthesisEvent } from '../utterance.ts';

/** What a service gives in one of its contexts. */
export type ContextEvent = Extract<SynthesisEvent, { readonly type: 'audio' | 'word' }>;

/** The messages of one context. */
export interface ContextTalk {
  /** Sent before the first text. */
  readonly opening: readonly string[];
  /** Adds a piece of text, which ends with a space. */
  readonly say: (text: string) => string;
  /** No more text will come: the rest is to be spoken. */
  readonly ending: readonly string[];
  /** Silences the context. */
  readonly cancel: string;
  /** What a message for this context brings; word times count from the beginning of the context. */
  readonly read: (message: WireObject) => readonly ContextEvent[];
}

/** The settings of one utterance, frozen: opens a context for it, and another one where the first was lost. */
export type ContextVoice = (id: string) => ContextTalk;

/** The wire of a service that keeps utterances on one connection apart by the ids of their contexts. */
export interface ContextWire {
  /** The voice as it is configured now. */
  readonly voice: () => ContextVoice;
  /** The context that a message is for. */
  readonly contextOf: (message: WireObject) => string | undefined;
  /** The error that a message is. */
  readonly errorOf: (message: WireObject) => VoiceError | undefined;
  /** Whether nothing of its context follows. */
  readonly isEnd: (message: WireObject) => boolean;
  /** Format of the audio. */
  readonly format: () => AudioMetadata;
  /** Most characters of one message. */
  readonly maxTextLength: number;
  /** Most contexts at once. */
  readonly maxContexts: number;
  /** Whether a cancelled context counts until the service has said that it is over. */
  readonly endsCancelled: boolean;
  /** Whether each piece of text is spoken at once; else the service may wait for more. */
  readonly speaksAtOnce: boolean;
  /** Milliseconds after which a context that has spoken all its text takes no more. Default: it always does. */
  readonly expiresMs?: number;
  /** Keeps a context open, or the connection where there is none. Default: nothing is sent. */
  readonly keepAlive?: (id: string | undefined) => string;
  /** Ends the connection gracefully. */
  readonly farewell: readonly string[];
  /** What it means when the service closes the connection in the middle of an utterance. */
  readonly classifyClose: (close: SocketClose) => 'retry' | VoiceError;
}
