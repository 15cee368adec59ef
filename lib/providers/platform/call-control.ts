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

/** Why a call has ended. */
export type CallEndReason =
  /** It was answered, and hung up. */
  | 'completed'
  /** Nobody can hear the agent anymore, and the caller talks to somebody else. */
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
      /** Who answered, where the platform looks for that. */
      readonly by?: 'human' | 'machine';
    }
  /** The caller is being connected to somebody else. */
  | { readonly state: 'transferring' }
  | { readonly state: 'ended'; readonly reason: CallEndReason };

/** What a status callback says. */
export interface CallStatus {
  /** The platform's id of the call. */
  readonly call: string;
  readonly state: CallState;
}

/** Something that the platform does with a call, after what stands before it. */
export type CallStep =
  /** Connects it to your server: a WebSocket's address, and parameters that its first message brings. */
  | { readonly stream: string; readonly parameters?: Readonly<Record<string, string>> }
  /** Has the platform's own voice say something. */
  | { readonly say: string; readonly language?: string }
  /** Connects it to a number, such as `+442071838750`. */
  | { readonly dial: string; readonly from?: string }
  /** Connects it with everybody else in the room of that name. */
  | {
      readonly room: string;
      /** Whether the talk may begin with this call; otherwise it waits, with music, for one that may. Default: true. */
      readonly opens?: boolean;
    };

/** A call to place. */
export interface PlacedCall {
  /** The number to call, such as `+442071838750`. */
  readonly to: string;
  /** The number to show: one of the account's. */
  readonly from: string;
  /** What happens when it is answered. */
  readonly steps: readonly CallStep[];
  /** How long it may ring, in milliseconds; platforms count in seconds. Default: the platform's, a minute. */
  readonly ringMs?: number;
  /** The webhook that is told of each state. Default: none. */
  readonly statusUrl?: string;
}

/** Calls by a platform's REST API: `PhoneStreamACalls`, `PhoneSocketBCalls`. */
export interface CallControl {
  /**
   * Places a call. Never tried again by itself: nobody is called twice.
   *
   * @returns The platform's id of the call.
   * @throws VoiceError when the platform refuses.
   */
  place(call: PlacedCall): Promise<string>;
  /**
   * The state of a call now.
   *
   * @throws VoiceError when the platform refuses, or does not know it.
   */
  stateOf(call: string): Promise<CallState>;
  /**
   * Replaces what a call is doing, such as a conversation with the agent by a talk with a person: that ends the stream.
   *
   * @throws VoiceError when the platform refuses, such as for a call that has ended.
   */
  redirect(call: string, steps: readonly CallStep[]): Promise<void>;
  /**
   * Ends a call for good; one that has ended is left as it is.
   *
   * @throws VoiceError when the platform refuses.
   */
  end(call: string): Promise<void>;
}

/** Options of {@link callStates}. */
export interface CallWatchOptions {
  /** Milliseconds from an answer of the platform to the next question. Default: 1,000. */
  readonly everyMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * The states of a call, asked of the platform again and again: for servers without a webhook. Cold; tells each new state,
 * and completes when the call has ended. Errors with what the platform answers.
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
  /** What the caller gets when the person hangs up before they have met: back to the agent, say. Default: the call ends. */
  readonly back?: readonly CallStep[];
  /** The room in which they meet. Default: named after the call. */
  readonly room?: string;
}

/**
 * Transfers a caller to a person who first hears a summary. The agent stays with the caller until the person has answered;
 * if nobody does, nothing has happened to the caller's call. Cold; `unsubscribe()` before the answer calls it off.
 *
 * ```text
 * warmTransfer()  r------a-t------------(e|)   r: ringing, a: answered, t: transferring, e: ended
 * ```
 *
 * Tells how it goes: `ringing` and `answered` are the person's call, `transferring` is the caller leaving the agent, and
 * `ended` has the reason: `transferred` when the two have talked and it is over, `no-answer`, `busy`, `rejected` or
 * `failed` when there is nobody: the agent goes on. `canceled` when they never met: the caller gets `back`.
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

/** What has become of the caller when the person has hung up: who leaves the room ends it for both. */
function outcomeOf(control: CallControl, options: WarmTransferOptions): Observable<CallState> {
  const { call, back, everyMs = 1_000, scheduler = asyncScheduler } = options;
  return patientTimer(2 * everyMs, scheduler).pipe(
    switchMap(() => control.stateOf(call)),
    switchMap(async ({ state }): Promise<CallState> => {
      if (state === 'ended') return { state, reason: 'transferred' };
      // Still waiting, for somebody who has gone.
      await (back ? control.redirect(call, back) : control.end(call));
      return { state: 'ended', reason: 'canceled' };
    }),
  );
}
