import type { Observable, SchedulerLike } from 'rxjs';
import type { GenerateOptions } from '../core/messages.ts';
import type { LLMProvider, TranscriptionResult, TTSProvider } from '../core/roles.ts';
import type { Tool } from '../core/tools.ts';
import type { TextTransform } from '../text/text-transform.ts';
import type { BargeInThresholds } from './barge-in/barge-in.ts';
import type { AgentState, UserState, VoiceEvent } from './events.ts';
import type { History } from './history.ts';
import type { Endpointing } from './turn-taking/endpointing.ts';
import type { TurnTakingOptions } from './turn-taking/turn-rules.ts';

/** Phrases, or a change to a language's own: `(own) => [...own, 'basta']`. Case, accents and marks do not matter. */
export type PhraseList = readonly string[] | ((own: readonly string[]) => readonly string[]);

/** How the user may interrupt. Times in milliseconds. */
export interface BargeInOptions extends BargeInThresholds {
  /** How much quieter the agent becomes while an interruption is suspected, in decibels. Default: 12. */
  readonly duckDb?: number;
  /** What happens to speech during something uninterruptible: it is answered afterwards, or never. Default: `queue`. */
  readonly whileUninterruptible?: 'discard' | 'queue';
  /** Other thresholds while the agent is thinking: new words join the message. */
  readonly thinking?: BargeInThresholds;
  /** Other thresholds while the agent is speaking. */
  readonly speaking?: BargeInThresholds;
  /** Other thresholds for the greeting, before and while it is heard. */
  readonly greeting?: BargeInThresholds;
  /**
   * Phrases that cut the agent off at once by themselves, and are not answered: "stop", "hold on". Default: the list
   * for the `locale`'s language; pass a function to change it.
   */
  readonly commands?: PhraseList;
  /** Phrases that do not interrupt the agent: "mm-hm", "right". Default: the list for the `locale`'s language. */
  readonly backchannels?: PhraseList;
  /**
   * Whether to drop transcripts that repeat what the agent was just heard saying: three or more words in a row; fewer
   * only if they were sounding at that moment. What somebody says behind them, in one utterance, counts without them.
   * Default: true.
   */
  readonly echoGuard?: boolean;
}

/** How answers are prepared before the user's turn has definitely ended. */
export interface PreflightOptions {
  /** Default: true; requires a speech-to-text service that sends preflights. */
  readonly enabled?: boolean;
  /** Whether the first clause is synthesized too. Default: false. */
  readonly speak?: boolean;
  /** Most preflights per turn. Default: 3. */
  readonly maxStarts?: number;
  /** Longest speech worth a preflight, in milliseconds. Default: 10,000. */
  readonly maxSpeechMs?: number;
  /**
   * Age, in milliseconds, at which an unchanged interim that ends like a sentence counts as a preflight: this gives
   * preflights to every service that punctuates. Default: never.
   */
  readonly stableInterimMs?: number;
}

/** The rules for preparing an answer. */
export type PreflightRules = Required<Omit<PreflightOptions, 'stableInterimMs'>>;

/** Longest waits, in milliseconds. */
export interface ConversationTimeouts {
  /** For `onUserTurn`. Default: 5,000. */
  readonly hookMs?: number;
  /**
   * From the request to the model's first token or tool call. Default: 10,000, or the `patienceMs` of a chain of models.
   */
  readonly llmFirstTokenMs?: number;
  /** Between two tokens. Default: 30,000. */
  readonly llmStallMs?: number;
  /**
   * From the first clause to its first audio, and from the last clause to each next audio. Default: 11,000, which lets
   * a provider try twice with its own 5,000.
   */
  readonly ttsFirstAudioMs?: number;
  /**
   * A voice's audio beyond three seconds for each character of its text, slower than any voice speaks: one that goes on is
   * cut off. Default: 60,000; `Infinity` for a voice that plays what it likes.
   */
  readonly ttsOverrunMs?: number;
  /** Stalled playback, beyond the remaining audio. Default: 3,000. */
  readonly playoutMs?: number;
  /** Silence of both before `user.idle`. Default: 15,000. */
  readonly idleMs?: number;
  /**
   * Silence of the user before `user.away`. What the agent says on its own does not count as silence, and does not
   * restart the wait; what the user says or types restarts it, and so does the answer to it. Default: 30,000;
   * `Infinity` for never.
   */
  readonly awayMs?: number;
}

/** How an answer is given. */
export interface AnswerOptions extends Omit<GenerateOptions, 'tools'> {
  /**
   * Whether the model may, must or must not call a tool, or which one; applies to the first request of the answer only,
   * since the model must speak in the end. Default: `auto`.
   */
  readonly toolChoice?: NonNullable<GenerateOptions['toolChoice']>;
  /** Most rounds of tool calls; after them the model must speak. Default: 4. */
  readonly maxToolRounds?: number;
  /**
   * Most tool calls in all rounds together. Further calls do not run; the model is told so, and must speak. Default:
   * 128.
   */
  readonly maxToolCalls?: number;
  /** Whether the user can cut it off once it is heard; before that, new words join the message anyway. Default: true. */
  readonly interruptible?: boolean;
  /**
   * The voice that says it: another one, or a `TextVoice` for an answer that is only read. Default: the voice of the
   * pipeline, the agent or the language.
   */
  readonly tts?: TTSProvider;
}

/** The state of a conversation, for a {@link ListeningPolicy}. */
export interface ListeningMoment {
  readonly agentState: AgentState;
  readonly userState: UserState;
  /** Whether any of the greeting is still to be heard. */
  readonly isGreeting: boolean;
  /** Whether any of the model's tools are running. */
  readonly runsTools: boolean;
}

/**
 * Decides whether the user is listened to. It is called after everything that happens in the conversation, so it should
 * be quick. If it depends on anything else, call `update({})` to have it called again. If it throws, that is an `error`
 * event, and it is ignored until the next `start()` or `update()`.
 */
export type ListeningPolicy = (moment: ListeningMoment) => boolean;

/** A user's turn, before it is answered. */
export interface UserTurn {
  readonly id: string;
  /** The whole message that the model would answer, including earlier words whose answer nobody heard. */
  readonly text: string;
  /** Whether it was spoken, or sent by the application. */
  readonly source: 'speech' | 'text';
  /** The speech-to-text service's last result, if it was spoken. */
  readonly result?: TranscriptionResult;
  /** Aborted when the decision is no longer needed: the user went on speaking, or the time is up. */
  readonly signal: AbortSignal;
}

/** What to do with a user's turn; with none of these it is answered unchanged. */
export interface UserTurnVerdict {
  /** Replaces what the user said, also in the history. */
  readonly text?: string;
  /** Added to the system prompt for this answer alone, such as what a search has found. Never stored. */
  readonly context?: string;
  /** Said instead of an answer, without asking the model; an empty text also drops the message. */
  readonly refuse?: string;
  /** How it is answered; each key overrides the settings. */
  readonly answer?: AnswerOptions;
}

/** Sees each turn of the user before the model does. */
export type UserTurnHook = (turn: UserTurn) => UserTurnVerdict | undefined | Promise<UserTurnVerdict | undefined>;

/**
 * One of several agents that share a conversation and its history. Whatever it leaves out is taken from the pipeline's
 * options.
 */
export interface AgentProfile {
  /** Its instructions. */
  readonly systemPrompt?: string;
  /** Its tools, instead of the pipeline's; `handoff()` makes one that hands the conversation over. */
  readonly tools?: readonly Tool[];
  /** Its model. */
  readonly llm?: LLMProvider;
  /** Its voice. */
  readonly tts?: TTSProvider;
  /** Its voices for languages other than that of `tts`, by BCP 47 language; needs `followLanguage`. */
  readonly voices?: Voices;
  /** How it answers; each key overrides the pipeline's. */
  readonly answer?: AnswerOptions;
}

/** Voices by BCP 47 language: `pt-BR` is looked up before `pt`. */
export type Voices = Readonly<Record<string, TTSProvider>>;

/** What can change while a conversation runs. */
export interface ConversationSettings {
  /** Instructions for the model, before all messages. Default: none. */
  readonly systemPrompt?: string;
  /** The tools that the model may call. Default: none. */
  readonly tools?: readonly Tool[];
  /** Who ends the user's turn, and how long to wait for speech-to-text. Default: its own endpointing. */
  readonly turnTaking?: TurnTakingOptions;
  /** The strategy that ends the user's turn, or bounds for the default one. Default: no bounds. */
  readonly endpointing?: Endpointing;
  /**
   * Called when a voice has interrupted the agent, but no words followed. The agent says the text that it returns, such
   * as "Sorry, I did not catch that."; it is not stored. Errors that it throws are reported. Default: nothing is said.
   */
  readonly onUnclear?: () => string | undefined;
  /** `immediate` cuts at the first sign, false never; default: in stages. */
  readonly bargeIn?: boolean | 'immediate' | BargeInOptions;
  /** Whether, and how, answers are prepared before the turn is certain to be over. Default: true. */
  readonly preflight?: boolean | PreflightOptions;
  /**
   * When the user is listened to: a policy, or several that must all agree, such as `afterGreeting` and
   * `unlessToolsRun`. At other times the speech-to-text service is sent silence; what it heard before still counts.
   * Default: always.
   */
  readonly listening?: ListeningPolicy | readonly ListeningPolicy[];
  /**
   * Called with each turn before the model is asked, never with a preflight; the answer waits for it, at most
   * `timeouts.hookMs`. If it throws or takes longer, that is an `error` event, and the turn is answered unchanged.
   */
  readonly onUserTurn?: UserTurnHook;
  /** How answers are given, unless `send()` says otherwise. */
  readonly answer?: AnswerOptions;
  /** The longest waits. */
  readonly timeouts?: ConversationTimeouts;
  /**
   * Transforms of the text on its way to the voice, in order, such as `[markdown(), pronunciations({ SQL: 'sequel'
   * })]`; with none, texts are spoken as written. Default: `[markdown()]`.
   */
  readonly text?: readonly TextTransform[];
  /**
   * BCP 47 language of the conversation, for splitting speech into sentences, counting words, commands and
   * backchannels. Default: the runtime's; English phrases.
   */
  readonly locale?: string;
  /**
   * Whether the locale follows the user's language as the speech-to-text service reports it: from the first utterance
   * of two or more words, and with the voice that `voices` has for it. Default: false.
   */
  readonly followLanguage?: boolean;
  /** Which of `agents` answers. Default: the first. */
  readonly agent?: string;
}

/** Settings to change; `undefined` restores a default. */
export type SettingsChange = { readonly [K in keyof ConversationSettings]?: ConversationSettings[K] | undefined };

/** A stage between speech-to-text and the conversation; it also gets the events that the conversation publishes. */
export type TranscriptStage = (
  transcripts$: Observable<TranscriptionResult>,
  events$: Observable<VoiceEvent>,
) => Observable<TranscriptionResult>;

/** Options of a conversation. */
export interface ConversationOptions extends ConversationSettings {
  /** The history so far; the conversation adds to it. */
  readonly history: History;
  /** Said at the start. */
  readonly greeting?: string;
  /**
   * An operator on the speech-to-text results, such as `wakePhrase('hey Nova')`: the conversation hears what it emits.
   * If it fails, that is an `error` event, and results pass unchanged. Default: none.
   */
  readonly hearing?: TranscriptStage;
  /** Agents by name, which can hand the conversation over to each other. Default: one, made of the other options. */
  readonly agents?: Readonly<Record<string, AgentProfile>>;
  /** Voices for other languages than the pipeline's own, with `followLanguage`. */
  readonly voices?: Voices;
  /** The clock; a TestScheduler in tests. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}
