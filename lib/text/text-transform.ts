import type { Observable, SchedulerLike } from 'rxjs';
import type { LLMEvent } from '../core/messages.ts';
import { composed, joined, verbatim, type SpokenPiece } from './spoken-piece.ts';

/** What a transform may want to know about a text. */
export interface TextContext {
  /** BCP 47 language of the conversation, if known. */
  readonly locale?: string | undefined;
  /** Announces a text that is nothing but code, in the language of the conversation. Default: in English. */
  readonly codeNotice?: string | undefined;
  /** Whether the voice reads out numbers and signs itself, or the languages in which it does. Default: unknown. */
  readonly normalizesText?: boolean | readonly string[] | undefined;
}

/**
 * Transforms one text as it grows. The `visual` texts of its pieces concatenate to exactly what it was given; how the
 * text is split on arrival makes no difference to what is spoken.
 */
export interface TextStage {
  /** Returns the pieces that are now complete. An end that is ambiguous waits for more, or for `flush()`. */
  push(text: string): Iterable<SpokenPiece>;
  /** Returns the rest when no more text follows. */
  flush(): Iterable<SpokenPiece>;
}

/** What happens to a text in which a guard finds something. */
export type GuardAction = 'replace' | 'cut' | 'end';

/** What a guard did; never what was said. */
export interface GuardReport {
  /** Whether it was the user's text, the agent's, or an argument of a tool call. */
  readonly side: 'input' | 'output' | 'tools';
  /** The rule that found something: its name, `moderation`, or `moderation-failed`. */
  readonly rule: string;
  /** `allow` and `block` for a moderation that failed. */
  readonly action: GuardAction | 'allow' | 'block';
}

/** What a guard is given. */
export interface GuardContext {
  readonly scheduler: SchedulerLike;
  /** Reports what it did. */
  readonly tell: (report: GuardReport) => void;
  /** Ends the turn. */
  readonly end: () => void;
}

/** A text as it leaves a guard. */
export interface GuardedText {
  readonly text: string;
  /** Set when it is refused: nothing more passes. */
  readonly stop?: GuardAction;
  /** Said in place of an answer. */
  readonly say?: string;
}

/** How a guard sees the user's messages. */
export interface InputGuard {
  /** Judges a message before the model sees it, and before it is remembered. */
  readonly judge: (text: string, context: GuardContext) => Observable<GuardedText>;
  /** Longest wait of `judge`, in milliseconds. */
  readonly waitsMs: number;
}

/** One step on the way from the model's text to the voice: `markdown()`, `pronunciations()`, or your own. */
export interface TextTransform {
  /** Its name, for errors. */
  readonly name: string;
  /** Creates a stage for one text to be spoken. Each text of the conversation has its own. */
  readonly start?: (context: TextContext) => TextStage;
  /** The model's events as everyone else will see them. */
  readonly answer?: (events$: Observable<LLMEvent>, context: GuardContext) => Observable<LLMEvent>;
  /** Checks the user's messages before the model sees them. */
  readonly input?: InputGuard;
}

/** @internal One stage for several consecutive transforms; without any, text is spoken as written. */
export function chained(transforms: readonly TextTransform[], context: TextContext): TextStage {
  const [first, ...rest] = transforms.flatMap((transform) => transform.start?.(context) ?? []);
  return first ? rest.reduce((before, after) => new Chain(before, after), first) : asWritten;
}

/** @internal The model's events after all guards. */
export function guardedOutput(
  events$: Observable<LLMEvent>,
  transforms: readonly TextTransform[],
  context: GuardContext,
): Observable<LLMEvent> {
  return transforms.reduce((passed$, { answer }) => answer?.(passed$, context) ?? passed$, events$);
}

const asWritten: TextStage = { push: (text) => (text ? [verbatim(text)] : []), flush: () => [] };

/** The spoken text of one stage is the input of the next. */
class Chain implements TextStage {
  readonly #first: TextStage;
  readonly #second: TextStage;
  /** Pieces of either stage whose end does not coincide with one of the other's. */
  #read: SpokenPiece[] = [];
  #said: SpokenPiece[] = [];

  constructor(first: TextStage, second: TextStage) {
    this.#first = first;
    this.#second = second;
  }

  push(text: string): SpokenPiece[] {
    return [...this.#first.push(text)].flatMap((piece) => this.#pass(piece));
  }

  flush(): SpokenPiece[] {
    const pieces = [...this.#first.flush()].flatMap((piece) => this.#pass(piece));
    this.#said.push(...this.#second.flush());
    const isOver = this.#read.length === 0 && this.#said.length === 0;
    const rest = isOver ? [] : [composed(joined(this.#read), joined(this.#said))];
    this.#read = [];
    this.#said = [];
    return [...pieces, ...rest];
  }

  #pass(piece: SpokenPiece): SpokenPiece[] {
    this.#read.push(piece);
    this.#said.push(...this.#second.push(piece.spoken));
    const ends = new Map([[0, 0]]);
    let length = 0;
    for (const [index, { visual }] of this.#said.entries()) ends.set((length += visual.length), index + 1);
    let [read, said] = [0, 0];
    length = 0;
    for (const [index, { spoken }] of this.#read.entries()) {
      const end = ends.get((length += spoken.length));
      if (end !== undefined) [read, said] = [index + 1, end];
    }
    if (read === 0) return [];
    return [composed(joined(this.#read.splice(0, read)), joined(this.#said.splice(0, said)))];
  }
}
