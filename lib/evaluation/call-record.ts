import type { Message, ToolCall } from '../core/messages.ts';
import type { VoiceEvent, VoiceEventType } from '../conversation/events.ts';
import type { TurnMetrics } from '../conversation/measurements.ts';

/** One of the calls of an evaluation. */
export interface CallRun {
  /** The scenario's name. */
  readonly scenario: string;
  /** From 1. */
  readonly repetition: number;
  /** The call's own: the same for the same evaluation's seed, scenario and repetition. */
  readonly seed: number;
}

/** Something that one of both said. Times are milliseconds since the call began. */
export type CallUtterance =
  | {
      readonly who: 'caller';
      readonly text: string;
      readonly startMs: number;
      readonly endMs: number;
      /** Whether the agent was speaking when it began. */
      readonly isInterruption: boolean;
    }
  | {
      readonly who: 'agent';
      /** What was heard, in whole words. */
      readonly text: string;
      /** What it was going to say. */
      readonly fullText: string;
      readonly startMs: number;
      readonly endMs: number;
      /** Whether it was cut off. */
      readonly isInterrupted: boolean;
    };

/** A tool's run. */
export interface CallTool {
  readonly call: ToolCall;
  /** Since the call began, in milliseconds. */
  readonly atMs: number;
  /** `running`: it had no end before the call had. */
  readonly outcome: 'result' | 'error' | 'cancelled' | 'running';
  /** As sent to the model. */
  readonly content?: string;
}

/** A finished call. Times are milliseconds since it began. */
export interface CallRecord extends CallRun {
  /** What was said, in order of its beginning. */
  readonly utterances: readonly CallUtterance[];
  /** Noises that the caller made. */
  readonly noises: readonly { readonly startMs: number; readonly endMs: number }[];
  /** Everything that the pipeline told. */
  readonly events: readonly VoiceEvent[];
  /** What the model remembers. */
  readonly history: readonly Message[];
  /** What came out of the receiver, read from the audio; absent where the line cannot read. */
  readonly received?: string;
  readonly tools: readonly CallTool[];
  /** The latencies of each turn. */
  readonly metrics: readonly TurnMetrics[];
  readonly durationMs: number;
  /** `limit`: it had lasted for the scenario's `maxMs`, or had its `maxTurns`. */
  readonly endedBy: 'caller' | 'agent' | 'limit';
  /** When the pipeline's clock began, for `at` of events. */
  readonly startedAt: number;
}

/** The events of one type. */
export function eventsOf<T extends VoiceEventType>(events: readonly VoiceEvent[], type: T): VoiceEvent<T>[] {
  const wanted = events.filter((event) => event.type === type);
  return wanted as VoiceEvent<T>[];
}

/** What the agent was heard saying. */
export function agentSpeeches(events: readonly VoiceEvent[], startedAt: number): CallUtterance[] {
  return eventsOf(events, 'speech.ended').flatMap((ended) => {
    const started = eventsOf(events, 'speech.started').find(({ speechId }) => speechId === ended.speechId);
    // What nobody heard any of was not said.
    if (!started || ended.heardText === '') return [];
    return {
      who: 'agent' as const,
      ...{ text: ended.heardText, fullText: ended.text, isInterrupted: ended.interrupted },
      ...{ startMs: started.at - startedAt, endMs: ended.at - startedAt },
    };
  });
}

/** The tools that ran. */
export function toolsOf(events: readonly VoiceEvent[], startedAt: number): CallTool[] {
  return eventsOf(events, 'tool.call').map(({ call, at }) => {
    const end = events.find(
      (event) =>
        (event.type === 'tool.result' || event.type === 'tool.error' || event.type === 'tool.cancelled') &&
        event.call.id === call.id,
    );
    const atMs = at - startedAt;
    if (end?.type === 'tool.result') return { call, atMs, outcome: 'result', content: end.content };
    if (end?.type === 'tool.error') return { call, atMs, outcome: 'error', content: end.content };
    return { call, atMs, outcome: end ? 'cancelled' : 'running' };
  });
}
