import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { VoiceErrorCode } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import type { RemoteConfig } from '../../core/remote-provider.ts';
import type { AgentFunctionCall, AgentLatency, AgentText, SpeechEvent } from '../../core/roles.ts';
import type { BackoffOptions } from '../../stream/backoff.ts';
import type { SocketData } from '../../transport/reconnecting-socket.ts';
import type { AgentFunctionHandler } from './function-calls.ts';

/** Configuration keys of every agent. */
export interface AgentConfig extends RemoteConfig {
  /** How a lost connection is replaced; `false` for not at all. */
  readonly reconnect?: boolean | BackoffOptions;
  /**
   * Runs a call that the model wants made; what it returns goes to the model, as JSON unless it is a string. It also
   * hears of calls that the service makes itself (`clientSide` false): those are not answered.
   */
  readonly onFunctionCall?: AgentFunctionHandler;
  /** Longest run of `onFunctionCall`, in milliseconds. Default: 30,000. */
  readonly functionTimeoutMs?: number;
}

/** Something that went wrong, as a message for people; the provider's name is put before it. */
export interface AgentProblem {
  readonly message: string;
  readonly code: VoiceErrorCode;
  /** Whether another session may do better. */
  readonly recoverable: boolean;
}

/** What comes of a step of a wire, in order. */
export type AgentEffect =
  /** The user's voice. `started` ends the reply; what follows belongs to a later one. */
  | { readonly type: 'voice'; readonly is: SpeechEvent['type'] }
  /** A whole text of the conversation. The assistant's is told as a token too, unless `token` has told it in pieces. */
  | { readonly type: 'said'; readonly role: AgentText['role']; readonly text: string }
  /** What the user has said so far, which may change. */
  | { readonly type: 'interim'; readonly text: string }
  /** A piece of the reply's text, exactly as it is. */
  | { readonly type: 'token'; readonly text: string }
  /** A piece of the reply's audio, for services that send it inside of messages. */
  | { readonly type: 'audio'; readonly data: Uint8Array<ArrayBuffer> }
  /** The last audio of the reply has come. */
  | { readonly type: 'audio-done' }
  /** What the service says of its own speed. */
  | { readonly type: 'latency'; readonly latency: AgentLatency }
  /** The model wants a function called; `extras` is what {@link AgentWire.result} wants back with its result. */
  | { readonly type: 'call'; readonly call: AgentFunctionCall; readonly extras?: WireObject }
  /** The service has run a function itself; without an id it is the oldest call of that name. */
  | { readonly type: 'called'; readonly id?: string | undefined; readonly name: string; readonly content: string }
  /** The service takes a call back. */
  | { readonly type: 'cancelled'; readonly id: string }
  /** The service has taken a command; see {@link AgentCommand.acknowledgement}. */
  | { readonly type: 'acknowledged'; readonly acknowledgement: string }
  /** A message, an object as JSON; it waits for the service to be ready. */
  | { readonly type: 'send'; readonly message: WireObject | SocketData }
  /** Something went wrong, and the session goes on. */
  | ({ readonly type: 'warning' } & AgentProblem)
  /** The session is over; another one follows where the problem is recoverable. */
  | ({ readonly type: 'failure' } & AgentProblem)
  /** A line for the debug log. */
  | { readonly type: 'log'; readonly text: string };

/** A step of a wire: its next state, then what comes of it. */
export type AgentStep<S> = readonly [state: S, ...effects: AgentEffect[]];

/** What a wire may know beside its state. */
export interface AgentContext<C> {
  readonly config: Readonly<C>;
  /** The format of the user's audio. */
  readonly input: AudioMetadata;
  /** What both sides have said in this session, over all its connections. */
  readonly history: readonly AgentText[];
  /** The scheduler's time, in milliseconds. */
  readonly now: number;
}

/** An operation of the application's. */
export interface AgentCommand<S> {
  /** What it does to the wire's state, and what it sends. */
  readonly step: (state: S) => AgentStep<S>;
  /**
   * What the service acknowledges it by, of each kind the oldest first. Then it is a part of what `opening` says: it is
   * not sent while `opening` is still to be, and acknowledged when the service is ready.
   */
  readonly acknowledgement?: string;
}

/**
 * An agent's service as data and pure functions; `StreamingAgent` runs it, and owns the connection, replies, history,
 * function calls, acknowledgements and the clock.
 *
 * @typeParam C - The provider's configuration.
 * @typeParam S - What the wire remembers of a session; immutable.
 */
export interface AgentWire<C, S> {
  /** The provider's class name. */
  readonly name: string;
  /** The default base address. */
  readonly baseUrl: string;
  /** Where the service listens, from the base address on. */
  readonly path: string;
  /** Formats that it takes, best first. */
  readonly accepts: readonly AudioFormat[];
  /** What the configuration may hold. */
  readonly rules: ConfigRules;
  /** What is wrong with a configuration beside that, as a sentence; `undefined` when all is well. */
  conflict?(this: void, config: Readonly<C>): string | undefined;
  /** The format of the user's audio when nobody has said it. */
  input(this: void, config: Readonly<C>): AudioMetadata;
  /** The format of the agent's audio, once the service is ready. */
  output(this: void, config: Readonly<C>, state: S): AudioMetadata;
  /** The beginning of a session. */
  start(this: void, config: Readonly<C>): S;
  /** The type of the message that the opening waits for. Default: it waits for none. */
  readonly opensAfter?: string;
  /** The first messages of each connection; a later one has to be told of all that was before. */
  opening(this: void, state: S, context: AgentContext<C>): readonly WireObject[];
  /** The type of the message by which the service is ready. */
  readonly readyAfter: string;
  /** Sent while there is no audio to send. Default: nothing. */
  readonly keepAlive?: WireObject;
  /** The type of a message. Default: its member `type`. */
  typeOf?(this: void, message: WireObject): string | undefined;
  /** The user's audio as the service wants it. Default: as it is, in a binary frame. */
  encode?(this: void, data: Uint8Array<ArrayBuffer>): SocketData;
  /** What the service's messages do, by their type; binary frames that hold no message are the reply's audio. */
  readonly read: Readonly<Record<string, AgentReader<C, S>>>;
  /** What tells the service the result of a call, as text. */
  result(this: void, call: AgentFunctionCall, content: string, extras: WireObject): readonly WireObject[];
}

/** What a message does. A method's type, so that wires of any state are wires. */
export type AgentReader<C, S> = {
  /** What becomes of the state, and what follows. Pure. */
  read(this: void, state: S, message: WireObject, context: AgentContext<C>): AgentStep<S>;
}['read'];
