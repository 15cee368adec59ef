import type { ServiceName } from './faults.ts';
import { concatBytes } from './pcm.ts';

/** One message on a socket. */
export interface RecordedMessage {
  readonly from: 'client' | 'service';
  /** Text frames. */
  readonly text?: string;
  /** Binary frames. */
  readonly bytes?: Uint8Array;
}

/** What one request or connection brought, and how it ended. */
export interface ServiceRecord {
  readonly service: ServiceName;
  readonly method: string;
  /** Below the vendor's mount, without the query. */
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Offered WebSocket subprotocols. */
  readonly protocols: readonly string[];
  /** Whether it came through `/proxy`. */
  readonly proxied: boolean;
  /** Of a request. */
  readonly body: Uint8Array;
  /** Of a socket, in order, both ways; the first 16 MiB. */
  readonly messages: readonly RecordedMessage[];
  /** The answer's status: 101 for an accepted socket. */
  readonly status: number | undefined;
  /** The client went away before the answer was complete. */
  readonly aborted: boolean;
  /** How a socket was closed: 1006 without a close frame. */
  readonly close: { readonly code: number; readonly reason: string } | undefined;
  /** Why the service refused, in words for people. */
  readonly refusal: string | undefined;
}

/** A record that is being written. */
export type OpenRecord = { -readonly [K in keyof ServiceRecord]: ServiceRecord[K] } & {
  messages: RecordedMessage[];
  /** Whether anybody will read the messages. */
  kept: boolean;
};

/** The text messages that a socket's client sent, parsed. */
export function sentJson(record: ServiceRecord): unknown[] {
  return record.messages.flatMap(({ from, text }) =>
    from === 'client' && text !== undefined ? [JSON.parse(text) as unknown] : [],
  );
}

/** The audio that a socket's client sent, as it came. */
export function sentAudio(record: ServiceRecord): Uint8Array<ArrayBuffer> {
  return concatBytes(record.messages.flatMap(({ from, bytes }) => (from === 'client' && bytes ? [bytes] : [])));
}

/** The JSON body of a request. */
export function bodyJson(record: ServiceRecord): unknown {
  return JSON.parse(new TextDecoder().decode(record.body)) as unknown;
}
