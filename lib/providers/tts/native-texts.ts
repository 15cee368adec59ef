import { silence } from '../../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { NativePiece } from './native-speaker.ts';

/** The format of what stands for text. */
export const nativeFormat: AudioMetadata = { encoding: 'linear16', sampleRate: 8_000, channels: 1, bitDepth: 16 };

/** Milliseconds of a character, no faster than voices speak: of an alphabet's, and of one that is a syllable or more. */
const msPerCharacter = 85;
const msPerSyllable = 260;
const syllables = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/g;

/**
 * Text on its way from the browser's voice to itself as output. For each piece of it stands a chunk, as long as the piece
 * may take, and silent.
 */
export class NativeTexts {
  readonly #pieces = new WeakMap<Uint8Array, NativePiece>();

  /** The chunk that stands for a text, spoken at a rate. */
  chunkFor(text: string, rate: number): AudioChunk & NativePiece {
    const long = text.match(syllables)?.length ?? 0;
    const durationMs = Math.ceil((long * msPerSyllable + (text.length - long) * msPerCharacter) / rate);
    const chunk = { data: silence(nativeFormat, durationMs), metadata: nativeFormat };
    this.#pieces.set(chunk.data, { text, durationMs });
    return { ...chunk, text, durationMs };
  }

  /** What a chunk stands for; `undefined` for audio of others. */
  of({ data }: AudioChunk): NativePiece | undefined {
    return this.#pieces.get(data);
  }
}
