import type { VoiceEvent } from '../conversation/events.ts';
import type { FakeTTSConfig } from './fakes.ts';

/** How fast the voice was: only one that is as fast is cut off at the same words. What no event tells is left out. */
export function recordedVoice(events: readonly VoiceEvent[]): Pick<FakeTTSConfig, 'msPerCharacter' | 'latencyMs'> {
  const paces: number[] = [];
  const waits: number[] = [];
  for (const event of events) {
    const isWhole = event.type === 'speech.ended' && !event.interrupted && event.playedMs > 0 && event.text !== '';
    if (isWhole) paces.push(event.playedMs / event.text.length);
    // An answer that was prepared is there at once.
    if (event.type === 'turn.metrics' && event.ttsFirstAudio) waits.push(event.ttsFirstAudio);
  }
  const [pace, latencyMs] = [middle(paces), middle(waits)];
  return {
    // Whole milliseconds: the samples are its text.
    ...(pace === undefined ? {} : { msPerCharacter: Math.max(1, Math.round(pace)) }),
    ...(latencyMs === undefined ? {} : { latencyMs }),
  };
}

/** The middle one: a text that is read out otherwise, such as a number, does not count. */
function middle(values: readonly number[]): number | undefined {
  return [...values].sort((one, other) => one - other)[values.length >> 1];
}
