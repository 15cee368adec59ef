import { catchError, map, of, race, switchMap, takeUntil, throwIfEmpty, type Observable } from 'rxjs';
import { messageOf, VoiceError } from '../../core/errors.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import type { GuardContext, GuardedText } from '../../text/text-transform.ts';
import type { Shared } from '../answerer.ts';
import { callHook, decided, hookIsOver, hookTimedOut } from './call-hook.ts';
import type { Effect, HookInput } from '../fold/inputs.ts';

/**
 * Lets the guards judge a turn, then the application's hook, which sees the text that they let pass. Emits one verdict:
 * a refusal if a guard fails.
 */
export function judgeTurn(
  effect: Extract<Effect, { readonly type: 'hook' }>,
  shared: Pick<Shared, 'state$' | 'history' | 'scheduler' | 'emit'>,
): Observable<HookInput> {
  const { guards, candidate, turn, hookMs, unjudged } = effect;
  const { history, scheduler, emit } = shared;
  // A message that nothing has answered yet goes on, and so may what a guard looks for.
  const said = unjudged === undefined ? (history.lastSaid?.text ?? '') : history.continuedBy(unjudged);
  if (guards.length === 0) return callHook(effect, shared, said);
  const context: GuardContext = {
    scheduler,
    tell: (report) => emit('guard.acted', report, { turnId: turn.id }),
    end: () => undefined,
  };
  const judged$ = guards.reduce<Observable<GuardedText>>(
    (before$, { judge }) =>
      before$.pipe(switchMap((verdict) => (verdict.stop ? of(verdict) : judge(verdict.text, context)))),
    of({ text: said }),
  );
  return judged$.pipe(
    throwIfEmpty(() => new Error('it gave no verdict')),
    switchMap(({ text, stop, say }) => {
      if (stop) return of(decided(candidate, { text, refuse: stop === 'cut' ? (say ?? '') : '' }));
      const changed = text === said ? {} : { text };
      const late$ = patientTimer(hookMs, scheduler).pipe(map(() => decided(candidate, {}, hookTimedOut(hookMs))));
      return race(callHook(effect, shared, text), late$).pipe(
        map((input) => ({ ...input, verdict: { ...changed, ...input.verdict } })),
      );
    }),
    // Text that no guard has judged goes nowhere.
    catchError((cause: unknown) => of(decided(candidate, { refuse: '' }, guardFailed(cause)))),
    takeUntil(hookIsOver(candidate, shared)),
  );
}

function guardFailed(cause: unknown): VoiceError {
  const message = `a guard of the user's messages failed: ${messageOf(cause)}`;
  return new VoiceError(message, { code: 'internal', cause });
}
