import {
  concat,
  defer,
  EMPTY,
  ignoreElements,
  map,
  mergeMap,
  Observable,
  of,
  reduce,
  ReplaySubject,
  Subject,
  take,
  takeUntil,
  tap,
  timer,
  type MonoTypeOperatorFunction,
  type SchedulerLike,
} from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { FinishReason, GenerateOptions, LLMEvent, Message, TokenUsage, ToolCall } from '../core/messages.ts';
import type { Tool } from '../core/tools.ts';
import { fromInput } from '../stream/bridge.ts';
import { feed } from '../stream/feed.ts';
import { merge } from '../stream/merge.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import { guardedOutput, type GuardReport } from '../text/text-transform.ts';
import type { ActiveAgent } from './active-agent.ts';
import type { Emit } from './event-bus.ts';
import type { ToolOutcome } from './history.ts';
import type { Validate } from './malformed.ts';
import { errorOf } from './provider-error.ts';
import { isSameCall, runTools, toolDefinitions, withOwnId, type ToolRound } from './tool-runner.ts';

/** Most rounds of tools per answer; the request after them may not call any, so that the model must speak. */
const maxToolRounds = 4;
/** Longest answer, in characters: hours of speech. */
const maxAnswerLength = 262_144;
/** Most tool calls of a request, and of an answer. */
const maxCalls = 128;
/** Most texts that the tools of a round may say: nobody listens to more. */
const maxSaid = 20;
/** How long a tool may run before its filler is spoken. */
const fillerAfterMs = 700;

/** Steps of one answer's generation. A part is one round's text, or a filler, which is spoken but not stored. */
export type GenerationStep =
  | {
      readonly type: 'started';
      readonly part: number;
      readonly stored: boolean;
      readonly round: number;
      /** Who answers this round. */
      readonly agent: ActiveAgent;
    }
  | { readonly type: 'token'; readonly part: number; readonly text: string }
  /** A guard has acted. */
  | { readonly type: 'guarded'; readonly part: number; readonly report: GuardReport }
  /** A guard ends the turn. */
  | { readonly type: 'refused'; readonly part: number }
  | {
      readonly type: 'ended';
      readonly part: number;
      readonly text: string;
      readonly finishReason: FinishReason;
      readonly usage?: TokenUsage;
    };

/** What a generation needs, and where it reports what belongs in the history. */
export interface GenerationContext {
  /** What the next request is made with. */
  readonly agent: () => ActiveAgent;
  readonly emit: Emit;
  readonly scheduler: SchedulerLike;
  readonly validate: Validate;
  /** No tool runs before this emits; it replays. */
  readonly gate$: Observable<unknown>;
  readonly stopped$: Observable<unknown>;
  /** Hands over to another agent; emits once that has taken effect, and replays it. */
  handOver(agent: string): Observable<unknown>;
  /** The messages to send to the model now. */
  messages(systemPrompt: string | undefined): Message[];
  /** Called when all calls of a round have ended. */
  onToolRound(part: number, text: string, calls: readonly ToolCall[], outcomes: readonly ToolOutcome[]): void;
  onToolsRunning(running: RunningTools | undefined): void;
}

/** Running tool calls, to be interrupted. */
export interface RunningTools {
  readonly part: number;
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly round: ToolRound;
  /** Whether the user's words abort one of them. */
  readonly isAbortable: boolean;
}

/** Asks the model, runs the tools it calls, and asks again, until it has answered. Unsubscribing aborts. */
export function generateAnswer(context: GenerationContext): Observable<GenerationStep> {
  const { scheduler } = context;
  let parts = 0;
  /** Calls so far. */
  let called = 0;

  /** The model must speak at last. */
  function isLast({ answer }: ActiveAgent, round: number): boolean {
    return round > (answer.maxToolRounds ?? maxToolRounds) || called >= (answer.maxToolCalls ?? maxCalls);
  }

  function ask(round: number): Observable<GenerationStep> {
    return new Observable((subscriber) => {
      const agent = context.agent();
      const { llm, systemPrompt } = agent;
      const part = parts++;
      const calls: ToolCall[] = [];
      const messages = context.messages(systemPrompt);
      const received: ToolCall[] = [];
      const mustSpeak = isLast(agent, round);
      let text = '';
      let end: Partial<Extract<LLMEvent, { type: 'done' }>> = {};
      const take = (event: LLMEvent): void => {
        if (event.type === 'done') end = event;
        else if (event.type === 'tool-call') {
          if (!received.some((call) => isSameCall(call, event))) calls.push(withOwnId(event, messages, calls));
          if (received.push(event) <= maxCalls) return;
          throw overflow(agent, `the model called more than ${maxCalls} tools at once: tell it to call fewer`);
        } else if (event.text) {
          text += event.text;
          if (text.length > maxAnswerLength) {
            throw overflow(agent, `the answer is longer than ${maxAnswerLength} characters: set maxTokens`);
          }
          subscriber.next({ type: 'token', part, text: event.text });
        }
      };
      const finish = (): void => {
        const { finishReason = 'stop', usage } = end;
        subscriber.next({ type: 'ended', part, text, finishReason, ...(usage ? { usage } : {}) });
        if (calls.length === 0 || mustSpeak) subscriber.complete();
        else subscriber.add(callTools({ part, text, calls }, agent, round).subscribe(subscriber));
      };
      subscriber.next({ type: 'started', part, stored: true, round, agent });
      // A voice that refuses the round ends the answer: the model is not asked again.
      if (subscriber.closed) return;
      const events$ = asked(llm, messages, requestOptions(agent, round, mustSpeak));
      const inTime$ = events$.pipe(context.validate('model'), stalls(agent, scheduler));
      const guarded$ = guardedOutput(inTime$, agent.text, {
        scheduler,
        tell: (report) => subscriber.next({ type: 'guarded', part, report }),
        end: () => subscriber.next({ type: 'refused', part }),
      });
      feed(guarded$, subscriber, {
        next: take,
        complete: finish,
      });
    });
  }

  function callTools(
    { part, text, calls }: Pick<RunningTools, 'part' | 'text' | 'calls'>,
    agent: ActiveAgent,
    round: number,
  ): Observable<GenerationStep> {
    const { tools } = agent;
    let handed$: Observable<unknown> = EMPTY;
    const open$ = context.gate$.pipe(take(1), ignoreElements());
    const run$ = defer(() => {
      const handOver = (agent: string): void => {
        handed$ = context.handOver(agent);
      };
      const { maxToolCalls = maxCalls } = agent.answer;
      const said$ = new Subject<string>();
      const say = (said: string): void => {
        if (said.trim()) said$.next(said);
      };
      const toolRound = runTools(calls, {
        ...context,
        tools,
        handOver,
        say,
        maxCalls: { of: maxToolCalls, left: maxToolCalls - called },
      });
      called += calls.length;
      const outcomes: ToolOutcome[] = [];
      const running = tools.filter((tool) => calls.some(({ name }) => name === tool.name));
      const isAbortable = running.some(({ onInterrupt }) => onInterrupt === 'abort');
      context.onToolsRunning({ part, text, calls, round: toolRound, isAbortable });
      const done$ = new ReplaySubject<true>(1);
      const progress$ = wordsOf(running, said$, scheduler).pipe(
        mergeMap((words) => aside(words, agent, round)),
        takeUntil(done$),
      );
      const results$ = toolRound.outcomes$.pipe(
        tap({
          next: (outcome) => outcomes.push(outcome),
          complete: () => {
            const inOrder = calls.flatMap(({ id }) => outcomes.filter(({ toolCallId }) => toolCallId === id));
            context.onToolsRunning(undefined);
            context.onToolRound(part, text, calls, inOrder);
            done$.next(true);
          },
        }),
        ignoreElements(),
      );
      return merge(progress$, results$);
    });
    return concat(
      open$,
      run$,
      defer(() => handed$.pipe(ignoreElements())),
      ask(round + 1),
    );
  }

  /** A part that is spoken but not stored. Guards check it like the model's own text, as a whole. */
  function aside(words: string, agent: ActiveAgent, round: number): Observable<GenerationStep> {
    return new Observable((subscriber) => {
      const event$ = of<LLMEvent[]>({ type: 'token', text: words }, { type: 'done', finishReason: 'stop' });
      const guarded$ = guardedOutput(event$, agent.text, {
        scheduler,
        tell: (report) => subscriber.next({ type: 'guarded', part: parts, report }),
        end: () => subscriber.next({ type: 'refused', part: parts }),
      });
      const passed$ = guarded$.pipe(
        reduce((passed, event) => (event.type === 'token' ? passed + event.text : passed), ''),
        mergeMap((text): GenerationStep[] => {
          if (!text.trim()) return [];
          // Every numbered part has begun.
          const part = parts++;
          return [
            { type: 'started', part, stored: false, round, agent },
            { type: 'token', part, text },
            { type: 'ended', part, text, finishReason: 'stop' },
          ];
        }),
      );
      return passed$.subscribe(subscriber);
    });
  }

  return ask(1);
}

/** What is said while tools run: what they tell of their progress, or else the filler of one that takes long. */
function wordsOf(running: readonly Tool[], told$: Observable<string>, scheduler: SchedulerLike): Observable<string> {
  const filler = running.find((tool) => tool.filler)?.filler;
  const filler$ = filler
    ? timer(fillerAfterMs, scheduler).pipe(
        map(() => filler),
        takeUntil(told$),
      )
    : EMPTY;
  return merge(told$.pipe(take(maxSaid)), filler$);
}

/** A model's answer; its errors name it, also those of a plain object. */
function asked(llm: ActiveAgent['llm'], messages: readonly Message[], options: GenerateOptions): Observable<LLMEvent> {
  return new Observable((subscriber) => {
    feed(
      defer(() => fromInput(llm.generate(messages, options))),
      subscriber,
      {
        next: (event) => subscriber.next(tokenOf(event)),
        error: (cause) => subscriber.error(errorOf(llm.name, cause)),
        complete: () => subscriber.complete(),
      },
    );
  });
}

/** An event of a model; a plain object's `generate()` may also emit bare strings. */
function tokenOf(event: LLMEvent | string): LLMEvent {
  return typeof event === 'string' ? { type: 'token', text: event } : event;
}

/** The model must speak at last: it chooses freely after the first request, and may call nothing in the last. */
function requestOptions({ tools, answer }: ActiveAgent, round: number, mustSpeak: boolean): GenerateOptions {
  const {
    interruptible: _,
    tts: _voice,
    maxToolRounds: _rounds,
    maxToolCalls: _calls,
    toolChoice,
    ...options
  } = answer;
  const definitions = toolDefinitions(tools);
  if (definitions.length === 0) return options;
  const choice = mustSpeak ? 'none' : round === 1 ? toolChoice : undefined;
  return { ...options, tools: definitions, ...(choice === undefined ? {} : { toolChoice: choice }) };
}

/** Fails when the model stalls: before its first token, or between two. */
function stalls({ llm, timeouts }: ActiveAgent, scheduler: SchedulerLike): MonoTypeOperatorFunction<LLMEvent> {
  return stallTimeout({
    firstMs: timeouts.llmFirstTokenMs,
    idleMs: timeouts.llmStallMs,
    scheduler,
    error: (stalled, ms) => {
      const what = stalled === 'first' ? 'did not begin to answer' : 'stopped in the middle: nothing came';
      const message = `${llm.name} ${what} within ${ms / 1000} seconds`;
      return new VoiceError(message, { code: 'timeout', recoverable: true, provider: llm.name });
    },
  });
}

function overflow({ llm: { name } }: ActiveAgent, what: string): VoiceError {
  return new VoiceError(`${name}: ${what}`, { code: 'overflow', provider: name });
}
