import {
  BehaviorSubject,
  defer,
  EMPTY,
  filter,
  finalize,
  map,
  mergeMap,
  noop,
  Observable,
  of,
  Subject,
  switchMap,
  takeUntil,
  timer,
  type OperatorFunction,
} from 'rxjs';
import { once } from '../core/application-code.ts';
import { feed } from '../stream/feed.ts';
import { firstWhere } from '../stream/first-where.ts';
import { eachEffect, fold, type Machine } from '../stream/fold.ts';
import { merge } from '../stream/merge.ts';
import { select } from '../stream/select.ts';
import type { AgentHandlers } from './agent/agent-handlers.ts';
import type { Answerer, Shared } from './answerer.ts';
import { isSuspected } from './barge-in/barge-in.ts';
import { notHeard, SpeechTicket, type Command } from './commands.ts';
import type { ConversationSettings } from './conversation-options.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { enact, publishHistory, type World } from './enact.ts';
import { createEventBus, reportError, type EventBus } from './event-bus.ts';
import type { VoiceEvent } from './events.ts';
import type { History } from './history.ts';
import type { Effect, Input, TicketInterrupt } from './fold/inputs.ts';
import { validator, type Validate } from './malformed.ts';
import { follow, reduce } from './fold/reduce.ts';
import type { Rules } from './fold/rules.ts';
import { scores, type ScoreQuestion } from './turn-taking/score.ts';
import { unknownPace } from './answer/script.ts';
import { Soundings } from './answer/sounding.ts';
import {
  candidateOf,
  change,
  sameCandidate,
  startState,
  wakeAt,
  type ConversationState,
  type Say,
} from './fold/state.ts';
import { userSignals, type UserSignalsContext } from './user-signals.ts';

/** The variable parts of a conversation: input and answerer. */
interface Setup extends Pick<UserSignalsContext, 'stage' | 'scheduler'> {
  readonly ports: UserSignalsContext['ports'] & Pick<ConversationPorts, 'output' | 'captions$'>;
  readonly history: History;
  /** What it begins with. */
  readonly settings: ConversationSettings;
  readonly rules: Rules;
  readonly agentHandlers?: AgentHandlers;
  readonly greeting?: string | undefined;
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
    const start: ConversationState = change(startState, { ids: history.lastId, settings, rules });
    const bus = createEventBus(scheduler, subscriber);
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
      follow,
      wakeAt,
      tick: { type: 'tick' },
    };
    const signals = userSignals({ bus, validate, soundings, ...setup });
    const step$ = merge(...signals, setup.commands$, later$).pipe(fold(machine, scheduler));
    const state$ = new BehaviorSubject(start);
    const answerer = setup.answerer({ joined, ...sharedBy(setup, state$, bus, later$, validate, soundings) });
    const world: World = {
      output: setup.ports.output,
      joined,
      bus,
      later$,
      warm$,
      questions$,
      hook: answerer.hook,
      inject: answerer.inject,
      ...setup,
    };

    // The heart: the next candidate replaces the current one, cancelling its request, synthesis and playback.
    const answers$ = state$.pipe(
      select(candidateOf, sameCandidate),
      switchMap((candidate) => (candidate ? answerer.answer(candidate) : EMPTY)),
    );
    const captions$ = (setup.ports.captions$ ?? EMPTY).pipe(
      switchMap((words$) => words$?.({ events$: bus.events$, soundings, scheduler, emit: bus.emit }) ?? EMPTY),
    );
    // If this voice may be an interruption, silence comes first.
    const warming$ = warm$.pipe(switchMap(() => timer(0, scheduler)));
    const scores$ = questions$.pipe(scores(once((error) => reportError(bus, error))));
    const work$ = new Observable<never>((working) => {
      const run = <T>(source$: Observable<T>, next: (value: T) => void = noop): void => {
        feed(source$, working, { next, complete: noop });
      };
      run(history.changes$, (change) => publishHistory(change, bus));
      run(history.broken$, (error) => reportError(bus, error));
      run(history.spent$, ({ provider, tokens }) => bus.emit('usage', { tokens }, { role: 'llm', provider }));
      run(answers$);
      run(speakEach(state$, answerer));
      run(captions$);
      run(warming$, () => answerer.warm?.());
      run(scores$, (input) => later$.next(input));
      run(answerer.input$, (input) => later$.next(input));
      // State before effects: an answer that is cut off reports what was heard before anything else happens.
      run(step$, (step) => {
        const [state] = step;
        if (state !== state$.value) state$.next(state);
        eachEffect(step, (effect) => enact(effect, world));
      });
    });
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

/**
 * The application's commands, and interruptions through their handles. A handle that is still open when the
 * conversation is gone settles then: whoever awaits it must not hang.
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
    mayPlay$: (id) => state$.pipe(firstWhere(({ output }) => output.speaking?.id === id)),
    playbackHold$: state$.pipe(select(({ bargeIn }) => isSuspected(bargeIn))),
  };
  return { state$, now: () => state$.value, history, emit, report, scheduler, validate, speech };
}
