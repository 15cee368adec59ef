import {
  asyncScheduler,
  concat,
  concatMap,
  defer,
  distinctUntilChanged,
  finalize,
  map,
  of,
  repeat,
  switchMap,
  takeWhile,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { patientTimer } from '../../stream/patient-timer.ts';

/** Why a call ended. */
export type CallEndReason =
  /** It was answered, then hung up. */
  | 'completed'
  /** The caller is now talking to someone else. */
  | 'transferred'
  | 'busy'
  | 'no-answer'
  /** The other side declined. */
  | 'rejected'
  /** Hung up before it was answered. */
  | 'canceled'
  | 'failed';

/** The state of a telephone call. */
export type CallState =
  | { readonly state: 'ringing' }
  | {
      readonly state: 'answered';
      /** Who answered, if the platform detects it. */
      readonly by?: 'human' | 'machine';
    }
  /** The caller is being connected to someone else. */
  | { readonly state: 'transferring' }
  | { readonly state: 'ended'; readonly reason: CallEndReason };

/** The content of a status callback. */
export interface CallStatus {
  /** The platform's id of the call. */
  readonly call: string;
  readonly state: CallState;
}

/** A step of what the platform does with a call; steps run in order. */
export type CallStep =
  /** Connects it to your server: the address of a WebSocket, and parameters for its first message. */
  | { readonly stream: string; readonly parameters?: Readonly<Record<string, string>> }
  /** Says something with the platform's own voice. */
  | { readonly say: string; readonly language?: string }
  /** Connects it to a number, such as `+442071838750`. */
  | { readonly dial: string; readonly from?: string }
  /** Connects it with everyone else in the room of that name. */
  | {
      readonly room: string;
      /**
       * Whether the conference may start with this call; otherwise it waits, with music, for one that may. Default:
       * true.
       */
      readonly opens?: boolean;
    };

/** A call to place. */
export interface PlacedCall {
  /** The number to call, such as `+442071838750`. */
  readonly to: string;
  /** The number to show: one of the account's. */
  readonly from: string;
  /** What to do when it is answered. */
  readonly steps: readonly CallStep[];
  /** How long it may ring, in milliseconds; platforms count in seconds. Default: the platform's, a minute. */
  readonly ringMs?: number;
  /** The webhook that receives each state. Default: none. */
  readonly statusUrl?: string;
}

/** Controls calls through a platform's REST API: `PhoneStreamACalls`, `PhoneSocketBCalls`. */
export interface CallControl {
  /**
   * Places a call. Never retried automatically, so that no one is called twice.
   *
   * @returns The platform's id of the call.
   * @throws VoiceError when the platform refuses.
   */
  place(call: PlacedCall): Promise<string>;
  /**
   * The current state of a call.
   *
   * @throws VoiceError when the platform refuses, or does not know it.
   */
  stateOf(call: string): Promise<CallState>;
  /**
   * Replaces what a call is doing, for example the agent by a person: that ends the stream.
   *
   * @throws VoiceError when the platform refuses, such as for a call that has ended.
   */
  redirect(call: string, steps: readonly CallStep[]): Promise<void>;
  /**
   * Ends a call for good; does nothing if it has already ended.
   *
   * @throws VoiceError when the platform refuses.
   */
  end(call: string): Promise<void>;
}

/** Options of {@link callStates}. */
export interface CallWatchOptions {
  /** Milliseconds between an answer of the platform and the next request. Default: 1,000. */
  readonly everyMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * The states of a call, by polling the platform: for servers without a webhook. Cold; emits each new state, and
 * completes when the call has ended. Errors if the platform refuses.
 *
 * ```text
 * platform      r--r--r--a--a--a--e
 * callStates()  r--------a--------(e|)   r: ringing, a: answered, e: ended
 * ```
 */
export function callStates(control: CallControl, call: string, options: CallWatchOptions = {}): Observable<CallState> {
  const { everyMs = 1_000, scheduler = asyncScheduler } = options;
  return defer(() => control.stateOf(call)).pipe(
    repeat({ delay: () => patientTimer(everyMs, scheduler) }),
    distinctUntilChanged((before, { state }) => before.state === state),
    takeWhile(({ state }) => state !== 'ended', true),
  );
}

/** Options of {@link warmTransfer}. */
export interface WarmTransferOptions extends CallWatchOptions, Pick<PlacedCall, 'to' | 'from' | 'ringMs'> {
  /** The platform's id of the caller's call. */
  readonly call: string;
  /** What the person hears before the caller: who calls, and why. */
  readonly summary: string;
  /** The language of the summary, such as `en-GB`. Default: the platform's. */
  readonly language?: string;
  /**
   * What to do with the caller if the person hangs up before they are connected, such as back to the agent. Default:
   * ends the call.
   */
  readonly back?: readonly CallStep[];
  /** The room that connects them. Default: named after the call. */
  readonly room?: string;
}

/**
 * Transfers a caller to a person who first hears a summary. The agent stays with the caller until the person has
 * answered; if no one does, the caller's call is untouched. Cold; unsubscribing before the answer cancels it.
 *
 * ```text
 * warmTransfer()  r------a-t------------(e|)   r: ringing, a: answered, t: transferring, e: ended
 * ```
 *
 * Reports progress: `ringing` and `answered` concern the person's call, `transferring` means that the caller leaves the
 * agent, and `ended` has the reason: `transferred` after the two have talked, `no-answer`, `busy`, `rejected` or
 * `failed` when no one answered and the agent goes on, `canceled` when they were never connected and the caller gets
 * `back`.
 */
export function warmTransfer(control: CallControl, options: WarmTransferOptions): Observable<CallState> {
  const { call, to, from, ringMs, summary, language, room = `transfer-${call}` } = options;
  const hear: CallStep = { say: summary, ...(language !== undefined && { language }) };
  const placed: PlacedCall = { to, from, steps: [hear, { room }], ...(ringMs !== undefined && { ringMs }) };
  return defer(() => control.place(placed)).pipe(
    switchMap((person) => {
      let isOurs = true;
      const meet$ = defer(() => control.redirect(call, [{ room, opens: false }])).pipe(
        map((): CallState => {
          isOurs = false;
          return { state: 'transferring' };
        }),
      );
      return callStates(control, person, options).pipe(
        concatMap((state): Observable<CallState> => {
          if (state.state === 'answered') return concat(of(state), meet$);
          if (state.state !== 'ended') return of(state);
          if (!isOurs) return outcomeOf(control, options);
          isOurs = false;
          return of(state);
        }),
        finalize(() => {
          if (isOurs) control.end(person).catch(() => undefined);
        }),
      );
    }),
  );
}

/** What happened to the caller when the person hung up: leaving the room ends it for both. */
function outcomeOf(control: CallControl, options: WarmTransferOptions): Observable<CallState> {
  const { call, back, everyMs = 1_000, scheduler = asyncScheduler } = options;
  return patientTimer(2 * everyMs, scheduler).pipe(
    switchMap(() => control.stateOf(call)),
    switchMap(async ({ state }): Promise<CallState> => {
      if (state === 'ended') return { state, reason: 'transferred' };
      // Still waiting for someone who has left.
      await (back ? control.redirect(call, back) : control.end(call));
      return { state: 'ended', reason: 'canceled' };
    }),
  );
}
