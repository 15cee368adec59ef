const opening = '<think>';
const closing = '</think>';

/** How the text of weak models begins that is no speech but a tool call. */
const callMarks = ['{', '<tool_call>'];

const maxHeldLength = 65_536;

/**
 * Separates what a model says from what it thinks: reasoning between `<think>` and `</think>` at the start of an answer
 * is left out, wherever the pieces are cut. Optionally holds back text that begins like a tool call.
 */
export class AnswerText {
  readonly #holdsCalls: boolean;
  #state: 'start' | 'thinking' | 'held' | 'speaking' = 'start';
  #hasThought: boolean = false;
  #pending: string = '';

  constructor(holdsCalls: boolean) {
    this.#holdsCalls = holdsCalls;
  }

  /** Takes a piece; gives what of it and of earlier ones can be spoken now. */
  push(piece: string): string {
    if (this.#state === 'speaking') return piece;
    this.#pending += piece;
    for (;;) {
      const text = this.#pending.trimStart();
      if (this.#state === 'start') {
        if (text === '' || (opening.startsWith(text) && text !== opening)) return '';
        if (text.startsWith(opening)) {
          this.#state = 'thinking';
          this.#hasThought = true;
          this.#pending = text.slice(opening.length);
          continue;
        }
        if (this.#holdsCalls && callMarks.some((mark) => mark.startsWith(text) || text.startsWith(mark))) {
          if (callMarks.some((mark) => text.startsWith(mark))) this.#state = 'held';
          return '';
        }
        this.#state = 'speaking';
        return this.#take();
      }
      if (this.#state === 'held') {
        // No tool call is that long.
        if (this.#pending.length < maxHeldLength) return '';
        this.#state = 'speaking';
        return this.#take();
      }
      const end = this.#pending.indexOf(closing);
      if (end < 0) {
        // Reasoning can be long; all that matters of it is whether its end has begun.
        this.#pending = this.#pending.slice(-closing.length);
        return '';
      }
      this.#pending = this.#pending.slice(end + closing.length);
      this.#state = 'start';
    }
  }

  /** What is left at the end of the answer: `text` to speak, or `held`, which began like a tool call. */
  finish(): { readonly text: string; readonly held: string } {
    const state = this.#state;
    const rest = this.#take();
    if (state === 'thinking') return { text: '', held: '' };
    return state === 'held' ? { text: '', held: rest } : { text: rest.trim() === '' ? '' : rest, held: '' };
  }

  #take(): string {
    const text = this.#pending;
    this.#pending = '';
    return this.#hasThought ? text.trimStart() : text;
  }
}
