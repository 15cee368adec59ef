import type { SchedulerLike, Subject } from 'rxjs';
import { callSafely, catchLater } from '../core/application-code.ts';
import type { OutputProvider, ProviderRole, TranscriptionResult } from '../core/roles.ts';
import { loadedPhrases, loadPhrases, type Phrases } from '../text/phrases.ts';
import type { Answerer } from './answerer.ts';
import { SpeechTicket } from './commands.ts';
import { reportError, type EventBus } from './event-bus.ts';
import type { History, HistoryChange, HistoryFacts } from './history.ts';
import type { Effect, Input } from './fold/inputs.ts';
import type { ScoreQuestion } from './turn-taking/score.ts';

/** The environment in which effects happen. */
export interface World {
  readonly output: Pick<OutputProvider, 'name' | 'positionMs' | 'pause' | 'resume' | 'setVolume'>;
  readonly history: History;
  readonly scheduler: SchedulerLike;
  readonly joined: string[];
  readonly bus: EventBus;
  /** Adds to the end of the queue. */
  readonly later$: Subject<Input>;
  /** Opens the connections that an answer will need. */
  readonly warm$: Subject<void>;
  /** Asks the speech-to-text service to finalize. */
  readonly finalize: (() => void) | undefined;
  /** Questions for a strategy's scorer. */
  readonly questions$: Subject<ScoreQuestion>;
  /** Has the speech-to-text service hear the user, or silence. */
  readonly listen: ((isOn: boolean) => void) | undefined;
  /** Switches push-to-talk on or off. */
  readonly pushToTalk: ((isOn: boolean) => void) | undefined;
  /** Asks the application's hook; its verdict joins the queue. */
  readonly hook: Answerer['hook'];
  /** Passes a text to an agent; the returned input joins the queue. */
  readonly inject: ((effect: Extract<Effect, { readonly type: 'agent.inject' }>) => Input | undefined) | undefined;
}

/** Carries out an effect. */
export function enact(
  effect: Effect,
  {
    output,
    history,
    joined,
    bus,
    later$,
    warm$,
    questions$,
    finalize,
    pushToTalk,
    listen,
    hook,
    inject,
    scheduler,
  }: World,
): void {
  /** Runs a method of a provider: the application's own may be async and reject. */
  const ask = (role: ProviderRole, method: () => unknown): void => {
    catchLater(method(), (error) => reportError(bus, error, { role }));
  };
  switch (effect.type) {
    case 'emit':
      bus.emit(effect.event, effect.payload, effect.envelope);
      break;
    case 'emit.position':
      bus.emit(effect.event, { positionMs: output.positionMs }, effect.envelope);
      break;
    case 'then':
      later$.next(effect.input);
      break;
    case 'error':
      reportError(bus, effect.error, effect);
      break;
    case 'remember': {
      const { said, whole } = effect;
      const facts = { at: scheduler.now(), turnId: said.turnId, ...historyFactsOf(said.result) };
      if (whole === undefined) history.addUser(said.text, said.images, facts);
      else history.addJudged(whole, said.images, facts);
      break;
    }
    case 'join':
      joined.push(effect.text);
      break;
    case 'rewrite':
      history.rewriteUser(effect.text);
      break;
    case 'hook':
      hook?.(effect);
      break;
    case 'settle':
      effect.ticket.settle(effect.outcome);
      break;
    case 'duck':
      ask('output', () => output.setVolume?.(10 ** (-effect.db / 20)));
      break;
    case 'pause':
      ask('output', () => output.pause());
      break;
    case 'release':
      ask('output', () => output.setVolume?.(1));
      if (effect.wasPaused) ask('output', () => output.resume());
      break;
    case 'learn': {
      const known = loadedPhrases(effect.locale);
      const learn = (phrases: Phrases): void => later$.next({ type: 'phrases', phrases });
      if (known) learn(known);
      else loadPhrases(effect.locale).then(learn, (error: unknown) => reportError(bus, error));
      break;
    }
    case 'finalize':
      ask('stt', () => finalize?.());
      break;
    case 'score':
      questions$.next(effect);
      break;
    case 'unclear':
      callSafely(
        () => sayAgain(effect.ask(), later$),
        undefined,
        (error) => reportError(bus, error),
      );
      break;
    case 'listen':
      listen?.(effect.isOn);
      break;
    case 'push-to-talk':
      pushToTalk?.(effect.isOn);
      break;
    case 'agent.inject': {
      const refused = inject?.(effect);
      if (refused) later$.next(refused);
      break;
    }
    case 'warm':
      warm$.next();
      break;
    case 'complete':
      bus.close();
      break;
  }
}

/** Who spoke, and in which language. */
function historyFactsOf({ metadata: { language, speaker } = {} }: Partial<TranscriptionResult> = {}): HistoryFacts {
  return { ...(language === undefined ? {} : { language }), ...(speaker === undefined ? {} : { speaker }) };
}

/** Says what the application wants said after a voice without words. */
function sayAgain(text: string | undefined, later$: Subject<Input>): void {
  if (!text) return;
  const ticket = new SpeechTicket();
  later$.next({ type: 'say', text$: [text], options: { store: false }, source: 'say', ticket });
}

/** Publishes a change of the history. */
export function publishHistory(change: HistoryChange, bus: EventBus): void {
  if (change.type === 'truncated') {
    const { type: _, ...truncated } = change;
    bus.emit('history.truncated', truncated);
  } else bus.emit(`history.${change.type}`, { item: change.item });
}
