import type { AudioChunk } from '../audio/types.ts';

/**
 * What was heard, apart for each thing that was said: what is said next is another word.
 *
 * @param endedAt - When each ended, on the clock of the chunks' timestamps.
 */
export function bySpeech(audio: readonly AudioChunk[], endedAt: readonly number[]): AudioChunk[][] {
  const parts = new Map<number, AudioChunk[]>();
  for (const chunk of audio) {
    const part = endedAt.findIndex((at) => (chunk.timestamp ?? 0) < at);
    const chunks = parts.get(part);
    if (chunks) chunks.push(chunk);
    else parts.set(part, [chunk]);
  }
  return [...parts.values()];
}
