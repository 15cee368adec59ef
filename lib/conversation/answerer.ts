import type { Observable, SchedulerLike } from 'rxjs';
import type { Emit } from './event-bus.ts';
import type { History } from './history.ts';
import type { Effect, Input } from './inputs.ts';
import type { SpeechContext } from './speech.ts';
import type { Candidate, ConversationState, Say } from './state.ts';

/** What a conversation and whoever answers in it share. */
export interface Shared {
  /** The state after each step; the present one first. */
  readonly state$: Observable<ConversationState>;
  readonly history: History;
  readonly emit: Emit;
  /** Joins the end of the conversation's queue. */
  readonly report: (input: Input) => void;
  readonly scheduler: SchedulerLike;
  readonly speech: Omit<SpeechContext, 'voice' | 'transcode' | 'playoutMs'>;
}

/** Who answers: a model and a voice, or an agent. */
export interface Answerer {
  /** Subscribing starts the answer; unsubscribing cuts it off. It reports what was heard. Never errors. */
  answer(candidate: Candidate): Observable<unknown>;
  /** The same for what is said of the agent's or the application's own accord. */
  say(say: Say): Observable<unknown>;
  /** Makes ready what an answer will need: the user has begun to speak. */
  readonly warm$: Observable<unknown>;
  /** What else it tells. */
  readonly input$: Observable<Input>;
  /** Takes what the application has for an agent; what it gives back joins the queue. */
  readonly inject?: (effect: Extract<Effect, { readonly type: 'agent.inject' }>) => Input | undefined;
}
