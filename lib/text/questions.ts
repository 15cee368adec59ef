/** The ends of questions, in any script; Japanese often writes them with a full stop. */
export const questionEnd: RegExp = /[?？؟\u037e]+|か[。．]/gu;

const endOfQuestion = /(?:[?？؟\u037e]|か[。．])[\p{P}\s]{0,15}$/u;

/** Whether the last sentence of a text is a question. */
export function endsInQuestion(text: string): boolean {
  return endOfQuestion.test(text.slice(-16));
}
