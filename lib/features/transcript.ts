import { defer, distinctUntilChanged, ignoreElements, map, type Observable, scan, startWith } from 'rxjs';
import type { HistoryChange, HistoryItem } from '../conversation/history.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { merge } from '../stream/merge.ts';

/** A line of a transcript. */
export interface TranscriptLine {
  /** Identifies the line: constant while it grows; the id of the history's item once it is final. */
  readonly id: string;
  readonly speaker: 'agent' | 'user';
  /** What was said; for the agent, what was heard. */
  readonly text: string;
  /** The full text, if the agent was interrupted. */
  readonly unheard?: string;
  /** Whether it has ended and is in the history. */
  readonly isFinal: boolean;
}

/** What is being said now. */
interface Open {
  readonly user: string;
  readonly agent: string;
  /** End of the agent's last word in its text. */
  readonly agentEnd: number;
}

const nothing: Open = { user: '', agent: '', agentEnd: 0 };

/**
 * What was said, line by line, as in a chat: the history, then what the user is saying and what has been heard of the
 * agent, word by word. Emits all lines on subscription and at every change. Completes with the pipeline; never errors.
 * Cold.
 *
 * @example
 * ```ts
 * import { transcript, type Pipeline } from 'rxvoice';
 *
 * declare const pipeline: Pipeline;
 *
 * transcript(pipeline).subscribe((lines) => {
 *   for (const { speaker, text } of lines) console.log(`${speaker}: ${text}`);
 * });
 * ```
 */
export function transcript(
  pipeline: Pick<Pipeline, 'events$' | 'captions$' | 'history'>,
): Observable<readonly TranscriptLine[]> {
  return defer(() => {
    const begin: State = { open: nothing, items: pipeline.history.items, isOver: false };
    // The agent's words are told while somebody listens to `captions$`.
    const event$ = merge(pipeline.history.changes$, pipeline.captions$.pipe(ignoreElements()), pipeline.events$);
    return event$.pipe(
      scan((state, event) => step(state, event, pipeline.history.items), begin),
      startWith(begin),
      distinctUntilChanged((a, b) => a.open === b.open && a.items === b.items),
      map(({ open, items }) => [...items.flatMap(lineOf), ...linesOf(open)]),
    );
  });
}

interface State {
  readonly open: Open;
  readonly items: readonly HistoryItem[];
  /** Whether the agent's speech has ended; the history may not have it yet, or never get it. */
  readonly isOver: boolean;
}

function step(state: State, event: VoiceEvent | HistoryChange, items: readonly HistoryItem[]): State {
  const { open } = state;
  switch (event.type) {
    case 'added':
    case 'updated':
      return { ...state, open: without(open, event.item.role), items };
    case 'truncated':
      return { ...state, items };
    case 'transcript.interim':
    case 'transcript.final':
      return { ...state, open: { ...open, user: event.text } };
    case 'speech.started':
      return { ...state, open: without(open, 'assistant'), isOver: false };
    case 'speech.ended':
      return { ...state, isOver: true };
    case 'agent.state':
      return state.isOver ? { ...state, open: without(open, 'assistant'), isOver: false } : state;
    case 'caption.word': {
      const [start, end] = event.range;
      // Words that touch in the text are of a script without spaces.
      const gap = open.agent === '' || start === open.agentEnd ? '' : ' ';
      return { ...state, open: { ...open, agent: open.agent + gap + event.text, agentEnd: end } };
    }
    case 'turn.ended':
      return { ...state, open: without(open, 'user') };
    case 'session.closed':
      return { ...state, open: nothing };
    default:
      return state;
  }
}

function without(open: Open, role: HistoryItem['role']): Open {
  if (role === 'user') return open.user === '' ? open : { ...open, user: '' };
  if (role === 'assistant') return open.agent === '' ? open : { ...open, agent: '', agentEnd: 0 };
  return open;
}

function lineOf(item: HistoryItem): TranscriptLine[] {
  const { id, role } = item;
  if (role === 'tool') return [];
  if (role === 'user') return [{ id, speaker: 'user', text: item.text, isFinal: true }];
  const unheard = item.interrupted ? item.generated.slice(item.heard.length).trim() : '';
  if (item.heard === '' && unheard === '') return [];
  return [{ id, speaker: 'agent', text: item.heard, ...(unheard && { unheard }), isFinal: true }];
}

function linesOf({ user, agent }: Open): TranscriptLine[] {
  return [
    ...(agent ? [{ id: 'agent', speaker: 'agent', text: agent, isFinal: false } as const] : []),
    ...(user ? [{ id: 'user', speaker: 'user', text: user, isFinal: false } as const] : []),
  ];
}
