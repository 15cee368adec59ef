import type { ProviderRole } from 'rxvoice';
import type { Hazard } from '../server/hazards.ts';
import type { Session } from './session.ts';
import { isAgent } from './setup.ts';

/** Something that goes wrong, at a click. */
export interface HazardRow {
  readonly id: string;
  readonly label: string;
  readonly about: string;
  /** What of the services it befalls, and how; absent: the caller does it. */
  readonly fault?: { readonly hazard: Exclude<Hazard, 'clear'>; readonly role: ProviderRole };
  /** What the caller does. */
  readonly act?: (session: Session) => void;
  /** What is said when it is done. */
  readonly done: string;
  /** It lasts until it is taken back, which is then said so. */
  readonly undone?: string;
}

/** What the page can let go wrong. */
export const hazards: readonly HazardRow[] = [
  {
    ...{ id: 'talk-over', label: 'Talk over', about: 'The caller speaks while the agent does: a barge-in.' },
    ...{ act: (session) => session.say('Wait, stop that please'), done: 'The caller says “Wait, stop that please”.' },
  },
  {
    ...{ id: 'cough', label: 'Cough', about: 'A noise that is no speech: the agent goes on.' },
    ...{ act: (session) => session.caller?.cough(), done: 'The caller coughs.' },
  },
  {
    ...{ id: 'drop', label: 'Drop the connection', about: 'The speech-to-text socket is cut; it comes back.' },
    ...{ fault: { hazard: 'drop', role: 'stt' }, done: 'The connection to the speech-to-text service is cut.' },
  },
  {
    ...{ id: 'slow', label: 'Slow model', about: 'The next answer comes four seconds late.' },
    ...{ fault: { hazard: 'slow', role: 'llm' }, done: 'The next answer of the model comes four seconds late.' },
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
export function canDo({ fault, act }: HazardRow, session: Session | undefined): boolean {
  if (!session) return false;
  if (act) return session.caller !== undefined;
  return fault !== undefined && targetOf(fault.role, session) !== undefined;
}

/** Lets it go wrong, or takes it back. */
export async function doHazard({ fault, act }: HazardRow, session: Session, takesBack: boolean): Promise<void> {
  act?.(session);
  const target = fault && targetOf(fault.role, session);
  if (!fault || !target) return;
  const { service, vendor = '', sockets = '' } = target;
  const path = fault.hazard === 'drop' ? `/${vendor}${sockets}` : undefined;
  const response = await fetch('/api/hazards', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ hazard: takesBack ? 'clear' : fault.hazard, service, path }),
  });
  if (!response.ok) throw new Error(`The playground did not take it (${response.status}).`);
}

function targetOf(role: ProviderRole, { choices }: Session): Session['choices'][number]['row'] | undefined {
  const row = choices.find((choice) => choice.place === 'sandbox' && choice.row.roles.includes(role))?.row;
  // An agent's model has no requests of its own.
  return row && isAgent(row) && role === 'llm' ? undefined : row;
}
