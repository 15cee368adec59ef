import type { HttpResponse } from './http-error.ts';

/** One exchange as performed by the runtime's adapter (`#http`). */
export interface HttpExchange {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
}

/** Events of an exchange: `connected`, `response`; completes when the body has ended. */
export type HttpExchangeEvent =
  { readonly type: 'connected' } | ({ readonly type: 'response' } & Omit<HttpResponse, 'provider'>);
