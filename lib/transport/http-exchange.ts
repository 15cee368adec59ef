import type { Observable } from 'rxjs';

/** Response headers; names in lower case. */
export type HttpHeaders = Readonly<Record<string, string>>;

/** The response to an accepted request. */
export interface HttpResponse {
  readonly provider: string;
  readonly status: number;
  readonly headers: HttpHeaders;
  /** The body as it arrives, for one subscriber; unsubscribing closes the connection. */
  readonly body$: Observable<Uint8Array<ArrayBuffer>>;
}

/** One exchange as performed by the runtime's adapter (`#http`). */
export interface HttpExchange {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
  /** See `HttpRequest`. */
  readonly once?: boolean | undefined;
}

/** Events of an exchange: `connected`, `response`; completes when the body has ended. */
export type HttpExchangeEvent =
  { readonly type: 'connected' } | ({ readonly type: 'response' } & Omit<HttpResponse, 'provider'>);
