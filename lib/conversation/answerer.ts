import type { Observable, SchedulerLike } from 'rxjs';
import type { Emit } from './event-bus.ts';
import type { History } from './history.ts';
import type { Effect, Input } from './fold/inputs.ts';
import type { Validate } from './malformed.ts';
import type { SpeechContext } from './answer/speech.ts';
import type { Candidate, ConversationState, Say } from './fold/state.ts';

/** Shared by a conversation and its answerer. */
export interface Shared {
  /** The state after each step, starting with the current one. */
  readonly state$: Observable<ConversationState>;
  /** The current state. */
  readonly now: () => ConversationState;
  readonly history: History;
  /** What the user said while tools ran: the next request tells the model. */
  readonly joined: string[];
  readonly emit: Emit;
  /** Adds an input to the end of the conversation's queue. */
  readonly report: (input: Input) => void;
  readonly scheduler: SchedulerLike;
  readonly validate: Validate;
  readonly speech: Omit<SpeechContext, 'voice' | 'transcode' | 'playoutMs'>;
}

/** Produces answers: an LLM and a TTS, or an agent. */
export interface Answerer {
  /** Subscribing starts the answer; unsubscribing cuts it off. Reports what was heard. Never errors. */
  answer(candidate: Candidate): Observable<unknown>;
  /** The same for speech that the application or the agent initiates. */
  say(say: Say): Observable<unknown>;
  /** Prepares what an answer will need: the user has started speaking. */
  readonly warm?: () => void;
  /** Other inputs from the answerer. */
  readonly input$: Observable<Input>;
  /** Asks the application's hook about a turn; its verdict comes as an input. */
  readonly hook?: ((effect: Extract<Effect, { readonly type: 'hook' }>) => void) | undefined;
  /** Passes something from the application to an agent; the returned input joins the queue. */
  readonly inject?: (effect: Extract<Effect, { readonly type: 'agent.inject' }>) => Input | undefined;
}
