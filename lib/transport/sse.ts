import { createParser } from 'eventsource-parser';
import { Observable, type OperatorFunction } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { feed } from '../stream/feed.ts';

/** A server-sent event. */
export interface ServerSentEvent {
  /** Its name; `message` if the server gives none. */
  readonly event: string;
  /** Its lines, joined by line feeds. */
  readonly data: string;
}

/** Options of {@link sse}. */
export interface SseOptions {
  /** Class name of the provider, for errors. */
  readonly provider: string;
  /** Longest event, in characters. Default: 1,048,576. */
  readonly maxLength?: number;
}

/**
 * The server-sent events of a body, in chunks of any size. Skips comments and unknown fields; a last event without its
 * blank line counts. Fails with `overflow` when an event does not end.
 */
export function sse({ provider, maxLength = 1_048_576 }: SseOptions): OperatorFunction<Uint8Array, ServerSentEvent> {
  return (bytes$) =>
    new Observable((subscriber) => {
      const decoder = new TextDecoder();
      const parser = createParser({
        onEvent: ({ event = 'message', data }) => subscriber.next({ event, data }),
        onError: ({ type }) => {
          if (type !== 'max-buffer-size-exceeded') return;
          const message = `${provider}: the service sent an event of more than ${maxLength} characters`;
          subscriber.error(new VoiceError(message, { code: 'overflow', provider }));
        },
        maxBufferSize: maxLength,
      });
      feed(bytes$, subscriber, {
        next: (bytes) => parser.feed(decoder.decode(bytes, { stream: true })),
        complete: () => {
          // The parser emits an event only after its blank line.
          parser.feed(`${decoder.decode()}\n\n`);
          subscriber.complete();
        },
      });
    });
}
