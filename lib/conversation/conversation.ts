import {
  BehaviorSubject,
  catchError,
  concat,
  defer,
  EMPTY,
  filter,
  finalize,
  map,
  mergeMap,
  Observable,
  of,
  Subject,
  switchMap,
  take,
  takeUntil,
  timer,
  type MonoTypeOperatorFunction,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs';
import { once, oncePerKind } from '../core/application-code.ts';
import { messageOf, VoiceError } from '../core/errors.ts';
import type {
  ConnectionEvent,
  DeviceEvent,
  ProviderRole,
  SpeechEvent,
  TranscriptionResult,
  VoiceActivity,
} from '../core/roles.ts';
import { feed } from '../stream/feed.ts';
import { filterMap } from '../stream/filter-map.ts';
import { eachEffect, fold, type Machine } from '../stream/fold.ts';
import { FinishedUtterances } from '../operators/finished-utterances.ts';
import { merge } from '../stream/merge.ts';
import { select } from '../stream/select.ts';
import { hasWords } from '../text/words.ts';
import { isSuspected } from './barge-in.ts';
import type { Answerer, Shared } from './answerer.ts';
import { notHeard, SpeechTicket, type Command } from './commands.ts';
import type { ConversationSettings, TranscriptStage } from './conversation-options.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { enact, publishHistory, reportError, type World } from './enact.ts';
import { createEventBus, type EventBus } from './event-bus.ts';
import type { VoiceEvent } from './events.ts';
import type { History } from './history.ts';
import type { Effect, Input, SttPresence, TicketInterrupt } from './inputs.ts';
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
    const step$ = merge(...heardBy(setup, bus, validate, soundings), setup.commands$, later$).pipe(
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
      select(candidateOf, sameCandidate),
      switchMap((candidate) => (candidate ? answerer.answer(candidate) : EMPTY)),
    );
    const captions$ = (setup.ports.captions$ ?? EMPTY).pipe(
      switchMap((words$) => words$?.({ events$: bus.events$, soundings, scheduler, emit: bus.emit }) ?? EMPTY),
    );
    const warming$ = warm$.pipe(
      // If this voice may be an interruption, silence comes first.
      switchMap(() => timer(0, scheduler)),
      mergeMap(() => answerer.warm$),
    );
    const scores$ = questions$.pipe(scores(once((error) => reportError(bus, error))));
    const work$ = new Observable<never>((working) => {
      const run = <T>(source$: Observable<T>, next: (value: T) => void = ignore): void => {
        feed(source$, working, { next, complete: ignore });
      };
      run(history.changes$, (change) => publishHistory(change, bus));
      run(history.broken$, (error) => reportError(bus, error));
      run(answers$);
      run(speakEach(state$, answerer));
      run(captions$);
      run(warming$);
      run(scores$, (input) => later$.next(input));
      run(answerer.input$, (input) => later$.next(input));
      // State before effects: an answer that is cut off reports what was heard before anything else happens.
      run(step$, (step) => {
        const [state] = step;
        if (state !== state$.value) state$.next(state);
        eachEffect(step, (effect) => enact(effect, world));
      });
    });
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

const ignore = (): void => undefined;

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
): readonly Observable<Input>[] {
  const { transcripts$, speech$, voice$, connection$ = EMPTY, device$ = EMPTY, capturedAt } = ports;
  const { accepts } = validate;
  const failed =
    (role: ProviderRole = 'stt') =>
    (error: unknown): void =>
      reportError(bus, error, { role });
  const timeOf = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : capturedAt?.(ms));
  const tellOnce = oncePerKind((message) =>
    reportError(bus, new VoiceError(message, { code: 'overflow', recoverable: true }), { role: 'stt' }),
  );
  const finished = new FinishedUtterances();
  /** A well-formed result, unless it is late. */
  const wordsOf = (result: TranscriptionResult): TranscriptionResult | undefined => {
    if (!accepts('transcript', result)) return undefined;
    const told = withoutMarks(shortened(result, tellOnce));
    return finished.isLate(told) ? undefined : told;
  };
  const transcriptOf = (result: TranscriptionResult): Input => {
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
  };
  const speechOf = (event: SpeechEvent): Input | undefined => {
    if (!accepts('speech', event)) return undefined;
    soundings.mark(scheduler.now());
    const since = timeOf(event.positionMs);
    return { type: 'speech', event: event.type, isOfService: true, ...(since === undefined ? {} : { since }) };
  };
  const marked = (activity: VoiceActivity): VoiceActivity => {
    soundings.mark(scheduler.now());
    return activity;
  };
  return [
    stage
      ? transcripts$.pipe(filterMap(wordsOf, failed()), passing(stage, bus, validate), map(transcriptOf))
      : transcripts$.pipe(
          filterMap((result) => {
            const told = wordsOf(result);
            return told && transcriptOf(told);
          }, failed()),
        ),
    speech$.pipe(filterMap(speechOf, failed())),
    ...(voice$
      ? [
          concat(
            voice$.pipe(filterMap(marked, failed('input')), voiceSignals(capturedAt)),
            of<Input>({ type: 'detector.lost' }),
          ),
        ]
      : []),
    presences(connection$),
    device$.pipe(filterMap(hearingOf, ignore)),
  ];
}

const quietly = validator(ignore);

/** Where the service is. Whoever publishes these events reports their errors. */
function presences(connection$: Observable<ConnectionEvent>): Observable<Input> {
  return new Observable((subscriber) => {
    let latest: SttPresence['is'] | undefined;
    const tell = (is: SttPresence['is']): void => {
      if (is !== latest) subscriber.next({ type: 'stt', is });
      latest = is;
    };
    feed(connection$, subscriber, {
      next: (event) => {
        if (quietly.accepts('connection', event) && event.type !== 'fallback') tell(presenceOf(event));
      },
      error: () => {
        // Nobody waits for a service that reports nothing anymore.
        tell('here');
        subscriber.complete();
      },
      complete: () => subscriber.complete(),
    });
  });
}

/** Whether the microphone hears the user after an event; `undefined` if the event says nothing about that. */
function hearingOf(event: DeviceEvent): Input | undefined {
  if (!quietly.accepts('device', event) || event.type === 'changed') return undefined;
  return { type: 'input', hears: hearing.has(event.type) };
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

/**
 * The application's commands, and interruptions through their handles. A handle that is still open when the
 * conversation is gone settles then: whoever awaits it must not wait for ever.
 */
export function withTickets(): OperatorFunction<Command, Command | TicketInterrupt> {
  return mergeMap((command) => {
    if (!('ticket' in command)) return of(command);
    const { ticket } = command;
    const interrupted: TicketInterrupt = { type: 'ticket.interrupt', ticket };
    return merge(of(command), ticket.cut$.pipe(map(() => interrupted))).pipe(finalize(() => ticket.settle(notHeard)));
  });
}

function greetingOf(text: string): Command {
  return { type: 'say', text$: of(text), options: {}, source: 'greeting', ticket: new SpeechTicket() };
}

/** Speaks each say while it is in the state. */
function speakEach(state$: Observable<ConversationState>, answerer: Answerer): Observable<unknown> {
  const says$ = state$.pipe(select(({ says }) => says));
  function speak(say: Say): Observable<unknown> {
    return answerer.say(say).pipe(takeUntil(says$.pipe(filter((says) => !says.includes(say)))));
  }
  return defer(() => {
    let before: readonly Say[] = [];
    return says$.pipe(
      mergeMap((now) => {
        const added = now.filter((say) => !before.includes(say));
        before = now;
        return merge(...added.map(speak));
      }),
    );
  });
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
    playbackHold$: state$.pipe(select(({ bargeIn }) => isSuspected(bargeIn))),
  };
  return { state$, now: () => state$.value, history, emit, report, scheduler, validate, speech };
}
