import type { BargeInOptions, ConversationSettings, PreflightOptions, UserTurnHook } from './conversation-options.ts';
import type { TurnTakingOptions } from './turn-taking.ts';

/** What a conversation's reducers go by. They change with the conversation's settings. */
export interface Rules {
  readonly bargeIn: boolean | 'immediate' | BargeInOptions;
  readonly whileUninterruptible: 'discard' | 'queue';
  /** How much quieter the agent becomes while an interruption is suspected, in decibels. */
  readonly duckDb: number;
  readonly turnTaking: TurnTakingOptions;
  readonly preflight: Required<PreflightOptions>;
  /** Sees each turn before the model does. */
  readonly onUserTurn: UserTurnHook | undefined;
  readonly hookMs: number;
  readonly idleMs: number;
  readonly sttTimeoutMs: number;
  /** BCP 47, for counting words. */
  readonly locale: string | undefined;
  /** Whether the speech-to-text service reports the end of speech. */
  readonly reportsSpeechEnd: boolean;
  /** Whether an agent's service manages turns, and notices that the user continues. */
  readonly isService: boolean;
}

/** The rules that a conversation's settings amount to. */
export function rulesOf(settings: ConversationSettings, reportsSpeechEnd: boolean): Rules {
  const { bargeIn = true, turnTaking = {}, locale, timeouts, onUserTurn } = settings;
  const { whileUninterruptible = 'discard', duckDb = 12 } = typeof bargeIn === 'object' ? bargeIn : {};
  return {
    bargeIn,
    whileUninterruptible,
    duckDb,
    turnTaking,
    preflight: preflightOf(settings),
    onUserTurn,
    hookMs: timeouts?.hookMs ?? 5_000,
    idleMs: timeouts?.idleMs ?? 15_000,
    sttTimeoutMs: turnTaking.sttTimeoutMs ?? 5_000,
    locale,
    reportsSpeechEnd,
    isService: false,
  };
}

function preflightOf({ preflight = true }: ConversationSettings): Required<PreflightOptions> {
  const {
    enabled = true,
    speak = false,
    maxStarts = 3,
    maxSpeechMs = 10_000,
  } = typeof preflight === 'object' ? preflight : { enabled: preflight };
  return { enabled, speak, maxStarts, maxSpeechMs };
}
