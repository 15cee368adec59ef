import {
  asyncScheduler,
  concat,
  concatMap,
  filter,
  from,
  map,
  of,
  scan,
  startWith,
  switchMap,
  take,
  tap,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { SpeechHandle } from '../conversation/commands.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { merge } from '../stream/merge.ts';
import { longestTimerMs, patientTimer } from '../stream/patient-timer.ts';

/** A phone's keys: `PhoneStreamA`, `PhoneSocketB`, or a phone of your own. */
export interface KeyPad {
  /** Keys that the caller presses: `0` to `9`, `*`, `#`, `A` to `D`. */
  readonly dtmf$: Observable<string>;
  /** The same keys, for this subscriber only: while there is one, no one else sees or hears them. */
  readonly secretDtmf$: Observable<string>;
  /** Emits once, when the call ends. */
  readonly callEnded$: Observable<unknown>;
}

/** Options of {@link collectDigits}. */
export interface DigitOptions {
  /** Most digits, at least 1; the last one completes the input. Default: 32. */
  readonly max?: number;
  /** The key that ends the input, and is not part of it; empty for none. Default: `#`. */
  readonly terminator?: string;
  /** Longest wait for the first digit, in milliseconds, from the end of the prompt. Default: 5,000. */
  readonly firstDigitMs?: number;
  /** Longest wait for each further digit, in milliseconds. Default: 3,000. */
  readonly interDigitMs?: number;
  /**
   * Whether the digits are secret: `dtmf.digit` omits them, and the caller's audio, which carries their tones, is
   * replaced by silence for speech-to-text, events and recordings. Needs the phone itself. Default: false.
   */
  readonly secret?: boolean;
  /**
   * The speech that asks for the digits: the first key cuts it off, and the first wait begins when it ends. Default:
   * none.
   */
  readonly prompt?: Pick<SpeechHandle, 'done' | 'interrupt'>;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** What the caller typed. */
export interface Digits {
  /** The digits without the terminator; may be empty. */
  readonly digits: string;
  /** What ended the input: `max` digits, the terminator, a time-out, or the end of the call or of the session. */
  readonly reason: 'max' | 'terminator' | 'timeout' | 'ended';
}

/** The input so far. */
interface Typed {
  readonly digits: string;
  readonly reason?: Digits['reason'] | undefined;
}

const nothing: Typed = { digits: '' };

/**
 * Collects what the caller types on the phone: a choice, a number, a PIN. Cold: collects from subscription on, emits
 * one result and completes. Unsubscribing stops collecting.
 *
 * ```text
 * keys             ---4--7--1--1--#---
 * collectDigits()  ---------------(D|)   D: { digits: '4711', reason: 'terminator' }
 * ```
 *
 * @example
 * ```ts
 * import { firstValueFrom } from 'rxjs';
 * import { collectDigits, type PhoneStreamA, type Pipeline } from 'rxvoice';
 *
 * declare const phone: PhoneStreamA;
 * declare const pipeline: Pipeline;
 *
 * const prompt = pipeline.say('Please type your PIN.', { store: false });
 * const { digits } = await firstValueFrom(collectDigits(phone, { max: 4, secret: true, prompt }));
 * ```
 *
 * @param keys - A phone, or a pipeline over one.
 * @throws VoiceError `configuration` when an option cannot work, or a secret is asked of a pipeline, whose events tell.
 */
export function collectDigits(
  keys: KeyPad | Pick<Pipeline, 'events$'>,
  options: DigitOptions = {},
): Observable<Digits> {
  const { max = 32, terminator = '#', firstDigitMs = 5_000, interDigitMs = 3_000 } = options;
  const { secret = false, prompt, scheduler = asyncScheduler } = options;
  assertDigits({ max, terminator, firstDigitMs, interDigitMs });
  const keys$ = keysOf(keys, secret);
  const type = ({ digits }: Typed, key: string | undefined): Typed => {
    if (key === undefined) return { digits, reason: 'ended' };
    if (key === terminator) return { digits, reason: 'terminator' };
    return { digits: digits + key, reason: digits.length + 1 >= max ? 'max' : undefined };
  };
  const prompted$: Observable<unknown> = prompt ? from(prompt.done) : of(undefined);
  const late$ = (ms: number, digits: string): Observable<Digits> =>
    patientTimer(ms, scheduler).pipe(map(() => ({ digits, reason: 'timeout' })));
  return keys$.pipe(
    tap(() => prompt?.interrupt()),
    scan(type, nothing),
    startWith(nothing),
    switchMap(({ digits, reason }): Observable<Digits> => {
      if (reason) return of({ digits, reason });
      return digits ? late$(interDigitMs, digits) : prompted$.pipe(switchMap(() => late$(firstDigitMs, digits)));
    }),
    take(1),
  );
}

/** Options of {@link keyBargeIn}. */
export interface KeyBargeInOptions {
  /** The keys that cut the agent off. Default: all, `0123456789*#ABCD`. */
  readonly keys?: string;
}

/**
 * Lets keys interrupt the agent as a command does ("stop"): at once, remembering what was heard. Uninterruptible speech
 * goes on. Active while subscribed to; emits the keys that cut something off, and completes with the pipeline. Secret
 * keys have no effect here; the prompt of {@link collectDigits} is cut by any key.
 *
 * @example
 * ```ts
 * import { keyBargeIn, type Pipeline } from 'rxvoice';
 *
 * declare const pipeline: Pipeline;
 *
 * keyBargeIn(pipeline).subscribe();
 * ```
 */
export function keyBargeIn(
  pipeline: Pick<Pipeline, 'events$' | 'agentState' | 'interrupt'>,
  { keys = '0123456789*#ABCD' }: KeyBargeInOptions = {},
): Observable<string> {
  const isBusy = (): boolean => pipeline.agentState === 'thinking' || pipeline.agentState === 'speaking';
  return pipeline.events$.pipe(
    scan(follow, { sacred: none, key: undefined } as KeyWatch),
    concatMap(({ sacred, key }) => (key !== undefined && sacred.size === 0 && keys.includes(key) ? [key] : [])),
    filter(isBusy),
    tap(() => pipeline.interrupt()),
  );
}

/** Speech that must not be interrupted, and the key just pressed. */
interface KeyWatch {
  /** Ids of speeches. */
  readonly sacred: ReadonlySet<string>;
  readonly key: string | undefined;
}

const none: ReadonlySet<string> = new Set();

function follow({ sacred }: KeyWatch, event: VoiceEvent): KeyWatch {
  const { speechId = '' } = event;
  switch (event.type) {
    case 'dtmf.digit':
      return { sacred, key: event.digit };
    case 'speech.created':
      return { sacred: event.interruptible ? sacred : new Set([...sacred, speechId]), key: undefined };
    case 'speech.ended':
      return { sacred: new Set([...sacred].filter((id) => id !== speechId)), key: undefined };
    default:
      return { sacred, key: undefined };
  }
}

/** The keys, then `undefined` at the end. */
function keysOf(source: KeyPad | Pick<Pipeline, 'events$'>, secret: boolean): Observable<string | undefined> {
  if ('dtmf$' in source) {
    const end$ = source.callEnded$.pipe(map(() => undefined));
    return merge(secret ? source.secretDtmf$ : source.dtmf$, end$);
  }
  if (secret) throw refused("secret needs the phone itself: the pipeline's events reveal each key");
  const key$ = source.events$.pipe(
    filter((event) => event.type === 'dtmf.digit' || event.type === 'session.closed'),
    map((event) => (event.type === 'dtmf.digit' ? event.digit : undefined)),
  );
  return concat(key$, of(undefined));
}

function assertDigits({ max, terminator, ...waits }: Required<Limits>): void {
  if (!Number.isSafeInteger(max) || max < 1) throw refused(`max must be a whole number from 1, not ${max}`);
  if (!/^[0-9*#A-D]?$/.test(terminator)) throw refused(`terminator must be one key, or empty, not "${terminator}"`);
  for (const [name, ms] of Object.entries(waits)) {
    if (!(ms >= 0 && ms <= longestTimerMs)) throw refused(`${name} must be from 0 to ${longestTimerMs} ms, not ${ms}`);
  }
}

type Limits = Pick<DigitOptions, 'max' | 'terminator' | 'firstDigitMs' | 'interDigitMs'>;

function refused(problem: string): VoiceError {
  return new VoiceError(`collectDigits: ${problem}`, { code: 'configuration' });
}
