/** The start of an answer, of which it is not yet known what it is; then what is spoken as it comes. */
export type AnswerText =
  | {
      /** `held` began like a tool call. */
      readonly phase: 'start' | 'held';
      readonly pending: string;
      /** Whether reasoning came before it. */
      readonly hasThought: boolean;
    }
  | { readonly phase: 'thinking'; readonly pending: string }
  | { readonly phase: 'speaking' };

const opening = '<think>';
const closing = '</think>';
const thoughts = /^(?:\s*<think>[^]*?<\/think>)+/;

/** How the text of weak models begins when it is a tool call, not speech. */
const callMarks = ['{', '<tool_call>'];

const maxHeldLength = 65_536;

/**
 * Adds a piece, and gives what can be spoken of it and of earlier ones. Reasoning between `<think>` and `</think>` at
 * the start of an answer is left out, wherever the pieces are cut.
 *
 * @param holdsCalls - Whether to hold back text that begins like a tool call.
 */
export function addText(
  state: AnswerText,
  piece: string,
  holdsCalls: boolean,
): readonly [state: AnswerText, spoken: string] {
  if (state.phase === 'speaking') return [state, piece];
  const pending = state.pending + piece;
  if (state.phase === 'thinking') {
    const end = pending.indexOf(closing);
    // Reasoning can be long; all that matters is whether its end has begun.
    if (end < 0) return [{ phase: 'thinking', pending: pending.slice(-closing.length) }, ''];
    const rest = pending.slice(end + closing.length);
    return addText({ phase: 'start', pending: '', hasThought: true }, rest, holdsCalls);
  }
  if (state.phase === 'held') {
    // No tool call is that long.
    return pending.length < maxHeldLength ? [{ ...state, pending }, ''] : speak(pending, state.hasThought);
  }
  const unthought = pending.replace(thoughts, '');
  const hasThought = state.hasThought || unthought !== pending;
  const text = unthought.trimStart();
  if (text.startsWith(opening)) return [{ phase: 'thinking', pending: text.slice(-closing.length) }, ''];
  const waiting = { pending: unthought, hasThought };
  if (holdsCalls && callMarks.some((mark) => text.startsWith(mark))) return [{ phase: 'held', ...waiting }, ''];
  const marks = holdsCalls ? [opening, ...callMarks] : [opening];
  return marks.some((mark) => mark.startsWith(text))
    ? [{ phase: 'start', ...waiting }, '']
    : speak(unthought, hasThought);
}

/** What is left at the end of the answer: `text` to speak, or `held`, which began like a tool call. */
export function restOfText(state: AnswerText): { readonly text: string; readonly held: string } {
  if (state.phase !== 'start' && state.phase !== 'held') return { text: '', held: '' };
  const [, rest] = speak(state.pending, state.hasThought);
  return state.phase === 'held' ? { text: '', held: rest } : { text: rest.trim() === '' ? '' : rest, held: '' };
}

function speak(text: string, hasThought: boolean): readonly [AnswerText, string] {
  return [{ phase: 'speaking' }, hasThought ? text.trimStart() : text];
}
