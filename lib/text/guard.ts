import { catchError, concatMap, defer, from, map, Observable, of, take, tap, type SchedulerLike } from 'rxjs';
import { configProblem, unknownKey, type ConfigRule } from '../core/config-rule.ts';
import { VoiceError } from '../core/errors.ts';
import { asObject } from '../core/guard.ts';
import type { LLMEvent, ToolCall } from '../core/messages.ts';
import { feed } from '../stream/feed.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import { findAll, type GuardRule } from './guard-rules.ts';
import type { GuardAction, GuardContext, GuardedText, GuardReport, TextTransform } from './text-transform.ts';

/** Which texts a guard sees: the user's, the agent's, or the arguments of the model's tool calls. */
export type GuardedSide = GuardReport['side'];

/** A text to be judged by an application's own service. */
export interface ModerationRequest {
  /**
   * A clause, or with `buffered` the whole answer; the user's message; or the arguments of a tool call, as JSON. What the
   * rules found is already replaced.
   */
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
   * Which texts it sees: the model's and those of `say()` (`output`), the user's before the model does (`input`), the
   * arguments of tool calls before the tool does (`tools`). Default: `output`.
   */
  readonly sides?: readonly GuardedSide[];
  /**
   * `replace` what was found; `cut` the text before the clause, or the tool call, it was found in; `end` the turn at
   * once, dropping whatever of its answer was not yet heard. Default: `replace`.
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

const optionRules: Readonly<Record<keyof GuardOptions, ConfigRule>> = {
  rules: {},
  sides: {},
  action: { oneOf: ['replace', 'cut', 'end'] },
  replacement: {},
  say: { type: 'text' },
  buffered: { type: 'boolean' },
  moderate: { type: 'function' },
  moderateTimeoutMs: { min: 0 },
  onModerationFailure: { oneOf: ['allow', 'block'] },
};

function problemOf(options: unknown): string | undefined {
  const given = asObject(options);
  if (!given) return 'write guard({ rules: [ … ] })';
  const { rules = [], sides = [], replacement = '' } = given;
  const isRule = (rule: unknown): boolean => typeof asObject(rule)?.['find'] === 'function';
  const isSide = (side: unknown): boolean => ['input', 'output', 'tools'].includes(side as string);
  if (!Array.isArray(rules) || !rules.flat().every(isRule))
    return 'rules must be an array of rules such as blocklist()';
  if (!Array.isArray(sides) || !sides.every(isSide)) return 'sides must be an array of input, output, tools';
  if (typeof replacement !== 'string') return 'replacement must be a text';
  return unknownKey(given, Object.keys(optionRules)) ?? configProblem(given, optionRules);
}

/** Characters without the end of a clause after which they pass word by word, and how many are still held back then. */
const maxHeld = 300;
const heldBack = 100;

/**
 * Checks every text first: nothing of an answer is heard, emitted in an `llm.token` event, or remembered unchecked. Its
 * place in the list does not matter: it checks the text as the model writes it, and as it would be spoken. Events
 * (`guard.acted`) say what was done and by which rule, never what was said. The arguments of tool calls are checked with the
 * side `tools` alone: a tool may need the very number that nobody else should see.
 *
 * @example
 * ```ts
 * import { guard, markdown, personalData, Pipeline, type AnyProvider } from 'rxvoice';
 *
 * declare const providers: AnyProvider[];
 *
 * new Pipeline({ providers, text: [markdown(), guard({ rules: [personalData()], sides: ['input', 'output'] })] });
 * ```
 *
 * @throws VoiceError `configuration` when an option cannot work: a guard that lets everything pass must not go unnoticed.
 */
export function guard(options: GuardOptions): TextTransform {
  const problem = problemOf(options);
  if (problem !== undefined) throw new VoiceError(`guard: ${problem}`, { code: 'configuration' });
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
  function moderated(text: string, side: GuardedSide, context: GuardContext): Observable<boolean> {
    if (!moderate || text.trim() === '') return of(true);
    return allowed(moderate, { text, side }, moderateTimeoutMs, context.scheduler).pipe(
      catchError(() => {
        context.tell({ side, rule: 'moderation-failed', action: options.onModerationFailure ?? 'block' });
        return of(options.onModerationFailure === 'allow');
      }),
      tap((isAllowed) => {
        if (!isAllowed) context.tell({ side, rule: 'moderation', action });
      }),
    );
  }
  const judge = (text: string, side: GuardedSide, context: GuardContext): Observable<GuardedText> => {
    const { names, text: safe } = replaced(text);
    for (const rule of names) context.tell({ side, rule, action });
    if (names.length > 0 && action !== 'replace') return of({ text: replacement, stop: action });
    return moderated(safe, side, context).pipe(
      map((isAllowed) => {
        if (isAllowed) return { text: safe };
        // The white space around it is no part of what was judged.
        const blank = safe.replace(/\S(?:.*\S)?/su, () => replacement);
        return action === 'replace' ? { text: blank } : { text: replacement, stop: action };
      }),
    );
  };
  function judgeCall(call: ToolCall, context: GuardContext): Observable<GuardedCall> {
    const found = new Set<string>();
    const safe = withTexts(call, (text) => {
      const { names, text: rest } = replaced(text);
      for (const name of names) found.add(name);
      return rest;
    });
    for (const rule of found) context.tell({ side: 'tools', rule, action });
    if (found.size > 0 && action !== 'replace') return of({ stop: action });
    // What is unchanged goes back to the service as it wrote it.
    const passed = found.size > 0 ? safe : call;
    return moderated(passed.argsText, 'tools', context).pipe(
      map((isAllowed) => {
        if (isAllowed) return { call: passed };
        return action === 'replace' ? { call: withTexts(call, () => replacement) } : { stop: action };
      }),
    );
  }
  const [seesText, seesCalls] = [sides.includes('output'), sides.includes('tools')];
  const judges: OutputJudges = {
    ...(seesText && { text: (text, context) => judge(text, 'output', context) }),
    ...(seesCalls && { call: judgeCall }),
  };
  return {
    name: 'guard',
    ...(seesText || seesCalls
      ? { answer: (events$, context) => guarded(events$, context, options, rules, judges) }
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

/** A call as it leaves a guard, or what refuses it. */
type GuardedCall = { readonly call: ToolCall } | { readonly stop: GuardAction };

/** What a guard sees of a model's events. */
interface OutputJudges {
  text?(text: string, context: GuardContext): Observable<GuardedText>;
  call?(call: ToolCall, context: GuardContext): Observable<GuardedCall>;
}

/** A call with `change` applied to each text, name and number in its arguments, or to all of them if they are no JSON. */
function withTexts<T extends ToolCall>(call: T, change: (text: string) => string): T {
  if (call.args === undefined) return { ...call, argsText: change(call.argsText) };
  const changed = (value: unknown): unknown => {
    if (typeof value === 'string') return change(value);
    if (typeof value === 'number') {
      const text = change(String(value));
      return text === String(value) ? value : text;
    }
    if (Array.isArray(value)) return value.map(changed);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [change(key), changed(member)]));
  };
  const args = changed(call.args);
  return { ...call, args, argsText: JSON.stringify(args) };
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

/** A model's events with its text and its calls as the guard lets them pass. */
function guarded(
  events$: Observable<LLMEvent>,
  context: GuardContext,
  { buffered = false, say = '' }: GuardOptions,
  rules: readonly GuardRule[],
  judges: OutputJudges,
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
          if (event.type !== 'token' || !judges.text) {
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
    const safe$ = steps$.pipe(
      concatMap((step) => {
        if (step.type === 'token' && judges.text) return judges.text(step.text, context);
        if (step.type === 'tool-call' && judges.call) return judges.call(step, context);
        return of(step);
      }),
    );
    let isSpaced = true;
    const emit = (text: string): void => {
      if (text === '') return;
      isSpaced = /\s$/.test(text);
      subscriber.next({ type: 'token', text });
    };
    feed(safe$, subscriber, {
      next: (step) => {
        if ('stop' in step) {
          // The guard that cut it has the last word.
          if (step.stop === 'cut' && say !== '') emit(isSpaced ? say : ` ${say}`);
          if (step.stop === 'end') context.end();
          subscriber.complete();
        } else if ('call' in step) subscriber.next({ type: 'tool-call', ...step.call });
        else if (!('type' in step) || step.type === 'token') emit(step.text);
        else subscriber.next(step);
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
