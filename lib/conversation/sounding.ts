import { questionEnd } from '../text/questions.ts';
import type { Script } from './script.ts';

/** What the agent has been heard saying when the user says something. */
export interface Sounding {
  /** Milliseconds to the end of the next question of what is audible; Infinity without one. */
  readonly toQuestionMs: number;
  /** Milliseconds since the end of the last question; Infinity without one. */
  readonly sinceQuestionMs: number;
  /** What was heard of the last seconds, in whole words. */
  readonly text: string;
  /** Milliseconds since the last speech ended; 0 while one is audible. */
  readonly endedMs: number;
}

/** How long what was heard is remembered, in milliseconds: speech-to-text is late, and so are echoes. */
const memoryMs = 5_000;
/** Most that is remembered, in characters: longer than any utterance that an echo may be. */
const maxLength = 1_024;

/** A speech while it is audible. */
export interface AudibleSpeech {
  readonly script: Script;
  readonly playedMs: () => number;
  readonly envelope: { readonly speechId: string; readonly turnId?: string };
}

/** Keeps what the agent is heard saying, for when the user says something. */
export class Soundings {
  #speech: AudibleSpeech | undefined;
  #last = { text: '', at: -Infinity, questionAt: -Infinity };

  /** A speech is audible from now on. */
  begin(script: Script, playedMs: () => number, envelope: AudibleSpeech['envelope']): void {
    this.#speech = { script, playedMs, envelope };
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

  /** What was heard until `at`, on the scheduler's clock; `undefined` when that is long ago. */
  at(at: number): Sounding | undefined {
    const sinceLastMs = at - this.#last.questionAt;
    if (!this.#speech) {
      const endedMs = at - this.#last.at;
      if (endedMs > memoryMs) return undefined;
      return { toQuestionMs: Infinity, sinceQuestionMs: sinceLastMs, text: this.#last.text, endedMs };
    }
    const { script, playedMs } = this.#speech;
    return new SoundingNow(script, playedMs(), sinceLastMs, this.#recent(at));
  }

  /** What was heard before what is audible. */
  #recent(at: number): string {
    return at - this.#last.at <= memoryMs ? `${this.#last.text} ` : '';
  }
}

/** Reads the script only when asked: most words are neither an echo nor near a question. */
class SoundingNow implements Sounding {
  readonly endedMs = 0;
  readonly #script: Script;
  readonly #positionMs: number;
  readonly #sinceLastMs: number;
  readonly #before: string;
  #ends: readonly number[] | undefined;

  constructor(script: Script, positionMs: number, sinceLastMs: number, before: string) {
    this.#script = script;
    this.#positionMs = positionMs;
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
    return `${this.#before}${this.#script.heardAt(this.#positionMs).text}`.slice(-maxLength);
  }

  get #questions(): readonly number[] {
    return (this.#ends ??= this.#script.endsOf(questionEnd));
  }
}

/** How long one moment is before another; Infinity if it is not. */
function since(fromMs: number, toMs: number, orAt: boolean = true): number {
  return fromMs < toMs || (orAt && fromMs === toMs) ? toMs - fromMs : Infinity;
}
