import type { VoiceError } from '../../../core/errors.ts';
import type { Query } from '../../../core/remote-provider.ts';
import type { SocketClose, SocketData } from '../../../transport/reconnecting-socket.ts';
import type { VoiceErrors, VoiceService, WireErrors } from '../voice-service.ts';
import type { Attribution } from './speech-step.ts';
import type { ContextVoice, SpeechWire } from './speech-wire.ts';

/** How a connection is opened, texts are sent and messages read. */
export interface SocketDialect<C, S> extends VoiceErrors<C>, SpeechWire<S> {
  /** The address, fixed per connection: if it changes, the next text opens another. */
  address(config: C): { readonly path: string; readonly query?: Query };
  /**
   * How texts are sent and matched to messages, within the service's limits: `byOrder()` or `byId()`. `live` is the
   * configuration of any later time.
   */
  attribution(config: C, live: () => C): Attribution;
  /** The voice of the next synthesis. */
  voice(config: C): ContextVoice;
  /** Ends the connection gracefully. */
  readonly farewell?: readonly SocketData[];
  /** What it means when the service closes the connection while speaking. Default: retry. */
  closeError?(close: SocketClose, errors: WireErrors): VoiceError | undefined;
}

/** A text-to-speech service on a WebSocket. */
export interface SocketWire<C, S> extends VoiceService<C>, SocketDialect<C, S> {}

/** A service's dialect, or the one of each configuration: a connection keeps that which it was opened with. */
export type DialectOf<C> = SocketDialect<C, unknown> | ((config: C) => SocketDialect<C, unknown>);

/** A service whose dialect is code that a page loads when it is needed. */
export interface LateSocketWire<C> extends VoiceService<C> {
  /** Loads it; awaited by `initialize()`. */
  load(this: void, name: string): Promise<DialectOf<C>>;
}
