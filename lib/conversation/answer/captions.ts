import {
  defer,
  EMPTY,
  filter,
  ignoreElements,
  map,
  type Observable,
  type SchedulerLike,
  startWith,
  switchMap,
  takeUntil,
  tap,
  timer,
} from 'rxjs';
import type { SpokenWord } from '../../core/roles.ts';
import { placedWords } from '../../text/placed-words.ts';
import { segmenterFor } from '../../text/segmenter.ts';
import { visualRange, type SpokenPiece } from '../../text/spoken-piece.ts';
import type { Emit } from '../event-bus.ts';
import type { VoiceEvent, VoiceEventMap } from '../events.ts';
import type { Script, ScriptRound } from './script.ts';
import type { AudibleSpeech, Soundings } from './sounding.ts';

/** Longest interval between looks at the play-head, in milliseconds. */
const recheckMs = 100;
/** Joins two words into one: "twenty-one", "don't". */
const joiner = /^[-\u2010\u2011'’./@_]$/;

/** What captions are derived from. */
export interface CaptionSources {
  readonly events$: Observable<VoiceEvent>;
  readonly soundings: Soundings;
  readonly scheduler: SchedulerLike;
  readonly emit: Emit;
}

/** Publishes each word of the agent as it begins to sound. Loaded, and subscribed to, while somebody listens. */
export function captions(sources: CaptionSources): Observable<never> {
  const { events$, soundings } = sources;
  return events$.pipe(
    filter(({ type }) => type === 'speech.started'),
    startWith(undefined),
    map(() => soundings.speech),
    switchMap((speech) => (speech ? wordsOfSpeech(speech, sources) : EMPTY)),
    ignoreElements(),
  );
}

/** Publishes the words of a speech at their times; at its end, those that were heard sooner than expected. */
function wordsOfSpeech(
  { script, playedMs, envelope }: AudibleSpeech,
  { events$, scheduler, emit }: CaptionSources,
): Observable<unknown> {
  const reader = new WordReader();
  let lastMs = -1;
  const tell$ = (): Observable<unknown> => {
    const positionMs = playedMs();
    let word = reader.peek(script);
    for (; word && word.startMs <= positionMs; word = reader.peek(script)) {
      emit('caption.word', word, envelope);
      reader.skip();
    }
    // A play-head that stands still is paused.
    const isMoving = positionMs !== lastMs;
    lastMs = positionMs;
    const inMs = word && isMoving ? Math.min(recheckMs, word.startMs - positionMs) : recheckMs;
    return timer(inMs, scheduler).pipe(switchMap(() => tell$()));
  };
  const tellRest = ({ heardText, playedMs: endMs }: VoiceEvent<'speech.ended'>): void => {
    let word = reader.peek(script);
    for (; word && word.range[1] <= heardText.length; word = reader.peek(script)) {
      const times = { startMs: Math.min(word.startMs, endMs), endMs: Math.min(word.endMs, endMs) };
      emit('caption.word', { ...word, ...times }, envelope);
      reader.skip();
    }
  };
  const isEnd = (event: VoiceEvent): event is VoiceEvent<'speech.ended'> =>
    event.type === 'speech.ended' && event.speechId === envelope.speechId;
  return defer(tell$).pipe(takeUntil(events$.pipe(filter(isEnd), tap(tellRest))));
}

type CaptionWord = VoiceEventMap['caption.word'];

/** A word of a piece: what is spoken, and what it stands for. */
interface Word {
  readonly from: number;
  readonly to: number;
  readonly range: readonly [number, number];
  readonly text: string;
}

/** Reads a script word by word while it is being written. */
class WordReader {
  #round = 0;
  #piece = 0;
  #word = 0;
  /** Where the current piece begins, in its round's spoken and visual text. */
  #spoken = 0;
  #visual = 0;
  #words: readonly Word[] | undefined;

  /** The next word; `undefined` while there is none. */
  peek(script: Script): CaptionWord | undefined {
    for (;;) {
      const round = script.roundAt(this.#round);
      if (!round) return undefined;
      const piece = round.pieces[this.#piece];
      if (!piece) {
        if (!round.isOver) return undefined;
        this.#round += 1;
        this.#piece = this.#spoken = this.#visual = 0;
        continue;
      }
      this.#words ??= wordsOf(piece);
      const word = this.#words[this.#word];
      if (word) {
        const start = round.visualStart + this.#visual;
        const [from, to] = [this.#spoken + word.from, this.#spoken + word.to];
        const { range, text } = word;
        return { text, range: [start + range[0], start + range[1]], ...timesOf(round, from, to) };
      }
      this.#piece += 1;
      this.#spoken += piece.spoken.length;
      this.#visual += piece.visual.length;
      this.#word = 0;
      this.#words = undefined;
    }
  }

  skip(): void {
    this.#word += 1;
  }
}

/** When a range of a round's spoken text sounds: by the word timings, else by proportion. */
function timesOf(round: ScriptRound, from: number, to: number): Pick<CaptionWord, 'startMs' | 'endMs' | 'estimated'> {
  const { startMs, spoken, words } = round;
  let first: SpokenWord | undefined;
  let last: SpokenWord | undefined;
  for (const { word, from: begin, to: end } of placedWords(spoken, words)) {
    // A voice that restarted says words twice: the first time counts.
    if (first && begin >= to) break;
    if (begin >= to || end <= from) continue;
    first ??= word;
    last = word;
  }
  if (first && last) {
    const estimated = (first.estimated ?? false) || (last.estimated ?? false);
    return { startMs: startMs + first.startMs, endMs: startMs + last.endMs, estimated };
  }
  return { startMs: startMs + round.msAt(from), endMs: startMs + round.msAt(to), estimated: true };
}

/** The words of a piece with their punctuation; several spoken words for one written word count as one. */
function wordsOf(piece: SpokenPiece): Word[] {
  const words: Word[] = [];
  let from: number | undefined;
  let read = 0;
  for (const [begin, end] of groupsOf(piece.spoken)) {
    from ??= begin;
    const [first, last] = visualRange(piece, from, end);
    const start = Math.max(first, read);
    const written = piece.visual.slice(start, last);
    // The rest of the written word is still to be spoken.
    if (written.trim() === '') continue;
    const visualStart = start + written.length - written.trimStart().length;
    const range = [visualStart, visualStart + written.trim().length] as const;
    const said = piece.spoken.slice(from, end);
    const core = /[\p{L}\p{N}\p{M}].*[\p{L}\p{N}\p{M}]|[\p{L}\p{N}]/su.exec(said)?.[0] ?? said;
    words.push({ from, to: end, range, text: written.includes(core) ? said : written.trim() });
    read = last;
    from = undefined;
  }
  return words;
}

/** Where words begin and end. */
function groupsOf(spoken: string): (readonly [number, number])[] {
  const groups: (readonly [number, number])[] = [];
  let start: number | undefined;
  let hasWord = false;
  let isJoined = false;
  const close = (end: number): void => {
    if (start !== undefined && hasWord) groups.push([start, end]);
    start = undefined;
    hasWord = false;
  };
  for (const { segment, index, isWordLike = false } of segmenterFor('word').segment(spoken)) {
    if (segment.trim() === '' || (isWordLike && hasWord && !isJoined)) close(index);
    isJoined = joiner.test(segment);
    if (segment.trim() === '') continue;
    start ??= index;
    hasWord ||= isWordLike;
  }
  close(spoken.length);
  return groups;
}
