import type { Observable, SchedulerLike } from 'rxjs';
import type { GenerateOptions } from '../core/messages.ts';
import type { LLMProvider, TranscriptionResult, TTSProvider } from '../core/roles.ts';
import type { Tool } from '../core/tools.ts';
import type { TextTransform } from '../text/text-transform.ts';
import type { BargeInThresholds } from './barge-in.ts';
import type { AgentState, UserState, VoiceEvent } from './events.ts';
import type { History } from './history.ts';
import type { Endpointing } from './endpointing.ts';
import type { TurnTakingOptions } from './turn-rules.ts';

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
   * What alone cuts the agent off at once, and is not answered: "stop", "hold on". Default: the list of the `locale`'s
   * language; pass a function to change that.
   */
  readonly commands?: PhraseList;
  /** What does not interrupt the agent: "mm-hm", "right". Default: the list of the `locale`'s language. */
  readonly backchannels?: PhraseList;
  /**
   * Whether transcripts that repeat what the agent has just been heard saying are dropped: three words in a row and
   * more; a word or two only if they sounded when they were said. Default: true.
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
   * Age, in milliseconds, at which an unchanged interim that ends like a sentence counts as a preflight, so that every
   * speech-to-text service that punctuates can have them. Default: never.
   */
  readonly stableInterimMs?: number;
}

/** What decides whether an answer is prepared. */
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
  /** Stalled playback, beyond the remaining audio. Default: 3,000. */
  readonly playoutMs?: number;
  /** Silence of both before `user.idle`. Default: 15,000. */
  readonly idleMs?: number;
  /**
   * Silence of the user before `user.away`. What the agent says by itself neither counts nor starts the wait anew; what
   * the user says, types or has answered does. Default: 30,000; `Infinity` for never.
   */
  readonly awayMs?: number;
}

/** How an answer is given. */
export interface AnswerOptions extends Omit<GenerateOptions, 'tools'> {
  /**
   * Whether the model may, must or must not call a tool, or which one; for the first request of the answer only, since
   * the model has to speak at last. Default: `auto`.
   */
  readonly toolChoice?: NonNullable<GenerateOptions['toolChoice']>;
  /** Most rounds of tool calls; after them the model must speak. Default: 4. */
  readonly maxToolRounds?: number;
  /** Most tool calls, over all rounds. What is beyond does not run; the model is told so, and must speak. Default: 128. */
  readonly maxToolCalls?: number;
  /** Whether the user can cut it off once it is heard; before that, new words join the message anyway. Default: true. */
  readonly interruptible?: boolean;
  /**
   * What says it: another voice of the pipeline's, or a `TextVoice`, with which it is only read. Default: the voice of
   * the pipeline, the agent or the language.
   */
  readonly tts?: TTSProvider;
}

/** What a conversation is at, for a {@link ListeningPolicy}. */
export interface ListeningMoment {
  readonly agentState: AgentState;
  readonly userState: UserState;
  /** Whether the greeting is still to be heard, in whole or in part. */
  readonly isGreeting: boolean;
  /** Whether the model's tools run. */
  readonly runsTools: boolean;
}

/**
 * Decides whether the user is listened to. It is asked after everything that happens in the conversation, so it should
 * be quick. If it depends on anything else, an empty `update()` has it asked again. If it throws, that is an `error`
 * event, and it has no say until the next `start()` or `update()`.
 */
export type ListeningPolicy = (moment: ListeningMoment) => boolean;

/** A user's turn, before it is answered. */
export interface UserTurn {
  readonly id: string;
  /** The whole message that the model would answer, with earlier words whose answer nobody heard. */
  readonly text: string;
  /** Whether it was spoken, or sent by the application. */
  readonly source: 'speech' | 'text';
  /** The speech-to-text service's last result, if it was spoken. */
  readonly result?: TranscriptionResult;
  /** Aborted when the decision is no longer needed: the user went on speaking, or time is up. */
  readonly signal: AbortSignal;
}

/** What becomes of a user's turn; without any of these it is answered as it is. */
export interface UserTurnVerdict {
  /** What the user is taken to have said: replaces the message, also in the history. */
  readonly text?: string;
  /** Added to the system prompt for this answer alone, such as what a search has found. Never stored. */
  readonly context?: string;
  /** Said in place of an answer, without asking the model; an empty text also drops the message. */
  readonly refuse?: string;
  /** How it is answered; each key takes precedence. */
  readonly answer?: AnswerOptions;
}

/** Sees each turn of the user before the model does. */
export type UserTurnHook = (turn: UserTurn) => UserTurnVerdict | undefined | Promise<UserTurnVerdict | undefined>;

/**
 * One of several agents that share a conversation, a line and a history. Whatever it leaves out is as the pipeline's own
 * options say.
 */
export interface AgentProfile {
  /** Its instructions. */
  readonly systemPrompt?: string;
  /** Its tools, in place of the pipeline's; `handoff()` makes one that hands over. */
  readonly tools?: readonly Tool[];
  /** Its model. */
  readonly llm?: LLMProvider;
  /** Its voice. */
  readonly tts?: TTSProvider;
  /** Its voice in other languages than that of `tts`, by BCP 47 language, with `followLanguage`. */
  readonly voices?: Voices;
  /** How it answers; each key takes precedence. */
  readonly answer?: AnswerOptions;
}

/** Voices by BCP 47 language: `pt-BR` is looked up before `pt`. */
export type Voices = Readonly<Record<string, TTSProvider>>;

/** What can change while a conversation runs. */
export interface ConversationSettings {
  /** Instructions for the model, before all messages. Default: none. */
  readonly systemPrompt?: string;
  /** What the model may call. Default: none. */
  readonly tools?: readonly Tool[];
  /** Who ends the user's turn, and how long speech-to-text is waited for. Default: its own endpointing. */
  readonly turnTaking?: TurnTakingOptions;
  /** The strategy that ends the user's turn, or bounds for the default one. Default: no bounds. */
  readonly endpointing?: Endpointing;
  /**
   * Called when the user has interrupted the agent with a voice, but no words came. The agent says the text that it
   * returns, such as "Sorry, I did not catch that."; it is not stored. What it throws is reported. Default: nothing is
   * said.
   */
  readonly onUnclear?: () => string | undefined;
  /** `immediate` cuts at the first sign, false never; default: in stages. */
  readonly bargeIn?: boolean | 'immediate' | BargeInOptions;
  /** Whether answers are prepared before the turn is certain to be over, and how. Default: true. */
  readonly preflight?: boolean | PreflightOptions;
  /**
   * When the user is listened to: a policy, or several that all have to agree, such as `afterGreeting` and
   * `unlessToolsRun`. Otherwise the speech-to-text service hears silence; what it heard before still counts. Default:
   * always.
   */
  readonly listening?: ListeningPolicy | readonly ListeningPolicy[];
  /**
   * Called with each turn before the model is asked, never with what is not certain; the answer waits for it, at most
   * `timeouts.hookMs`. If it throws or takes longer, that is an `error` event, and the turn is answered as it is.
   */
  readonly onUserTurn?: UserTurnHook;
  /** How answers are given, unless `send()` says otherwise. */
  readonly answer?: AnswerOptions;
  /** The longest waits. */
  readonly timeouts?: ConversationTimeouts;
  /**
   * What texts pass on their way to the voice, in this order, such as `[markdown(), pronunciations({ SQL: 'sequel' })]`;
   * none: they are spoken as they are written. Default: `[markdown()]`.
   */
  readonly text?: readonly TextTransform[];
  /**
   * BCP 47 language of the conversation, for splitting speech into sentences, counting words, commands and
   * backchannels. Default: the runtime's; English phrases.
   */
  readonly locale?: string;
  /**
   * Whether the locale follows the language that the user speaks, as the speech-to-text service tells it: from the first
   * utterance of two words or more, and with the voice that `voices` has for it. Default: false.
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
  /** What was said before; the conversation adds to it. */
  readonly history: History;
  /** Said at the start. */
  readonly greeting?: string;
  /**
   * What the user's words pass on their way from the speech-to-text service, such as `wakePhrase('hey Nova')`: the
   * conversation hears what it emits. If it fails, that is an `error` event, and the words pass as they are. Default:
   * nothing.
   */
  readonly hearing?: TranscriptStage;
  /** Agents by name, which hand the conversation over to each other. Default: one, made of the other options. */
  readonly agents?: Readonly<Record<string, AgentProfile>>;
  /** Voices for other languages than the pipeline's own, with `followLanguage`. */
  readonly voices?: Voices;
  /** The clock; a TestScheduler in tests. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}
