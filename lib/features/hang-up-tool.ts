import { catchError, EMPTY, exhaustMap, filter, lastValueFrom, take } from 'rxjs';
import type { Tool } from '../core/tools.ts';
import type { TurnEndReason } from '../conversation/events.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

/** Options of {@link hangUpTool}. */
export interface HangUpOptions {
  /** The pipeline of the call; a function, since its tools are made before it. */
  readonly pipeline: () => Pick<Pipeline, 'events$' | 'stop'>;
  /**
   * Ends the call once the goodbye was heard: the phone's `hangUp()`, or a request to its platform, whose failure leaves
   * the pipeline stopped all the same. Default: nothing.
   */
  readonly hangUp?: () => unknown;
  /** The tool's name. Default: `hang_up`. */
  readonly name?: string;
  /** Tells the model when to hang up. Default: `Ends the call, when the caller has said goodbye or wants nothing more.` */
  readonly description?: string;
  /** What the model is told then. Default: to say goodbye in one short sentence, unless it has. */
  readonly result?: string;
}

/**
 * A tool with which the agent hangs up: it says goodbye, the caller hears the last word of it, the pipeline stops and the
 * call ends. A caller who interrupts the goodbye is listened to, and the call goes on. Then `session.closed` follows.
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
    execute: () => {
      const answered$ = pipeline().events$.pipe(
        filter((event) => event.type === 'turn.ended' || event.type === 'session.closed'),
        take(1),
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

/** The caller has more to say, or the application has ended it. */
const goesOn: ReadonlySet<TurnEndReason> = new Set(['interrupted', 'merged', 'cancelled', 'stopped']);
