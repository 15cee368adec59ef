import { english, phrasebook, sharedPhrasebook, type Phrasebook, type Phrases } from '../../text/phrases.ts';
import type { InputGuard } from '../../text/text-transform.ts';
import type {
  BargeInOptions,
  ConversationSettings,
  ListeningPolicy,
  PhraseList,
  PreflightRules,
  UserTurnHook,
} from '../conversation-options.ts';
import { turnRules, type SttFacts, type TurnRules } from '../turn-taking/turn-rules.ts';

/** The rules that a conversation's reducers follow. They change with the conversation's settings. */
export interface Rules {
  readonly bargeIn: boolean | 'immediate' | BargeInOptions;
  readonly whileUninterruptible: 'discard' | 'queue';
  /** How much quieter the agent becomes while an interruption is suspected, in decibels. */
  readonly duckDb: number;
  readonly turnTaking: TurnRules;
  readonly preflight: PreflightRules;
  /** Sees each turn before the model does. */
  readonly onUserTurn: UserTurnHook | undefined;
  readonly hookMs: number;
  /** Guards that the user's messages pass before the model, or the hook, sees them. */
  readonly guards: readonly InputGuard[];
  /** When the user is listened to: all policies must agree. */
  readonly listening: readonly ListeningPolicy[];
  readonly idleMs: number;
  readonly awayMs: number;
  /** The commands and backchannels of the users' language, with the application's changes. */
  readonly phrases: Phrases;
  readonly phrasebook: Phrasebook;
  /** Whether transcripts that repeat the agent are dropped. */
  readonly guardsEcho: boolean;
  /** BCP 47, for counting words. */
  readonly locale: string | undefined;
  /** Whether the speech-to-text service, or a voice detector, reports the end of speech. */
  readonly reportsSpeechEnd: boolean;
  readonly stt: SttFacts;
  /** Whether an agent's service manages turns, and notices that the user continues. */
  readonly isService: boolean;
}

/** The rules for a conversation's settings and the phrases of its language. */
export function rulesOf(settings: ConversationSettings, stt: SttFacts, phrases: Phrases = english): Rules {
  const { bargeIn = true, turnTaking, endpointing, preflight, locale, timeouts, onUserTurn, listening = [] } = settings;
  const { stableInterimMs } = typeof preflight === 'object' ? preflight : {};
  const guards = settings.text?.flatMap(({ input }) => input ?? []) ?? [];
  const options = typeof bargeIn === 'object' ? bargeIn : {};
  const { whileUninterruptible = 'queue', duckDb = 12, echoGuard = true } = options;
  return {
    bargeIn,
    whileUninterruptible,
    duckDb,
    phrases,
    phrasebook: phrasebookOf(phrases, options),
    guardsEcho: echoGuard,
    turnTaking: turnRules({ ...turnTaking, ...stt, endpointing, stableInterimMs }),
    // The model sees no message before the guards have.
    preflight: guards.length > 0 ? { ...preflightOf(settings), enabled: false } : preflightOf(settings),
    onUserTurn: onUserTurn ?? (guards.length > 0 ? () => undefined : undefined),
    guards,
    listening: typeof listening === 'function' ? [listening] : listening,
    hookMs: timeouts?.hookMs ?? 5_000,
    idleMs: timeouts?.idleMs ?? 15_000,
    awayMs: timeouts?.awayMs ?? 30_000,
    locale,
    reportsSpeechEnd: stt.reportsSpeechEnd || stt.detectsVoice,
    stt,
    isService: false,
  };
}

function phrasebookOf(phrases: Phrases, { commands, backchannels }: BargeInOptions): Phrasebook {
  if (commands === undefined && backchannels === undefined) return sharedPhrasebook(phrases);
  return phrasebook({
    ...phrases,
    commands: changed(phrases.commands, commands),
    backchannels: changed(phrases.backchannels, backchannels),
  });
}

function changed(own: readonly string[], change: PhraseList = own): readonly string[] {
  return typeof change === 'function' ? change(own) : change;
}

function preflightOf({ preflight = true }: ConversationSettings): PreflightRules {
  const {
    enabled = true,
    speak = false,
    maxStarts = 3,
    maxSpeechMs = 10_000,
  } = typeof preflight === 'object' ? preflight : { enabled: preflight };
  return { enabled, speak, maxStarts, maxSpeechMs };
}
