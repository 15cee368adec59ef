import type { Observable, ObservableInput } from 'rxjs';
import type { AgentState, UserState, VoiceEvent } from '../conversation/events.ts';
import type { PipelineUpdate } from '../pipeline/pipeline-options.ts';

/** Some events were not delivered: too many came while the broker was away, or one was too long for it. */
export interface EventsDropped {
  readonly type: 'events.dropped';
  /** When the first of them happened, on the pipeline's clock, in milliseconds. */
  readonly at: number;
  readonly count: number;
  /** How many of each type. */
  readonly types: Readonly<Record<string, number>>;
}

/** An event of a call as others read it: without audio, the cause of an error, and what a service adds to its results. */
export type CallEvent = Exclude<VoiceEvent, VoiceEvent<'audio.chunk' | 'audio.input'>> | EventsDropped;

/** An event that is ready to be sent. */
export interface SealedEvent {
  /** Unique for ever: a broker may know by it what it already has. */
  readonly id: string;
  /** Its number in the call, from 1 on. Numbers that are missing are those of dropped events. */
  readonly seq: number;
  readonly type: CallEvent['type'];
  /** `{ seq, event }` as JSON. */
  readonly body: string;
}

/** What the live list shows of a call. */
export interface ListedCall {
  readonly callId: string;
  /** When it was published first, on the pipeline's clock, in milliseconds. */
  readonly startedAt: number;
  readonly agent: AgentState;
  readonly user: UserState;
  /** Turns so far. */
  readonly turns: number;
  /** Errors so far. */
  readonly errors: number;
  /** What was said last, and by whom; its first 200 characters. */
  readonly said?: { readonly by: 'user' | 'agent'; readonly text: string };
  /** What the application tells of it, such as the machine and the platform. */
  readonly details: Readonly<Record<string, string>>;
}

/** Options of a pipeline that a command may change: those that JSON can tell. */
export type CommandedChanges = Pick<
  PipelineUpdate,
  'agent' | 'bargeIn' | 'followLanguage' | 'greeting' | 'listening' | 'locale' | 'preflight' | 'timeouts'
> & { readonly systemPrompt?: string };

/** What may be asked of a call, from wherever. */
export type CallCommand =
  /** The agent says this. `interruptible`: whether the caller may interrupt it. Default: true. */
  | { readonly type: 'say'; readonly text: string; readonly interruptible?: boolean }
  /** The agent is told this as if the caller had typed it. */
  | { readonly type: 'send'; readonly text: string }
  | { readonly type: 'interrupt' }
  | { readonly type: 'hangUp' }
  /** `to`: what the application makes a destination of, such as a number. */
  | { readonly type: 'transfer'; readonly to: string }
  | { readonly type: 'update'; readonly changes: CommandedChanges };

/** The acknowledgement of a command: it was carried out, or why not. */
export type CommandReply = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** A command that has arrived, not yet checked. */
export interface CommandRequest {
  /** JSON. */
  readonly body: string;
  /** Acknowledges it. */
  readonly reply: (reply: CommandReply) => void;
}

/** Whose audio it is. */
export type CallSide = 'caller' | 'agent';

/**
 * Where {@link publish} takes a call: an adapter for a broker, such as `natsSink()` of `rxvoice/nats`. Everything is
 * cold. No method waits for the broker, and what errors is tried again.
 */
export interface CallSink {
  /** How long the list keeps a call after {@link CallSink.list}, in milliseconds. */
  readonly expiryMs: number;
  /** Delivers events in order. Completes when the broker has all of them; after an error, the same are offered again. */
  deliver(callId: string, events: readonly SealedEvent[]): ObservableInput<unknown>;
  /** Puts the call on the live list, for `expiryMs`. */
  list(call: ListedCall): ObservableInput<unknown>;
  /** Takes it off the list. */
  unlist(callId: string): ObservableInput<unknown>;
  /** What is asked of the call. */
  commands(callId: string): Observable<CommandRequest>;
  /** Whether somebody listens to the call. */
  listeners(callId: string): Observable<boolean>;
  /** Sends audio to those who listen, or drops it: linear16, 16 kHz, mono. */
  sendAudio(callId: string, side: CallSide, samples: Uint8Array<ArrayBuffer>): void;
}
