import {
  concat,
  connect,
  EMPTY,
  exhaustMap,
  filter,
  map,
  merge,
  NEVER,
  of,
  startWith,
  switchMap,
  take,
  takeUntil,
  takeWhile,
  timer,
  type Observable,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs';

/** What there is of the user while the agent has the floor: a voice, or words. */
export type BargeInSign =
  | { readonly type: 'voice-started' }
  | { readonly type: 'voice-ended' }
  /** `final`: nothing more is coming of this utterance. */
  | { readonly type: 'words'; readonly count: number; readonly final: boolean };

/** Where a possible interruption stands. */
export type BargeInStage = 'suspected' | 'paused' | 'confirmed' | 'resumed';

/** Thresholds of a barge-in. Times in milliseconds. */
export interface BargeInThresholds {
  /** Voice after which the agent pauses. Default: 200. */
  readonly pauseAfterMs?: number;
  /**
   * Voice that confirms. Only where the speech-to-text service tells when a voice falls silent. Default: 500; Infinity
   * (words alone confirm) while the agent is thinking.
   */
  readonly confirmAfterMs?: number;
  /** Words that confirm. Default: 2; 1 while the agent is thinking. */
  readonly minWords?: number;
  /** Silence after which an unconfirmed interruption is taken back. Default: 1,200. */
  readonly resumeAfterMs?: number;
}

/** {@link BargeInThresholds} with every value set, and what the speech-to-text service can tell. */
export interface BargeInRules extends Required<BargeInThresholds> {
  /** Cut at the first sign. */
  readonly immediate: boolean;
  /** Whether `voice-ended` can be relied on. */
  readonly voiceEnds: boolean;
}

/**
 * Turns signs of the user into the stages of a barge-in: suspected, paused, then confirmed or resumed.
 *
 * ```text
 * signs   --s-----------w2----s--e--------------------|
 *         bargeIn({ pauseAfterMs: 4, minWords: 2, resumeAfterMs: 9 })
 * stages  --S---P-------C-----S-----------R-----------|
 * ```
 *
 * One episode at a time; after `confirmed` or `resumed` the next sign begins another. Completes with its source, and
 * an error of the source is passed on.
 *
 * @param rules - Looked up at the start of each episode: they can differ by what the agent is doing.
 */
export function bargeIn(
  rules: () => BargeInRules,
  scheduler: SchedulerLike,
): OperatorFunction<BargeInSign, BargeInStage> {
  return connect((signs$) =>
    signs$.pipe(
      filter((sign) => sign.type !== 'voice-ended'),
      exhaustMap((first) => episode(first, signs$, rules(), scheduler)),
    ),
  );
}

function episode(
  first: BargeInSign,
  later$: Observable<BargeInSign>,
  rules: BargeInRules,
  scheduler: SchedulerLike,
): Observable<BargeInStage> {
  if (rules.immediate) return of<BargeInStage[]>('suspected', 'confirmed');
  const signs$ = later$.pipe(startWith(first));
  const voiceEnded$ = later$.pipe(filter((sign) => sign.type === 'voice-ended'));
  function voiceFor(ms: number): Observable<unknown> {
    return ms === Infinity ? EMPTY : timer(ms, scheduler).pipe(takeUntil(voiceEnded$));
  }
  const paused$ = voiceFor(rules.pauseAfterMs).pipe(map((): BargeInStage => 'paused'));
  const confirmed$ = merge(
    signs$.pipe(filter((sign) => sign.type === 'words' && sign.count >= rules.minWords)),
    rules.voiceEnds && first.type === 'voice-started' ? voiceFor(rules.confirmAfterMs) : EMPTY,
  ).pipe(
    take(1),
    map((): BargeInStage => 'confirmed'),
  );
  // Where nobody tells that a voice fell silent, every sign may have been the last.
  const resumed$ = signs$.pipe(
    switchMap((sign) =>
      sign.type === 'voice-started' && rules.voiceEnds ? NEVER : timer(rules.resumeAfterMs, scheduler),
    ),
    map((): BargeInStage => 'resumed'),
  );
  return concat(of<BargeInStage>('suspected'), merge(confirmed$, paused$, resumed$)).pipe(
    takeWhile((stage) => stage !== 'confirmed' && stage !== 'resumed', true),
  );
}
