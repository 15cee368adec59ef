import { objs, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import { decodeEventStream, encodeEventStream, type EventStreamValue } from '../../transport/event-stream.ts';
import type { SocketData } from '../../transport/socket-session.ts';

const text = (value: string): EventStreamValue => ({ type: 'string', value });
const headers: ReadonlyMap<string, EventStreamValue> = new Map([
  [':event-type', text('AudioEvent')],
  [':message-type', text('event')],
  [':content-type', text('application/octet-stream')],
]);

/** Audio as the service wants it; an empty one ends the stream. */
export function audioEvent(audio: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return encodeEventStream({ headers, payload: audio });
}

/**
 * A message of the service's: an event's `type` and `body`, or an `exception` or `error` with its `name` and `message`;
 * `undefined` for anything else. Never throws.
 */
export function readLambda(data: SocketData): WireObject | undefined {
  if (typeof data === 'string') return undefined;
  try {
    const { headers: given, payload } = decodeEventStream(data);
    const header = (name: string): string | undefined => str(given.get(`:${name}`)?.value);
    const kind = header('message-type');
    const body = parseJsonObject(payload) ?? {};
    if (kind === 'event') return { type: header('event-type'), body };
    const name = header('exception-type') ?? header('error-code') ?? 'an error';
    return { type: kind, name, message: str(body['Message']) ?? header('error-message') ?? '' };
  } catch {
    return undefined;
  }
}

/** What a result says. */
export function textOf({ Alternatives: alternatives }: WireObject): string {
  return str(objs(alternatives)[0]?.['Transcript'])?.trim() ?? '';
}

/** The words of a result, marks left out. Where the channels are heard apart, they stand for the speakers. */
export function spokenItems({ Alternatives: alternatives, ChannelId: channel }: WireObject): WireObject[] {
  return objs(objs(alternatives)[0]?.['Items']).flatMap((item) => {
    const { Type: type, StartTime: start, EndTime: end, Content: content, Confidence: confidence } = item;
    return type === 'pronunciation' ? { start, end, content, confidence, speaker: item['Speaker'] ?? channel } : [];
  });
}
