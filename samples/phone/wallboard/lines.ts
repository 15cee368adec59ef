import type { CallEvent } from 'rxvoice';

/** A line of what happened in a call. */
export interface Line {
  readonly by: 'caller' | 'agent' | 'call' | 'problem';
  readonly text: string;
  /** What else is to be known of it. */
  readonly note?: string;
}

/** What of an event is shown; `undefined` for most. */
export function lineOf(event: CallEvent): Line | undefined {
  switch (event.type) {
    case 'transcript.final':
      return event.text ? { by: 'caller', text: event.text } : undefined;
    case 'speech.ended': {
      const note = event.interrupted ? 'interrupted' : undefined;
      return event.heardText ? { by: 'agent', text: event.heardText, ...(note && { note }) } : undefined;
    }
    case 'tool.call':
      return { by: 'call', text: event.call.name, note: 'tool' };
    case 'dtmf.digit':
      return { by: 'caller', text: event.digit, note: 'key' };
    case 'call.state':
      return { by: 'call', text: event.state };
    case 'error':
      return { by: 'problem', text: event.message };
    case 'events.dropped':
      return { by: 'problem', text: `${event.count} events are missing: the broker was away` };
    case 'session.closed':
      return { by: 'call', text: 'The call is over.' };
    default:
      return undefined;
  }
}
