import { concatMap, delay, from, map, of, type Observable, type OperatorFunction, type SchedulerLike } from 'rxjs';
import { decodeBase64, encodeBase64 } from '../core/base64.ts';
import { VoiceError } from '../core/errors.ts';
import type { LLMEvent, Message } from '../core/messages.ts';
import { foldText } from '../text/words.ts';
import type { VoiceEvent, VoiceEventType } from '../conversation/events.ts';
import { SpeechTicket } from '../conversation/commands.ts';
import type { VoiceStep, VoiceTestOptions } from './voice-test.ts';

/** How long a replayed session continues after its last event, in milliseconds. */
const tailMs = 30_000;

/**
 * Writes a session's events as NDJSON: one event per line, including its line break. Audio is base64; the causes of
 * errors are omitted, since they may contain a request with its credential.
 *
 * ```text
 * events  --a--b----c--|
 *         recordSession()
 * lines   --a--b----c--|
 * ```
 *
 * @example
 * ```ts
 * import { createWriteStream } from 'node:fs';
 * import type { Pipeline } from 'rxvoice';
 * import { recordSession } from 'rxvoice/testing';
 *
 * declare const pipeline: Pipeline;
 * const file = createWriteStream('session.ndjson');
 * pipeline.events$.pipe(recordSession()).subscribe((line) => file.write(line));
 * ```
 */
export function recordSession(): OperatorFunction<VoiceEvent, string> {
  return map((event) => `${JSON.stringify(event, writable)}\n`);
}

function writable(key: string, value: unknown): unknown {
  if (key === 'cause') return undefined;
  if (value instanceof Uint8Array) return { base64: encodeBase64(value) };
  return value instanceof Error ? VoiceError.from(value).toJSON() : value;
}

/**
 * Reads the output of {@link recordSession}.
 *
 * @throws SyntaxError for a line that is not JSON.
 */
export function readSession(ndjson: string): VoiceEvent[] {
  const lines = ndjson.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => JSON.parse(line, readable) as VoiceEvent);
}

function readable(_key: string, value: unknown): unknown {
  const base64: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'base64') : undefined;
  return typeof base64 === 'string' ? decodeBase64(base64) : value;
}

/**
 * Turns a recorded session back into what the providers emitted: what the user said and when, and what the model
 * answered, with its timing. Pass the result to `voiceTest`: a call that went wrong becomes a regression test.
 *
 * @param ndjson - The output of `recordSession`.
 *
 * @example
 * ```ts
 * import { readFileSync } from 'node:fs';
 * import { replaySession, voiceTest } from 'rxvoice/testing';
 *
 * const { events } = voiceTest(replaySession(readFileSync('session.ndjson', 'utf8')));
 * ```
 */
export function replaySession(ndjson: string): Pick<VoiceTestOptions, 'steps' | 'untilMs' | 'llm'> {
  const events = readSession(ndjson);
  const startedAt = events[0]?.at ?? 0;
  const steps: Record<number, VoiceStep[]> = {};
  for (const event of events) {
    const step = stepOf(event, events);
    if (step) (steps[event.at - startedAt] ??= []).push(step);
  }
  const untilMs = (events.at(-1)?.at ?? startedAt) - startedAt + tailMs;
  return { steps, untilMs, llm: { answer: (messages, _request, scheduler) => answer(events, messages, scheduler) } };
}

/** The external input that an event reveals, if any. */
function stepOf(event: VoiceEvent, events: readonly VoiceEvent[]): VoiceStep | undefined {
  switch (event.type) {
    case 'transcript.interim':
    case 'transcript.preflight':
      return { user: event.result };
    case 'transcript.final':
      return event.result && { user: event.result };
    case 'bargeIn.ignored':
      return { user: event.result };
    case 'user.state':
      return { voice: event.state === 'speaking' ? 'started' : 'ended' };
    case 'preflight.discarded':
      return event.reason === 'resumed' ? { voice: 'resumed' } : undefined;
    case 'turn.committed':
      return isTyped(event, events)
        ? { command: { type: 'send', text: event.text, options: {}, ticket: new SpeechTicket() } }
        : undefined;
    default:
      return undefined;
  }
}

function isTyped({ turnId }: VoiceEvent, events: readonly VoiceEvent[]): boolean {
  return events.some((event) => event.turnId === turnId && event.type === 'turn.started' && event.source === 'text');
}

/** What the model answered to the same words, token by token, with the original delays after the commit. */
function answer(
  events: readonly VoiceEvent[],
  messages: readonly Message[],
  scheduler: SchedulerLike,
): Observable<LLMEvent> {
  const asked = foldText(messages.findLast(({ role }) => role === 'user')?.content ?? '');
  const turn = ofType(events, 'turn.committed').find(({ text }) => asked.endsWith(foldText(text)));
  const tokens = ofType(events, 'llm.token').filter(({ turnId }) => turnId === turn?.turnId);
  let at = turn?.at ?? 0;
  const timed = tokens.map((token) => {
    const waitMs = token.at - at;
    ({ at } = token);
    return { waitMs, event: { type: 'token', text: token.delta } as const };
  });
  const completed = ofType(events, 'llm.completed').find(({ turnId }) => turnId === turn?.turnId);
  const waitMs = Math.max(0, (completed?.at ?? at) - at);
  const done = { waitMs, event: { type: 'done', finishReason: completed?.finishReason ?? 'stop' } as const };
  return from([...timed, done]).pipe(concatMap(({ waitMs, event }) => of(event).pipe(delay(waitMs, scheduler))));
}

function ofType<T extends VoiceEventType>(events: readonly VoiceEvent[], type: T): VoiceEvent<T>[] {
  const wanted = events.filter((event) => event.type === type);
  return wanted as VoiceEvent<T>[];
}
