import {
  defer,
  distinctUntilChanged,
  endWith,
  ignoreElements,
  map,
  mergeMap,
  type Observable,
  scan,
  startWith,
  takeUntil,
} from 'rxjs';
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
  /** What else the agent would have said, if it was interrupted: `text + unheard` is all of it. */
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
 * A `RemotePipeline` has no history: its lines are what was committed and what was heard since the subscription, the
 * latest 500. The server shares `transcripts$`, `captions$`, `turns$`, `speech$` and `state$` with it.
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
  pipeline: Pick<Pipeline, 'events$' | 'captions$'> & Partial<Pick<Pipeline, 'history'>>,
): Observable<readonly TranscriptLine[]> {
  return defer(() => {
    const { events$, captions$, history } = pipeline;
    const itemsOf = (held: readonly string[]): readonly TranscriptLine[] =>
      history?.items.flatMap((item) => (held.includes(item.id) ? [] : lineOf(item))) ?? [];
    const begin: State = { open: nothing, lines: itemsOf([]), isOver: false, held: [] };
    const changes$: Observable<HistoryChange | Said> = history?.changes$ ?? events$.pipe(mergeMap(saidIn));
    // The agent's words are told while somebody listens to `captions$`.
    const event$ = merge(changes$, captions$.pipe(ignoreElements()), events$);
    // A history may outlast its pipeline.
    const over$ = events$.pipe(ignoreElements(), endWith(true));
    return event$.pipe(
      scan((state, event) => step(state, event, itemsOf), begin),
      startWith(begin),
      distinctUntilChanged((a, b) => a.open === b.open && a.lines === b.lines),
      map(({ open, lines }) => [...lines, ...linesOf(open)]),
      takeUntil(over$),
    );
  });
}

/** A line that has ended, of a pipeline without a history. */
interface Said {
  readonly type: 'said';
  readonly line: TranscriptLine;
}

/** Most lines that are kept of a pipeline without a history. */
const maxLines = 500;

function saidIn(event: VoiceEvent): Said[] {
  const { type, at, turnId, speechId } = event;
  if (type === 'turn.committed') {
    const id = turnId ?? `${at}`;
    return [{ type: 'said', line: { id, speaker: 'user', text: event.text, isFinal: true } }];
  }
  if (type !== 'speech.ended') return [];
  const { text, heardText, interrupted } = event;
  // As when the user goes on speaking while the agent thinks: a history has no such line either.
  if (heardText === '') return [];
  return agentLine(speechId ?? `${at}`, heardText, interrupted ? text : '').map((line) => ({ type: 'said', line }));
}

interface State {
  readonly open: Open;
  readonly lines: readonly TranscriptLine[];
  /** Whether the agent's speech has ended; the history may not have it yet, or never get it. */
  readonly isOver: boolean;
  /**
   * Items with the words before a call of tools, which the history has in full as soon as the tools are done. Until the
   * speech is over, the agent's open line shows what of them has been heard.
   */
  readonly held: readonly string[];
}

function step(
  state: State,
  event: VoiceEvent | HistoryChange | Said,
  itemsOf: (held: readonly string[]) => readonly TranscriptLine[],
): State {
  const { open, isOver, held } = state;
  const released = (): State => (held.length === 0 ? state : { ...state, held: [], lines: itemsOf([]) });
  switch (event.type) {
    case 'added':
    case 'updated': {
      const { id, role } = event.item;
      const isRound = role === 'assistant' && event.item.toolCalls !== undefined;
      const later = isRound ? heldAfter(state, event.type, id) : role === 'assistant' ? [] : held;
      return { open: later.includes(id) ? open : without(open, role), lines: itemsOf(later), isOver, held: later };
    }
    case 'truncated':
      return { ...state, lines: itemsOf(held) };
    case 'said': {
      const { line } = event;
      const role = line.speaker === 'user' ? 'user' : 'assistant';
      return { ...state, open: without(open, role), lines: [...state.lines, line].slice(-maxLines) };
    }
    case 'transcript.interim':
    case 'transcript.final':
      return { ...state, open: { ...open, user: event.text } };
    case 'speech.started':
      return { ...state, open: without(open, 'assistant'), isOver: false };
    case 'speech.ended':
      return { ...state, isOver: true };
    case 'agent.state':
      return isOver ? { ...released(), open: without(open, 'assistant'), isOver: false } : state;
    case 'caption.word': {
      const [start, end] = event.range;
      // Words that touch in the text are of a script without spaces.
      const gap = open.agent === '' || start === open.agentEnd ? '' : ' ';
      return { ...state, open: { ...open, agent: open.agent + gap + event.text, agentEnd: end } };
    }
    case 'turn.ended':
      return { ...released(), open: without(open, 'user') };
    case 'session.closed':
      return { ...released(), open: nothing };
    default:
      return state;
  }
}

/** Which items wait for the end of the speech once one of them was added, or has been told how much of it was heard. */
function heldAfter({ held, isOver }: State, type: 'added' | 'updated', id: string): readonly string[] {
  if (type === 'added') return isOver ? held : [...held, id];
  return held.slice(held.indexOf(id) + 1);
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
  return agentLine(id, item.heard, item.interrupted ? item.generated : '');
}

/** `generated`: the full text, if the agent was interrupted. */
function agentLine(id: string, heard: string, generated: string): TranscriptLine[] {
  const unheard = generated.slice(heard.length).trimEnd();
  if (heard === '' && unheard === '') return [];
  return [{ id, speaker: 'agent', text: heard, ...(unheard && { unheard }), isFinal: true }];
}

function linesOf({ user, agent }: Open): TranscriptLine[] {
  return [
    ...(agent ? [{ id: 'agent', speaker: 'agent', text: agent, isFinal: false } as const] : []),
    ...(user ? [{ id: 'user', speaker: 'user', text: user, isFinal: false } as const] : []),
  ];
}
