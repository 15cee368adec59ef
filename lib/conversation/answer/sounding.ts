import { questionEnd } from '../../text/questions.ts';
import type { Script } from './script.ts';

/** What the agent was heard saying by the time the user says something. */
export interface Sounding {
  /** Milliseconds until the audible speech's next question ends; Infinity without one. */
  readonly toQuestionMs: number;
  /** Milliseconds since the end of the last question; Infinity without one. */
  readonly sinceQuestionMs: number;
  /** What was heard in the last few seconds, including the word now sounding. */
  readonly text: string;
  /** Milliseconds since the last speech ended; 0 while one is audible. */
  readonly endedMs: number;
  /**
   * What sounded of an audible speech between two moments on the scheduler's clock, including words that sounded only
   * in part.
   */
  readonly between?: (fromAt: number, toAt: number) => string;
}

/** Where the play-head was at a moment. */
interface Mark {
  readonly at: number;
  readonly playedMs: number;
}

/** How long heard text is remembered, in milliseconds: transcripts and echoes arrive late. */
const memoryMs = 5_000;
/** Most text to remember, in characters: longer than any utterance that can be an echo. */
const maxLength = 1_024;
/** Most marks to keep: enough for some seconds of words. */
const mostMarks = 64;

/** A speech while it is audible. */
export interface AudibleSpeech {
  readonly script: Script;
  readonly playedMs: () => number;
  readonly envelope: { readonly speechId: string; readonly turnId?: string };
}

/** Remembers what the agent is heard saying, to compare with what the user says. */
export class Soundings {
  #speech: AudibleSpeech | undefined;
  #last = { text: '', at: -Infinity, questionAt: -Infinity };
  #marks: readonly Mark[] = [];

  /** A speech is audible from now on. */
  begin(script: Script, playedMs: () => number, envelope: AudibleSpeech['envelope']): void {
    this.#speech = { script, playedMs, envelope };
    this.#marks = [];
  }

  /** The user was heard at `at`: the agent may be paused, and the words arrive later. */
  mark(at: number): void {
    if (!this.#speech) return;
    const marks = this.#marks.slice(1 - mostMarks);
    marks.push({ at, playedMs: this.#speech.playedMs() });
    this.#marks = marks;
  }

  /** The speech that is audible. */
  get speech(): AudibleSpeech | undefined {
    return this.#speech;
  }

  /** It has ended, after `playedMs` of its audio; `heard` is its audible text. */
  end(script: Script, playedMs: number, heard: string, at: number): void {
    if (this.#speech?.script !== script) return;
    this.#speech = undefined;
    const sinceQuestionMs = Math.min(...script.endsOf(questionEnd).map((ms) => since(ms, playedMs)));
    const questionAt = Math.max(this.#last.questionAt, at - sinceQuestionMs);
    this.#last = { text: `${this.#recent(at)}${heard}`.slice(-maxLength), at, questionAt };
  }

  /** What was heard until `at`, on the scheduler's clock; `undefined` if that was long ago. */
  at(at: number): Sounding | undefined {
    const sinceLastMs = at - this.#last.questionAt;
    if (!this.#speech) {
      const endedMs = at - this.#last.at;
      if (endedMs > memoryMs) return undefined;
      return { toQuestionMs: Infinity, sinceQuestionMs: sinceLastMs, text: this.#last.text, endedMs };
    }
    this.mark(at);
    return new SoundingNow(this.#speech.script, this.#marks, sinceLastMs, this.#recent(at));
  }

  /** What was heard before the audible speech. */
  #recent(at: number): string {
    return at - this.#last.at <= memoryMs ? `${this.#last.text} ` : '';
  }
}

/** Reads the script only on demand: most words are neither an echo nor near a question. */
class SoundingNow implements Sounding {
  readonly endedMs = 0;
  readonly #script: Script;
  readonly #marks: readonly Mark[];
  readonly #positionMs: number;
  readonly #sinceLastMs: number;
  readonly #before: string;
  #ends: readonly number[] | undefined;
  #text: string | undefined;

  /** @param marks - The last of them is now. */
  constructor(script: Script, marks: readonly Mark[], sinceLastMs: number, before: string) {
    this.#script = script;
    this.#marks = marks;
    this.#positionMs = marks.at(-1)?.playedMs ?? 0;
    this.#sinceLastMs = sinceLastMs;
    this.#before = before;
  }

  get toQuestionMs(): number {
    return Math.min(...this.#questions.map((ms) => since(this.#positionMs, ms, false)));
  }

  get sinceQuestionMs(): number {
    return Math.min(this.#sinceLastMs, ...this.#questions.map((ms) => since(ms, this.#positionMs)));
  }

  get text(): string {
    return (this.#text ??= `${this.#before}${this.#script.soundedBetween(0, this.#positionMs)}`.slice(-maxLength));
  }

  between(fromAt: number, toAt: number): string {
    const [least] = playedAt(this.#marks, fromAt);
    const [, most] = playedAt(this.#marks, toAt);
    return this.#script.soundedBetween(least, most);
  }

  get #questions(): readonly number[] {
    return (this.#ends ??= this.#script.endsOf(questionEnd));
  }
}

/** The least and the most that can have played by a moment: the play-head may have stood still between two marks. */
function playedAt(marks: readonly Mark[], at: number): readonly [number, number] {
  const before = marks.filter((mark) => mark.at <= at).at(-1);
  const after = marks.find((mark) => mark.at >= at);
  return [
    Math.max(before?.playedMs ?? 0, after ? after.playedMs - (after.at - at) : 0),
    Math.min(after?.playedMs ?? Infinity, before ? before.playedMs + (at - before.at) : Infinity),
  ];
}

/** How long one moment precedes another; Infinity if it does not. */
function since(fromMs: number, toMs: number, orAt: boolean = true): number {
  return fromMs < toMs || (orAt && fromMs === toMs) ? toMs - fromMs : Infinity;
}
