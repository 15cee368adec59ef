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
  map,
  merge,
  mergeMap,
  Observable,
  of,
  skip,
  Subject,
  switchMap,
  takeUntil,
  tap,
  timer,
  type SchedulerLike,
} from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { ProviderRole } from '../core/roles.ts';
import { AgentActivity } from './agent-activity.ts';
import { answer, type AnswerContext, type Candidate } from './answer.ts';
import type { Command } from './commands.ts';
import type { ConversationOptions, ConversationPorts, PreflightOptions } from './conversation-options.ts';
import { createEventBus } from './event-bus.ts';
import type { TurnEndReason, UserState, VoiceEvent } from './events.ts';
import { createFloor } from './floor.ts';
import type { HistoryChange } from './history.ts';
import { Interruptions } from './interruptions.ts';
import { dropLateResults } from './late-results.ts';
import { greetingOf, perform, reasonToCut, type CutBy, type RequestContext } from './requests.ts';
import { unknownPace } from './script.ts';
import type { Speaking, SpeechContext } from './speech.ts';
import { turnTaking, type TurnDecision, type UserSignal } from './turn-taking.ts';
import type { Turn } from './turn.ts';
import { UserTurns } from './user-turns.ts';

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

/** The parts of one conversation, and the streams between them. */
class Session {
  readonly #ports: ConversationPorts;
  readonly #options: ConversationOptions;
  readonly #scheduler: SchedulerLike;
  readonly #bus: ReturnType<typeof createEventBus>;
  readonly #candidate$ = new BehaviorSubject<Candidate | undefined>(undefined);
  readonly #answering$ = new BehaviorSubject<Turn | undefined>(undefined);
  readonly #speaking$ = new BehaviorSubject<Speaking | undefined>(undefined);
  readonly #held$ = new BehaviorSubject(false);
  readonly #activity = new AgentActivity(this.#speaking$, this.#answering$);
  readonly #interruptions: Interruptions;
  readonly #turns: UserTurns;
  readonly #answers: AnswerContext;
  readonly #requests: RequestContext;

  readonly #userState$ = new BehaviorSubject<UserState>('silent');
  readonly #signals$ = new Subject<UserSignal>();
  readonly #cut$ = new Subject<CutBy>();
  readonly #stopped$ = new Subject<void>();
  #cut: { reason: TurnEndReason; at: number } = { reason: 'interrupted', at: 0 };
  #ids = 0;
  #isStopped = false;

  constructor(ports: ConversationPorts, options: ConversationOptions) {
    const { history, systemPrompt, scheduler = asyncScheduler } = options;
    this.#ports = ports;
    this.#options = options;
    this.#scheduler = scheduler;
    this.#bus = createEventBus(scheduler);
    const { emit } = this.#bus;
    const activity = this.#activity;
    const newId = (prefix: string): string => `${prefix}-${++this.#ids}`;
    const preflight = preflightOf(options);
    this.#interruptions = new Interruptions({
      ...{ bargeIn: options.bargeIn ?? true, reportsSpeechEnd: ports.reportsSpeechEnd ?? false },
      ...{ output: ports.output, locale: options.locale, held$: this.#held$, activity, emit, scheduler },
      cutOff: (reason) => this.#cutOff('user', reason),
      // The turn begins with a voice that turn-taking has not been told of yet.
      onConfirmed: () => {
        if (this.#userState$.value === 'speaking') this.#signals$.next({ type: 'speech', event: 'started' });
      },
    });
    this.#turns = new UserTurns({
      ...{ candidate$: this.#candidate$, answering$: this.#answering$ },
      ...{ preflight, history, activity, emit, scheduler, newId, cutReason: () => this.#cut.reason },
      finalize: () => ports.finalize?.(),
      capturedAt: (positionMs) => ports.capturedAt?.(positionMs),
    });
    const speech = this.#speechContext();
    this.#answers = {
      generation: this.#generationContext(),
      ...{ speech, history, systemPrompt, speakAhead: preflight.speak, newId, cut: () => this.#cut },
      onError: (error, role, turn) => {
        this.#reportError(error, role, turn.id);
      },
      onSpeculationFailed: (candidate) => {
        if (this.#candidate$.value === candidate) this.#turns.discard('failed');
      },
      onEnded: (turn) => {
        if (activity.answering === turn) this.#answering$.next(undefined);
      },
    };
    this.#requests = {
      ...{ speech, history, activity, newId, cut$: this.#cut$ },
      cutOff: (by, reason) => this.#cutOff(by, reason),
      commit: (text, ticket) => this.#turns.commit(text, { ticket }),
      onSpeechError: (error) => this.#reportError(error, this.#roleOf(error)),
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
      switchMap((candidate) => (candidate ? answer(candidate, this.#answers) : EMPTY)),
    );
    const idle$ = combineLatest([this.#activity.busy$, this.#userState$]).pipe(
      switchMap(([busy, user]) => (busy || user === 'speaking' ? EMPTY : this.#idleTimer())),
    );
    const { greeting } = this.#options;
    const requests$ = merge(commands$, greeting ? of(greetingOf(greeting)) : EMPTY).pipe(
      mergeMap((command) => perform(command, this.#requests)),
    );

    const work = merge(
      this.#options.history.changes$.pipe(tap((change) => this.#publish(change))),
      answers$,
      this.#interruptions.enacted$,
      this.#activity.changes$.pipe(tap(([previous, state]) => this.#bus.emit('agent.state', { state, previous }))),
      this.#userState$.pipe(
        distinctUntilChanged(),
        skip(1),
        tap((state) => this.#bus.emit('user.state', { state })),
      ),
      this.#warmUp(),
      idle$.pipe(tap((idleMs) => this.#bus.emit('user.idle', { idleMs }))),
      decisions$.pipe(tap((decision) => this.#turns.decide(decision))),
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

  /** Whether a signal goes on to turn-taking; while the agent has the floor it is a sign of a barge-in first. */
  #reachesTheTurn(signal: UserSignal): boolean {
    this.#noteUserState(signal);
    const isVoice = signal.type === 'transcript' || signal.type === 'speech';
    const isManual = this.#options.turnTaking?.strategy === 'manual';
    if (this.#activity.status === 'free' || !isVoice || isManual) return true;
    return this.#interruptions.giveWay(signal);
  }

  #noteUserState(signal: UserSignal): void {
    if (signal.type === 'speech') this.#userState$.next(signal.event === 'ended' ? 'silent' : 'speaking');
    if (signal.type !== 'transcript') return;
    const { utteranceComplete, text } = signal.result;
    if (utteranceComplete) this.#userState$.next('silent');
    else if (text.trim()) this.#userState$.next('speaking');
  }

  /** Commits wait while the agent says something uninterruptible; everything else is decided at once. */
  #whenItsTurnComes(decision: TurnDecision): Observable<TurnDecision> {
    if (decision.type !== 'commit' || this.#activity.status === 'free' || this.#interruptions.areAllowed)
      return of(decision);
    return this.#activity.whenFree$.pipe(map(() => decision));
  }

  /** Silences the agent and aborts what it was preparing, in this very tick. */
  #cutOff(by: CutBy, reason: TurnEndReason): void {
    this.#cut = { reason, at: this.#scheduler.now() };
    this.#cut$.next(by);
    this.#candidate$.next(undefined);
    this.#interruptions.takeBack();
  }

  #obey(command: Command): void {
    switch (command.type) {
      case 'say':
      case 'send':
        break;
      case 'interrupt':
        this.#cutOff('application', 'interrupted');
        break;
      case 'begin':
        this.#cutOff('user', reasonToCut(this.#activity));
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

  /** Connections are ready before the user has finished: no handshake stands between a question and its answer. */
  #warmUp(): Observable<unknown> {
    const { llm, tts } = this.#ports;
    const warmed$ = merge(
      ...[llm, tts].map((provider) =>
        // The request that needs the connection tells of its troubles.
        defer(() => provider.warm?.() ?? EMPTY).pipe(catchError(() => EMPTY)),
      ),
    );
    return this.#userState$.pipe(
      distinctUntilChanged(),
      filter((state) => state === 'speaking'),
      // After an interruption that this voice may be: silence comes first.
      switchMap(() => timer(0, this.#scheduler)),
      mergeMap(() => warmed$),
    );
  }

  #idleTimer(): Observable<number> {
    const idleMs = this.#options.timeouts?.idleMs ?? 15_000;
    return timer(idleMs, this.#scheduler).pipe(map(() => idleMs));
  }

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

  #speechContext(): SpeechContext {
    const ports = this.#ports;
    const { tts, output } = ports;
    const { locale, speechText, timeouts: { ttsFirstAudioMs = 11_000, playoutMs = 3_000 } = {} } = this.#options;
    return {
      ...{ tts, output, ttsFirstAudioMs, playoutMs, emit: this.#bus.emit, scheduler: this.#scheduler },
      transcode(audio$) {
        return ports.transcode?.(audio$) ?? audio$;
      },
      floor: createFloor(),
      held$: this.#held$,
      speaking$: this.#speaking$,
      pace: unknownPace(),
      ...(locale === undefined ? {} : { locale }),
      ...(speechText === undefined ? {} : { text: speechText }),
    };
  }

  #generationContext(): AnswerContext['generation'] {
    const { tools = [], timeouts: { llmFirstTokenMs = 10_000, llmStallMs = 30_000 } = {} } = this.#options;
    return {
      ...{ llm: this.#ports.llm, tools, llmFirstTokenMs, llmStallMs },
      ...{ emit: this.#bus.emit, scheduler: this.#scheduler, stopped$: this.#stopped$ },
    };
  }

  #stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#cutOff('stop', 'stopped');
    this.#turns.stop();
    this.#stopped$.next();
    this.#bus.close();
  }
}

function preflightOf({ preflight = true }: ConversationOptions): Required<PreflightOptions> {
  const chosen = typeof preflight === 'object' ? preflight : {};
  return { enabled: preflight !== false, speak: false, maxStarts: 3, maxSpeechMs: 10_000, ...chosen };
}
