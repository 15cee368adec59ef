import type { VoiceEvent, VoiceEventType } from 'rxvoice';
import { application, user, voiceTest } from 'rxvoice/testing';

/** A plain turn, a story that is interrupted, and something typed: what the engine makes of them, in virtual time. */
export function conversation(): readonly VoiceEvent[] {
  return voiceTest({
    llm: { answer: () => 'Once upon a time there was a very long story that nobody ever heard to its end.' },
    steps: {
      0: user.starts,
      300: user.interim('tell'),
      600: user.interim('tell me a story'),
      800: user.preflight('tell me a story'),
      900: user.falls,
      1_000: user.final('tell me a story'),
      3_000: user.starts,
      3_400: user.interim('stop that please'),
      4_000: [user.falls, user.final('stop that please')],
      30_000: application.send('thank you'),
    },
    untilMs: 60_000,
  }).events;
}

/** The events of one type. */
export function ofType<T extends VoiceEventType>(events: readonly VoiceEvent[], type: T): VoiceEvent<T>[] {
  const wanted = events.filter((event) => event.type === type);
  return wanted as VoiceEvent<T>[];
}
