import { catchError, EMPTY, filter, finalize, merge, of, switchMap, takeUntil, tap, type Observable } from 'rxjs';
import { fromInput } from '../core/bridge.ts';
import type { AgentActivity } from './agent-activity.ts';
import { SpeechTicket, type Command } from './commands.ts';
import type { TurnEndReason } from './events.ts';
import type { History } from './history.ts';
import { speech, type SpeechContext, type SpeechResult } from './speech.ts';

/** Who cuts the agent off. */
export type CutBy = 'user' | 'application' | 'stop';

/** What the application's requests need to know. */
export interface RequestContext {
  readonly speech: SpeechContext;
  readonly history: History;
  readonly activity: AgentActivity;
  readonly newId: (prefix: string) => string;
  /** Emits when the agent is cut off. */
  readonly cut$: Observable<CutBy>;
  readonly cutOff: (by: CutBy, reason: TurnEndReason) => void;
  readonly commit: (text: string, ticket: SpeechTicket) => void;
  readonly onSpeechError: (error: unknown) => void;
}

/** Does what the application asks the agent to say or to answer; other commands are not requests. */
export function perform(command: Command, context: RequestContext): Observable<unknown> {
  if (command.type === 'say') return say(command, context);
  return command.type === 'send' ? send(command, context) : EMPTY;
}

/** What is said at the start, as a request. */
export function greetingOf(text: string): Command {
  return { type: 'say', text$: of(text), options: {}, source: 'greeting', ticket: new SpeechTicket() };
}

/** Why an answer that is cut off now ends. */
export function reasonToCut({ status }: AgentActivity): 'interrupted' | 'merged' {
  return status === 'speaking' ? 'interrupted' : 'merged';
}

function send(
  { text, options, ticket }: Extract<Command, { type: 'send' }>,
  { activity, cutOff, commit }: RequestContext,
): Observable<unknown> {
  const turn$ = options.interrupt === false ? activity.whenFree$ : of(true);
  return turn$.pipe(
    switchMap(() => {
      cutOff('user', reasonToCut(activity));
      commit(text, ticket);
      return ticket.cut$;
    }),
    tap(() => {
      cutOff('application', 'interrupted');
    }),
    finalize(() => {
      ticket.settle({ heardText: '', interrupted: true });
    }),
  );
}

function say(
  { text$, options, source, ticket }: Extract<Command, { type: 'say' }>,
  context: RequestContext,
): Observable<unknown> {
  const interruptible = options.interruptible ?? true;
  const request = {
    id: context.newId('speech'),
    source,
    interruptible,
    urgent: options.priority === 'high',
    rounds$: of(fromInput(text$)),
    gate$: of(true),
  };
  const cut$ = context.cut$.pipe(filter((by) => interruptible || by !== 'user'));
  const onEnd = ({ heard, text, interrupted }: SpeechResult): void => {
    const { estimated } = heard;
    if (options.store ?? true) {
      context.history.addAssistant({ generated: text, heard: heard.text, interrupted, estimated });
    }
    ticket.settle({ heardText: heard.text, interrupted });
  };
  return speech(request, context.speech, onEnd).pipe(
    catchError((error: unknown) => {
      context.onSpeechError(error);
      return EMPTY;
    }),
    takeUntil(merge(ticket.cut$, cut$)),
  );
}
