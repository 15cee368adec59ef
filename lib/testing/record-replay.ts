import { map, of, type OperatorFunction } from 'rxjs';
import { decodeBase64, encodeBase64 } from '../core/base64.ts';
import { VoiceError } from '../core/errors.ts';
import type { Tool } from '../core/tools.ts';
import type { VoiceEvent, VoiceEventType } from '../conversation/events.ts';
import { SpeechTicket } from '../conversation/commands.ts';
import { recordedAnswer, recordedRequests } from './recorded-model.ts';
import { recordedTools } from './recorded-tools.ts';
import { recordedVoice } from './recorded-voice.ts';
import type { VoiceStep, VoiceTestOptions } from './voice-test.ts';

/** How long a replayed session continues after its last event, in milliseconds. */
const tailMs = 30_000;
/** Within how many milliseconds events are of one cause, on a real clock. */
const nearMs = 50;

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
  return map((event) => `${JSON.stringify(writable(event), plain)}\n`);
}

/** Only an error's own cause is left out, and only a chunk's audio is base64: what else is called so is the application's. */
function writable(event: VoiceEvent): object {
  if (event.type === 'error') return { ...event, cause: undefined };
  if (!('chunk' in event)) return event;
  // A Buffer would write itself as numbers.
  return { ...event, chunk: { ...event.chunk, data: { base64: encodeBase64(event.chunk.data) } } };
}

function plain(_key: string, value: unknown): unknown {
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
  return lines.map((line) => readable(JSON.parse(line) as VoiceEvent));
}

function readable(event: VoiceEvent): VoiceEvent {
  if (!('chunk' in event)) return event;
  const base64: unknown = Reflect.get(Object(event.chunk.data), 'base64');
  const data = typeof base64 === 'string' ? decodeBase64(base64) : undefined;
  return data ? { ...event, chunk: { ...event.chunk, data } } : event;
}

/** Options of {@link replaySession}. */
export interface ReplayOptions {
  /**
   * The application's tools, for what a recording does not tell of them, such as `filler` and `onInterrupt`. They are not
   * run. Default: tools with the names that were called.
   */
  readonly tools?: readonly Tool[];
}

/**
 * Turns a recorded session back into what came from outside, and when: what the user said, `send()`, `say()`, the greeting
 * and `interrupt()`; what the model answered to each question, round by round of its tools, what they returned, and how
 * fast the voice spoke. Pass the result to `voiceTest`: a call that went wrong becomes a regression test. Its own tools are
 * not run.
 *
 * Push-to-talk, `update()`, `mute()` and how the conversation was configured are on no recording: pass options of your own
 * beside it, but for the greeting.
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
export function replaySession(
  ndjson: string,
  { tools = [] }: ReplayOptions = {},
): Pick<VoiceTestOptions, 'steps' | 'untilMs' | 'llm' | 'tts' | 'tools'> {
  const events = readSession(ndjson);
  const startedAt = events[0]?.at ?? 0;
  const steps: Record<number, VoiceStep[]> = {};
  for (const event of events) {
    const step = stepOf(event, events);
    if (step) (steps[event.at - startedAt] ??= []).push(step);
  }
  const untilMs = (events.at(-1)?.at ?? startedAt) - startedAt + tailMs;
  const requests = recordedRequests(events, startedAt);
  return {
    ...{ steps, untilMs, tts: recordedVoice(events), tools: recordedTools(events, tools) },
    llm: { answer: (messages, _request, scheduler) => recordedAnswer(requests, messages, scheduler) },
  };
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
    case 'speech.created':
      return said(event, events);
    case 'speech.ended':
      // What is said in a turn ends with the turn.
      return event.interrupted && event.turnId === undefined ? interrupted(event, events) : undefined;
    case 'turn.ended':
      return event.reason === 'interrupted' ? interrupted(event, events) : undefined;
    default:
      return undefined;
  }
}

function isTyped({ turnId }: VoiceEvent, events: readonly VoiceEvent[]): boolean {
  return events.some((event) => event.turnId === turnId && event.type === 'turn.started' && event.source === 'text');
}

/** What the application had said, or the greeting: its text is told at its end. */
function said(event: VoiceEvent<'speech.created'>, events: readonly VoiceEvent[]): VoiceStep | undefined {
  const { source, speechId, interruptible, stored: store } = event;
  if (source === 'answer') return undefined;
  const end = ofType(events, 'speech.ended').find((each) => each.speechId === speechId);
  if (!end) return undefined;
  const options = { interruptible, store };
  const text$ = of(end.text);
  return { command: { type: 'say', text$, options, source, ticket: new SpeechTicket() } };
}

/** Whom nothing else cut off, the application did. */
function interrupted({ at, turnId }: VoiceEvent, events: readonly VoiceEvent[]): VoiceStep | undefined {
  const near = events.filter((event) => Math.abs(event.at - at) <= nearMs);
  const isExplained = near.some(
    (event) =>
      event.type === 'bargeIn.confirmed' ||
      (event.type === 'turn.started' && event.source === 'text' && event.turnId !== turnId) ||
      event.type === 'error' ||
      event.type === 'call.ended' ||
      event.type === 'session.closed' ||
      (event.type === 'agent.state' && event.state === 'idle'),
  );
  return isExplained ? undefined : { command: { type: 'interrupt' } };
}

function ofType<T extends VoiceEventType>(events: readonly VoiceEvent[], type: T): VoiceEvent<T>[] {
  const wanted = events.filter((event) => event.type === type);
  return wanted as VoiceEvent<T>[];
}
