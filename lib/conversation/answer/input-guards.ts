import { map, of, race, switchMap, takeUntil, type Observable } from 'rxjs';
import { patientTimer } from '../../stream/patient-timer.ts';
import type { GuardContext, GuardedText } from '../../text/text-transform.ts';
import type { Shared } from '../answerer.ts';
import { callHook, hookIsOver, hookTimedOut } from './call-hook.ts';
import type { UserTurnVerdict } from '../conversation-options.ts';
import type { Effect, HookInput } from '../fold/inputs.ts';

/**
 * Lets the guards judge a turn, then the application's hook, which sees the text that they let pass. Emits one verdict.
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
  const decided = (verdict: UserTurnVerdict, error?: unknown): HookInput => ({
    ...{ type: 'turn.hooked', candidate, verdict },
    ...(error === undefined ? {} : { error }),
  });
  return judged$.pipe(
    switchMap(({ text, stop, say }) => {
      if (stop) return of(decided({ text, refuse: stop === 'cut' ? (say ?? '') : '' }));
      const changed = text === said ? {} : { text };
      const late$ = patientTimer(hookMs, scheduler).pipe(map(() => decided({}, hookTimedOut(hookMs))));
      return race(callHook(effect, shared, text), late$).pipe(
        map((input) => ({ ...input, verdict: { ...changed, ...input.verdict } })),
      );
    }),
    takeUntil(hookIsOver(candidate, shared)),
  );
}
