import { defer, EMPTY, filter, take, type Observable } from 'rxjs';
import type { VoiceEvent, VoiceEventType } from 'rxvoice';
import type { Session } from './session.ts';

/** Something that happens in a session when it is subscribed to; it completes when it has begun. */
export type Act = (session: Session) => Observable<unknown>;

/** The caller says a text. */
export const say =
  (text: string): Act =>
  (session) =>
    defer(() => {
      session.say(text);
      return EMPTY;
    });

/** The caller coughs. */
export const cough: Act = (session) =>
  defer(() => {
    session.caller?.cough();
    return EMPTY;
  });

/** The next event of a type. */
export const next = (session: Session, type: VoiceEventType): Observable<VoiceEvent> =>
  session.events$.pipe(
    filter((event) => event.type === type),
    take(1),
  );
