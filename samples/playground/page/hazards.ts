import {
  buffer,
  concat,
  defer,
  delay,
  EMPTY,
  filter,
  ignoreElements,
  map,
  take,
  tap,
  timer,
  type Observable,
} from 'rxjs';
import type { ProviderRole } from 'rxvoice';
import { durationMs } from '../../sandbox/modem.ts';
import type { Hazard } from '../server/hazards.ts';
import { cough, next, say } from './acts.ts';
import { question } from './answers.ts';
import type { Session } from './session.ts';
import { isAgent } from './setup.ts';

/** Something that goes wrong, at a click. */
export interface HazardRow {
  readonly id: string;
  readonly label: string;
  readonly about: string;
  /** What of the services it befalls, and how; absent: the caller does it. */
  readonly fault?: {
    readonly hazard: Exclude<Hazard, 'clear'>;
    readonly role: ProviderRole;
    readonly afterMs?: number;
  };
  /** What the caller does, when this is subscribed to. */
  readonly act?: (session: Session) => Observable<unknown>;
  /** Which roles have to be the sandbox's: `act` counts on what they do. */
  readonly needs?: readonly ProviderRole[];
  /** What is said when it is done. */
  readonly done: string;
  /** It lasts until it is taken back, which is then said so. */
  readonly undone?: string;
}

/** How much of an answer is heard before it is talked over, in milliseconds. */
const intoAnswerMs = 1_500;
/** How much of its own voice the agent hears, and how long before the end of its question somebody answers. */
const [echoMs, beforeEndMs] = [2_400, 700];
/** How long the caller hesitates: an answer is prepared by then, and the turn is not over. */
const hesitationMs = 550;

/** Over what the agent says; it is asked for a story if it says nothing. */
const over =
  (act: (session: Session) => Observable<unknown>) =>
  (session: Session): Observable<unknown> => {
    if (session.pipeline.agentState === 'speaking') return act(session);
    const told$ = next(session, 'speech.started').pipe(delay(intoAnswerMs), ignoreElements());
    return concat(say('Tell me a long story')(session), told$, act(session));
  };

/** What the page can let go wrong. */
export const hazards: readonly HazardRow[] = [
  {
    ...{ id: 'talk-over', label: 'Talk over', about: 'The caller speaks while the agent does: a barge-in.' },
    ...{ act: over(say('Wait, stop that please')), done: 'The caller says “Wait, stop that please”.' },
  },
  {
    ...{ id: 'cough', label: 'Cough', about: 'A noise that is no speech: the agent goes on at the same sample.' },
    act: over(cough),
    done: 'The caller coughs.',
  },
  {
    ...{ id: 'nod', label: 'Mm-hmm', about: 'The caller nods: the agent goes on.' },
    ...{ act: over(say('Mm-hmm.')), done: 'The caller says “Mm-hmm” over the answer.' },
  },
  {
    ...{ id: 'stop', label: 'Stop', about: 'A command: it cuts at once, and is not answered.' },
    ...{ act: over(say('Stop.')), done: 'The caller says “Stop” over the answer.' },
  },
  {
    ...{ id: 'yes', label: 'Early yes', about: 'The caller says “yes” over the end of a question: it is the answer.' },
    act: (session) => {
      const asked$ = next(session, 'speech.started').pipe(delay(durationMs(question) - beforeEndMs), ignoreElements());
      return concat(say('A table please')(session), asked$, say('Yes.')(session));
    },
    ...{ needs: ['llm', 'tts'], done: 'The caller asks for a table, and says “yes” before the question is over.' },
  },
  {
    ...{
      id: 'changed-mind',
      label: 'Changed mind',
      about: 'A “no” after an answer was prepared: that is not adopted.',
    },
    act: (session) =>
      defer(() => {
        session.say('Book the flight');
        session.caller?.pause(hesitationMs);
        session.say(' no do not');
        return EMPTY;
      }),
    ...{ needs: ['stt', 'llm'], done: 'The caller says “Book the flight … no do not”.' },
  },
  {
    ...{ id: 'tool', label: 'Interrupt a tool', about: '“Stop” while a tool runs: it is called off.' },
    act: (session) =>
      concat(
        say('Find my order')(session),
        next(session, 'tool.call').pipe(delay(intoAnswerMs), ignoreElements()),
        say('Stop.')(session),
      ),
    ...{ needs: ['llm'], done: 'The caller asks for an order, and says “Stop” while it is looked up.' },
  },
  {
    ...{ id: 'echo', label: 'Echo', about: 'The microphone hears the agent: its own words are dropped.' },
    act: (session) =>
      defer(() => {
        const chunks$ = session.events$.pipe(
          filter((event) => event.type === 'audio.chunk'),
          map(({ chunk }) => chunk),
        );
        const heard$ = next(session, 'speech.started').pipe(delay(echoMs));
        session.say('Tell me a long story');
        return chunks$.pipe(
          buffer(heard$),
          take(1),
          tap((chunks) => session.caller?.echo(chunks, echoMs)),
        );
      }),
    ...{ needs: ['llm', 'tts'], done: 'The microphone hears what the agent says.' },
  },
  {
    ...{
      id: 'hang-up',
      label: 'Hang up',
      about: 'The caller is gone, even in the middle of an answer: the call is over.',
    },
    ...{ act: (session) => defer(() => session.hangUp()), done: 'The caller hangs up.' },
  },
  {
    ...{ id: 'drop', label: 'Drop the connection', about: 'The speech-to-text socket is cut; it comes back.' },
    ...{ fault: { hazard: 'drop', role: 'stt' }, done: 'The connection to the speech-to-text service is cut.' },
  },
  {
    ...{ id: 'drop-mid', label: 'Drop in mid-sentence', about: 'It is cut while the caller speaks: no word is lost.' },
    act: say('Say the line holds through a drop'),
    fault: { hazard: 'drop', role: 'stt', afterMs: 1_000 },
    done: 'The connection is cut in the middle of “Say the line holds through a drop”.',
  },
  {
    ...{ id: 'slow', label: 'Slow model', about: 'The next answer comes four seconds late.' },
    ...{ fault: { hazard: 'slow', role: 'llm' }, done: 'The next answer of the model comes four seconds late.' },
  },
  {
    ...{
      id: 'stall',
      label: 'Stalled model',
      about: 'The next answer never comes: the turn ends, the conversation not.',
    },
    act: say('Are you there'),
    ...{ fault: { hazard: 'stall', role: 'llm' }, done: 'The model does not answer “Are you there”; it has 10 s.' },
  },
  {
    ...{ id: 'rate-limit', label: '429', about: 'The model asks to wait a second, then answers.' },
    ...{ fault: { hazard: 'rate-limit', role: 'llm' }, done: 'The next request to the model is refused with 429.' },
  },
  {
    ...{
      id: 'expired-key',
      label: 'Expired key',
      about: 'The model refuses every request with 401, until it is renewed.',
    },
    ...{
      fault: { hazard: 'expired-key', role: 'llm' },
      done: 'The model refuses every request: press again to renew.',
    },
    undone: 'The key is renewed.',
  },
];

/** Whether a hazard can be done in a session. */
export function canDo({ fault, act, needs = [] }: HazardRow, session: Session | undefined): boolean {
  if (!session) return false;
  if (act && session.caller === undefined) return false;
  if (fault && targetOf(fault.role, session) === undefined) return false;
  return needs.every((role) => targetOf(role, session) !== undefined);
}

/** Lets it go wrong, or takes it back. */
export async function doHazard({ fault, act }: HazardRow, session: Session, takesBack: boolean): Promise<void> {
  const { hazard, role, afterMs = 0 } = fault ?? {};
  const target = role && targetOf(role, session);
  const cause = async (): Promise<void> => {
    if (!hazard || !target) return;
    const { service, vendor = '', sockets = '' } = target;
    const path = hazard === 'drop' ? `/${vendor}${sockets}` : undefined;
    const response = await fetch('/api/hazards', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ hazard: takesBack ? 'clear' : hazard, service, path }),
      // What is taken back as the page is left, is.
      keepalive: true,
    });
    if (!response.ok) throw new Error(`The playground did not take it (${response.status}).`);
  };
  if (afterMs === 0) await cause();
  if (act) session.perform(act(session));
  if (afterMs > 0) session.perform(timer(afterMs).pipe(tap(() => void cause())));
}

function targetOf(role: ProviderRole, { choices }: Session): Session['choices'][number]['row'] | undefined {
  const row = choices.find((choice) => choice.place === 'sandbox' && choice.row.roles.includes(role))?.row;
  // An agent's model has no requests of its own.
  return row && isAgent(row) && role === 'llm' ? undefined : row;
}
