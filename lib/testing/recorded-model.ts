import { concatMap, delay, from, of, type Observable, type SchedulerLike } from 'rxjs';
import type { LLMEvent, Message } from '../core/messages.ts';
import { foldText } from '../text/words.ts';
import type { VoiceEvent } from '../conversation/events.ts';

/** After the model was stopped, it would have gone on: it ends by itself only if nobody stops it today. */
const goesOnMs = 1_000;

/** A request to the model, as it was recorded. Times are milliseconds since the recording began. */
interface RecordedRequest {
  readonly turnId: string | undefined;
  /** What was asked, folded. */
  readonly asked: string;
  readonly round: number;
  readonly startMs: number;
  readonly answer: { readonly atMs: number; readonly event: LLMEvent }[];
}

/** The requests of a recording, each with what the model answered and when. */
export function recordedRequests(events: readonly VoiceEvent[], startedAt: number): RecordedRequest[] {
  const requests: RecordedRequest[] = [];
  const texts = new Map<string | undefined, string>();
  for (const event of events) {
    const { turnId } = event;
    const atMs = event.at - startedAt;
    const open = requests.findLast((request) => request.turnId === turnId);
    switch (event.type) {
      case 'turn.committed':
        texts.set(turnId, foldText(event.text));
        break;
      case 'llm.started':
        requests.push({ turnId, asked: texts.get(turnId) ?? '', round: event.round, startMs: atMs, answer: [] });
        break;
      case 'llm.token':
        open?.answer.push({ atMs, event: { type: 'token', text: event.delta } });
        break;
      case 'llm.completed': {
        const { finishReason, usage } = event;
        open?.answer.push({ atMs, event: { type: 'done', finishReason, ...(usage ? { usage } : {}) } });
        break;
      }
      case 'llm.aborted':
        open?.answer.push({ atMs: atMs + goesOnMs, event: { type: 'done', finishReason: 'stop' } });
        break;
      case 'tool.call': {
        // The model calls before it is done, and tools run after.
        const doneAt = open?.answer.findIndex(({ event: { type } }) => type === 'done') ?? -1;
        const at = open?.answer[doneAt]?.atMs ?? atMs;
        const call = { atMs: at, event: { ...event.call, type: 'tool-call' as const } };
        open?.answer.splice(doneAt < 0 ? open.answer.length : doneAt, 0, call);
        break;
      }
      default:
    }
  }
  return requests;
}

/**
 * What the model answered to the same words in the same round of tools, with its timing: of equal questions, to the one
 * asked at the time that is nearest.
 */
export function recordedAnswer(
  requests: readonly RecordedRequest[],
  messages: readonly Message[],
  scheduler: SchedulerLike,
): Observable<LLMEvent> {
  const askedAt = messages.findLastIndex(({ role }) => role === 'user');
  const asked = foldText(messages[askedAt]?.content ?? '');
  const round =
    1 + messages.slice(askedAt + 1).filter((message) => message.role === 'assistant' && message.toolCalls).length;
  const now = scheduler.now();
  const nearest = (fits: (request: RecordedRequest) => boolean): RecordedRequest | undefined =>
    requests
      .filter((request) => request.round === round && request.asked !== '' && fits(request))
      .sort((one, other) => Math.abs(one.startMs - now) - Math.abs(other.startMs - now))[0];
  // Words whose answer nobody heard stand before those of the turn.
  const request = nearest((each) => each.asked === asked) ?? nearest((each) => asked.endsWith(each.asked));
  const answer = [...(request?.answer ?? [])];
  const startMs = request?.startMs ?? now;
  if (answer.at(-1)?.event.type !== 'done') {
    answer.push({ atMs: answer.at(-1)?.atMs ?? startMs, event: { type: 'done', finishReason: 'stop' } });
  }
  const timed = answer.map(({ atMs, event }, index) => {
    const waitMs = Math.max(0, atMs - (answer[index - 1]?.atMs ?? startMs));
    return { waitMs, event };
  });
  return from(timed).pipe(concatMap(({ waitMs, event }) => of(event).pipe(delay(waitMs, scheduler))));
}
