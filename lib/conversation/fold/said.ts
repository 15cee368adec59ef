import { joinWords } from '../../text/words.ts';
import type { ConversationStep } from './conversation-step.ts';
import { change, type ConversationState, type Said } from './state.ts';

/** Takes note of what the user said. It is remembered at once, unless guards have to judge it first. */
export function noteSaid(state: ConversationState, said: Said): ConversationStep {
  const { unjudged } = state;
  const images = [...(unjudged?.images ?? []), ...(said.images ?? [])];
  const all: Said = unjudged ? { ...said, text: joinWords(unjudged.text, said.text), images } : said;
  const noted: ConversationState = change(state, { unjudged: all });
  return state.rules.guards.length > 0 ? [noted] : rememberSaid(noted);
}

/**
 * Remembers what was not judged yet.
 *
 * @param whole - Replaces it, together with the message that it continues.
 */
export function rememberSaid(state: ConversationState, whole?: string): ConversationStep {
  const { unjudged } = state;
  if (!unjudged) return [state];
  return [change(state, { unjudged: undefined }), { type: 'remember', said: unjudged, whole }];
}
