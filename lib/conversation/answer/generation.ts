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
  type Subscriber,
} from 'rxjs';
import { VoiceError } from '../../core/errors.ts';
import type { FinishReason, GenerateOptions, LLMEvent, Message, TokenUsage, ToolCall } from '../../core/messages.ts';
import type { Tool } from '../../core/tools.ts';
import { fromInput } from '../../stream/bridge.ts';
import { feed } from '../../stream/feed.ts';
import { merge } from '../../stream/merge.ts';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import { guardedOutput, type GuardReport } from '../../text/text-transform.ts';
import type { ActiveAgent } from './active-agent.ts';
import type { Emit } from '../event-bus.ts';
import type { ToolOutcome } from '../history.ts';
import type { Validate } from '../malformed.ts';
import { errorOf } from '../provider-error.ts';
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

/** The tool calls of a round, and the text before them. */
interface CalledTools {
  readonly part: number;
  readonly text: string;
  readonly calls: readonly ToolCall[];
}

/** Running tool calls, to be interrupted. */
export interface RunningTools extends CalledTools {
  readonly round: ToolRound;
  /** Whether the user's words abort one of them. */
  readonly isAbortable: boolean;
}

/** Asks the model, runs the tools it calls, and asks again, until it has answered. Unsubscribing aborts. */
export function generateAnswer(context: GenerationContext): Observable<GenerationStep> {
  return new Generation(context).ask(1);
}

/** The rounds of one answer. */
class Generation {
  readonly #context: GenerationContext;
  /** Parts that have begun, and calls so far. */
  #parts = 0;
  #called = 0;

  constructor(context: GenerationContext) {
    this.#context = context;
  }

  /** A round: the model's text, and all that follows from the tools it calls. */
  ask(round: number): Observable<GenerationStep> {
    return new Observable((subscriber) => {
      const agent = this.#context.agent();
      const part = this.#parts++;
      const messages = this.#context.messages(agent.systemPrompt);
      const reply = new Reply(agent, messages);
      const mustSpeak = this.#isLast(agent, round);
      const take = (event: LLMEvent): void => {
        const text = reply.add(event);
        if (text) subscriber.next({ type: 'token', part, text });
      };
      const finish = (): void => {
        const { text, calls } = reply;
        subscriber.next({ type: 'ended', part, text, ...reply.end });
        if (calls.length === 0 || mustSpeak) subscriber.complete();
        else subscriber.add(this.#callTools({ part, text, calls }, agent, round).subscribe(subscriber));
      };
      subscriber.next({ type: 'started', part, stored: true, round, agent });
      // A voice that refuses the round ends the answer: the model is not asked again.
      if (subscriber.closed) return;
      const options = requestOptions(agent, round, mustSpeak);
      const { validate, scheduler } = this.#context;
      const event$ = asked(agent.llm, messages, options, validate).pipe(stalls(agent, scheduler));
      feed(this.#guarded(event$, agent, part, subscriber), subscriber, { next: take, complete: finish });
    });
  }

  /** Whether the model must speak at last. */
  #isLast({ answer }: ActiveAgent, round: number): boolean {
    return round > (answer.maxToolRounds ?? maxToolRounds) || this.#called >= (answer.maxToolCalls ?? maxCalls);
  }

  /** Runs the tools that a round calls, then asks again. */
  #callTools(called: CalledTools, agent: ActiveAgent, round: number): Observable<GenerationStep> {
    let handed$: Observable<unknown> = EMPTY;
    const handOver = (to: string): void => {
      handed$ = this.#context.handOver(to);
    };
    return concat(
      this.#context.gate$.pipe(take(1), ignoreElements()),
      defer(() => this.#run(called, agent, round, handOver)),
      defer(() => handed$.pipe(ignoreElements())),
      this.ask(round + 1),
    );
  }

  /** Runs them; emits what is said meanwhile. */
  #run(
    called: CalledTools,
    agent: ActiveAgent,
    round: number,
    handOver: (to: string) => void,
  ): Observable<GenerationStep> {
    const { calls, part, text } = called;
    const { maxToolCalls = maxCalls } = agent.answer;
    const said$ = new Subject<string>();
    const toolRound = runTools(calls, {
      ...this.#context,
      tools: agent.tools,
      handOver,
      say: (said) => {
        if (said.trim()) said$.next(said);
      },
      maxCalls: { of: maxToolCalls, left: maxToolCalls - this.#called },
    });
    this.#called += calls.length;
    const running = agent.tools.filter((tool) => calls.some(({ name }) => name === tool.name));
    const isAbortable = running.some(({ onInterrupt }) => onInterrupt === 'abort');
    this.#context.onToolsRunning({ ...called, round: toolRound, isAbortable });

    const outcomes: ToolOutcome[] = [];
    const done$ = new ReplaySubject<true>(1);
    const progress$ = wordsOf(running, said$, this.#context.scheduler).pipe(
      mergeMap((words) => this.#aside(words, agent, round)),
      takeUntil(done$),
    );
    const results$ = toolRound.outcomes$.pipe(
      tap({
        next: (outcome) => outcomes.push(outcome),
        complete: () => {
          const inOrder = calls.flatMap(({ id }) => outcomes.filter(({ toolCallId }) => toolCallId === id));
          this.#context.onToolsRunning(undefined);
          this.#context.onToolRound(part, text, calls, inOrder);
          done$.next(true);
        },
      }),
      ignoreElements(),
    );
    return merge(progress$, results$);
  }

  /** A part that is spoken but not stored. Guards check it like the model's own text, as a whole. */
  #aside(words: string, agent: ActiveAgent, round: number): Observable<GenerationStep> {
    return new Observable((subscriber) => {
      const event$ = of<LLMEvent[]>({ type: 'token', text: words }, { type: 'done', finishReason: 'stop' });
      const passed$ = this.#guarded(event$, agent, this.#parts, subscriber).pipe(
        reduce((passed, event) => (event.type === 'token' ? passed + event.text : passed), ''),
        mergeMap((text): GenerationStep[] => {
          if (!text.trim()) return [];
          // Every numbered part has begun.
          const part = this.#parts++;
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

  /** What the guards let pass; they report to the answer. */
  #guarded(
    event$: Observable<LLMEvent>,
    agent: ActiveAgent,
    part: number,
    answer: Subscriber<GenerationStep>,
  ): Observable<LLMEvent> {
    return guardedOutput(event$, agent.text, {
      scheduler: this.#context.scheduler,
      tell: (report) => answer.next({ type: 'guarded', part, report }),
      end: () => answer.next({ type: 'refused', part }),
    });
  }
}

/** What the model replies in one round. */
class Reply {
  text = '';
  end: Pick<Extract<LLMEvent, { type: 'done' }>, 'finishReason' | 'usage'> = { finishReason: 'stop' };
  /** Each call once. */
  readonly calls: ToolCall[] = [];
  readonly #received: ToolCall[] = [];
  readonly #agent: ActiveAgent;
  readonly #messages: readonly Message[];

  /** @param messages - What it replies to. */
  constructor(agent: ActiveAgent, messages: readonly Message[]) {
    this.#agent = agent;
    this.#messages = messages;
  }

  /**
   * Adds an event, and returns the text in it.
   *
   * @throws VoiceError `overflow` when the reply has become too long.
   */
  add(event: LLMEvent): string {
    switch (event.type) {
      case 'done': {
        const { finishReason, usage } = event;
        this.end = { finishReason, ...(usage ? { usage } : {}) };
        return '';
      }
      case 'tool-call':
        this.#call(event);
        return '';
      case 'token':
        this.text += event.text;
        if (this.text.length <= maxAnswerLength) return event.text;
        throw overflow(this.#agent, `the answer is longer than ${maxAnswerLength} characters: set maxTokens`);
    }
  }

  #call(call: ToolCall): void {
    if (!this.#received.some((each) => isSameCall(each, call)))
      this.calls.push(withOwnId(call, this.#messages, this.calls));
    if (this.#received.push(call) <= maxCalls) return;
    throw overflow(this.#agent, `the model called more than ${maxCalls} tools at once: tell it to call fewer`);
  }
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

/** A model's answer: what is well-formed of it; its errors name it, also those of a plain object. */
function asked(
  llm: ActiveAgent['llm'],
  messages: readonly Message[],
  options: GenerateOptions,
  { accepts }: Validate,
): Observable<LLMEvent> {
  return new Observable((subscriber) => {
    feed(
      defer(() => fromInput(llm.generate(messages, options))),
      subscriber,
      {
        next: (piece) => {
          const event = tokenOf(piece);
          if (accepts('model', event)) subscriber.next(event);
        },
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
  const wanted = round === 1 ? toolChoice : undefined;
  const choice = mustSpeak ? 'none' : wanted;
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
