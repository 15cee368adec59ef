import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { VoiceErrorCode } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import type { TokenUsage } from '../../core/messages.ts';
import type { Query, RemoteConfig } from '../../core/remote-provider.ts';
import type { RetiringModel } from '../../core/retirement.ts';
import type { AgentFunctionCall, AgentLatency, AgentText, SpeechEvent } from '../../core/roles.ts';
import type { BackoffOptions } from '../../stream/backoff.ts';
import type { SocketClose, SocketData } from '../../transport/reconnecting-socket.ts';
import type { AgentFunctionHandler, AgentTool, FunctionOutcome } from './function-calls.ts';
import type { HeardPart } from './replies.ts';

/** Configuration of every agent. */
export interface AgentConfig extends RemoteConfig {
  /** How a lost connection is retried; `false` disables reconnecting. */
  readonly reconnect?: boolean | BackoffOptions;
  /**
   * Runs a function call of the model; the return value goes to the model, as JSON unless it is a string. Also called
   * for functions that the service runs itself (`clientSide` false), whose results are ignored.
   */
  readonly onFunctionCall?: AgentFunctionHandler;
  /** Time limit for `onFunctionCall`, in milliseconds. Default: 30,000. */
  readonly functionTimeoutMs?: number;
}

/** A problem; the message is for people, and is prefixed with the provider's name. */
export interface AgentProblem {
  readonly message: string;
  readonly code: VoiceErrorCode;
  /** Whether a new session may succeed. */
  readonly recoverable: boolean;
  /** The service's own words. */
  readonly cause?: string | undefined;
  /** The service's id of the session, for its support. */
  readonly requestId?: string | undefined;
}

/** The effects of a wire's step, in order. */
export type AgentEffect =
  /** The user's voice. `started` ends the reply; what follows belongs to a later one. */
  | { readonly type: 'voice'; readonly is: SpeechEvent['type'] }
  /**
   * A complete text of the conversation. The assistant's is also emitted as a token unless `token` already emitted its
   * pieces. `item` names the user's words that were due; see `words-due`.
   */
  | { readonly type: 'said'; readonly role: AgentText['role']; readonly text: string; readonly item?: string }
  /**
   * The user's turn has ended, but its words come later: the reply is held back for them, for up to 3 s, so that
   * question and answer arrive in order.
   */
  | { readonly type: 'words-due'; readonly item: string }
  /** The words that were due will never come. */
  | { readonly type: 'no-words'; readonly item: string }
  /** How much the service remembers of a reply that was cut off; nothing if `text` is empty. */
  | { readonly type: 'corrected'; readonly original: string; readonly text: string }
  /** What the service was asked on a connection that is gone will have no reply. */
  | { readonly type: 'unanswered' }
  /** The user's words so far, which may change. */
  | { readonly type: 'interim'; readonly text: string }
  /** A verbatim piece of the reply's text. */
  | { readonly type: 'token'; readonly text: string }
  /** A chunk of the reply's audio, for services that send it inside messages; `item` is passed to {@link AgentWire.cut}. */
  | { readonly type: 'audio'; readonly data: Uint8Array<ArrayBuffer>; readonly item?: string }
  /** The reply's audio is complete. */
  | { readonly type: 'audio-done' }
  /** Latencies measured by the service. */
  | { readonly type: 'latency'; readonly latency: AgentLatency }
  /** The tokens of one of the model's answers. */
  | { readonly type: 'usage'; readonly usage: TokenUsage }
  /** The model calls a function; `extras` is passed to {@link AgentWire.result} with its result. */
  | { readonly type: 'call'; readonly call: AgentFunctionCall; readonly extras?: WireObject }
  /** The service ran a function itself; without an id it is the oldest call of that name. */
  | { readonly type: 'called'; readonly id?: string | undefined; readonly name: string; readonly content: string }
  /** The service cancelled a call. */
  | { readonly type: 'cancelled'; readonly id: string }
  /** The service accepted a command; see {@link AgentCommand.acknowledgement}. */
  | { readonly type: 'acknowledged'; readonly acknowledgement: string }
  /**
   * The service refused a command whose {@link AgentCommand.acknowledgement} is due; if it was part of the opening,
   * that fails.
   */
  | ({ readonly type: 'refused'; readonly acknowledgement: string } & AgentProblem)
  /** A new connection is needed although nothing failed: its opening restores the session. */
  | { readonly type: 'renew' }
  /** A message; objects are sent as JSON. Held until the service is ready. */
  | { readonly type: 'send'; readonly message: WireObject | SocketData }
  /** Something went wrong, but the session continues. */
  | ({ readonly type: 'warning' } & AgentProblem)
  /** The session failed; a new one follows if the problem is recoverable. */
  | ({ readonly type: 'failure' } & AgentProblem)
  /** A line for the debug log. */
  | { readonly type: 'log'; readonly text: string };

/** A step of a wire: its next state, then its effects. */
export type AgentStep<S> = readonly [state: S, ...effects: AgentEffect[]];

/** What a wire can read besides its state. */
export interface AgentContext<C> {
  readonly config: Readonly<C>;
  /** The format of the user's audio. */
  readonly input: AudioMetadata;
  /** What both sides said in this session, across connections. */
  readonly history: readonly AgentText[];
  /** The scheduler's time, in milliseconds. */
  readonly now: number;
}

/** An operation requested by the application. */
export interface AgentCommand<S> {
  /**
   * Changes the wire's state and sends messages.
   *
   * @param isOpen - Whether the opening was sent: if not, the opening will include what the command adds to the
   * conversation.
   */
  readonly step: (state: S, isOpen: boolean) => AgentStep<S>;
  /**
   * The service's acknowledgement; those of one kind arrive in order. Such a command is covered by `opening`: it is not
   * sent while `opening` is pending, and counts as acknowledged once the service is ready.
   */
  readonly acknowledgement?: string;
}

/**
 * An agent's service as data and pure functions, run by `StreamingAgent`, which owns the connection, replies, history,
 * function calls, acknowledgements and the clock.
 *
 * @typeParam C - The provider's configuration.
 * @typeParam S - The wire's immutable state of a session.
 */
export interface AgentWire<C, S> {
  /** The provider's class name. */
  readonly name: string;
  /** The default base address. */
  readonly baseUrl: string;
  /** The path below the base address. */
  readonly path: string;
  /** Query parameters. Default: none. */
  query?(this: void, config: Readonly<C>): Query;
  /** Supported input formats, best first. */
  readonly accepts: readonly AudioFormat[];
  /** Rules for the configuration. */
  readonly rules: ConfigRules;
  /** The models that the service retires. */
  readonly retiring?: readonly RetiringModel[];
  /** Functions that run here, before `onFunctionCall` is asked. Default: none. */
  tools?(this: void, config: Readonly<C>): readonly AgentTool[];
  /** A conflict that the rules cannot express, as a sentence; `undefined` if there is none. `advise` logs a warning. */
  conflict?(this: void, config: Readonly<C>, advise: (sentence: string) => void): string | undefined;
  /** The format of the user's audio unless configured. */
  input(this: void, config: Readonly<C>): AudioMetadata;
  /** The format of the agent's audio, once the service is ready. */
  output(this: void, config: Readonly<C>, state: S): AudioMetadata;
  /** The initial state of a session. */
  start(this: void, config: Readonly<C>): S;
  /** The type of the message to await before the opening. Default: none. */
  readonly opensAfter?: string;
  /** The first messages of each connection; after a reconnect they restore the session. */
  opening(this: void, state: S, context: AgentContext<C>): readonly WireObject[];
  /** The type of the message that marks the service as ready. */
  readonly readyAfter: string;
  /** What follows the opening once the service is ready, before any audio. Default: nothing. */
  prologue?(this: void, state: S, context: AgentContext<C>): readonly WireObject[];
  /** Sent while there is no audio to send. Default: nothing. */
  readonly keepAlive?: WireObject;
  /** Reads a message's type. Default: its `type` field. */
  typeOf?(this: void, message: WireObject): string | undefined;
  /**
   * Encodes the user's audio for the service, which then sends its own inside messages too. Default: both are binary
   * frames.
   */
  encode?(this: void, data: Uint8Array<ArrayBuffer>): SocketData;
  /** Readers by message type; without `encode`, binary frames that hold no message are the reply's audio. */
  readonly read: Readonly<Record<string, AgentReader<C, S>>>;
  /** For services that do not report the end of a reply's audio: called after a period without any. Default: never. */
  readonly quiet?: AgentQuiet<S>;
  /** Carries a call's result, or what went wrong, as text, to the service. */
  result(this: void, state: S, call: AgentFunctionCall, outcome: FunctionOutcome, extras: WireObject): AgentStep<S>;
  /** Tells the service that a reply was cut off, and what was heard of it. Default: nothing. */
  cut?(this: void, state: S, parts: readonly HeardPart[]): AgentStep<S>;
  /**
   * The connection is gone: what it leaves behind, and what the next one must know; `unanswered` unless the next one is
   * asked again. Default: nothing.
   */
  lost?(this: void, state: S): AgentStep<S>;
  /** What a close means: the service has hung up, or a problem. Default, and for `undefined`: a lost connection. */
  closes?(this: void, close: SocketClose, state: S): AgentProblem | 'hung-up' | undefined;
}

/** What an agent's class needs of its wire from the start. */
type EarlyKey = 'name' | 'baseUrl' | 'accepts' | 'rules' | 'retiring' | 'conflict' | 'input';

/** The part of a wire that is loaded with `initialize()`. */
export type LateAgentPart<C, S> = Omit<AgentWire<C, S>, EarlyKey>;

/**
 * An agent's wire of which most is loaded with `initialize()`: a page shows before it needs it.
 *
 * @typeParam A - What is loaded beside the wire, such as steps for the application's commands.
 */
export interface LateAgentWire<C, S, A = unknown> extends Pick<AgentWire<C, S>, EarlyKey> {
  /** Loads the other part. */
  load(this: void): Promise<LateAgentPart<C, S> & A>;
}

/** What a service's silence means; see {@link AgentWire.quiet}. */
export interface AgentQuiet<S> {
  /** Milliseconds after the latest audio. */
  readonly afterMs: number;
  /** The next state and its effects. Pure. */
  read(this: void, state: S): AgentStep<S>;
}

/** Reads a message. Typed as a method, so that a wire of any state fits. */
export type AgentReader<C, S> = {
  /** The next state and its effects. Pure. */
  read(this: void, state: S, message: WireObject, context: AgentContext<C>): AgentStep<S>;
}['read'];
