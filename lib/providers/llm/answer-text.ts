/**
 * The start of an answer, not yet classified as reasoning, a tool call or speech; then speech, passed on as it arrives.
 */
export type AnswerText =
  | {
      /** `held` starts like a tool call. */
      readonly phase: 'start' | 'held';
      readonly pending: string;
      /** Whether reasoning preceded it. */
      readonly hasThought: boolean;
    }
  | { readonly phase: 'thinking'; readonly pending: string }
  | { readonly phase: 'speaking' };

const opening = '<think>';
const closing = '</think>';
const thoughts = /^(?:\s*<think>[^]*?<\/think>)+/;

/** How weak models start text that is a tool call, not speech. */
const callMarks = ['{', '<tool_call>'];

const maxHeldLength = 65_536;

/**
 * Adds a chunk and returns what can now be spoken. Reasoning between `<think>` and `</think>` at the start of an answer
 * is left out, however the chunks are split.
 *
 * @param holdsCalls - Whether to hold back text that starts like a tool call.
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
    // Reasoning can be long; only a possible start of its end mark needs keeping.
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

/** What remains at the end of the answer: `text` to speak, or `held`, which started like a tool call. */
export function restOfText(state: AnswerText): { readonly text: string; readonly held: string } {
  if (state.phase !== 'start' && state.phase !== 'held') return { text: '', held: '' };
  const [, rest] = speak(state.pending, state.hasThought);
  return state.phase === 'held' ? { text: '', held: rest } : { text: rest.trim() === '' ? '' : rest, held: '' };
}

function speak(text: string, hasThought: boolean): readonly [AnswerText, string] {
  return [{ phase: 'speaking' }, hasThought ? text.trimStart() : text];
}
