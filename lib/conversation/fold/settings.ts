import { languageOf, type Phrases } from '../../text/phrases.ts';
import { countWords } from '../../text/words.ts';
import type { ConversationSettings, SettingsChange } from '../conversation-options.ts';
import { chain, type ConversationStep } from './conversation-step.ts';
import { emit, type Effect, type HeardSignal } from './inputs.ts';
import { rulesOf, type Rules } from './rules.ts';
import { change, type ConversationState } from './state.ts';
import { discard } from './user-turn.ts';

/** The settings that go into an answer: a preflight with other values is useless. */
const usedToPrepare: readonly (keyof ConversationSettings)[] = [
  'systemPrompt',
  'tools',
  'answer',
  'text',
  'locale',
  'agent',
];

/**
 * Changes a conversation's settings. Reducers use them from the next input on, answers from the next request, and
 * turn-taking from the next turn: a turn ends by the rules with which it began.
 */
export function changeSettings(before: ConversationState, changes: SettingsChange, at: number): ConversationStep {
  const settings = { ...before.settings, ...changes } as ConversationSettings;
  // A locale set by the application holds until the user is heard speaking another language.
  const language = 'locale' in changes || settings.followLanguage !== true ? undefined : before.language;
  const next = rulesIn(language, settings, before.rules);
  const state: ConversationState = change(before, {
    settings,
    language,
    rules: { ...next, turnTaking: before.rules.turnTaking },
    nextTurnTaking: next.turnTaking,
  });
  const changed = Object.keys(changes) as (keyof ConversationSettings)[];
  const [from, to] = [before.settings.agent, settings.agent];
  const told = [
    emit('session.updated', { changed }),
    ...(to === undefined || to === from
      ? []
      : [emit('agent.handoff', { to, ...(from === undefined ? {} : { from }) })]),
  ];
  const learning = phrasesToLearn(state);
  const isStale = changed.some((key) => usedToPrepare.includes(key));
  const step: ConversationStep = [state, ...told, ...learning];
  return isStale ? chain(step, (after) => discard(after, 'changed', at)) : step;
}

/**
 * The user has switched languages: from now on the agent follows, if it is set to. A word or two can belong to any
 * language, or be misheard.
 */
export function followLanguage(before: ConversationState, { result }: Heard, at: number): ConversationStep {
  const { settings, rules, language: previous = settings.locale } = before;
  if (!settings.followLanguage || !(result.utteranceComplete || result.isFinal || result.isPreflight)) return [before];
  const language = canonical(result.metadata?.language);
  const isKnown = language === undefined || (previous !== undefined && includes(language, previous));
  if (isKnown || countWords(result.text, language) < leastWords) return [before];
  const state: ConversationState = change(before, {
    language,
    // A policy that has failed stays ignored.
    rules: { ...rulesIn(language, settings, rules), turnTaking: rules.turnTaking, listening: rules.listening },
  });
  const told = emit('user.language', { language, ...(previous === undefined ? {} : { previous }) });
  return chain([state, told, ...phrasesToLearn(state)], (after) => discard(after, 'changed', at));
}

/** Fewer words do not identify a language. */
const leastWords = 2;

type Heard = Extract<HeardSignal, { readonly type: 'transcript' }>;

function rulesIn(language: string | undefined, settings: ConversationSettings, rules: Rules): Rules {
  const spoken = language === undefined ? settings : { ...settings, locale: language };
  return { ...rulesOf(spoken, rules.stt, rules.phrases), isService: rules.isService };
}

/** A BCP 47 tag in canonical form; `undefined` for anything else, such as `multi`. */
function canonical(language: string | undefined): string | undefined {
  try {
    const [tag] = language === undefined || /^(multi|und)$/i.test(language) ? [] : Intl.getCanonicalLocales(language);
    return tag;
  } catch {
    return undefined;
  }
}

/** Whether one language includes another: `en` includes `en-US`. */
function includes(language: string, other: string): boolean {
  return other === language || other.startsWith(`${language}-`);
}

/** Loads the phrases of the conversation's language, unless they are already loaded. */
export function phrasesToLearn({ rules: { locale, phrases } }: ConversationState): Effect[] {
  return languageOf(locale) === phrases.language ? [] : [{ type: 'learn', locale }];
}

/** Phrases were loaded: they apply from now on, unless the language has changed meanwhile. */
export function learnPhrases(state: ConversationState, phrases: Phrases): ConversationStep {
  const { settings, rules } = state;
  if (languageOf(rules.locale) !== phrases.language) return [state];
  const { phrasebook } = rulesOf(settings, rules.stt, phrases);
  return [change(state, { rules: { ...rules, phrases, phrasebook } })];
}

/** New rules of turn-taking apply once no turn is open. */
export function adoptTurnTaking(state: ConversationState): ConversationStep {
  const { nextTurnTaking: turnTaking, rules } = state;
  if (!turnTaking || state.turnTaking.phase !== 'idle') return [state];
  const { isManual } = turnTaking;
  const told: Effect[] = isManual === rules.turnTaking.isManual ? [] : [{ type: 'push-to-talk', isOn: isManual }];
  return [change(state, { nextTurnTaking: undefined, rules: { ...rules, turnTaking } }), ...told];
}
