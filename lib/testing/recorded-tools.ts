import { concatMap, map, NEVER, throwError, timer, type Observable } from 'rxjs';
import type { Tool } from '../core/tools.ts';
import type { VoiceEvent } from '../conversation/events.ts';

/** The end of a tool's run, as it was recorded. */
type RecordedRun = VoiceEvent<'tool.result' | 'tool.error' | 'tool.cancelled'>;

/** Tools that do nothing: each call has the outcome that it had, after the same time. */
export function recordedTools(events: readonly VoiceEvent[], own: readonly Tool[]): Tool[] {
  const ends = events.filter(
    (event): event is RecordedRun =>
      event.type === 'tool.result' || event.type === 'tool.error' || event.type === 'tool.cancelled',
  );
  const called = events.flatMap((event) => (event.type === 'tool.call' ? [event.call.name] : []));
  const names = new Set([...own.map(({ name }) => name), ...called]);
  return [...names].map((name) => {
    // What validates arguments loads its code: it has validated them already.
    const { parameters: _parameters, schema: _schema, ...rest } = own.find((tool) => tool.name === name) ?? { name };
    return { ...rest, execute: (_args, { toolCallId }) => outcome(ends.find(({ call }) => call.id === toolCallId)) };
  });
}

function outcome(end: RecordedRun | undefined): Observable<unknown> {
  // Until an interruption calls it off.
  if (!end || end.type === 'tool.cancelled') return NEVER;
  const { type, content, durationMs } = end;
  const ended$ = timer(durationMs);
  if (type === 'tool.result') return ended$.pipe(map(() => content));
  const reason = content.replace(/^Error: /, '').replace(/\.$/, '');
  return ended$.pipe(concatMap(() => throwError(() => new Error(reason))));
}
