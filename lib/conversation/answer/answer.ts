import { Observable, of, ReplaySubject, Subscription, tap, type SchedulerLike, type Subscriber } from 'rxjs';
import type { LLMEvent } from '../../core/messages.ts';
import type { ProviderRole } from '../../core/roles.ts';
import type { Writable } from '../../core/writable.ts';
import { feed } from '../../stream/feed.ts';
import { guardedOutput } from '../../text/text-transform.ts';
import { withAnswer, type ActiveAgent } from './active-agent.ts';
import { costOf, writeHeard, withItem, withStep, type AnswerLog, type Part } from './answer-log.ts';
import type { Emit } from '../event-bus.ts';
import { generateAnswer, type GenerationContext, type GenerationStep } from './generation.ts';
import type { History, HistoryFacts } from '../history.ts';
import type { AgentReport } from '../fold/inputs.ts';
import { nothingHeard, roleOf, speech, type SpeechContext, type SpeechRequest, type SpeechResult } from './speech.ts';
import type { Candidate } from '../fold/state.ts';
import { momentOf, type TurnMoment, type TurnMoments } from '../fold/turn.ts';
import { synthesizeText, type SpokenRound, type VoiceContext } from './voice.ts';

/** Shared by all answers of a conversation. */
export interface AnswerContext {
  readonly generation: Pick<GenerationContext, 'agent' | 'emit' | 'scheduler' | 'validate' | 'stopped$' | 'handOver'>;
  readonly speech: SpeechContext;
  readonly voice: VoiceContext;
  readonly history: History;
  /** What the user said while tools ran: the next request tells the model. */
  readonly joined: string[];
  readonly report: (report: AgentReport) => void;
  /** Emits once a candidate may be heard. */
  readonly committed$: (candidateId: string) => Observable<unknown>;
}

/** Most rounds and fillers kept until the voice is set up: more than any answer has. */
const maxWaitingRounds = 100;

/** Most tokens of a round kept until the rounds before it are spoken: far more than any answer has. */
const maxWaitingTokens = 100_000;

/**
 * Answers a candidate: asks the model and speaks its text. Subscribing starts both, unsubscribing cuts both off. Either
 * way it records what was heard and reports how it ended. Never errors: failures are reported, and end the turn. Emits
 * nothing; completes once the answer has been heard.
 */
export function answer(candidate: Candidate, context: AnswerContext): Observable<never> {
  return new Observable((subscriber) => new Answer(candidate, context).start(subscriber));
}

/** One answer: what the model generates, and what is heard of it. */
class Answer {
  readonly #candidate: Candidate;
  readonly #context: AnswerContext;
  /** Opens once the candidate may be heard. */
  readonly #gate$ = new ReplaySubject<unknown>(1);
  readonly #rounds = new Rounds();
  readonly #generating = new Subscription();
  readonly #stopwatch: Stopwatch;
  /** Events kept until the gate opens. */
  readonly #untold: GenerationStep[] = [];
  #log: AnswerLog = { parts: [], asking: undefined, running: undefined, tokens: 0 };
  #result: SpeechResult = nothingHeard;
  #isCommitted = false;
  #failed = false;

  constructor(candidate: Candidate, context: AnswerContext) {
    this.#candidate = candidate;
    this.#context = context;
    this.#stopwatch = new Stopwatch(context.generation.scheduler);
  }

  /** @returns What cuts it off, and reports how it ended. */
  start(subscriber: Subscriber<never>): () => void {
    const first = this.#agent();
    const opening = this.#context
      .committed$(this.#candidate.id)
      .pipe(tap(() => this.#commit()))
      .subscribe(this.#gate$);
    this.#generate(first);
    // Set up the voice while the request is on its way.
    const speaking = this.#speak(first, subscriber);
    return () => {
      speaking.unsubscribe();
      this.#generating.unsubscribe();
      opening.unsubscribe();
      this.#end(first.tts.name);
    };
  }

  #generate(first: ActiveAgent): void {
    const { id, turnId, text, context: ownContext, refusal } = this.#candidate;
    const { generation, history, joined: words } = this.#context;
    const asked$ = generateAnswer({
      gate$: this.#gate$,
      messages: (systemPrompt) => {
        const { role = 'assistant' } = history.items.at(-1) ?? {};
        // Models answer the last message, and the agent may have said something since the question.
        const isLast = this.#isCommitted && role !== 'assistant';
        return history.messages(withContext(systemPrompt, ownContext), isLast ? undefined : text);
      },
      onToolsRunning: (running) => {
        this.#log = { ...this.#log, running };
        this.#stopwatch.tools(running !== undefined);
        const tools = running && (running.isAbortable ? 'abortable' : 'kept');
        this.#context.report({ type: 'answer.tools', candidate: id, tools });
      },
      onToolRound: (part, said, calls, outcomes) => {
        this.#log = withItem(this.#log, part, history.addToolRound(said, calls, outcomes, this.#facts()));
        addJoined(words, history, this.#facts());
      },
      ...generation,
      agent: () => this.#agent(),
      emit: (type, payload) => {
        generation.emit(type, payload, { turnId });
      },
    });
    const step$ = refusal === undefined ? asked$ : refuse(refusal, first, generation.scheduler);
    this.#generating.add(
      step$.subscribe({
        next: this.#take,
        error: (error: unknown) => {
          this.#log = { ...this.#log, asking: undefined };
          this.#fail(error, 'llm');
          this.#rounds.end();
        },
        complete: () => {
          this.#rounds.end();
        },
      }),
    );
  }

  #speak({ answer: options, speakAhead }: ActiveAgent, subscriber: Subscriber<never>): Subscription {
    const { speechId, turnId } = this.#candidate;
    const { speech: speaker, voice } = this.#context;
    const synthesize = synthesizeText({ rounds$: this.#rounds.rounds$, gate$: this.#gate$, speakAhead }, voice);
    const request: SpeechRequest = {
      id: speechId,
      turnId,
      source: 'answer',
      interruptible: options.interruptible ?? true,
      gate$: this.#gate$,
      synthesize: (script, playedMs, sources) => {
        const audio$ = synthesize(script, playedMs, sources);
        // The model is stopped right after the voice.
        sources.add(this.#generating);
        return audio$;
      },
    };
    const speech$ = speech(request, speaker, (result) => {
      this.#result = result;
    });
    return speech$.subscribe({
      next: (passed) => {
        this.#stopwatch.mark(momentOf[passed]);
      },
      error: (error: unknown) => {
        this.#fail(error, roleOf(error, speaker.output.name));
        subscriber.complete();
      },
      complete: () => {
        subscriber.complete();
      },
    });
  }

  /** The gate opens: what was kept is published before anything is heard. */
  #commit(): void {
    this.#isCommitted = true;
    for (const step of this.#untold.splice(0)) this.#publish(step);
  }

  /** A step's event precedes its speech, and no event is published before the gate opens. */
  readonly #take = (step: GenerationStep): void => {
    if (step.type === 'started') this.#stopwatch.mark('request');
    if (step.type === 'token' && this.#stopwatch.moments.firstToken === undefined) this.#stopwatch.firstToken();
    this.#log = withStep(this.#log, step);
    if (this.#isCommitted) this.#publish(step);
    else this.#untold.push(step);
    this.#rounds.take(step);
  };

  #publish(step: GenerationStep): void {
    const { id, turnId, refusal } = this.#candidate;
    if (step.type === 'refused') this.#context.report({ type: 'answer.refused', candidate: id });
    else if (refusal === undefined || step.type === 'guarded') {
      tell(step, this.#log.parts[step.part], turnId, this.#context.generation.emit);
    }
  }

  #fail(error: unknown, role: ProviderRole): void {
    this.#failed = true;
    this.#context.report({ type: 'answer.failed', candidate: this.#candidate.id, error, role });
  }

  /** Remembers what was heard, and reports what became of the answer. */
  #end(voice: string): void {
    const { id, turnId, refusal } = this.#candidate;
    const { history, generation, report, joined: words } = this.#context;
    const log = this.#log;
    const { heard, interrupted, wasted } = this.#result;
    const silentAt = Math.max(this.#result.silentAt, generation.scheduler.now());
    if (this.#isCommitted) {
      writeHeard(log, this.#result, history, this.#facts());
      addJoined(words, history, this.#facts());
      const asked = log.asking === undefined ? undefined : log.parts[log.asking];
      const envelope = { turnId, role: 'llm' } as const;
      if (asked) generation.emit('llm.aborted', { text: asked.text }, { provider: asked.agent.llm.name, ...envelope });
    }
    const length = log.parts.reduce((sum, { text }) => sum + text.length, 0);
    const unheard = length ? Math.max(0, 1 - heard.text.length / length) : 1;
    report({
      type: 'answer.ended',
      candidate: id,
      failed: this.#failed,
      moments: this.#stopwatch.moments,
      silentAt,
      tokens: refusal === undefined ? log.tokens : 0,
      wastedTokens: Math.round(log.tokens * unheard),
      wasted: { voice, ...wasted },
      untold: this.#isCommitted ? undefined : costOf(this.#untold, log),
      outcome: { heardText: this.#isCommitted ? heard.text : '', interrupted },
      unanswered: history.lastSaid?.text,
    });
  }

  /** Looked up for each request. */
  #agent(): ActiveAgent {
    return withAnswer(this.#context.generation.agent(), this.#candidate.answer);
  }

  #facts(): HistoryFacts {
    return { at: this.#context.generation.scheduler.now(), turnId: this.#candidate.turnId };
  }
}

/** Notes when an answer reaches its moments. */
class Stopwatch {
  readonly moments: Writable<TurnMoments> = {};
  readonly #scheduler: SchedulerLike;
  /** When the running tools started; `undefined` while none run. */
  #toolsSince: number | undefined;

  constructor(scheduler: SchedulerLike) {
    this.#scheduler = scheduler;
  }

  /** Only the first call for a moment has an effect. */
  mark(moment: TurnMoment): void {
    this.moments[moment] ??= this.#scheduler.now();
  }

  firstToken(): void {
    this.#countTools();
    this.mark('firstToken');
  }

  /** Tools run from now on, or no longer. */
  tools(areRunning: boolean): void {
    this.#countTools();
    this.#toolsSince = areRunning ? this.#scheduler.now() : undefined;
  }

  /** Their time is not the model's, as long as it has said nothing. */
  #countTools(): void {
    if (this.#toolsSince === undefined || this.moments.firstToken !== undefined) return;
    this.moments.toolsMs = (this.moments.toolsMs ?? 0) + this.#scheduler.now() - this.#toolsSince;
  }
}

/** The text of each round as it arrives; nothing is lost while a round waits for its turn or for the voice. */
class Rounds {
  readonly #rounds$ = new ReplaySubject<SpokenRound>(maxWaitingRounds);
  readonly #texts = new Map<number, ReplaySubject<string>>();

  /** Each round as it begins. Hot; replays all. */
  get rounds$(): Observable<SpokenRound> {
    return this.#rounds$;
  }

  take(step: GenerationStep): void {
    if (step.type === 'started') {
      const text$ = new ReplaySubject<string>(maxWaitingTokens);
      this.#texts.set(step.part, text$);
      this.#rounds$.next({ text$, agent: step.agent });
    } else if (step.type === 'token') this.#texts.get(step.part)?.next(step.text);
    else if (step.type === 'ended') this.#texts.get(step.part)?.complete();
  }

  /** No more rounds follow. */
  end(): void {
    for (const text$ of this.#texts.values()) text$.complete();
    this.#rounds$.complete();
  }
}

/** Publishes what the model does. */
function tell(
  step: Exclude<GenerationStep, { type: 'refused' }>,
  part: Part | undefined,
  turnId: string,
  emit: Emit,
): void {
  if (step.type === 'guarded') {
    emit('guard.acted', step.report, { turnId });
    return;
  }
  if (!part?.stored) return;
  const envelope = { turnId, role: 'llm', provider: part.agent.llm.name } as const;
  if (step.type === 'started') emit('llm.started', { round: step.round }, envelope);
  else if (step.type === 'token') emit('llm.token', { delta: step.text }, envelope);
  else {
    const { text, finishReason, usage } = step;
    emit('llm.completed', { text, finishReason, ...(usage ? { usage } : {}) }, envelope);
    if (usage) emit('usage', { tokens: usage }, envelope);
  }
}

/** What is said without asking the model. */
function refuse(words: string, agent: ActiveAgent, scheduler: SchedulerLike): Observable<GenerationStep> {
  return new Observable((subscriber) => {
    const part = 0;
    let text = '';
    subscriber.next({ type: 'started', part, stored: true, round: 1, agent });
    const guarded$ = guardedOutput(of<LLMEvent>({ type: 'token', text: words }), agent.text, {
      scheduler,
      tell: (report) => subscriber.next({ type: 'guarded', part, report }),
      end: () => subscriber.next({ type: 'refused', part }),
    });
    feed(guarded$, subscriber, {
      next: (event) => {
        if (event.type !== 'token') return;
        text += event.text;
        subscriber.next({ type: 'token', part, text: event.text });
      },
      complete: () => {
        subscriber.next({ type: 'ended', part, text, finishReason: 'stop' });
        subscriber.complete();
      },
    });
  });
}

/** Remembers what the user said while tools ran. */
function addJoined(words: string[], history: History, facts: HistoryFacts): void {
  for (const text of words.splice(0)) history.addUser(text, [], facts);
}

/** The instructions of one request. */
function withContext(systemPrompt: string | undefined, context: string | undefined): string | undefined {
  if (!context) return systemPrompt;
  return systemPrompt ? `${systemPrompt}\n\n${context}` : context;
}
