import { concat, concatMap, defer, EMPTY, from, lastValueFrom, of, reduce, timer, type Observable } from 'rxjs';
import type { VoiceEvent } from 'rxvoice';
import { readSession, recordSession, replaySession, voiceTest } from 'rxvoice/testing';

/** A recording that cannot be read; the message is for the user. */
export class RecordingError extends Error {}

/** Events as NDJSON, a part for each. */
export async function writeRecording(events: readonly VoiceEvent[]): Promise<string[]> {
  const lines$ = from(events).pipe(
    recordSession(),
    reduce<string, string[]>((lines, line) => (lines.push(line), lines), []),
  );
  return lastValueFrom(lines$);
}

/**
 * The events of a recording.
 *
 * @throws RecordingError when it is none.
 */
export function readRecording(ndjson: string): VoiceEvent[] {
  let events: unknown[];
  try {
    events = readSession(ndjson);
  } catch {
    throw new RecordingError('This is no recording: each line must be JSON. Take a file that “Save” wrote.');
  }
  const wrong = events.findIndex((event) => !isEvent(event));
  if (wrong >= 0) throw new RecordingError(`Line ${wrong + 1} is no event. Take a file that “Save” wrote.`);
  if (events.length === 0) throw new RecordingError('The file is empty.');
  return events.filter(isEvent);
}

function isEvent(value: unknown): value is VoiceEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { type, at } = value as { type?: unknown; at?: unknown };
  return typeof type === 'string' && typeof at === 'number' && Number.isFinite(at);
}

/** The same events again, as far apart as they were, from now on. */
export function playRecording(events: readonly VoiceEvent[], now: () => number): Observable<VoiceEvent> {
  return defer(() => {
    const begun = now();
    const shift = begun - (events[0]?.at ?? begun);
    return from(events).pipe(
      concatMap((event) => {
        const moved = { ...event, at: event.at + shift };
        const waitMs = moved.at - now();
        return concat(waitMs > 0 ? timer(waitMs).pipe(concatMap(() => EMPTY)) : EMPTY, of(moved));
      }),
    );
  });
}

/** What the engine makes of the same user and the same model today, in virtual time. */
export function rerunRecording(ndjson: string): readonly VoiceEvent[] {
  return voiceTest(replaySession(ndjson)).events;
}
