import { catchError, concatMap, defer, from, map, Observable, of, take, type SchedulerLike } from 'rxjs';
import type { LLMEvent } from '../core/messages.ts';
import { feed } from '../stream/feed.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import { findAll, type GuardRule } from './guard-rules.ts';
import type { GuardAction, GuardContext, GuardedText, TextTransform } from './text-transform.ts';

/** Who wrote a text that a guard sees. */
export type GuardedSide = 'input' | 'output';

/** A text to be judged by an application's own service. */
export interface ModerationRequest {
  /** A clause, or with `buffered` the whole answer; or the user's message. What the rules found is already replaced. */
  readonly text: string;
  readonly side: GuardedSide;
  /** Aborted when the verdict is no longer needed, or on time-out. */
  readonly signal: AbortSignal;
}

/** Options of {@link guard}. */
export interface GuardOptions {
  /** What it acts upon: `blocklist()`, `pattern()`, `personalData()`, or your own. Default: none. */
  readonly rules?: readonly (GuardRule | readonly GuardRule[])[];
  /**
   * Whose texts it sees: the model's and those of `say()` (`output`), the user's before the model does (`input`), or both.
   * Default: `output`.
   */
  readonly sides?: readonly GuardedSide[];
  /**
   * `replace` what was found; `cut` the text before the clause it was found in; `end` the turn at once, dropping
   * whatever of its answer was not yet heard. Default: `replace`.
   */
  readonly action?: GuardAction;
  /** Written in place of what was found. Default: `…`, which is not spoken. */
  readonly replacement?: string;
  /** Said after an answer that was cut, or in place of an answer to a message that was. Default: nothing. */
  readonly say?: string;
  /**
   * Whether an answer is held back until all of it is checked; otherwise it is checked clause by clause. Default:
   * false.
   */
  readonly buffered?: boolean;
  /**
   * Decides whether a text may be said, or sent to the model: a service of yours, which may take a while. Default:
   * none.
   */
  readonly moderate?: (request: ModerationRequest) => boolean | Promise<boolean>;
  /** Longest wait for `moderate`, in milliseconds. Default: 2,000. */
  readonly moderateTimeoutMs?: number;
  /** What happens to a text when `moderate` fails or takes too long. Default: `block`. */
  readonly onModerationFailure?: 'allow' | 'block';
}

/** Characters without the end of a clause after which they pass word by word, and how many are still held back then. */
const maxHeld = 300;
const heldBack = 100;

/**
 * Checks every text first: nothing of an answer is heard, emitted in an `llm.token` event, or remembered unchecked. Its
 * place in the list does not matter: it checks the text as the model writes it, and as it would be spoken. Events
 * (`guard.acted`) say what was done and by which rule, never what was said. The arguments of tool calls are not checked.
 *
 * @example
 * ```ts
 * import { guard, markdown, personalData, Pipeline, type AnyProvider } from 'rxvoice';
 *
 * declare const providers: AnyProvider[];
 *
 * new Pipeline({ providers, text: [markdown(), guard({ rules: [personalData()], sides: ['input', 'output'] })] });
 * ```
 */
export function guard(options: GuardOptions): TextTransform {
  const { sides = ['output'], action = 'replace', moderate, moderateTimeoutMs = 2_000, say = '' } = options;
  const rules = (options.rules ?? []).flat();
  const { replacement = '…' } = options;
  const replaced = (text: string): GuardedText & { readonly names: readonly string[] } => {
    const { names, ranges } = findAll(text, rules);
    let [rest, safe] = [0, ''];
    for (const [start, end] of ranges) {
      safe += text.slice(rest, start) + replacement;
      rest = end;
    }
    return { names, text: safe + text.slice(rest) };
  };
  const judge = (text: string, side: GuardedSide, context: GuardContext): Observable<GuardedText> => {
    const told = (rule: string): void => context.tell({ side, rule, action });
    const { names, text: safe } = replaced(text);
    for (const name of names) told(name);
    if (names.length > 0 && action !== 'replace') return of({ text: replacement, stop: action });
    if (!moderate || safe.trim() === '') return of({ text: safe });
    return allowed(moderate, { text: safe, side }, moderateTimeoutMs, context.scheduler).pipe(
      catchError(() => {
        context.tell({ side, rule: 'moderation-failed', action: options.onModerationFailure ?? 'block' });
        return of(options.onModerationFailure === 'allow');
      }),
      map((isAllowed) => {
        if (isAllowed) return { text: safe };
        told('moderation');
        // The white space around it is no part of what was judged.
        const blank = safe.replace(/\S(?:.*\S)?/su, () => replacement);
        return action === 'replace' ? { text: blank } : { text: replacement, stop: action };
      }),
    );
  };
  return {
    name: 'guard',
    ...(sides.includes('output')
      ? {
          answer: (events$, context) =>
            guarded(events$, context, options, rules, (text) => judge(text, 'output', context)),
        }
      : {}),
    ...(sides.includes('input')
      ? {
          input: {
            judge: (text, context) => judge(text, 'input', context).pipe(map((verdict) => ({ ...verdict, say }))),
            waitsMs: moderate ? moderateTimeoutMs : 0,
          },
        }
      : {}),
  };
}

/** Asks the application; fails when that fails or takes too long. */
function allowed(
  moderate: NonNullable<GuardOptions['moderate']>,
  request: Omit<ModerationRequest, 'signal'>,
  ms: number,
  scheduler: SchedulerLike,
): Observable<boolean> {
  return new Observable((subscriber) => {
    const abort = new AbortController();
    subscriber.add(() => abort.abort());
    const verdict$ = defer(() => {
      const verdict = moderate({ ...request, signal: abort.signal });
      return typeof verdict === 'boolean' ? of(verdict) : from(verdict);
    }).pipe(take(1), stallTimeout({ firstMs: ms, scheduler }));
    subscriber.add(verdict$.subscribe(subscriber));
  });
}

/** A model's events with its text as the guard lets it pass. */
function guarded(
  events$: Observable<LLMEvent>,
  { end }: GuardContext,
  { buffered = false, say = '' }: GuardOptions,
  rules: readonly GuardRule[],
  judge: (text: string) => Observable<GuardedText>,
): Observable<LLMEvent> {
  return new Observable((subscriber) => {
    const steps$ = new Observable<LLMEvent>((steps) => {
      let held = '';
      const pass = (length: number): void => {
        const text = held.slice(0, length);
        held = held.slice(length);
        if (text !== '') steps.next({ type: 'token', text });
      };
      feed(events$, steps, {
        next: (event) => {
          if (event.type !== 'token') {
            pass(held.length);
            steps.next(event);
          } else {
            held += event.text;
            if (!buffered) pass(clauseEnd(held, rules));
          }
        },
        complete: () => {
          pass(held.length);
          steps.complete();
        },
      });
    });
    const safe$ = steps$.pipe(concatMap((step) => (step.type === 'token' ? judge(step.text) : of(step))));
    let isSpaced = true;
    const emit = (text: string): void => {
      if (text === '') return;
      isSpaced = /\s$/.test(text);
      subscriber.next({ type: 'token', text });
    };
    feed(safe$, subscriber, {
      next: (step) => {
        if ('type' in step) {
          subscriber.next(step);
          return;
        }
        const { text, stop } = step;
        if (stop === undefined) {
          emit(text);
          return;
        }
        // The guard that cut it has the last word.
        if (stop === 'cut' && say !== '') emit(isSpaced ? say : ` ${say}`);
        if (stop === 'end') end();
        subscriber.complete();
      },
      complete: () => subscriber.complete(),
    });
  });
}

/** The end of the last clause in which nothing that follows could complete a match; 0 if there is none. */
function clauseEnd(text: string, rules: readonly GuardRule[]): number {
  let end = 0;
  for (const { 0: mark, index } of text.matchAll(clauseMark)) {
    const after = index + mark.length;
    // Numbers continue after a mark.
    const isInNumber =
      /\p{N}\s*$/u.test(text.slice(Math.max(0, index - 4), index)) && /^[\p{N}+(]/u.test(text.slice(after));
    if (!isInNumber) end = after;
  }
  if (end > 0 || text.length <= maxHeld) return end;
  const { ranges } = findAll(text, rules);
  const spaces = [...text.slice(0, -heldBack).matchAll(/(?<!\p{N})\s+(?!\p{N})/gu)].map(({ index }) => index);
  return spaces.findLast((at) => ranges.every(([from, to]) => at <= from || at >= to)) ?? 0;
}

/** A mark followed by white space and more text, or one of a script without spaces. */
const clauseMark =
  /(?<![\p{Terminal_Punctuation}…])[\p{Terminal_Punctuation}…]+[\p{Pe}\p{Pf}"'*_]*(?:\s+(?=\S)|(?<=[。！？、，；।॥]))/gu;
