import type { Observable } from 'rxjs';
import type { AgentLatency, ProviderRole } from '../core/roles.ts';
import type { Command, SpeechOutcome, SpeechTicket } from './commands.ts';
import type { VoiceEvent, VoiceEventEnvelope, VoiceEventMap, VoiceEventType } from './events.ts';
import type { Commit, QueuedSpeech, ReplyPart } from './state.ts';
import type { UserSignal } from './turn-taking.ts';
import type { TurnMoment } from './turn.ts';

/** What the answers and speeches under way tell of their progress. */
export type AgentReport =
  /** A moment of an answer, for its metrics. */
  | { readonly type: 'answer.moment'; readonly candidate: string; readonly moment: TurnMoment; readonly at: number }
  /** Something of an answer failed; what came before may still be heard. */
  | {
      readonly type: 'answer.failed';
      readonly candidate: string;
      readonly error: unknown;
      readonly role: ProviderRole;
    }
  /** An answer is over, and nothing of it sounds any more. */
  | {
      readonly type: 'answer.ended';
      readonly candidate: string;
      readonly failed: boolean;
      /** Token events that it brought, and how many of them nobody heard. */
      readonly tokens: number;
      readonly wastedTokens: number;
      readonly outcome: SpeechOutcome;
      readonly silentAt: number;
      /** The message that it leaves without an answer, if any. */
      readonly unanswered: string | undefined;
    }
  /** A speech has something to say. */
  | { readonly type: 'speech.ready'; readonly speech: QueuedSpeech }
  | { readonly type: 'speech.audible'; readonly id: string }
  | {
      readonly type: 'say.ended';
      readonly id: string;
      readonly tickets: readonly SpeechTicket[];
      readonly outcome: SpeechOutcome;
    }
  | { readonly type: 'say.failed'; readonly error: unknown; readonly role: ProviderRole };

/** What is told of an agent's service. */
export type AgentSignal =
  /** The application has something for it: what the user typed, or what the agent is to say. */
  | {
      readonly type: 'agent.inject';
      readonly as: 'user' | 'agent';
      readonly text: string;
      readonly ticket: SpeechTicket;
    }
  | { readonly type: 'agent.refused'; readonly error: unknown; readonly ticket: SpeechTicket }
  /** It begins to say something. */
  | { readonly type: 'agent.reply'; readonly reply$: Observable<ReplyPart> }
  | { readonly type: 'agent.latency'; readonly latency: AgentLatency }
  /** It will say nothing any more. */
  | { readonly type: 'agent.lost'; readonly error: unknown };

/** What an input leaves for the next one: it joins the end of the queue, behind what tells how it came out. */
type FollowUp =
  | Commit
  | { readonly type: 'turn.speculate'; readonly text: string }
  | { readonly type: 'turn.drop'; readonly reason: 'empty' | 'cancelled' }
  /** What was committed has been told: now it is answered. */
  | { readonly type: 'turn.answer'; readonly candidate: string }
  /** The agent has been interrupted, and is silent. `signal` is what did it. */
  | {
      readonly type: 'bargeIn.cut';
      readonly detectMs: number;
      readonly confirmedAt: number;
      readonly envelope: Omit<VoiceEventEnvelope, 'at'>;
      readonly signal?: HeardSignal;
    }
  /** A suspected interruption is over: what waited for that may be heard. */
  | { readonly type: 'output.resume' }
  | { readonly type: 'stopped' };

/** What is heard of the user. */
export type HeardSignal = Extract<UserSignal, { readonly type: 'transcript' | 'speech' }> & {
  /** When the last word ended, on the scheduler's clock, where it is known. */
  readonly endOfSpeechAt?: number;
};

/** The application has changed its mind about something that it asked for. */
export interface TicketInterrupt {
  readonly type: 'ticket.interrupt';
  readonly ticket: SpeechTicket;
}

/** Everything that a conversation is told, one at a time. */
export type Input =
  | { readonly type: 'started' }
  | { readonly type: 'tick' }
  | HeardSignal
  | Command
  | TicketInterrupt
  | AgentReport
  | AgentSignal
  | FollowUp;

/** What is to be done, in this order. */
export type Effect =
  | { readonly type: 'emit'; readonly event: Unstamped }
  /** As `emit`, with where the play-head stands. */
  | {
      readonly type: 'emit.position';
      readonly event: 'speech.paused' | 'speech.resumed';
      readonly envelope: Omit<VoiceEventEnvelope, 'at'>;
    }
  | { readonly type: 'then'; readonly input: Input }
  | { readonly type: 'error'; readonly error: unknown; readonly role?: ProviderRole; readonly turnId?: string }
  | Extract<AgentSignal, { readonly type: 'agent.inject' }>
  | { readonly type: 'remember'; readonly text: string }
  | { readonly type: 'settle'; readonly ticket: SpeechTicket; readonly outcome: SpeechOutcome }
  /** What the agent says while an interruption is suspected: softer, then not at all, then as before. */
  | { readonly type: 'duck' | 'pause' }
  | { readonly type: 'release'; readonly wasPaused: boolean }
  /** The speech-to-text service should say its final word. */
  | { readonly type: 'finalize' }
  /** The user speaks: what the answer will need is made ready. */
  | { readonly type: 'warm' }
  | { readonly type: 'complete' };

type Unstamped = { [T in VoiceEventType]: Omit<VoiceEvent<T>, 'at'> }[VoiceEventType];

/** The effect of telling everyone. */
export function emit<T extends VoiceEventType>(
  type: T,
  payload: VoiceEventMap[T],
  envelope: Omit<VoiceEventEnvelope, 'at'> = {},
): Effect {
  return { type: 'emit', event: { type, ...envelope, ...payload } as Unstamped };
}
