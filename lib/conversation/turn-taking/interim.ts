import type { TranscriptionResult } from '../../core/roles.ts';
import { sharedWords } from '../../text/shared-words.ts';
import type { ConversationStep } from '../fold/conversation-step.ts';
import { emit } from '../fold/inputs.ts';
import { change, type ConversationState } from '../fold/state.ts';

/** Publishes what the user has said so far, and how much of it is settled. */
export function publishInterim(
  state: ConversationState,
  text: string,
  result: TranscriptionResult,
  turnId?: string,
): ConversationStep {
  const stablePrefix = result.isFinal ? text : sharedWords(state.interim, text);
  const told = emit(
    'transcript.interim',
    { text, stablePrefix, result },
    { role: 'stt', ...(turnId === undefined ? {} : { turnId }) },
  );
  return [change(state, { interim: text }), told];
}
