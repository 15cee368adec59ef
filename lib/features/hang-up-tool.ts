import { catchError, EMPTY, exhaustMap, filter, first, lastValueFrom, switchMap, take, takeUntil } from 'rxjs';
import type { Tool } from '../core/tools.ts';
import type { TurnEndReason, VoiceEvent } from '../conversation/events.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

/** Options of {@link hangUpTool}. */
export interface HangUpOptions {
  /** The call's pipeline; a function, since tools are created before it. */
  readonly pipeline: () => Pick<Pipeline, 'events$' | 'stop'>;
  /**
   * Ends the call once the goodbye has been heard: the phone's `hangUp()`, or a request to its platform. The pipeline
   * is stopped even if this fails. Default: nothing.
   */
  readonly hangUp?: () => unknown;
  /** The tool's name. Default: `hang_up`. */
  readonly name?: string;
  /** Tells the model when to hang up. Default: `Ends the call, when the caller has said goodbye or wants nothing more.` */
  readonly description?: string;
  /** The tool's result for the model. Default: asks for a goodbye in one short sentence, unless already said. */
  readonly result?: string;
}

/**
 * A tool that lets the agent hang up: it says goodbye, the caller hears every word of it, the pipeline stops and the
 * call ends. If the caller interrupts the goodbye, the call goes on.
 *
 * @example
 * ```ts
 * import { hangUpTool, Pipeline, type AnyProvider, type PhoneStreamA } from 'rxvoice';
 *
 * declare const phone: PhoneStreamA;
 * declare const providers: AnyProvider[];
 *
 * const pipeline: Pipeline = new Pipeline({
 *   providers: [phone, ...providers],
 *   tools: [hangUpTool({ pipeline: () => pipeline, hangUp: () => phone.hangUp() })],
 * });
 * ```
 */
export function hangUpTool(options: HangUpOptions): Tool {
  const { pipeline, hangUp = () => undefined, name = 'hang_up' } = options;
  const { description = 'Ends the call, when the caller has said goodbye or wants nothing more.' } = options;
  const { result = 'The call ends after this answer. Say goodbye in one short sentence, unless you have.' } = options;
  const end = async (): Promise<void> => {
    await pipeline().stop({ drain: true });
    await hangUp();
  };
  return {
    name,
    description,
    execute: (_, { toolCallId }) => {
      const { events$ } = pipeline();
      // What the caller adds while other tools run ends a turn of its own before the goodbye.
      const answered$ = events$.pipe(
        first((event) => event.type === 'tool.result' && event.call.id === toolCallId),
        switchMap(({ turnId }) => events$.pipe(filter((event) => isEnd(event, turnId)))),
        take(1),
        takeUntil(events$.pipe(filter(({ type }) => type === 'session.closed'))),
      );
      const ended$ = answered$.pipe(
        filter((event) => event.type === 'turn.ended' && !goesOn.has(event.reason)),
        exhaustMap(end),
        catchError(() => EMPTY),
      );
      // Not waited for: the goodbye is the answer to this result. Settles with it, or with the session.
      void lastValueFrom(ended$, { defaultValue: undefined });
      return result;
    },
  };
}

/** Whether the turn is over; an agent's service may not say which one it was. */
function isEnd(event: VoiceEvent, turnId: string | undefined): boolean {
  return event.type === 'turn.ended' && (turnId === undefined || event.turnId === turnId);
}

/** The caller has more to say, or the application ended the goodbye. */
const goesOn: ReadonlySet<TurnEndReason> = new Set(['interrupted', 'merged', 'cancelled', 'stopped']);
