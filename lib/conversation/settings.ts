import { languageOf, type Phrases } from '../text/phrases.ts';
import type { ConversationSettings, SettingsChange } from './conversation-options.ts';
import { emit, type Effect } from './inputs.ts';
import { rulesOf } from './rules.ts';
import type { ConversationState } from './state.ts';
import { chain, discard, type ConversationStep } from './user-turn.ts';

/** What an answer is made with: one that was prepared with other values is of no use. */
const usedToPrepare: readonly (keyof ConversationSettings)[] = [
  'systemPrompt',
  'tools',
  'answer',
  'speechText',
  'locale',
];

/**
 * Changes a conversation's settings. The reducers go by them from the next input on, answers from the next request, and
 * the rules of turn-taking from the next turn: a turn ends by those by which it began.
 */
export function changeSettings(before: ConversationState, changes: SettingsChange, at: number): ConversationStep {
  const settings = { ...before.settings, ...changes } as ConversationSettings;
  const next = rulesOf(settings, before.rules.reportsSpeechEnd, before.rules.phrases);
  const { turnTaking, sttTimeoutMs } = before.rules;
  const state: ConversationState = {
    ...before,
    settings,
    rules: { ...next, turnTaking, sttTimeoutMs },
    nextTurnTaking: next.turnTaking,
  };
  const changed = Object.keys(changes) as (keyof ConversationSettings)[];
  const told = emit('session.updated', { changed });
  const learning = phrasesToLearn(state);
  const isStale = changed.some((key) => usedToPrepare.includes(key));
  return isStale
    ? chain([state, told, ...learning], (after) => discard(after, 'changed', at))
    : [state, told, ...learning];
}

/** Loads the phrases of the conversation's language, if they are not those known. */
export function phrasesToLearn({ rules: { locale, phrases } }: ConversationState): Effect[] {
  return languageOf(locale) === phrases.language ? [] : [{ type: 'learn', locale }];
}

/** Phrases were loaded: they count from now on. */
export function learnPhrases(state: ConversationState, phrases: Phrases): ConversationStep {
  const { settings, rules } = state;
  const { phrasebook } = rulesOf(settings, false, phrases);
  return [{ ...state, rules: { ...rules, phrases, phrasebook } }];
}

/** New rules of turn-taking count once no turn is open. */
export function adoptTurnTaking(state: ConversationState): ConversationStep {
  const { nextTurnTaking: turnTaking, rules } = state;
  if (!turnTaking || state.turnTaking.phase !== 'idle') return [state];
  const { sttTimeoutMs } = rulesOf({ turnTaking }, false);
  const isManual = turnTaking.strategy === 'manual';
  const told: Effect[] =
    isManual === (rules.turnTaking.strategy === 'manual') ? [] : [{ type: 'push-to-talk', isOn: isManual }];
  return [{ ...state, nextTurnTaking: undefined, rules: { ...rules, turnTaking, sttTimeoutMs } }, ...told];
}
