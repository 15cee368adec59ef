import { catchError, EMPTY, finalize, of, type Observable } from 'rxjs';
import type { ProviderRole } from '../../core/roles.ts';
import type { History } from '../history.ts';
import type { AgentReport } from '../fold/inputs.ts';
import { nothingHeard, speech, type SpeechContext, type SpeechRequest, type SpeechResult } from './speech.ts';
import type { Say } from '../fold/state.ts';

/** What {@link sayIt} needs. */
export interface SayContext {
  readonly speech: SpeechContext;
  /** Turns what is to be said into audio. */
  synthesize(say: Say): SpeechRequest['synthesize'];
  readonly history: History;
  readonly report: (report: AgentReport) => void;
  roleOf(error: unknown): ProviderRole;
}

/** Speaks what the application asked for. Unsubscribing cuts it off, and records what was heard. Never errors. */
export function sayIt(say: Say, context: SayContext): Observable<unknown> {
  const { id, source, interruptible, store, urgent, tickets } = say;
  let ended = nothingHeard;
  const onEnd = (result: SpeechResult): void => {
    ended = result;
    const { heard, text, interrupted } = result;
    const { estimated } = heard;
    if (store) {
      const facts = { at: context.speech.scheduler.now() };
      context.history.addAssistant({ generated: text, heard: heard.text, interrupted, estimated }, facts);
    }
  };
  const end = (): void => {
    const { heard, interrupted, silentAt } = ended;
    context.report({ type: 'say.ended', id, tickets, outcome: { heardText: heard.text, interrupted }, silentAt });
  };
  const synthesize = context.synthesize(say);
  const request = { id, source, interruptible, stored: store, urgent, synthesize, gate$: of(true) };
  return speech(request, context.speech, onEnd).pipe(
    catchError((error: unknown) => {
      context.report({ type: 'say.failed', error, role: context.roleOf(error) });
      return EMPTY;
    }),
    // Reporting the end unsubscribes from this stream, so errors are reported first.
    finalize(end),
  );
}
