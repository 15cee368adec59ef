import type { ConfigRules } from '../../core/config-rule.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../core/messages.ts';
import type { ServerSentEvent } from '../../transport/sse.ts';

/** What a service is asked for one answer. */
export interface ModelRequest {
  readonly url: URL | string;
  /** Asked for with each try; `undefined` leaves a header out. */
  readonly headers: () => Promise<Readonly<Record<string, string | undefined>>>;
  /** The body, as JSON or as it is. */
  readonly json?: unknown;
  readonly body?: string;
}

/** What a wire needs to know of its provider to ask for an answer. */
export interface ModelContext<C> {
  /** The provider's class name. */
  readonly name: string;
  readonly config: Readonly<C>;
  /** Whether requests go to the application's proxy, without a credential. */
  readonly isProxyMode: boolean;
  /** The base address with a path added. */
  url(this: void, path: string): URL;
  /** A fresh credential. */
  credential(this: void): Promise<string>;
  /** The Authorization header's value; `undefined` without a credential, and in proxy mode. */
  authorization(this: void): Promise<string | undefined>;
  /** Writes each warning once. */
  warn(this: void, message: string): void;
}

/** What a wire needs to know to read an answer. */
export interface AnswerContext {
  /** Names of the tools that the model may call. */
  readonly toolNames: readonly string[];
  /** Makes an id for a call that came without one. */
  newCallId(this: void): string;
}

/** What comes of an event of an answer. */
export type ModelEffect =
  | LLMEvent
  /** The model is at work, but has said nothing to pass on, such as reasoning: the answer has not stalled. */
  | { readonly type: 'progress' }
  /** The service sent something unreadable, which is skipped. */
  | { readonly type: 'unreadable' }
  /** The service refuses in the middle of the answer; `text` is its JSON. */
  | { readonly type: 'refused'; readonly text: string; readonly status?: number | undefined };

/** What has been read of an answer, and what comes of it. */
export type ModelStep<S> = readonly [state: S, ...effects: ModelEffect[]];

/**
 * How a service is asked and how its answers are read: data and pure functions. `ChatLLM` runs it.
 *
 * @typeParam C - The provider's configuration.
 * @typeParam S - What is kept of an answer while it is read.
 */
export interface ModelWire<C, S = unknown> {
  /** The provider's class name. */
  readonly name: string;
  /** The default address; `undefined` when only the user knows it. */
  readonly baseUrl: string | undefined;
  /** Whether it can do nothing without `apiKey` or `proxyUrl`. Default: true. */
  readonly needsCredential?: boolean;
  /** What the configuration may hold. */
  readonly rules: ConfigRules;
  /** An id of the service's form for a call's; the same for the same. Default: the id itself. */
  readonly callId?: ((id: string) => string) | undefined;
  /** Loads what requests need, such as an optional package; awaited by `initialize()`. */
  prepare?(this: void, name: string): Promise<unknown>;
  /** The request for an answer. */
  request(
    this: void,
    messages: readonly Message[],
    options: GenerateOptions,
    context: ModelContext<C>,
  ): ModelRequest | Promise<ModelRequest>;
  /** An answer of which nothing was read. */
  readonly start: S;
  /** Reads an event. The answer is complete with the effect `done`, whatever bytes follow. */
  read(this: void, state: S, event: ServerSentEvent, context: AnswerContext): ModelStep<S>;
  /** Ends an answer whose stream has ended without `done`; `undefined` when it broke off. Default: it did. */
  end?(this: void, state: S, context: AnswerContext): ModelStep<S> | undefined;
  /** Reads a whole answer in one JSON document, from a service that does not stream. */
  readWhole?(this: void, state: S, json: unknown, context: AnswerContext): ModelStep<S>;
}
