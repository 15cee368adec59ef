import type { AudioChunk, AudioMetadata } from '../audio/types.ts';

/** The format of the fakes' audio: linear16, 8000 Hz, mono. */
export const textAudioFormat: AudioMetadata = { encoding: 'linear16', sampleRate: 8_000, channels: 1, bitDepth: 16 };

const samplesPerMs = 8;

/**
 * Text as audio that can be read back: every character is `msPerCharacter` milliseconds of samples that have its code
 * (UTF-16) as their value.
 */
export function textToAudio(text: string, msPerCharacter: number = 50): Uint8Array<ArrayBuffer> {
  const samplesPerCharacter = msPerCharacter * samplesPerMs;
  const samples = new Int16Array(text.length * samplesPerCharacter);
  for (let index = 0; index < text.length; index++) {
    const from = index * samplesPerCharacter;
    samples.fill(text.charCodeAt(index), from, from + samplesPerCharacter);
  }
  return new Uint8Array(samples.buffer);
}

/** What chunks of such audio say, as far as whole characters were there. */
export function audioToText(chunks: readonly AudioChunk[], msPerCharacter: number = 50): string {
  const samplesPerCharacter = msPerCharacter * samplesPerMs;
  const codes = chunks.flatMap(({ data }) => {
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    return Array.from({ length: data.byteLength >> 1 }, (_, index) => view.getInt16(index * 2, true));
  });
  let text = '';
  for (let at = 0; at + samplesPerCharacter <= codes.length; at += samplesPerCharacter) {
    text += String.fromCharCode((codes[at] ?? 0) & 0xffff);
  }
  return text;
}
