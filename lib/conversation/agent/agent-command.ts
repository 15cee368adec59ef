import { catchError, EMPTY, map, of, reduce, type Observable } from 'rxjs';
import { VoiceError } from '../../core/errors.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { fromInput } from '../../stream/bridge.ts';
import type { Command, SayOptions, SendOptions } from '../commands.ts';
import type { Input, TicketInterrupt } from '../fold/inputs.ts';
import { errorOf } from '../provider-error.ts';
import type { Agent } from './agent-answer.ts';

/** Longest text of a `say()`, in characters: an agent is given all of it at once. */
const maxSaid = 100_000;

/** What the application's commands ask of an agent's service, and whether the conversation handles them too. */
const asked: Readonly<
  Record<string, readonly [method: 'interrupt' | 'startTurn' | 'endTurn' | 'cancelTurn', isOurs: boolean]>
> = {
  interrupt: ['interrupt', true],
  begin: ['startTurn', false],
  commit: ['endTurn', false],
  cancel: ['cancelTurn', true],
};

/** The application's commands, as far as an agent supports them. */
export function agentCommand(agent: Agent, command: Command | TicketInterrupt): Observable<Input> {
  const [method, isOurs = true] = ownEntry(asked, command.type) ?? [];
  if (method && agent[method]) {
    try {
      agent[method]();
    } catch (error) {
      return of({ type: 'say.failed', error: errorOf(agent.name, error), role: 'stt' });
    }
    // The voice of a turn by hand is on `speech$`.
    if (!isOurs) return EMPTY;
  }
  if (command.type !== 'say' && command.type !== 'send') return of(command);
  const { ticket } = command;
  const refusal = refusalOf(command);
  if (refusal !== undefined) {
    const error = new VoiceError(`${agent.name} ${refusal}`, { code: 'configuration', provider: agent.name });
    return of({ type: 'agent.refused', error, ticket });
  }
  if (command.type === 'send') return of({ type: 'agent.inject', as: 'user', text: command.text, ticket });
  return fromInput(command.text$).pipe(
    reduce((text, piece) => {
      if (text.length + piece.length <= maxSaid) return text + piece;
      const message = `${agent.name}: the text given to say() has more than ${maxSaid} characters`;
      throw new VoiceError(message, { code: 'overflow', provider: agent.name });
    }, ''),
    map((text): Input => ({ type: 'agent.inject', as: 'agent', text, ticket })),
    catchError((error: unknown) => of<Input>({ type: 'agent.refused', error: errorOf(agent.name, error), ticket })),
  );
}

/** What happens anyway: any other value of an option would change nothing. */
const usual: Readonly<Record<string, unknown>> = {
  interruptible: true,
  store: true,
  priority: 'normal',
  interrupt: true,
} satisfies SayOptions & SendOptions;

/** Why an agent's service cannot do as a text's options say. */
function refusalOf({ type, options }: Extract<Command, { readonly type: 'say' | 'send' }>): string | undefined {
  const { images, ...others }: SayOptions & SendOptions = options;
  if (images?.length) return 'takes no images: send them to a model';
  const changed = Object.entries<unknown>(others).filter(([key, value]) => value !== undefined && value !== usual[key]);
  if (changed.length === 0) return undefined;
  return `has no ${changed.map(([key]) => key).join(' and ')} of ${type}(): leave it out`;
}
