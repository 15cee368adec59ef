import type { HttpHeaders } from './http-exchange.ts';

/** Whether a response's body is server-sent events, according to its headers. */
export function isServerSentEvents(headers: HttpHeaders): boolean {
  return mediaType(headers) === 'text/event-stream';
}

/** The media type of a body without parameters, in lower case; empty if the server gives none. */
export function mediaType(headers: HttpHeaders): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
