import type { Call, HttpRequest } from './call.ts';
import type { Credentials, Environment } from './environment.ts';
import type { ServiceName } from './faults.ts';
import type { Upgrade } from './session.ts';

/** A request that the service turns down, in the vendor's words. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;

  /** @param why for the log: what the client did wrong. */
  constructor(status: number, body: unknown, why: string, headers: Readonly<Record<string, string>> = {}) {
    super(why);
    this.status = status;
    this.body = typeof body === 'string' ? body : JSON.stringify(body);
    this.headers = { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json', ...headers };
  }
}

/** How a vendor answers, whatever the service. */
export interface Vendor {
  /** First segment of the path; may have more, such as `nu/openai/v1`. */
  readonly mount: string;
  readonly routes: readonly Route[];
  /** The vendor's words for a status. */
  refuse(status: number, why: string): Refusal;
  /** Refuses a request without the right credential. Not asked in proxy mode. */
  authorize(call: Call, credentials: Credentials): void;
}

interface RouteBase {
  readonly service: ServiceName;
  /** Below the mount; `{name}` stands for any one segment. */
  readonly path: string;
  /** Carries its own credential (a session's address), or needs none. */
  readonly open?: boolean;
}
export interface HttpRoute extends RouteBase {
  readonly method: 'GET' | 'POST';
  /** The vendor's error inside a started body, for the fault `error`. */
  readonly midStreamError?: string;
  handle(request: HttpRequest, environment: Environment): void | Promise<void>;
}
export interface SocketRoute extends RouteBase {
  readonly method: 'WS';
  /** Which queries are meant for it, where several services share a path. Default: all. */
  takes?(query: URLSearchParams): boolean;
  /** The vendor's error message on a socket, for the fault `error`. */
  readonly midStreamError?: unknown;
  /** Checks the query, then accepts; a {@link Refusal} thrown is sent instead. */
  connect(upgrade: Upgrade, environment: Environment): void;
}
export type Route = HttpRoute | SocketRoute;
