import {
  distinctUntilChanged,
  filter,
  firstValueFrom,
  fromEvent,
  map,
  NEVER,
  of,
  share,
  startWith,
  switchMap,
  takeUntil,
  tap,
  type Observable,
  type SchedulerLike,
  type Subscription,
} from 'rxjs';
import type { VoiceEvent } from '../conversation/events.ts';
import { merge } from '../stream/merge.ts';
import { patientTimer } from '../stream/patient-timer.ts';
import { agentSpeeches, eventsOf, toolsOf, type CallRecord, type CallUtterance } from './call-record.ts';
import { manners, phrasesOf, planTurn, type TurnPlan } from './manner.ts';
import { randomOf, type Random } from './random.ts';
import type { CallContext, CallEnds, Scenario } from './scenario.ts';
import { answered, inTime, longest, type StepLimits } from './waiting.ts';

/** How long the agent is silent before the caller takes its answer for complete. */
const quietMs = 300;
/** How long the agent may take to greet. */
const greetingMs = 1_000;

/** What the caller makes of the agent. */
type AgentPhase = 'busy' | 'done' | 'waiting';

/** A call in progress, from the caller's side. */
export class Conversation {
  readonly #ends: CallEnds;
  readonly #scenario: Scenario;
  readonly #context: CallContext;
  readonly #scheduler: SchedulerLike;
  readonly #random: Random;
  readonly #events: VoiceEvent[] = [];
  readonly #event$: Observable<VoiceEvent>;
  readonly #recording: Subscription;
  readonly #callerSaid: Extract<CallUtterance, { readonly who: 'caller' }>[] = [];
  readonly #noises: { startMs: number; endMs: number }[] = [];
  readonly #openTurns = new Set<string>();
  readonly #openSpeeches = new Set<string>();
  readonly #over = new AbortController();
  #endedBy: CallRecord['endedBy'] = 'caller';
  #isAgentBusy = false;
  #startedAt: number;

  constructor(ends: CallEnds, scenario: Scenario, context: CallContext) {
    const { scheduler, seed } = context;
    this.#ends = ends;
    this.#scenario = scenario;
    this.#context = context;
    this.#scheduler = scheduler;
    this.#startedAt = scheduler.now();
    this.#random = randomOf(seed);
    this.#event$ = ends.pipeline.events$.pipe(
      filter(({ type }) => type !== 'audio.chunk' && type !== 'audio.input'),
      tap((event) => this.#follow(event)),
      share(),
    );
    this.#recording = this.#event$.subscribe();
  }

  /**
   * Holds the whole call; the pipeline is initialized.
   *
   * @throws what the caller throws, or the pipeline when it cannot start, or not in time.
   */
  async hold(signal: AbortSignal): Promise<void> {
    const { pipeline, line } = this.#ends;
    const limit$ = patientTimer(longest(this.#scenario), this.#scheduler).pipe(tap(() => this.#end('limit')));
    const limit = limit$.subscribe();
    const onAbort = (): void => this.#end('limit');
    signal.addEventListener('abort', onAbort, { once: true });
    let isStarted = false;
    try {
      this.#startedAt = this.#scheduler.now();
      await inTime('start()', pipeline.start({ signal }), this.#limits(signal));
      isStarted = true;
      line.open?.();
      await this.#talk();
    } catch (error) {
      // What its limit ended before it began is no call.
      if (!this.#isOver || (!isStarted && this.#endedBy === 'limit')) throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
      limit.unsubscribe();
      this.#over.abort();
      line.close?.();
      await pipeline.stop();
      this.#recording.unsubscribe();
    }
  }

  /**
   * What has happened so far; without what was received, if that is still to be read when the signal aborts.
   *
   * @throws what the line throws, or VoiceError `timeout` when it reads for too long.
   */
  async record(signal: AbortSignal): Promise<CallRecord> {
    const { pipeline } = this.#ends;
    const [events, startedAt] = [this.#events, this.#startedAt];
    const received = await this.#received(signal);
    const { scenario, repetition, seed } = this.#context;
    return {
      ...{ scenario, repetition, seed },
      utterances: this.#said(),
      ...{ noises: this.#noises, events, startedAt, history: pipeline.history.messages() },
      ...(received === undefined ? {} : { received }),
      tools: toolsOf(events, startedAt),
      metrics: eventsOf(events, 'turn.metrics'),
      durationMs: this.#nowMs,
      endedBy: this.#endedBy,
    };
  }

  async #received(signal: AbortSignal): Promise<string | undefined> {
    const { line } = this.#ends;
    const read = line.received?.(eventsOf(this.#events, 'speech.ended').map(({ at }) => at));
    if (read === undefined || typeof read === 'string') return read;
    try {
      return await inTime('received()', read, this.#limits(signal));
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  #limits(signal: AbortSignal): StepLimits {
    return { scenario: this.#scenario, scheduler: this.#scheduler, signal };
  }

  async #talk(): Promise<void> {
    const { caller, manner = manners.calm, maxTurns = 20, patienceMs = 15_000 } = this.#scenario;
    const { signal } = this.#over;
    const next = caller(this.#context);
    let interrupts = false;
    await this.#hearOut(0, greetingMs);
    for (let turn = 0; ; turn++) {
      if (turn >= maxTurns) {
        this.#end('limit');
        return;
      }
      const plan = planTurn(manner, this.#random);
      if (!interrupts) {
        const waitsFrom = this.#events.length;
        await this.#wait(plan.waitMs);
        // The agent may have said something into the silence.
        await this.#hearOut(waitsFrom, 0);
      }
      const text = await answered(next(this.#said(), { signal }), signal);
      if (this.#isOver) return;
      if (text === undefined) break;
      const from = this.#events.length;
      await this.#say(text);
      interrupts = plan.interruptAfterMs !== undefined && (await this.#isHeardFor(from, plan.interruptAfterMs));
      if (interrupts) continue;
      await this.#disturb(from, plan);
      await this.#hearOut(from, patienceMs);
    }
  }

  async #say(text: string): Promise<void> {
    const manner = this.#scenario.manner ?? manners.calm;
    const [startMs, isInterruption] = [this.#nowMs, this.#openSpeeches.size > 0];
    await this.#ends.line.speak(phrasesOf(text, manner, this.#random), { signal: this.#over.signal });
    this.#callerSaid.push({ who: 'caller', text, startMs, endMs: this.#nowMs, isInterruption });
  }

  /** A noise in the middle of the answer, if there is to be one. */
  async #disturb(from: number, { noise }: TurnPlan): Promise<void> {
    if (!noise || !(await this.#isHeardFor(from, noise.afterMs))) return;
    const startMs = this.#nowMs;
    await this.#ends.line.noise(noise.ms, { signal: this.#over.signal });
    this.#noises.push({ startMs, endMs: this.#nowMs });
  }

  /** Waits until so much of an answer has sounded; false when it is over before, or none comes. */
  async #isHeardFor(from: number, ms: number): Promise<boolean> {
    const isSpeaking = (): boolean =>
      this.#openSpeeches.size > 0 && this.#events.slice(from).some(({ type }) => type === 'speech.started');
    const isOver = (): boolean => this.#phase(from) === 'done';
    await this.#until(() => isSpeaking() || isOver(), this.#scenario.patienceMs ?? 15_000);
    if (!isSpeaking()) return false;
    await this.#until(isOver, ms);
    return !isOver() && isSpeaking();
  }

  /** Waits until the answer to what was said since is over, or none has come for too long. */
  async #hearOut(from: number, patienceMs: number): Promise<void> {
    const over$ = this.#event$.pipe(
      startWith(undefined),
      map(() => this.#phase(from)),
      distinctUntilChanged(),
      switchMap((phase) => {
        if (phase === 'busy') return NEVER;
        return patientTimer(phase === 'done' ? quietMs : patienceMs, this.#scheduler);
      }),
      takeUntil(this.#over$),
    );
    await firstValueFrom(over$, { defaultValue: undefined });
  }

  #phase(from: number): AgentPhase {
    if (this.#isAgentBusy || this.#openTurns.size > 0 || this.#openSpeeches.size > 0) return 'busy';
    const hasAnswered = this.#events
      .slice(from)
      .some((event) => event.type === 'speech.ended' || (event.type === 'turn.ended' && event.reason !== 'merged'));
    return hasAnswered ? 'done' : 'waiting';
  }

  async #until(happened: () => boolean, limitMs: number): Promise<void> {
    const event$ = this.#event$.pipe(startWith(undefined), filter(happened));
    const limit$ = patientTimer(limitMs, this.#scheduler);
    await firstValueFrom(merge(event$, limit$).pipe(takeUntil(this.#over$)), { defaultValue: undefined });
  }

  async #wait(ms: number): Promise<void> {
    await firstValueFrom(patientTimer(ms, this.#scheduler).pipe(takeUntil(this.#over$)), { defaultValue: undefined });
  }

  #follow(event: VoiceEvent): void {
    const { turnId = '', speechId = '' } = event;
    this.#events.push(event);
    if (event.type === 'agent.state') this.#isAgentBusy = event.state === 'thinking' || event.state === 'speaking';
    if (event.type === 'turn.started') this.#openTurns.add(turnId);
    if (event.type === 'turn.ended') this.#openTurns.delete(turnId);
    if (event.type === 'speech.created') this.#openSpeeches.add(speechId);
    if (event.type === 'speech.ended') this.#openSpeeches.delete(speechId);
    if (event.type === 'call.ended' || event.type === 'session.closed') this.#end('agent');
  }

  #said(): CallUtterance[] {
    const agent = agentSpeeches(this.#events, this.#startedAt);
    return [...this.#callerSaid, ...agent].sort((one, other) => one.startMs - other.startMs);
  }

  #end(by: CallRecord['endedBy']): void {
    if (this.#isOver) return;
    this.#endedBy = by;
    this.#over.abort();
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  get #over$(): Observable<unknown> {
    if (this.#isOver) return of(true);
    return fromEvent(this.#over.signal, 'abort');
  }

  get #nowMs(): number {
    return this.#scheduler.now() - this.#startedAt;
  }
}
