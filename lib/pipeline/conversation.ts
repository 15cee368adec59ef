import {
  asyncScheduler,
  BehaviorSubject,
  catchError,
  combineLatest,
  concatMap,
  defer,
  distinctUntilChanged,
  EMPTY,
  filter,
  finalize,
  map,
  merge,
  mergeMap,
  Observable,
  of,
  pairwise,
  ReplaySubject,
  skip,
  startWith,
  Subject,
  switchMap,
  take,
  takeUntil,
  tap,
  timer,
  type SchedulerLike,
} from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import { fromInput } from '../core/bridge.ts';
import { VoiceError } from '../core/errors.ts';
import type {
  LLMProvider,
  OutputProvider,
  ProviderRole,
  SpeechEvent,
  TranscriptionResult,
  TTSProvider,
} from '../core/roles.ts';
import { countWords, foldText } from '../core/text.ts';
import type { Tool } from '../core/tools.ts';
import type { SpeechTextOptions } from '../operators/text/speech-text.ts';
import { answer, type AnswerContext, type Candidate } from './answer.ts';
import { bargeIn, type BargeInRules, type BargeInSign, type BargeInStage, type BargeInThresholds } from './barge-in.ts';
import { SpeechTicket, type Command } from './commands.ts';
import { createEventBus } from './event-bus.ts';
import type { AgentState, DiscardReason, IgnoreReason, TurnEndReason, UserState, VoiceEvent } from './events.ts';
import { createFloor } from './floor.ts';
import type { History, HistoryChange } from './history.ts';
import { dropLateResults } from './late-results.ts';
import { unknownPace } from './script.ts';
import { speech, type Speaking, type SpeechContext, type SpeechResult } from './speech.ts';
import { turnTaking, type TurnDecision, type TurnTakingOptions, type UserSignal } from './turn-taking.ts';
import { Turn } from './turn.ts';

/** How the user may interrupt. Times in milliseconds. */
export interface BargeInOptions extends BargeInThresholds {
  /** How much softer the agent speaks while an interruption is suspected, in decibels. Default: 12. */
  readonly duckDb?: number;
  /** What becomes of speech during something uninterruptible. Default: `discard`. */
  readonly whileUninterruptible?: 'discard' | 'queue';
  /** Other thresholds while the agent is thinking: new words join the message. */
  readonly thinking?: BargeInThresholds;
  /** Other thresholds during the greeting. */
  readonly greeting?: BargeInThresholds;
}

/** How answers are prepared before the user's turn is certain to be over. */
export interface PreflightOptions {
  /** Default: true; it takes a speech-to-text service that sends preflights. */
  readonly enabled?: boolean;
  /** Whether the first clause is synthesized too. Default: false. */
  readonly speak?: boolean;
  /** Most preflights of one turn. Default: 3. */
  readonly maxStarts?: number;
  /** Longest speech that is worth one, in milliseconds. Default: 10,000. */
  readonly maxSpeechMs?: number;
}

/** Longest waits, in milliseconds. */
export interface ConversationTimeouts {
  /** From the question to the model's first token or tool call. Default: 10,000. */
  readonly llmFirstTokenMs?: number;
  /** Between two tokens. Default: 30,000. */
  readonly llmStallMs?: number;
  /**
   * From the first clause to its first audio. Default: 11,000, which lets a provider try twice with its own 5,000.
   */
  readonly ttsFirstAudioMs?: number;
  /** Stand-still of the playback beyond the audio that is left. Default: 3,000. */
  readonly playoutMs?: number;
  /** Nobody speaks: `user.idle`. Default: 15,000. */
  readonly idleMs?: number;
}

/** The streams and functions that a conversation is made of. */
export interface ConversationPorts {
  readonly transcripts$: Observable<TranscriptionResult>;
  readonly speech$: Observable<SpeechEvent>;
  readonly commands$: Observable<Command>;
  readonly llm: Pick<LLMProvider, 'name' | 'generate' | 'warm'>;
  readonly tts: Pick<TTSProvider, 'name' | 'speak' | 'words$' | 'maxTextLength' | 'warm'>;
  readonly output: Pick<OutputProvider, 'name' | 'play' | 'positionMs' | 'pause' | 'resume' | 'setVolume'>;
  /** Whether `speech$` tells when a voice falls silent. Default: false. */
  readonly reportsSpeechEnd?: boolean;
  /** Asks the speech-to-text service for its final word. */
  readonly finalize?: () => void;
  /** When a position in the captured audio, in milliseconds, was captured, on the scheduler's clock. */
  readonly capturedAt?: (positionMs: number) => number | undefined;
  /** Between voice and output, where their formats differ. */
  transcode?(audio$: Observable<AudioChunk>): Observable<AudioChunk>;
}

/** Options of a conversation. */
export interface ConversationOptions {
  /** What was said before; what is said from now on is added to it. */
  readonly history: History;
  /** Instructions for the model, before all messages. Default: none. */
  readonly systemPrompt?: string;
  /** Said at the start. */
  readonly greeting?: string;
  /** What the model may have done. Default: nothing. */
  readonly tools?: readonly Tool[];
  /** When the user's turn is over. Default: when the speech-to-text service says so. */
  readonly turnTaking?: TurnTakingOptions;
  /** `immediate` cuts at the first sign, false never; default: in stages. */
  readonly bargeIn?: boolean | 'immediate' | BargeInOptions;
  /** Whether answers are prepared before the turn is certain to be over, and how. Default: true. */
  readonly preflight?: boolean | PreflightOptions;
  /** The longest waits. */
  readonly timeouts?: ConversationTimeouts;
  /** How the model's Markdown becomes speech, and how words are pronounced. */
  readonly speechText?: SpeechTextOptions;
  /** BCP 47 of what the agent says, for cutting it into sentences. Default: the runtime's. */
  readonly locale?: string;
  /** The clock; a TestScheduler in tests. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * A whole conversation as one function: streams in, events out. Subscribing starts it; it completes after the command
 * `stop`, and never errors. What it does is told in the guides on turn-taking, barge-in and preflight.
 */
export function conversation(ports: ConversationPorts, options: ConversationOptions): Observable<VoiceEvent> {
  return new Observable((subscriber) => {
    const session = new Session(ports, options);
    subscriber.add(session.events$.subscribe(subscriber));
    subscriber.add(session.run());
  });
}

type Status = 'free' | 'thinking' | 'speaking';

/** What must be remembered between events while a conversation runs. */
class Session {
  readonly #ports: ConversationPorts;
  readonly #options: ConversationOptions;
  readonly #scheduler: SchedulerLike;
  readonly #bus: ReturnType<typeof createEventBus>;
  readonly #preflight: Required<PreflightOptions>;
  readonly #bargeIn: BargeInOptions;

  readonly #candidate$ = new BehaviorSubject<Candidate | undefined>(undefined);
  readonly #speaking$ = new BehaviorSubject<Speaking | undefined>(undefined);
  readonly #answering$ = new BehaviorSubject<Turn | undefined>(undefined);
  readonly #userState$ = new BehaviorSubject<UserState>('silent');
  readonly #held$ = new BehaviorSubject(false);
  readonly #signs$ = new Subject<BargeInSign>();
  readonly #signals$ = new Subject<UserSignal>();
  readonly #cut$ = new Subject<'user' | 'application' | 'stop'>();
  readonly #stopped$ = new Subject<void>();
  readonly #speechContext: SpeechContext;
  readonly #answerContext: AnswerContext;

  #turn: Turn | undefined;
  #cut: { reason: TurnEndReason; at: number } = { reason: 'interrupted', at: 0 };
  #suspectedAt = 0;
  #paused = false;
  /** Services repeat what they have heard; that is news once. */
  #lastWords = '';
  #ids = 0;
  #isStopped = false;

  constructor(ports: ConversationPorts, options: ConversationOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#scheduler = options.scheduler ?? asyncScheduler;
    this.#bus = createEventBus(this.#scheduler);
    const preflight = typeof options.preflight === 'object' ? options.preflight : {};
    const enabled = options.preflight !== false;
    this.#preflight = { enabled, speak: false, maxStarts: 3, maxSpeechMs: 10_000, ...preflight };
    this.#bargeIn = typeof options.bargeIn === 'object' ? options.bargeIn : {};
    const { llmFirstTokenMs = 10_000, llmStallMs = 30_000 } = options.timeouts ?? {};
    const { ttsFirstAudioMs = 11_000, playoutMs = 3_000 } = options.timeouts ?? {};
    const { emit } = this.#bus;
    const scheduler = this.#scheduler;
    this.#speechContext = {
      tts: ports.tts,
      output: ports.output,
      transcode(audio$) {
        return ports.transcode?.(audio$) ?? audio$;
      },
      floor: createFloor(),
      emit,
      scheduler,
      ttsFirstAudioMs,
      playoutMs,
      held$: this.#held$,
      speaking$: this.#speaking$,
      pace: unknownPace(),
      ...(options.locale === undefined ? {} : { locale: options.locale }),
      ...(options.speechText === undefined ? {} : { text: options.speechText }),
    };
    this.#answerContext = {
      generation: {
        llm: ports.llm,
        tools: options.tools ?? [],
        emit,
        scheduler,
        stopped$: this.#stopped$,
        llmFirstTokenMs,
        llmStallMs,
      },
      speech: this.#speechContext,
      history: options.history,
      systemPrompt: options.systemPrompt,
      speakAhead: this.#preflight.speak,
      newId: (prefix) => this.#newId(prefix),
      cut: () => this.#cut,
      onError: (error, role, turn) => {
        this.#reportError(error, role, turn.id);
      },
      onSpeculationFailed: (candidate) => {
        if (this.#candidate$.value === candidate) this.#discard('failed');
      },
      onEnded: (turn) => {
        if (this.#answering$.value === turn) this.#answering$.next(undefined);
      },
    };
  }

  get events$(): Observable<VoiceEvent> {
    return this.#bus.events$;
  }

  /** The whole wiring: each stream, and what it leads to. */
  run(): () => void {
    const { transcripts$, speech$, commands$ } = this.#ports;

    const heard$ = merge(
      this.#reported(transcripts$).pipe(
        dropLateResults(),
        map((result): UserSignal => ({ type: 'transcript', result })),
      ),
      this.#reported(speech$).pipe(map(({ type }): UserSignal => ({ type: 'speech', event: type }))),
      this.#signals$,
    ).pipe(filter((signal) => this.#reachesTheTurn(signal)));
    const decisions$ = heard$.pipe(
      turnTaking(this.#options.turnTaking ?? {}, this.#scheduler),
      concatMap((decision) => this.#whenItsTurnComes(decision)),
    );
    // The heart: the next candidate replaces the one before, and with it its request, its voice and its playback.
    const answers$ = this.#candidate$.pipe(
      distinctUntilChanged(),
      switchMap((candidate) => (candidate ? answer(candidate, this.#answerContext) : EMPTY)),
    );
    const stages$ = this.#busy$().pipe(
      switchMap((busy) => {
        if (busy) return this.#signs$.pipe(bargeIn(() => this.#bargeInRules(), this.#scheduler));
        this.#takeBack();
        return EMPTY;
      }),
    );
    const idle$ = combineLatest([this.#busy$(), this.#userState$]).pipe(
      switchMap(([busy, user]) => (busy || user === 'speaking' ? EMPTY : this.#idleTimer())),
    );
    const requests$ = merge(commands$, this.#greeting()).pipe(
      mergeMap((command) => {
        if (command.type === 'say') return this.#say(command);
        return command.type === 'send' ? this.#send(command) : EMPTY;
      }),
    );

    const work = merge(
      this.#options.history.changes$.pipe(tap((change) => this.#publish(change))),
      answers$,
      stages$.pipe(tap((stage) => this.#enter(stage))),
      this.#agentState$().pipe(tap(([previous, state]) => this.#bus.emit('agent.state', { state, previous }))),
      this.#userState$.pipe(
        distinctUntilChanged(),
        skip(1),
        tap((state) => this.#bus.emit('user.state', { state })),
      ),
      this.#warmUp(),
      idle$.pipe(tap((idleMs) => this.#bus.emit('user.idle', { idleMs }))),
      decisions$.pipe(tap((decision) => this.#decide(decision))),
      requests$,
      commands$.pipe(tap((command) => this.#obey(command))),
    )
      .pipe(takeUntil(this.#stopped$))
      .subscribe({
        error: (error: unknown) => {
          this.#reportError(error);
          this.#stop();
        },
      });
    return () => {
      this.#stop();
      work.unsubscribe();
    };
  }

  // --- What the agent is doing ---

  #status(): Status {
    const speaking = this.#speaking$.value;
    if (speaking?.audible) return 'speaking';
    return speaking || this.#answering$.value ? 'thinking' : 'free';
  }

  #status$(): Observable<Status> {
    return merge(this.#speaking$, this.#answering$).pipe(
      map(() => this.#status()),
      distinctUntilChanged(),
    );
  }

  #busy$(): Observable<boolean> {
    return this.#status$().pipe(
      map((status) => status !== 'free'),
      distinctUntilChanged(),
    );
  }

  #agentState$(): Observable<[AgentState, AgentState]> {
    return this.#status$().pipe(
      map((status): AgentState => (status === 'free' ? 'listening' : status)),
      startWith<AgentState>('idle'),
      distinctUntilChanged(),
      pairwise(),
    );
  }

  /** Connections are ready before the user has finished: no handshake stands between a question and its answer. */
  #warmUp(): Observable<unknown> {
    const { llm, tts } = this.#ports;
    return this.#userState$.pipe(
      distinctUntilChanged(),
      filter((state) => state === 'speaking'),
      // After an interruption that this voice may be: silence comes first.
      switchMap(() => timer(0, this.#scheduler)),
      mergeMap(() => merge(...[llm, tts].map((provider) => defer(() => provider.warm?.() ?? EMPTY)))),
      // The request that needs the connection tells of its troubles.
      catchError(() => EMPTY),
    );
  }

  #idleTimer(): Observable<number> {
    const idleMs = this.#options.timeouts?.idleMs ?? 15_000;
    return timer(idleMs, this.#scheduler).pipe(map(() => idleMs));
  }

  // --- The user, while the agent has the floor ---

  /** Whether a signal goes on to turn-taking; while the agent has the floor it is a sign of a barge-in first. */
  #reachesTheTurn(signal: UserSignal): boolean {
    this.#noteUserState(signal);
    const isVoice = signal.type === 'transcript' || signal.type === 'speech';
    const isManual = this.#options.turnTaking?.strategy === 'manual';
    if (this.#status() === 'free' || !isVoice || isManual) return true;
    if (!this.#isInterruptible()) {
      if (this.#bargeIn.whileUninterruptible === 'queue') return true;
      this.#ignore(signal, this.#options.bargeIn === false ? 'disabled' : 'uninterruptible');
      return false;
    }
    const sign = toSign(signal, this.#options.locale);
    if (sign) this.#signs$.next(sign);
    // The sign may have confirmed the interruption: then it is the first of the user's turn.
    if (this.#status() === 'free') return true;
    this.#ignore(signal, 'too-short');
    return false;
  }

  #isInterruptible(): boolean {
    return this.#options.bargeIn !== false && (this.#speaking$.value?.request.interruptible ?? true);
  }

  #noteUserState(signal: UserSignal): void {
    if (signal.type === 'speech') this.#userState$.next(signal.event === 'ended' ? 'silent' : 'speaking');
    if (signal.type !== 'transcript') return;
    const { utteranceComplete, text } = signal.result;
    if (utteranceComplete) this.#userState$.next('silent');
    else if (text.trim()) this.#userState$.next('speaking');
  }

  #ignore(signal: UserSignal, reason: IgnoreReason): void {
    if (signal.type !== 'transcript') return;
    const { result } = signal;
    const { text, utteranceComplete } = result;
    if (!text.trim()) return;
    if (utteranceComplete) this.#bus.emit('bargeIn.ignored', { reason, text, result });
    else this.#bus.emit('transcript.interim', { text, result }, { role: 'stt' });
  }

  #bargeInRules(): BargeInRules {
    const status = this.#status();
    const inGreeting = this.#speaking$.value?.request.source === 'greeting' ? this.#bargeIn.greeting : undefined;
    // In thinking, words alone confirm: a cough delays the answer, and never deletes it.
    const inThinking =
      status === 'thinking' ? { minWords: 1, confirmAfterMs: Infinity, ...this.#bargeIn.thinking } : {};
    return {
      pauseAfterMs: 200,
      confirmAfterMs: 500,
      minWords: 2,
      resumeAfterMs: 1_200,
      ...this.#bargeIn,
      ...inGreeting,
      ...inThinking,
      immediate: this.#options.bargeIn === 'immediate' && status === 'speaking',
      voiceEnds: this.#ports.reportsSpeechEnd ?? false,
    };
  }

  #enter(stage: BargeInStage): void {
    const { output } = this.#ports;
    const { emit } = this.#bus;
    const envelope = this.#floorEnvelope();
    switch (stage) {
      case 'suspected':
        this.#suspectedAt = this.#scheduler.now();
        this.#held$.next(true);
        output.setVolume?.(10 ** (-(this.#bargeIn.duckDb ?? 12) / 20));
        emit('bargeIn.suspected', {}, envelope);
        break;
      case 'paused':
        this.#paused = true;
        output.pause();
        emit('bargeIn.paused', {}, envelope);
        if (envelope.speechId) emit('speech.paused', { positionMs: output.positionMs }, envelope);
        break;
      case 'confirmed':
        this.#confirm(envelope);
        break;
      case 'resumed':
        emit('bargeIn.resumed', {}, envelope);
        if (this.#paused && envelope.speechId) emit('speech.resumed', { positionMs: output.positionMs }, envelope);
        this.#takeBack();
        break;
    }
  }

  #confirm(envelope: { turnId?: string; speechId?: string }): void {
    const confirmedAt = this.#scheduler.now();
    const detectMs = confirmedAt - this.#suspectedAt;
    this.#answering$.value?.note({ bargeInDetect: detectMs });
    this.#cutOff('user', this.#status() === 'thinking' ? 'merged' : 'interrupted');
    this.#bus.emit('bargeIn.confirmed', { detectMs, cutMs: this.#scheduler.now() - confirmedAt }, envelope);
    // The turn begins with a voice that turn-taking has not been told of yet.
    if (this.#userState$.value === 'speaking') this.#signals$.next({ type: 'speech', event: 'started' });
  }

  /** The agent has the floor undisturbed, or has lost it: nothing is ducked, paused or held any more. */
  #takeBack(): void {
    if (!this.#held$.value) return;
    this.#ports.output.setVolume?.(1);
    if (this.#paused) this.#ports.output.resume();
    this.#paused = false;
    this.#held$.next(false);
  }

  #floorEnvelope(): { turnId?: string; speechId?: string } {
    const request = this.#speaking$.value?.request;
    const turnId = request?.turnId ?? this.#answering$.value?.id;
    return { ...(turnId === undefined ? {} : { turnId }), ...(request ? { speechId: request.id } : {}) };
  }

  /** Silences the agent and aborts what it was preparing, in this very tick. */
  #cutOff(by: 'user' | 'application' | 'stop', reason: TurnEndReason): void {
    this.#cut = { reason, at: this.#scheduler.now() };
    this.#cut$.next(by);
    this.#candidate$.next(undefined);
    this.#takeBack();
  }

  // --- The user's turn ---

  /** Commits wait while the agent says something uninterruptible; everything else is decided at once. */
  #whenItsTurnComes(decision: TurnDecision): Observable<TurnDecision> {
    if (decision.type !== 'commit' || this.#status() === 'free' || this.#isInterruptible()) return of(decision);
    return this.#whenFree().pipe(map(() => decision));
  }

  #whenFree(): Observable<unknown> {
    return this.#busy$().pipe(
      filter((busy) => !busy),
      take(1),
    );
  }

  #decide(decision: TurnDecision): void {
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
        this.#discard(decision.reason);
        break;
      case 'finalize':
        this.#ports.finalize?.();
        break;
      case 'commit':
        this.#commit(decision.text, { result: decision.result });
        break;
      case 'timeout':
        this.#bus.emit('transcript.timeout', { text: decision.text });
        if (!decision.text) this.#dropTurn('empty');
        break;
      case 'cancel':
        this.#dropTurn('cancelled');
        break;
    }
  }

  #emitTranscript(
    type: 'transcript.interim' | 'transcript.preflight',
    text: string,
    result: TranscriptionResult,
  ): void {
    this.#lastWords = text;
    this.#bus.emit(type, { text, result }, { turnId: this.#openTurn('speech').id, role: 'stt' });
  }

  #openTurn(source: 'speech' | 'text'): Turn {
    this.#turn ??= new Turn(this.#newId('turn'), source, this.#bus.emit, this.#scheduler);
    return this.#turn;
  }

  #speculate(text: string): void {
    const turn = this.#openTurn('speech');
    const { enabled, maxStarts, maxSpeechMs } = this.#preflight;
    const current = this.#speculation();
    if (current && foldText(current.text) === foldText(text)) return;
    if (current) this.#discard('changed');
    const speechMs = this.#scheduler.now() - turn.startedAt;
    if (!enabled || turn.speculations >= maxStarts || speechMs > maxSpeechMs || this.#status() !== 'free') return;
    turn.speculations++;
    this.#bus.emit('preflight.started', { text }, { turnId: turn.id });
    this.#candidate$.next(this.#newCandidate(turn, text));
  }

  #speculation(): Candidate | undefined {
    const candidate = this.#candidate$.value;
    return candidate && !candidate.turn.isCommitted ? candidate : undefined;
  }

  #discard(reason: DiscardReason): void {
    const speculation = this.#speculation();
    if (!speculation) return;
    const { turn, tokens } = speculation;
    this.#candidate$.next(undefined);
    turn.forgetMarks();
    turn.addWaste(tokens);
    this.#bus.emit('preflight.discarded', { reason, wastedTokens: tokens }, { turnId: turn.id });
  }

  #commit(text: string, { result, ticket }: { result?: TranscriptionResult | undefined; ticket?: SpeechTicket }): void {
    const turn = this.#openTurn(ticket ? 'text' : 'speech');
    this.#lastWords = '';
    const { emit } = this.#bus;
    const envelope = { turnId: turn.id };
    this.#turn = undefined;
    const prepared = this.#speculation();
    const adopted = prepared?.turn === turn && foldText(prepared.text) === foldText(text) ? prepared : undefined;
    if (!adopted) this.#discard('changed');
    if (!ticket) emit('transcript.final', { text, ...(result ? { result } : {}) }, { ...envelope, role: 'stt' });
    this.#options.history.addUser(text);
    turn.commit(text, this.#endOfSpeech(result));
    if (adopted) {
      const leadMs = this.#scheduler.now() - adopted.startedAt;
      turn.note({ preflightLead: leadMs });
      emit('preflight.adopted', { text, leadMs }, envelope);
    }
    this.#answerForSure(adopted ?? this.#newCandidate(turn, text, ticket));
  }

  #newCandidate(turn: Turn, text: string, ticket?: SpeechTicket): Candidate {
    const startedAt = this.#scheduler.now();
    const committed$ = new ReplaySubject<true>(1);
    return { turn, text, startedAt, committed$, tokens: 0, ...(ticket ? { ticket } : {}) };
  }

  /** The last word's end on the audio's own clock: a message's arrival tells nothing about it. */
  #endOfSpeech(result: TranscriptionResult | undefined): number | undefined {
    const endMs = result?.metadata?.words?.at(-1)?.endMs;
    return endMs === undefined ? undefined : this.#ports.capturedAt?.(endMs);
  }

  /** The open turn came to nothing; a message that lost its answer to it is answered now. */
  #dropTurn(reason: 'empty' | 'cancelled'): void {
    this.#discard('cancelled');
    this.#turn?.end(reason);
    this.#turn = undefined;
    const last = this.#options.history.items.at(-1);
    if (reason !== 'empty' || this.#status() !== 'free' || this.#cut.reason !== 'merged' || last?.role !== 'user')
      return;
    const turn = this.#openTurn('speech');
    this.#turn = undefined;
    turn.commit(last.text, undefined);
    this.#answerForSure(this.#newCandidate(turn, last.text));
  }

  #answerForSure(candidate: Candidate): void {
    this.#answering$.next(candidate.turn);
    candidate.committed$.next(true);
    this.#candidate$.next(candidate);
  }

  // --- The application ---

  #obey(command: Command): void {
    switch (command.type) {
      case 'say':
      case 'send':
        break;
      case 'interrupt':
        this.#cutOff('application', 'interrupted');
        break;
      case 'begin':
        this.#cutOff('user', this.#status() === 'speaking' ? 'interrupted' : 'merged');
        this.#signals$.next(command);
        break;
      case 'commit':
      case 'cancel':
        this.#signals$.next({ type: command.type });
        break;
      case 'stop':
        this.#stop();
        break;
    }
  }

  #send({ text, options, ticket }: Extract<Command, { type: 'send' }>): Observable<unknown> {
    const turn$ = options.interrupt === false ? this.#whenFree() : of(true);
    return turn$.pipe(
      switchMap(() => {
        this.#cutOff('user', this.#status() === 'speaking' ? 'interrupted' : 'merged');
        this.#commit(text, { ticket });
        return ticket.cut$;
      }),
      tap(() => {
        this.#cutOff('application', 'interrupted');
      }),
      finalize(() => {
        ticket.settle({ heardText: '', interrupted: true });
      }),
    );
  }

  #say({ text$, options, source, ticket }: Extract<Command, { type: 'say' }>): Observable<unknown> {
    const interruptible = options.interruptible ?? true;
    const request = {
      id: this.#newId('speech'),
      source,
      interruptible,
      urgent: options.priority === 'high',
      rounds$: of(fromInput(text$)),
      gate$: of(true),
    };
    const cut$ = this.#cut$.pipe(filter((by) => interruptible || by !== 'user'));
    const onEnd = ({ heard, text, interrupted }: SpeechResult): void => {
      const { estimated } = heard;
      if (options.store ?? true) {
        this.#options.history.addAssistant({ generated: text, heard: heard.text, interrupted, estimated });
      }
      ticket.settle({ heardText: heard.text, interrupted });
    };
    return speech(request, this.#speechContext, onEnd).pipe(
      catchError((error: unknown) => {
        this.#reportError(error, this.#roleOf(error));
        return EMPTY;
      }),
      takeUntil(merge(ticket.cut$, cut$)),
    );
  }

  #greeting(): Observable<Command> {
    const { greeting } = this.#options;
    if (!greeting) return EMPTY;
    return of({ type: 'say', text$: of(greeting), options: {}, source: 'greeting', ticket: new SpeechTicket() });
  }

  // --- What is told ---

  #publish(change: HistoryChange): void {
    if (change.type === 'truncated') this.#bus.emit('history.truncated', { removed: change.removed });
    else this.#bus.emit(`history.${change.type}`, { item: change.item });
  }

  #roleOf(error: unknown): ProviderRole {
    return VoiceError.is(error) && error.provider === this.#ports.output.name ? 'output' : 'tts';
  }

  /** A stream of the speech-to-text service, whose failure is told and ends nothing else. */
  #reported<T>(source$: Observable<T>): Observable<T> {
    return source$.pipe(
      catchError((error: unknown) => {
        this.#reportError(error, 'stt');
        return EMPTY;
      }),
    );
  }

  #reportError(error: unknown, role?: ProviderRole, turnId?: string): void {
    const { code, message, recoverable, retryAfterMs, provider } = VoiceError.from(error);
    this.#bus.emit(
      'error',
      { code, message, recoverable, cause: error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
      {
        ...(role === undefined ? {} : { role }),
        ...(turnId === undefined ? {} : { turnId }),
        ...(provider === undefined ? {} : { provider }),
      },
    );
  }

  #newId(prefix: string): string {
    return `${prefix}-${++this.#ids}`;
  }

  #stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#cutOff('stop', 'stopped');
    this.#turn?.end('stopped');
    this.#stopped$.next();
    this.#bus.close();
  }
}

function toSign(signal: UserSignal, locale: string | undefined): BargeInSign | undefined {
  if (signal.type === 'speech') return { type: signal.event === 'ended' ? 'voice-ended' : 'voice-started' };
  if (signal.type !== 'transcript' || !signal.result.text.trim()) return undefined;
  return { type: 'words', count: countWords(signal.result.text, locale), final: signal.result.utteranceComplete };
}
