import type { SchedulerLike } from 'rxjs';
import type { Emit } from './event-bus.ts';
import type { TurnEndReason, TurnMetrics } from './events.ts';

/** The moments that a turn's latency is made of, in their order. */
const stages = [
  ['request', 'hook'],
  ['firstToken', 'llmFirstToken'],
  ['firstPiece', 'aggregation'],
  ['firstAudio', 'ttsFirstAudio'],
  ['audible', 'outputLead'],
] as const;

/** A moment of a turn. */
export type TurnMoment = (typeof stages)[number][0];

/** One turn of the conversation: from the user's first word to the end of the answer. */
export class Turn {
  readonly id: string;
  readonly #emit: Emit;
  readonly #scheduler: SchedulerLike;
  readonly #at = new Map<TurnMoment, number>();
  readonly #extra: { -readonly [K in keyof TurnMetrics]: TurnMetrics[K] } = {};
  #committedAt: number | undefined;
  #endOfSpeechAt: number | undefined;
  #ended = false;
  /** Preflights that were started in this turn. */
  speculations: number = 0;
  readonly startedAt: number;

  constructor(id: string, source: 'speech' | 'text', emit: Emit, scheduler: SchedulerLike) {
    this.id = id;
    this.#emit = emit;
    this.#scheduler = scheduler;
    this.startedAt = scheduler.now();
    emit('turn.started', { source }, { turnId: id });
  }

  get isCommitted(): boolean {
    return this.#committedAt !== undefined;
  }

  /** @param endOfSpeechAt - When the user fell silent, on the scheduler's clock, where it is known. */
  commit(text: string, endOfSpeechAt: number | undefined): void {
    this.#committedAt = this.#scheduler.now();
    this.#endOfSpeechAt = endOfSpeechAt;
    this.#emit('turn.committed', { text }, { turnId: this.id });
  }

  /** The first time counts. */
  mark(moment: TurnMoment): void {
    if (!this.#at.has(moment)) this.#at.set(moment, this.#scheduler.now());
  }

  /** Forgets what a discarded preflight has marked. */
  forgetMarks(): void {
    this.#at.clear();
  }

  note(metrics: TurnMetrics): void {
    Object.assign(this.#extra, metrics);
  }

  addWaste(tokens: number): void {
    if (tokens) this.#extra.wastedTokens = (this.#extra.wastedTokens ?? 0) + tokens;
  }

  end(reason: TurnEndReason): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#emit('turn.ended', { reason }, { turnId: this.id });
    this.#emit('turn.metrics', this.metrics(), { turnId: this.id });
  }

  /** Each part runs from the moment before it that is known, so that the parts add up. */
  metrics(): TurnMetrics {
    const metrics: { -readonly [K in keyof TurnMetrics]: TurnMetrics[K] } = { ...this.#extra };
    const committedAt = this.#committedAt;
    if (committedAt === undefined) return metrics;
    let at = committedAt;
    if (this.#endOfSpeechAt !== undefined) metrics.endpointing = Math.max(0, committedAt - this.#endOfSpeechAt);
    for (const [moment, part] of stages) {
      const reached = this.#at.get(moment);
      if (reached === undefined) continue;
      metrics[part] = Math.max(0, reached - at);
      at = Math.max(at, reached);
    }
    if (this.#at.has('audible')) metrics.total = at - committedAt + (metrics.endpointing ?? 0);
    return metrics;
  }
}
