import type { ConfigRules } from '../../core/config-rule.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../core/messages.ts';
import type { RetiringModel } from '../../core/retirement.ts';
import type { ServerSentEvent } from '../../transport/sse.ts';

/** Headers of a request; `undefined` omits one. */
export type ModelHeaders = Readonly<Record<string, string | undefined>>;

/** A service's request for one answer. */
export interface ModelRequest {
  readonly url: URL | string;
  /** A function is called for each attempt. */
  readonly headers: ModelHeaders | (() => Promise<ModelHeaders>);
  /** The body: serialized as JSON, or raw. */
  readonly json?: unknown;
  readonly body?: string;
  /** `json` without what the wire added on its own, for a service that rejects it. Default: nothing was added. */
  readonly plain?: unknown;
}

/** What a wire needs from its provider to build a request. */
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
  /**
   * Headers with the Authorization header's value, `undefined` without a credential and in proxy mode: at once where
   * nothing must be fetched for it, so that the request waits for nothing.
   */
  authorized(this: void, headersOf: (authorization: string | undefined) => ModelHeaders): ModelRequest['headers'];
  /** Logs each warning once. */
  warn(this: void, message: string): void;
}

/** What a wire needs to read an answer. */
export interface AnswerContext {
  /** Names of the tools that the model may call. */
  readonly toolNames: readonly string[];
  /** Creates an id for a call that arrived without one. */
  newCallId(this: void): string;
}

/** What an event of an answer produces. */
export type ModelEffect =
  | LLMEvent
  /** The model is working but has nothing to pass on, such as while reasoning: the answer has not stalled. */
  | { readonly type: 'progress' }
  /** The service sent something unreadable, which is skipped. */
  | { readonly type: 'unreadable' }
  /** The service sent an error in mid-answer; `text` is its JSON. */
  | { readonly type: 'refused'; readonly text: string; readonly status?: number | undefined };

/** The new state of an answer, and what it produces. */
export type ModelStep<S> = readonly [state: S, ...effects: ModelEffect[]];

/** What is known of a service before anybody asks it something. */
export interface ModelService {
  /** The provider's class name. */
  readonly name: string;
  /** The default address; `undefined` when only the user knows it. */
  readonly baseUrl: string | undefined;
  /** Whether it requires `apiKey` or `proxyUrl`. Default: true. */
  readonly needsCredential?: boolean;
  /** Rules for the configuration. */
  readonly rules: ConfigRules;
  /** The models that the service retires. */
  readonly retiring?: readonly RetiringModel[] | undefined;
}

/**
 * How requests are built and answers read: data and pure functions, run by `ChatLLM`.
 *
 * @typeParam C - The provider's configuration.
 * @typeParam S - The state of an answer being read.
 */
export interface ModelDialect<C, S = unknown> {
  /** Converts a call's id to the service's format; deterministic. Default: the id itself. */
  readonly callId?: ((id: string) => string) | undefined;
  /** The request for an answer. */
  request(
    this: void,
    messages: readonly Message[],
    options: GenerateOptions,
    context: ModelContext<C>,
  ): ModelRequest | Promise<ModelRequest>;
  /** The state of an answer before its first event. */
  readonly start: S;
  /** Reads an event. The effect `done` completes the answer, whatever bytes follow. */
  read(this: void, state: S, event: ServerSentEvent, context: AnswerContext): ModelStep<S>;
  /**
   * Completes an answer whose stream ended without `done`; `undefined` when it was cut off. Default: cut off.
   *
   * @param isBroken - Whether it ended with an error, such as a lost connection. Default: false.
   */
  end?(this: void, state: S, context: AnswerContext, isBroken?: boolean): ModelStep<S> | undefined;
  /** Reads a whole answer from one JSON document, from a service that does not stream. */
  readWhole?(this: void, state: S, json: unknown, context: AnswerContext): ModelStep<S>;
}

/** A service with its dialect. */
export interface ModelWire<C, S = unknown> extends ModelService, ModelDialect<C, S> {}

/** A service whose dialect is code, or needs a package, that a page loads when it is needed. */
export interface LateModelWire<C> extends ModelService {
  /** Loads it; awaited by `initialize()`. */
  load(this: void, name: string): Promise<ModelDialect<C>>;
}
