import { ReplaySubject, type BehaviorSubject, type SchedulerLike } from 'rxjs';
import type { TranscriptionResult } from '../core/roles.ts';
import { foldText } from '../core/text.ts';
import type { AgentActivity } from './agent-activity.ts';
import type { Candidate } from './answer.ts';
import type { SpeechTicket } from './commands.ts';
import type { ConversationPorts, PreflightOptions } from './conversation-options.ts';
import type { Emit } from './event-bus.ts';
import type { DiscardReason, TurnEndReason } from './events.ts';
import type { History } from './history.ts';
import { Turn } from './turn.ts';
import type { TurnDecision } from './turn-taking.ts';

/** What {@link UserTurns} needs to know. */
export interface UserTurnsContext extends Pick<ConversationPorts, 'finalize' | 'capturedAt'> {
  /** What the agent answers now. */
  readonly candidate$: BehaviorSubject<Candidate | undefined>;
  /** The turn whose answer is certain. */
  readonly answering$: BehaviorSubject<Turn | undefined>;
  readonly preflight: Required<PreflightOptions>;
  readonly history: History;
  readonly activity: AgentActivity;
  readonly emit: Emit;
  readonly scheduler: SchedulerLike;
  readonly newId: (prefix: string) => string;
  /** Why the last answer was cut off. */
  readonly cutReason: () => TurnEndReason;
}

/** The user's turn from its first word on: what may be answered on speculation, what is answered for sure. */
export class UserTurns {
  readonly #context: UserTurnsContext;
  readonly #emit: Emit;
  #turn: Turn | undefined;
  /** Services repeat what they have heard; that is news once. */
  #lastWords = '';

  constructor(context: UserTurnsContext) {
    this.#context = context;
    this.#emit = context.emit;
  }

  /** Ends the turn that is open. */
  stop(): void {
    this.#turn?.end('stopped');
  }

  /** Does what turn-taking has decided. */
  decide(decision: TurnDecision): void {
    switch (decision.type) {
      case 'words':
        if (decision.text !== this.#lastWords) {
          this.#emitTranscript('transcript.interim', decision.text, decision.result);
        }
        break;
      case 'speculate':
        this.#emitTranscript('transcript.preflight', decision.text, decision.result);
        this.#speculate(decision.text);
        break;
      case 'retract':
        this.discard(decision.reason);
        break;
      case 'finalize':
        this.#context.finalize?.();
        break;
      case 'commit':
        this.commit(decision.text, { result: decision.result });
        break;
      case 'timeout':
        this.#emit('transcript.timeout', { text: decision.text });
        if (!decision.text) this.#drop('empty');
        break;
      case 'cancel':
        this.#drop('cancelled');
        break;
    }
  }

  #emitTranscript(
    type: 'transcript.interim' | 'transcript.preflight',
    text: string,
    result: TranscriptionResult,
  ): void {
    this.#lastWords = text;
    this.#emit(type, { text, result }, { turnId: this.#openTurn('speech').id, role: 'stt' });
  }

  #openTurn(source: 'speech' | 'text'): Turn {
    this.#turn ??= new Turn(this.#context.newId('turn'), source, this.#emit, this.#context.scheduler);
    return this.#turn;
  }

  #speculate(text: string): void {
    const turn = this.#openTurn('speech');
    const { enabled, maxStarts, maxSpeechMs } = this.#context.preflight;
    const current = this.#speculation();
    if (current && foldText(current.text) === foldText(text)) return;
    if (current) this.discard('changed');
    const speechMs = this.#context.scheduler.now() - turn.startedAt;
    if (
      !enabled ||
      turn.speculations >= maxStarts ||
      speechMs > maxSpeechMs ||
      this.#context.activity.status !== 'free'
    )
      return;
    turn.speculations++;
    this.#emit('preflight.started', { text }, { turnId: turn.id });
    this.#context.candidate$.next(this.#newCandidate(turn, text));
  }

  #speculation(): Candidate | undefined {
    const candidate = this.#context.candidate$.value;
    return candidate && !candidate.turn.isCommitted ? candidate : undefined;
  }

  /** What was prepared is void. */
  discard(reason: DiscardReason): void {
    const speculation = this.#speculation();
    if (!speculation) return;
    const { turn, tokens } = speculation;
    this.#context.candidate$.next(undefined);
    turn.forgetMarks();
    turn.addWaste(tokens);
    this.#emit('preflight.discarded', { reason, wastedTokens: tokens }, { turnId: turn.id });
  }

  /** The user has said, or with a ticket written, something that is answered for sure. */
  commit(text: string, { result, ticket }: { result?: TranscriptionResult | undefined; ticket?: SpeechTicket }): void {
    const turn = this.#openTurn(ticket ? 'text' : 'speech');
    this.#lastWords = '';
    const emit = this.#emit;
    const envelope = { turnId: turn.id };
    this.#turn = undefined;
    const prepared = this.#speculation();
    const adopted = prepared?.turn === turn && foldText(prepared.text) === foldText(text) ? prepared : undefined;
    if (!adopted) this.discard('changed');
    if (!ticket) emit('transcript.final', { text, ...(result ? { result } : {}) }, { ...envelope, role: 'stt' });
    this.#context.history.addUser(text);
    turn.commit(text, this.#endOfSpeech(result));
    if (adopted) {
      const leadMs = this.#context.scheduler.now() - adopted.startedAt;
      turn.note({ preflightLead: leadMs });
      emit('preflight.adopted', { text, leadMs }, envelope);
    }
    this.#answerForSure(adopted ?? this.#newCandidate(turn, text, ticket));
  }

  #newCandidate(turn: Turn, text: string, ticket?: SpeechTicket): Candidate {
    const startedAt = this.#context.scheduler.now();
    const committed$ = new ReplaySubject<true>(1);
    return { turn, text, startedAt, committed$, tokens: 0, ...(ticket ? { ticket } : {}) };
  }

  /** The last word's end on the audio's own clock: a message's arrival tells nothing about it. */
  #endOfSpeech(result: TranscriptionResult | undefined): number | undefined {
    const endMs = result?.metadata?.words?.at(-1)?.endMs;
    return endMs === undefined ? undefined : this.#context.capturedAt?.(endMs);
  }

  /** The open turn came to nothing; a message that lost its answer to it is answered now. */
  #drop(reason: 'empty' | 'cancelled'): void {
    this.discard('cancelled');
    this.#turn?.end(reason);
    this.#turn = undefined;
    const last = this.#context.history.items.at(-1);
    if (
      reason !== 'empty' ||
      this.#context.activity.status !== 'free' ||
      this.#context.cutReason() !== 'merged' ||
      last?.role !== 'user'
    )
      return;
    const turn = this.#openTurn('speech');
    this.#turn = undefined;
    turn.commit(last.text, undefined);
    this.#answerForSure(this.#newCandidate(turn, last.text));
  }

  #answerForSure(candidate: Candidate): void {
    this.#context.answering$.next(candidate.turn);
    candidate.committed$.next(true);
    this.#context.candidate$.next(candidate);
  }
}
