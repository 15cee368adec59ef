import { concat, concatMap, ignoreElements, of, scan, type Observable } from 'rxjs';
import type { VoiceEvent } from '../conversation/events.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { merge } from '../stream/merge.ts';
import { groupsOf, linesOf, wordsBetween, type CueWord } from './cues.ts';

/** Options of {@link captions}. */
export interface CaptionOptions {
  /** Longest line, in columns; characters of East Asian scripts take two. Default: 42. */
  readonly lineLength?: number;
  /** Most lines shown at once. Default: 2. */
  readonly maxLines?: number;
  /** Whether the user's words are captioned as well. Default: false. */
  readonly user?: boolean;
  /** Where times count from, on the pipeline's clock. Default: the start of the session. */
  readonly startAt?: number;
}

/** A caption: lines on the screen, and when to show them. */
export interface CaptionCue {
  /** A cue replaces the earlier one with the same id. */
  readonly id: string;
  readonly speaker: 'agent' | 'user';
  readonly lines: readonly string[];
  readonly words: readonly CueWord[];
  /** When it begins, in milliseconds since the session began. */
  readonly startMs: number;
  /** When its last word ends, on the same clock. */
  readonly endMs: number;
  /** Whether it is complete: the next words belong to another cue. */
  readonly isComplete: boolean;
  readonly speechId?: string;
  readonly turnId?: string;
}

/** A cue that is still growing. */
type OpenCue = Omit<CaptionCue, 'lines' | 'startMs' | 'endMs' | 'isComplete'>;

interface Captioned {
  readonly originAt?: number | undefined;
  /** The number of cues so far. */
  readonly agentCues: number;
  readonly userCues: number;
  readonly agent?: OpenCue | undefined;
  /** Its speech has ended; words that sounded sooner than expected may follow. */
  readonly isOver: boolean;
  /** When the user last began to speak, until the words are final. */
  readonly voiceAt?: number | undefined;
  /** The user's words that are not yet final, and when they began. */
  readonly user?: { readonly since: number; readonly latest: Heard } | undefined;
  readonly told: readonly CaptionCue[];
}

/** The user's words. */
type Heard = VoiceEvent<'transcript.interim' | 'transcript.final'>;

/** Silence after which a new cue begins, after a sentence and within one, in milliseconds. */
const sentencePauseMs = 700;
const longPauseMs = 3_000;
const endsSentence = /[\p{STerm}…][\p{Pe}\p{Pf}"']*$/u;

/**
 * Captions of a conversation: lines for the screen that grow word by word as the words are heard. A cue is emitted
 * again with each word, and once more when it is complete. Words that are cut off never appear. Completes with the
 * pipeline; never errors.
 *
 * ```text
 * caption.word  --Good--morning!----How--are---
 * captions()    --a-----A-----------B---B------   a: Good, A: Good morning!, B: How, How are
 * ```
 *
 * @example
 * ```ts
 * import { captions, webVtt, type Pipeline } from 'rxvoice';
 *
 * declare const pipeline: Pipeline;
 * declare const screen: HTMLElement;
 * declare const file: { write(text: string): void };
 *
 * captions(pipeline).subscribe(({ lines }) => (screen.innerText = lines.join('\n')));
 * captions(pipeline, { user: true })
 *   .pipe(webVtt())
 *   .subscribe((text) => file.write(text));
 * ```
 */
export function captions(
  pipeline: Pick<Pipeline, 'events$' | 'captions$' | 'state$'>,
  options: CaptionOptions = {},
): Observable<CaptionCue> {
  const begin: Captioned = { agentCues: 0, userCues: 0, isOver: false, originAt: options.startAt, told: [] };
  // `state$` tells when the running session began; captions are made while somebody listens to `captions$`.
  const event$ = merge(pipeline.state$, pipeline.captions$.pipe(ignoreElements()), pipeline.events$);
  return concat(event$, of(undefined)).pipe(
    scan((state, event) => step(state, event, options), begin),
    concatMap(({ told }) => told),
  );
}

/** An event, or the end of the stream. */
function step(before: Captioned, event: VoiceEvent | undefined, options: CaptionOptions): Captioned {
  const originAt = before.originAt ?? (event && inSession(event) ? event.at : undefined);
  const state: Captioned = { ...before, originAt, told: [] };
  switch (event?.type) {
    case 'caption.word':
      return addWord(state, event, options);
    case 'speech.ended':
      return event.speechId === state.agent?.speechId ? { ...cutOff(state, event, options), isOver: true } : state;
    case 'transcript.interim':
    case 'transcript.final':
      return options.user ? hearUser(state, event, options) : state;
    case 'user.state':
      return event.state === 'speaking' ? { ...state, voiceAt: event.at } : state;
    case undefined:
      return complete(hearNoMore(state, options), options);
    case 'session.closed': {
      const next = complete(hearNoMore(state, options), options);
      return { ...next, originAt: options.startAt, voiceAt: undefined };
    }
    case 'turn.ended': {
      const next = event.reason === 'cancelled' ? { ...state, user: undefined } : state;
      return next.isOver ? complete(next, options) : next;
    }
    case 'agent.state':
      // Before `session.closed`, at which an application may take what it has.
      if (event.state === 'idle') return complete(hearNoMore(state, options), options);
      return state.isOver ? complete(state, options) : state;
    case 'speech.started':
      return state.isOver ? complete(state, options) : state;
    default:
      return state;
  }
}

/**
 * Whether an event shows that a session is running; the first one that does tells where its times count from. Events of
 * the devices come at any time, and `state$` replays the end of the session before.
 */
function inSession(event: VoiceEvent): boolean {
  switch (event.type) {
    case 'agent.state':
      return event.state !== 'idle';
    // A `RemotePipeline` may not share `state$`.
    case 'session.ready':
    case 'speech.started':
    case 'caption.word':
    case 'transcript.interim':
    case 'transcript.final':
      return true;
    default:
      return false;
  }
}

function addWord(before: Captioned, event: VoiceEvent<'caption.word'>, options: CaptionOptions): Captioned {
  const { speechId, turnId, text, range } = event;
  const startMs = timeOf(event.at, before);
  const word: CueWord = { text, range, startMs, endMs: startMs + Math.max(0, event.endMs - event.startMs) };
  const grown = before.agent && { ...before.agent, words: [...before.agent.words, word] };
  if (grown && grown.speechId === speechId && !startsAnew(grown, options)) {
    return { ...before, agent: grown, told: [cueOf(grown, false, options)] };
  }
  const state = complete(before, options);
  const agent: OpenCue = {
    ...{ id: `agent-${state.agentCues + 1}`, speaker: 'agent', words: [word] },
    ...(speechId === undefined ? {} : { speechId }),
    ...(turnId === undefined ? {} : { turnId }),
  };
  const told = [...state.told, cueOf(agent, false, options)];
  return { ...state, agent, agentCues: state.agentCues + 1, told };
}

/** Whether the last word of a cue should start another one. */
function startsAnew({ words }: OpenCue, { lineLength = 42, maxLines = 2 }: CaptionOptions): boolean {
  if (linesOf(words, lineLength).length > maxLines) return true;
  const [last, next] = words.slice(-2);
  if (!last || !next) return false;
  const pauseMs = next.startMs - last.endMs;
  return pauseMs > longPauseMs || (pauseMs > sentencePauseMs && endsSentence.test(last.text));
}

/** The last word ends where the speech was cut. */
function cutOff(
  before: Captioned,
  { at, interrupted }: VoiceEvent<'speech.ended'>,
  options: CaptionOptions,
): Captioned {
  const last = before.agent?.words.at(-1);
  const endMs = timeOf(at, before);
  if (!interrupted || !before.agent || !last || last.endMs <= endMs) return before;
  const agent = { ...before.agent, words: before.agent.words.with(-1, { ...last, endMs }) };
  return { ...before, agent, told: [...before.told, cueOf(agent, false, options)] };
}

/** The agent's cue is complete. */
function complete(before: Captioned, options: CaptionOptions): Captioned {
  const { agent, told } = before;
  if (!agent) return before;
  return { ...before, agent: undefined, isOver: false, told: [...told, cueOf(agent, true, options)] };
}

/** The user's words; while they may still change, only the last lines. */
function hearUser(
  before: Captioned,
  latest: Heard,
  options: CaptionOptions,
  isFinal: boolean = latest.type === 'transcript.final',
): Captioned {
  const { lineLength = 42, maxLines = 2 } = options;
  const { at, text, turnId } = latest;
  const endMs = timeOf(at, before);
  const since = before.user?.since ?? timeOf(begunAt(latest, before), before);
  const groups = groupsOf(wordsBetween(text, since, endMs), lineLength, maxLines);
  const cues = (isFinal ? groups : groups.slice(-1)).map((words, index) => {
    const cue = { id: `user-${before.userCues + index + 1}`, speaker: 'user', words } as const;
    return cueOf({ ...cue, ...(turnId === undefined ? {} : { turnId }) }, isFinal, options);
  });

  if (!isFinal) return { ...before, user: { since, latest }, told: cues };
  const userCues = before.userCues + cues.length;
  return { ...before, voiceAt: undefined, user: undefined, userCues, told: cues };
}

/** When the user began to say words that just came: with their voice, or earlier, if the words last longer. */
function begunAt({ at, result }: Heard, { voiceAt }: Captioned): number {
  const words = result?.metadata?.words ?? [];
  const [startMs, endMs] = [words[0]?.startMs, words.at(-1)?.endMs];
  // The service's audio may have begun at another time: its times tell how long the words were.
  const lastedMs = startMs === undefined || endMs === undefined ? 0 : Math.max(0, endMs - startMs);
  return Math.min(at - lastedMs, voiceAt ?? at);
}

/** What was not final when the call broke off stays as it was heard. */
function hearNoMore(before: Captioned, options: CaptionOptions): Captioned {
  return before.user ? hearUser(before, before.user.latest, options, true) : before;
}

function cueOf(cue: OpenCue, isComplete: boolean, { lineLength = 42 }: CaptionOptions): CaptionCue {
  const { words } = cue;
  const [first, last] = [words[0], words.at(-1)];
  const times = { startMs: first?.startMs ?? 0, endMs: last?.endMs ?? 0 };
  return { ...cue, lines: linesOf(words, lineLength), ...times, isComplete };
}

function timeOf(at: number, { originAt = at }: Captioned): number {
  return Math.max(0, at - originAt);
}
