import {
  BehaviorSubject,
  catchError,
  concat,
  defer,
  distinctUntilChanged,
  EMPTY,
  filter,
  identity,
  map,
  mergeMap,
  Observable,
  of,
  pairwise,
  startWith,
  Subject,
  switchMap,
  take,
  takeUntil,
  tap,
  timer,
  type MonoTypeOperatorFunction,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs';
import { once } from '../core/application-code.ts';
import { messageOf, VoiceError } from '../core/errors.ts';
import { oncePerKind } from '../core/guard.ts';
import type { ConnectionEvent, DeviceEvent, ProviderRole, TranscriptionResult } from '../core/roles.ts';
import { eachEffect, fold, type Machine } from '../stream/fold.ts';
import { merge } from '../stream/merge.ts';
import { hasWords } from '../text/words.ts';
import { isSuspected } from './barge-in.ts';
import type { Answerer, Shared } from './answerer.ts';
import { SpeechTicket, type Command } from './commands.ts';
import type { ConversationSettings, TranscriptStage } from './conversation-options.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { enact, publishHistory, reportError, type World } from './enact.ts';
import { createEventBus, type EventBus } from './event-bus.ts';
import type { VoiceEvent } from './events.ts';
import type { History } from './history.ts';
import type { Effect, Input, SttPresence, TicketInterrupt } from './inputs.ts';
import { dropLateResults } from './late-results.ts';
import { validator, type Validate } from './malformed.ts';
import type { AgentHandlers } from './agent-turns.ts';
import { reduce } from './reduce.ts';
import type { Rules } from './rules.ts';
import { scores, type ScoreQuestion } from './score.ts';
import { unknownPace } from './script.ts';
import { Soundings } from './sounding.ts';
import { voiceSignals } from './voice-signals.ts';
import { candidateOf, sameCandidate, startState, wakeAt, type ConversationState, type Say } from './state.ts';

/** The variable parts of a conversation: input and answerer. */
interface Setup {
  readonly ports: Pick<
    ConversationPorts,
    'transcripts$' | 'speech$' | 'voice$' | 'connection$' | 'device$' | 'capturedAt' | 'output' | 'captions$'
  >;
  readonly history: History;
  /** What it begins with. */
  readonly settings: ConversationSettings;
  readonly rules: Rules;
  readonly agentHandlers?: AgentHandlers;
  readonly scheduler: SchedulerLike;
  readonly greeting?: string | undefined;
  /** The stage that the user's words pass first. */
  readonly stage?: TranscriptStage | undefined;
  readonly finalize: (() => void) | undefined;
  readonly pushToTalk: ((isOn: boolean) => void) | undefined;
  readonly listen: ((isOn: boolean) => void) | undefined;
  /** The application's commands, as inputs. */
  readonly commands$: Observable<Input>;
  /** Creates the answerer. */
  readonly answerer: (shared: Shared) => Answerer;
}

/**
 * A conversation as one fold. All inputs join one queue, which one pure function (`reduce`) folds into one state. That
 * state alone determines what is answered; everything else is an effect of a step (`enact`).
 */
export function converse(setup: Setup): Observable<VoiceEvent> {
  return new Observable((subscriber) => {
    const { history, settings, rules, agentHandlers, scheduler, greeting } = setup;
    const start: ConversationState = { ...startState, ids: history.lastId, settings, rules };
    const bus = createEventBus(scheduler);
    const validate = validator((error, role) => reportError(bus, error, role && { role }));
    /** Reports of answers and speeches, and follow-up inputs: all join the end of the queue. */
    const later$ = new Subject<Input>();
    const warm$ = new Subject<void>();
    const soundings = new Soundings();
    const joined: string[] = [];
    const questions$ = new Subject<ScoreQuestion>();
    const machine: Machine<ConversationState, Input, Effect> = {
      start,
      reduce: (state, input, at) => reduce(state, input, at, agentHandlers),
      wakeAt,
      tick: { type: 'tick' },
    };
    const step$ = merge(heardBy(setup, bus, validate, soundings), setup.commands$, later$).pipe(
      fold(machine, scheduler),
    );
    const state$ = new BehaviorSubject(start);
    const answerer = setup.answerer({ ...sharedBy(setup, state$, bus, later$, validate, soundings), joined });
    const world: World = {
      ...setup,
      ...{ output: setup.ports.output, joined, bus, later$, warm$, questions$ },
      ...{ hook: answerer.hook, inject: answerer.inject },
    };

    // The heart: the next candidate replaces the current one, cancelling its request, synthesis and playback.
    const answers$ = state$.pipe(
      map(candidateOf),
      distinctUntilChanged(sameCandidate),
      switchMap((candidate) => (candidate ? answerer.answer(candidate) : EMPTY)),
    );
    const work$ = merge(
      history.changes$.pipe(tap((change) => publishHistory(change, bus))),
      history.broken$.pipe(tap((error) => reportError(bus, error))),
      answers$,
      speakEach(state$, answerer),
      (setup.ports.captions$ ?? EMPTY).pipe(
        switchMap((words$) => words$?.({ events$: bus.events$, soundings, scheduler, emit: bus.emit }) ?? EMPTY),
      ),
      warm$.pipe(
        // If this voice may be an interruption, silence comes first.
        switchMap(() => timer(0, scheduler)),
        mergeMap(() => answerer.warm$),
      ),
      merge(questions$.pipe(scores(once((error) => reportError(bus, error)))), answerer.input$).pipe(
        tap((input) => later$.next(input)),
      ),
      // State before effects: an answer that is cut off reports what was heard before anything else happens.
      step$.pipe(
        tap((step) => {
          const [state] = step;
          if (state !== state$.value) state$.next(state);
          eachEffect(step, (effect) => enact(effect, world));
        }),
      ),
    );
    subscriber.add(bus.events$.subscribe(subscriber));
    const work = work$.subscribe({
      error: (error: unknown) => {
        reportError(bus, error);
        bus.close();
      },
    });
    subscriber.add(() => {
      later$.next({ type: 'stop' });
      work.unsubscribe();
      history.lastId = state$.value.ids;
    });
    later$.next({ type: 'started' });
    if (greeting) later$.next(greetingOf(greeting));
  });
}

/** Longest result that is used, in characters: nobody says more at once. */
const maxResultLength = 65_536;

/** The events of a microphone that can hear the user; after any other event it cannot. */
const hearing: ReadonlySet<DeviceEvent['type']> = new Set(['running', 'unmuted', 'found']);

/** The user's signals. A stream that fails is reported as an error event, and the conversation continues. */
function heardBy(
  { ports, scheduler, stage }: Setup,
  bus: EventBus,
  validate: Validate,
  soundings: Soundings,
): Observable<Input> {
  const { transcripts$, speech$, voice$, connection$ = EMPTY, device$ = EMPTY, capturedAt } = ports;
  const reported = <T>(source$: Observable<T>, role: ProviderRole = 'stt'): Observable<T> =>
    source$.pipe(
      catchError((error: unknown) => {
        reportError(bus, error, { role });
        return EMPTY;
      }),
    );
  const timeOf = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : capturedAt?.(ms));
  const tellOnce = oncePerKind((message) =>
    reportError(bus, new VoiceError(message, { code: 'overflow', recoverable: true }), { role: 'stt' }),
  );
  return merge(
    reported(transcripts$).pipe(
      validate('transcript'),
      map((result) => withoutMarks(shortened(result, tellOnce))),
      dropLateResults(),
      stage ? passing(stage, bus, validate) : identity,
      map((result): Input => {
        // Words are placed on the audio's own clock: when a message arrives says little about when they were spoken.
        const words = result.metadata?.words ?? [];
        const startOfSpeechAt = timeOf(words.at(0)?.startMs);
        const endOfSpeechAt = timeOf(words.at(-1)?.endMs);
        const sounding = soundings.at(scheduler.now());
        return {
          ...{ type: 'transcript', result },
          ...(startOfSpeechAt === undefined ? {} : { startOfSpeechAt }),
          ...(endOfSpeechAt === undefined ? {} : { endOfSpeechAt }),
          ...(sounding ? { sounding } : {}),
        };
      }),
    ),
    reported(speech$).pipe(
      validate('speech'),
      tap(() => soundings.mark(scheduler.now())),
      map(({ type, positionMs }): Input => {
        const since = timeOf(positionMs);
        return { type: 'speech', event: type, isOfService: true, ...(since === undefined ? {} : { since }) };
      }),
    ),
    voice$
      ? concat(
          reported(voice$, 'input').pipe(
            tap(() => soundings.mark(scheduler.now())),
            voiceSignals(capturedAt),
          ),
          of<Input>({ type: 'detector.lost' }),
        )
      : EMPTY,
    connection$.pipe(
      // Whoever publishes these events reports their errors; nobody waits for a service that reports nothing anymore.
      catchError(() => of<ConnectionEvent>({ type: 'closed' })),
      validator(() => undefined)('connection'),
      filter(({ type }) => type !== 'fallback'),
      map(presenceOf),
      distinctUntilChanged(),
      map((is): Input => ({ type: 'stt', is })),
    ),
    device$.pipe(
      // Whoever publishes these events reports their errors.
      catchError(() => EMPTY),
      validator(() => undefined)('device'),
      filter(({ type }) => type !== 'changed'),
      map(({ type }): Input => ({ type: 'input', hears: hearing.has(type) })),
    ),
  );
}

/** A stage of the application's; if it fails, everything is heard. */
function passing(
  stage: TranscriptStage,
  bus: EventBus,
  validate: Validate,
): MonoTypeOperatorFunction<TranscriptionResult> {
  return (transcripts$) =>
    defer(() => stage(transcripts$, bus.events$)).pipe(
      catchError((cause: unknown) => {
        const message = `the option hearing failed, and words pass as they are: ${messageOf(cause)}`;
        reportError(bus, new VoiceError(message, { code: 'internal', cause }));
        return transcripts$;
      }),
      validate('transcript'),
    );
}

/** A result with no more text than anyone says. */
function shortened(result: TranscriptionResult, tell: (message: string) => void): TranscriptionResult {
  const { text } = result;
  if (text.length <= maxResultLength) return result;
  tell(`a result of more than ${maxResultLength} characters was cut off there: check what transcripts$ emits`);
  return { ...result, text: text.slice(0, maxResultLength) };
}

/** Some services send "…" to show that they are listening: an interim without words is dropped. */
function withoutMarks(result: TranscriptionResult): TranscriptionResult {
  const { text, isFinal, utteranceComplete } = result;
  return isFinal || utteranceComplete || !text || hasWords(text) ? result : { ...result, text: '' };
}

function presenceOf({ type }: ConnectionEvent): SttPresence['is'] {
  if (type === 'lost') return type;
  return type === 'connecting' || type === 'reconnecting' ? 'away' : 'here';
}

/** The application's commands, and interruptions through their handles. */
export function withTickets(): OperatorFunction<Command, Command | TicketInterrupt> {
  return mergeMap((command) => {
    if (!('ticket' in command)) return of(command);
    const { ticket } = command;
    const interrupted: TicketInterrupt = { type: 'ticket.interrupt', ticket };
    return merge(of(command), ticket.cut$.pipe(map(() => interrupted)));
  });
}

function greetingOf(text: string): Command {
  return { type: 'say', text$: of(text), options: {}, source: 'greeting', ticket: new SpeechTicket() };
}

/** Speaks each say while it is in the state. */
function speakEach(state$: Observable<ConversationState>, answerer: Answerer): Observable<unknown> {
  const says$ = state$.pipe(
    map(({ says }) => says),
    distinctUntilChanged(),
  );
  return says$.pipe(
    startWith<readonly Say[]>([]),
    pairwise(),
    mergeMap(([before, now]) => now.filter((say) => !before.includes(say))),
    mergeMap((say) => answerer.say(say).pipe(takeUntil(says$.pipe(filter((says) => !says.includes(say)))))),
  );
}

/** What every answerer gets. */
function sharedBy(
  { history, scheduler, ports }: Setup,
  state$: BehaviorSubject<ConversationState>,
  { emit }: EventBus,
  later$: Subject<Input>,
  validate: Validate,
  soundings: Soundings,
): Omit<Shared, 'joined'> {
  const report = (input: Input): void => later$.next(input);
  const speech: Shared['speech'] = {
    output: ports.output,
    emit,
    report,
    scheduler,
    validate,
    pace: unknownPace(),
    soundings,
    mayPlay$: (id) =>
      state$.pipe(
        filter(({ output }) => output.speaking?.id === id),
        take(1),
      ),
    playbackHold$: state$.pipe(
      map(({ bargeIn }) => isSuspected(bargeIn)),
      distinctUntilChanged(),
    ),
  };
  return { state$, now: () => state$.value, history, emit, report, scheduler, validate, speech };
}
