import { catchError, defer, filter, finalize, from, map, of, takeUntil, type Observable } from 'rxjs';
import { messageOf, VoiceError } from '../../core/errors.ts';
import { asObject } from '../../core/guard.ts';
import type { Shared } from '../answerer.ts';
import type { UserTurnVerdict } from '../conversation-options.ts';
import type { Effect, HookInput } from '../fold/inputs.ts';

/**
 * Asks the application's hook about a turn. Emits its verdict once; a hook that throws, rejects or returns something
 * else counts as a verdict too. Its signal is aborted when the conversation stops waiting.
 */
export function callHook(
  { candidate, hook, turn }: Extract<Effect, { readonly type: 'hook' }>,
  { state$ }: Pick<Shared, 'state$'>,
  text: string,
): Observable<HookInput> {
  const abort = new AbortController();
  return defer(() => {
    const result: unknown = hook({ ...turn, text, signal: abort.signal });
    return isThenable(result) ? from(result) : of(result);
  }).pipe(
    map((result) => decided(candidate, verdictOf(result))),
    catchError((cause: unknown) => {
      const message = `onUserTurn failed: ${messageOf(cause)}`;
      return of(decided(candidate, {}, new VoiceError(message, { code: 'internal', cause })));
    }),
    takeUntil(hookIsOver(candidate, { state$ })),
    finalize(() => abort.abort()),
  );
}

/** A verdict on a turn, and the error that led to it. */
export function decided(candidate: string, verdict: UserTurnVerdict, error?: VoiceError): HookInput {
  return { type: 'turn.hooked', candidate, verdict, ...(error === undefined ? {} : { error }) };
}

/** A promise of any library, including a query that runs only when awaited. */
function isThenable(result: unknown): result is PromiseLike<unknown> {
  return typeof asObject(result)?.['then'] === 'function';
}

/** Emits when the conversation no longer waits for a turn's verdict. */
export function hookIsOver(candidate: string, { state$ }: Pick<Shared, 'state$'>): Observable<unknown> {
  return state$.pipe(filter((state) => state.candidate?.id !== candidate || state.candidate.phase !== 'hooking'));
}

/** The hook took too long. */
export function hookTimedOut(hookMs: number): VoiceError {
  const message = `onUserTurn did not decide within ${hookMs / 1000} seconds`;
  return new VoiceError(message, { code: 'timeout', recoverable: true });
}

/** @throws Error where the application returned something else. */
function verdictOf(result: unknown): UserTurnVerdict {
  if (result === undefined || result === null) return {};
  const verdict = asObject(result);
  const texts = [verdict?.['text'], verdict?.['context'], verdict?.['refuse']];
  const isOne = verdict && texts.every((text) => text === undefined || typeof text === 'string');
  if (!isOne) throw new Error('it must return nothing, or { text?, context?, refuse?, answer? } with texts');
  return verdict;
}
