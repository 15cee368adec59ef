import { Observable, of, ReplaySubject, Subscription, tap, type SchedulerLike } from 'rxjs';
import type { LLMEvent, TokenUsage } from '../core/messages.ts';
import type { ProviderRole } from '../core/roles.ts';
import { feed } from '../stream/feed.ts';
import { guardedOutput } from '../text/text-transform.ts';
import { withAnswer, type ActiveAgent } from './active-agent.ts';
import type { Emit } from './event-bus.ts';
import { generateAnswer, type GenerationContext, type GenerationStep, type RunningTools } from './generation.ts';
import type { History, HistoryFacts } from './history.ts';
import type { AgentReport } from './inputs.ts';
import { nothingHeard, roleOf, speech, type SpeechContext, type SpeechRequest, type SpeechResult } from './speech.ts';
import type { Candidate } from './state.ts';
import { momentOf, type TurnMoment } from './turn.ts';
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

/** The state of one round of the model, or of a filler. */
interface Part {
  readonly text: string;
  /** Whether it is remembered; a filler is not. */
  readonly stored: boolean;
  readonly agent: ActiveAgent;
  /** The history item that a round with tool calls already has. */
  readonly item?: string;
}

/** The state of an answer. */
interface Log {
  readonly parts: readonly Part[];
  /** The round whose request is in progress: `undefined` while tools run, or a filler is spoken. */
  readonly asking?: number | undefined;
  readonly running?: RunningTools | undefined;
  /** Token events so far. */
  readonly tokens: number;
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
  return new Observable((subscriber) => {
    const { id, turnId, speechId, context: found, refusal } = candidate;
    const { history, generation, report, voice } = context;
    const { emit, scheduler } = generation;
    const gate$ = new ReplaySubject<unknown>(1);
    let log: Log = { parts: [], tokens: 0 };
    let result: SpeechResult = nothingHeard;
    const moments: Partial<Record<TurnMoment | 'toolsMs', number>> = {};
    /** When the running tools started; `undefined` while none run. */
    let toolsSince: number | undefined;
    /** Events kept until the gate opens. */
    const untold: GenerationStep[] = [];
    let isCommitted = false;
    let failed = false;
    const rounds = new Rounds();
    const agent = (): ActiveAgent => withAnswer(generation.agent(), candidate.answer);
    const { answer, speakAhead, tts } = agent();

    const facts = (): HistoryFacts => ({ at: scheduler.now(), turnId });
    const mark = (moment: TurnMoment): void => {
      moments[moment] ??= scheduler.now();
    };
    const countTools = (): void => {
      if (toolsSince === undefined || moments.firstToken !== undefined) return;
      moments.toolsMs = (moments.toolsMs ?? 0) + scheduler.now() - toolsSince;
    };
    const fail = (error: unknown, role: ProviderRole): void => {
      failed = true;
      report({ type: 'answer.failed', candidate: id, error, role });
    };
    const publish = (step: GenerationStep): void => {
      if (step.type === 'refused') report({ type: 'answer.refused', candidate: id });
      else if (refusal === undefined || step.type === 'guarded') tell(step, log.parts[step.part], turnId, emit);
    };
    /** A step's event precedes its speech, and no event is published before the gate opens. */
    const take = (step: GenerationStep): void => {
      if (step.type === 'started') mark('request');
      if (step.type === 'token' && moments.firstToken === undefined) {
        countTools();
        mark('firstToken');
      }
      log = note(log, step);
      if (isCommitted) publish(step);
      else untold.push(step);
      rounds.take(step);
    };
    const opening = context
      .committed$(id)
      .pipe(
        tap(() => {
          isCommitted = true;
          for (const step of untold.splice(0)) publish(step);
        }),
      )
      .subscribe(gate$);
    const generating = new Subscription();
    const synthesize = synthesizeText({ rounds$: rounds.rounds$, gate$, speakAhead }, voice);
    const request: SpeechRequest = {
      id: speechId,
      turnId,
      source: 'answer',
      interruptible: answer.interruptible ?? true,
      gate$,
      synthesize: (script, playedMs, sources) => {
        const audio$ = synthesize(script, playedMs, sources);
        // The model is stopped right after the voice.
        sources.add(generating);
        return audio$;
      },
    };
    const asked$ = generateAnswer({
      ...generation,
      agent,
      emit: (type, payload) => {
        emit(type, payload, { turnId });
      },
      gate$,
      messages: (systemPrompt) => {
        const { role = 'assistant' } = history.items.at(-1) ?? {};
        // Models answer the last message, and the agent may have said something since the question.
        const isLast = isCommitted && role !== 'assistant';
        return history.messages(joined(systemPrompt, found), isLast ? undefined : candidate.text);
      },
      onToolsRunning: (running) => {
        log = { ...log, running };
        countTools();
        toolsSince = running && scheduler.now();
        const tools = running && (running.isAbortable ? 'abortable' : 'kept');
        report({ type: 'answer.tools', candidate: id, tools });
      },
      onToolRound: (part, text, calls, outcomes) => {
        log = withItem(log, part, history.addToolRound(text, calls, outcomes, facts()));
        for (const words of context.joined.splice(0)) history.addUser(words, [], facts());
      },
    });
    const step$ = refusal === undefined ? asked$ : refuse(refusal, agent(), scheduler);
    generating.add(
      step$.subscribe({
        next: take,
        error: (error: unknown) => {
          log = { ...log, asking: undefined };
          fail(error, 'llm');
          rounds.end();
        },
        complete: () => {
          rounds.end();
        },
      }),
    );

    // Set up the voice while the request is on its way.
    const speech$ = speech(request, context.speech, (heard) => {
      result = heard;
    });
    const speaking = speech$.subscribe({
      next: (passed) => {
        mark(momentOf[passed]);
      },
      error: (error: unknown) => {
        fail(error, roleOf(error, context.speech.output.name));
        subscriber.complete();
      },
      complete: () => {
        subscriber.complete();
      },
    });
    return () => {
      speaking.unsubscribe();
      generating.unsubscribe();
      opening.unsubscribe();
      const { heard, interrupted } = result;
      const silentAt = Math.max(result.silentAt, scheduler.now());
      if (isCommitted) {
        remember(log, result, history, facts());
        for (const words of context.joined.splice(0)) history.addUser(words, [], facts());
        const asked = log.asking === undefined ? undefined : log.parts[log.asking];
        if (asked) emit('llm.aborted', { text: asked.text }, { turnId, role: 'llm', provider: asked.agent.llm.name });
      }
      const length = log.parts.reduce((sum, { text }) => sum + text.length, 0);
      const unheard = length ? Math.max(0, 1 - heard.text.length / length) : 1;
      report({
        type: 'answer.ended',
        candidate: id,
        failed,
        moments,
        silentAt,
        tokens: refusal === undefined ? log.tokens : 0,
        wastedTokens: Math.round(log.tokens * unheard),
        wasted: { ...result.wasted, voice: tts.name },
        untold: isCommitted ? undefined : costOf(untold, log),
        outcome: { heardText: isCommitted ? heard.text : '', interrupted },
        unanswered: history.lastSaid?.text,
      });
    };
  });
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

/** The log with another step. */
function note(log: Log, step: GenerationStep): Log {
  const { part: index } = step;
  if (step.type === 'started') {
    const { stored, agent } = step;
    const asking = stored ? index : log.asking;
    return { ...log, asking, parts: log.parts.toSpliced(index, 1, { text: '', stored, agent }) };
  }
  if (step.type === 'ended') return log.asking === index ? { ...log, asking: undefined } : log;
  if (step.type !== 'token') return log;
  const part = log.parts[index];
  if (!part) return log;
  const parts = log.parts.with(index, { ...part, text: part.text + step.text });
  return { ...log, parts, tokens: log.tokens + (part.stored ? 1 : 0) };
}

function withItem(log: Log, index: number, item: string): Log {
  const part = log.parts[index];
  return part ? { ...log, parts: log.parts.with(index, { ...part, item }) } : log;
}

/** The cost of a request whose end was never published. */
function costOf(untold: readonly GenerationStep[], { parts }: Log): { tokens: TokenUsage; model: string } | undefined {
  for (const step of untold) {
    const model = parts[step.part]?.agent.llm.name;
    if (step.type === 'ended' && step.usage && model !== undefined) return { tokens: step.usage, model };
  }
  return undefined;
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

/** Remembers what was heard; tools still running are recorded as such, or as cancelled. */
function remember(before: Log, { heard, interrupted }: SpeechResult, history: History, facts: HistoryFacts): void {
  const { running } = before;
  const outcomes = running?.round.interrupt((late) => {
    history.updateToolResult(late);
  });
  const { parts } = running
    ? withItem(before, running.part, history.addToolRound(running.text, running.calls, outcomes ?? [], facts))
    : before;
  for (const [index, { text, stored, item }] of parts.entries()) {
    const said = heard.rounds[index] ?? '';
    const spoken = {
      generated: text,
      heard: said,
      interrupted: interrupted && said !== text,
      estimated: heard.estimated,
    };
    if (item !== undefined) history.settle(item, spoken);
    else if (stored) history.addAssistant(spoken, facts);
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

function joined(systemPrompt: string | undefined, context: string | undefined): string | undefined {
  return context ? `${systemPrompt ? `${systemPrompt}\n\n` : ''}${context}` : systemPrompt;
}
