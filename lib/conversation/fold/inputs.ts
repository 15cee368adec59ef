import type { Observable } from 'rxjs';
import type { TokenUsage } from '../../core/messages.ts';
import type { AgentLatency, ProviderRole } from '../../core/roles.ts';
import type { Phrases } from '../../text/phrases.ts';
import type { UserTurn, UserTurnHook, UserTurnVerdict } from '../conversation-options.ts';
import type { Command, SpeechOutcome, SpeechTicket } from '../commands.ts';
import type { VoiceEventEnvelope, VoiceEventMap, VoiceEventType } from '../events.ts';
import type { Commit, QueuedSpeech, ReplyPart, Said } from './state.ts';
import type { Scorer } from '../turn-taking/endpointing.ts';
import type { InputGuard } from '../../text/text-transform.ts';
import type { Waste } from '../answer/script.ts';
import type { Sounding } from '../answer/sounding.ts';
import type { ScoreSignal, UserSignal } from '../turn-taking/turn-rules.ts';
import type { TurnMoments } from './turn.ts';

/** Progress reports of answers and speeches. */
export type AgentReport =
  /** Part of an answer has failed; earlier parts may still be heard. */
  | {
      readonly type: 'answer.failed';
      readonly candidate: string;
      readonly error: unknown;
      readonly role: ProviderRole;
    }
  /** A guard ends the turn. */
  | { readonly type: 'answer.refused'; readonly candidate: string }
  /** An answer has ended, and none of it is audible anymore. */
  | {
      readonly type: 'answer.ended';
      readonly candidate: string;
      readonly failed: boolean;
      /** The moments it reached, for the turn's metrics. */
      readonly moments: TurnMoments;
      /** Its token events, and how many of them nobody heard. */
      readonly tokens: number;
      readonly wastedTokens: number;
      /** Audio that was synthesized but not heard, and by which provider. */
      readonly wasted: Waste & { readonly voice: string };
      /** The cost of a request whose end was never published, and its provider. */
      readonly untold?: { readonly tokens: TokenUsage; readonly model: string } | undefined;
      readonly outcome: SpeechOutcome;
      readonly silentAt: number;
      /** The message left without an answer, if any. */
      readonly unanswered: string | undefined;
    }
  /** Tools run, or have ended: the user's words join the next request (`kept`), or abort them. */
  | {
      readonly type: 'answer.tools';
      readonly candidate: string;
      readonly tools: 'kept' | 'abortable' | undefined;
    }
  /** A speech has its first text. */
  | { readonly type: 'speech.ready'; readonly speech: QueuedSpeech }
  | { readonly type: 'speech.audible'; readonly id: string }
  | {
      readonly type: 'say.ended';
      readonly id: string;
      readonly silentAt: number;
      readonly tickets: readonly SpeechTicket[];
      readonly outcome: SpeechOutcome;
    }
  | { readonly type: 'say.failed'; readonly error: unknown; readonly role: ProviderRole };

/** Signals about an agent's service. */
export type AgentSignal =
  /** A request of the application: a typed message, or a text for the agent to say. */
  | {
      readonly type: 'agent.inject';
      readonly as: 'user' | 'agent';
      readonly text: string;
      readonly ticket: SpeechTicket;
    }
  | { readonly type: 'agent.refused'; readonly error: unknown; readonly ticket: SpeechTicket }
  /** It starts a reply. */
  | { readonly type: 'agent.reply'; readonly reply$: Observable<ReplyPart> }
  | { readonly type: 'agent.latency'; readonly latency: AgentLatency }
  /** It will not reply anymore. */
  | { readonly type: 'agent.lost'; readonly error: unknown };

/** The verdict of the application's hook on a turn. */
export interface HookInput {
  readonly type: 'turn.hooked';
  readonly candidate: string;
  readonly verdict: UserTurnVerdict;
  /** It threw, or took too long. */
  readonly error?: unknown;
}

/** A follow-up input: joins the end of the queue, behind the reports of what the first input ended. */
type FollowUp =
  | Commit
  /** Something that waited may be answered. */
  | { readonly type: 'turn.next' }
  | { readonly type: 'turn.speculate'; readonly text: string }
  | { readonly type: 'turn.drop'; readonly reason: 'empty' | 'cancelled' }
  /** The commit was published: now it is answered. */
  | { readonly type: 'turn.answer'; readonly candidate: string }
  | HookInput
  /** The agent was interrupted, and is silent. `signal` is what caused it. */
  | {
      readonly type: 'bargeIn.cut';
      readonly detectMs: number;
      readonly confirmedAt: number;
      readonly envelope: Omit<VoiceEventEnvelope, 'at'>;
      readonly signal: HeardSignal;
    }
  /** The phrases of the users' language were loaded. */
  | { readonly type: 'phrases'; readonly phrases: Phrases }
  /** A suspected interruption is over: speech that waits may start. */
  | { readonly type: 'output.resume' }
  | { readonly type: 'stopped' };

/** The user's signals. */
export type HeardSignal = Extract<UserSignal, { readonly type: 'transcript' | 'speech' }> & {
  /** When the last word ended, on the scheduler's clock, if known. */
  readonly endOfSpeechAt?: number;
  /** When the first word began, on the scheduler's clock, if known. */
  readonly startOfSpeechAt?: number;
  /** When the voice started or ended, on the scheduler's clock, if known. */
  readonly since?: number;
  /** Whether the speech-to-text service reports it: a voice detector takes precedence, if there is one. */
  readonly isOfService?: boolean;
  /** What the agent was heard saying, if it is speaking or has just spoken. */
  readonly sounding?: Sounding;
};

/** The connection to speech-to-text: `away` while it is being restored, `lost` once it has been given up. */
export interface SttPresence {
  readonly type: 'stt';
  readonly is: 'here' | 'away' | 'lost';
}

/** Whether the microphone can hear the user. */
export interface InputPresence {
  readonly type: 'input';
  readonly hears: boolean;
}

/** The application interrupts one of its requests. */
export interface TicketInterrupt {
  readonly type: 'ticket.interrupt';
  readonly ticket: SpeechTicket;
}

/** All inputs of a conversation, processed one at a time. */
export type Input =
  | { readonly type: 'started' }
  | { readonly type: 'tick' }
  | HeardSignal
  | ScoreSignal
  | SttPresence
  | InputPresence
  /** The voice detector has failed, or ended. */
  | { readonly type: 'detector.lost' }
  | Command
  | TicketInterrupt
  | AgentReport
  | AgentSignal
  | FollowUp;

/** Effects, carried out in order. */
export type Effect =
  | Announcement
  /** Like `emit`, with the position of the play-head. */
  | {
      readonly type: 'emit.position';
      readonly event: 'speech.paused' | 'speech.resumed';
      readonly envelope: Omit<VoiceEventEnvelope, 'at'>;
    }
  | { readonly type: 'then'; readonly input: Input }
  | { readonly type: 'error'; readonly error: unknown; readonly role?: ProviderRole; readonly turnId?: string }
  | Extract<AgentSignal, { readonly type: 'agent.inject' }>
  /** Adds what the user said to the history; `whole` replaces it together with what it continues. */
  | { readonly type: 'remember'; readonly said: Said; readonly whole?: string | undefined }
  /** Adds to what the model is told after its tools have run. */
  | { readonly type: 'join'; readonly text: string }
  /** Replaces the user's last message. */
  | { readonly type: 'rewrite'; readonly text: string }
  /** Asks the application's hook about a turn. */
  | {
      readonly type: 'hook';
      readonly candidate: string;
      readonly hook: UserTurnHook;
      readonly hookMs: number;
      /** The guards that judge the turn before the hook sees it. */
      readonly guards: readonly InputGuard[];
      /** What they judge, if it is not remembered yet. */
      readonly unjudged?: string | undefined;
      readonly turn: Omit<UserTurn, 'text' | 'signal'>;
    }
  | { readonly type: 'settle'; readonly ticket: SpeechTicket; readonly outcome: SpeechOutcome }
  /** The agent's volume while an interruption is suspected: quieter, then silent, then as before. */
  | { readonly type: 'duck'; readonly db: number }
  | { readonly type: 'pause' }
  | { readonly type: 'release'; readonly wasPaused: boolean }
  /** Loads the phrases of a language. */
  | { readonly type: 'learn'; readonly locale: string | undefined }
  /** Asks the speech-to-text service to finalize. */
  | { readonly type: 'finalize' }
  /** A voice has interrupted the agent, and no words followed: asks the application what to say. */
  | { readonly type: 'unclear'; readonly ask: () => string | undefined }
  /** Asks the strategy's scorer about a text. */
  | { readonly type: 'score'; readonly text: string; readonly score: Scorer }
  /** Sends the speech-to-text service the user's audio, or silence. */
  | { readonly type: 'listen'; readonly isOn: boolean }
  /** Turns are taken by push-to-talk from now on, or no longer. */
  | { readonly type: 'push-to-talk'; readonly isOn: boolean }
  /** The user is speaking: prepare what the answer will need. */
  | { readonly type: 'warm' }
  | { readonly type: 'complete' };

/** Publishes an event. */
type Announcement = {
  [T in VoiceEventType]: {
    readonly type: 'emit';
    readonly event: T;
    readonly payload: VoiceEventMap[T];
    readonly envelope: Omit<VoiceEventEnvelope, 'at'>;
  };
}[VoiceEventType];

/** The effect of publishing an event. */
export function emit<T extends VoiceEventType>(
  type: T,
  payload: VoiceEventMap[T],
  envelope: Omit<VoiceEventEnvelope, 'at'> = {},
): Effect {
  return { type: 'emit', event: type, payload, envelope } as Announcement;
}
