import type { Observable, ObservableInput } from 'rxjs';
import type { AgentState, UserState, VoiceEvent } from '../conversation/events.ts';
import type { PipelineUpdate } from '../pipeline/pipeline-options.ts';

/** Events that were not delivered: too many occurred while the broker was away, or one was too large for it. */
export interface EventsDropped {
  readonly type: 'events.dropped';
  /** When the first of them happened, on the pipeline's clock, in milliseconds. */
  readonly at: number;
  readonly count: number;
  /** The number of events of each type. */
  readonly types: Readonly<Record<string, number>>;
}

/**
 * An event of a call, as it leaves the process: without audio, error causes, and whatever services add to their
 * results.
 */
export type CallEvent = Exclude<VoiceEvent, VoiceEvent<'audio.chunk' | 'audio.input'>> | EventsDropped;

/** An event ready to be sent. */
export interface SealedEvent {
  /** Globally unique, so that a broker can recognize duplicates. */
  readonly id: string;
  /** Its number in the call, from 1. Missing numbers belong to dropped events. */
  readonly seq: number;
  readonly type: CallEvent['type'];
  /** `{ seq, event }` as JSON. */
  readonly body: string;
}

/** A call as the live list shows it. */
export interface ListedCall {
  readonly callId: string;
  /** When it was first published, on the pipeline's clock, in milliseconds. */
  readonly startedAt: number;
  readonly agent: AgentState;
  readonly user: UserState;
  /** Turns so far. */
  readonly turns: number;
  /** Errors so far. */
  readonly errors: number;
  /** The last thing said, and by whom; its first 200 characters. */
  readonly said?: { readonly by: 'user' | 'agent'; readonly text: string };
  /** The application's own facts about it, such as the machine and the platform. */
  readonly details: Readonly<Record<string, string>>;
}

/** Options of a pipeline that a command may change: those that can be expressed in JSON. */
export type CommandedChanges = Pick<
  PipelineUpdate,
  'agent' | 'bargeIn' | 'followLanguage' | 'greeting' | 'listening' | 'locale' | 'preflight' | 'timeouts'
> & { readonly systemPrompt?: string };

/** A command to a call, from anywhere. */
export type CallCommand =
  /** The agent says this. `interruptible`: whether the caller may interrupt it. Default: true. */
  | { readonly type: 'say'; readonly text: string; readonly interruptible?: boolean }
  /** Passed to the agent as if the caller had typed it. */
  | { readonly type: 'send'; readonly text: string }
  | { readonly type: 'interrupt' }
  | { readonly type: 'hangUp' }
  /** `to`: the destination, in the application's own terms, such as a number. */
  | { readonly type: 'transfer'; readonly to: string }
  | { readonly type: 'update'; readonly changes: CommandedChanges };

/** The acknowledgement of a command: it was carried out, or why not. */
export type CommandReply = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** A command as it arrived, not yet checked. */
export interface CommandRequest {
  /** JSON. */
  readonly body: string;
  /** Acknowledges it. */
  readonly reply: (reply: CommandReply) => void;
}

/** Whose audio this is. */
export type CallSide = 'caller' | 'agent';

/**
 * Where {@link publish} sends a call: an adapter for a broker, such as `natsSink()` of `rxvoice/nats`. All Observables
 * are cold. No method waits for the broker; whatever errors is retried.
 */
export interface CallSink {
  /** How long the live list keeps a call after {@link CallSink.list}, in milliseconds. */
  readonly expiryMs: number;
  /** Delivers events in order. Completes when the broker has all of them; after an error, the same are offered again. */
  deliver(callId: string, events: readonly SealedEvent[]): ObservableInput<unknown>;
  /** Puts the call on the live list, for `expiryMs`. */
  list(call: ListedCall): ObservableInput<unknown>;
  /** Removes the call from the list. */
  unlist(callId: string): ObservableInput<unknown>;
  /** Commands to the call. */
  commands(callId: string): Observable<CommandRequest>;
  /** Whether anyone is listening to the call. */
  listeners(callId: string): Observable<boolean>;
  /** Sends audio to listeners, or drops it: linear16, 16 kHz, mono. */
  sendAudio(callId: string, side: CallSide, samples: Uint8Array<ArrayBuffer>): void;
}
