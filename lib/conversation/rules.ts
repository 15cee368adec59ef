import { english, phrasebook, type Phrasebook, type Phrases } from '../text/phrases.ts';
import type {
  BargeInOptions,
  ConversationSettings,
  PhraseList,
  PreflightOptions,
  UserTurnHook,
} from './conversation-options.ts';
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
  /** The commands and backchannels of the users' language, and as the application changed them. */
  readonly phrases: Phrases;
  readonly phrasebook: Phrasebook;
  /** Whether transcripts that repeat the agent are dropped. */
  readonly guardsEcho: boolean;
  /** BCP 47, for counting words. */
  readonly locale: string | undefined;
  /** Whether the speech-to-text service reports the end of speech. */
  readonly reportsSpeechEnd: boolean;
  /** Whether an agent's service manages turns, and notices that the user continues. */
  readonly isService: boolean;
}

/** The rules that a conversation's settings amount to, among users who speak with these phrases. */
export function rulesOf(settings: ConversationSettings, reportsSpeechEnd: boolean, phrases: Phrases = english): Rules {
  const { bargeIn = true, turnTaking = {}, locale, timeouts, onUserTurn } = settings;
  const options = typeof bargeIn === 'object' ? bargeIn : {};
  const { whileUninterruptible = 'queue', duckDb = 12, echoGuard = true } = options;
  return {
    bargeIn,
    whileUninterruptible,
    duckDb,
    phrases,
    phrasebook: phrasebook({
      ...phrases,
      commands: changed(phrases.commands, options.commands),
      backchannels: changed(phrases.backchannels, options.backchannels),
    }),
    guardsEcho: echoGuard,
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

function changed(own: readonly string[], change: PhraseList = own): readonly string[] {
  return typeof change === 'function' ? change(own) : change;
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
