import type { AudioChunk, AudioMetadata } from '../audio/types.ts';

/** The format of the fakes' audio: linear16, 8000 Hz, mono. */
export const textAudioFormat: AudioMetadata = { encoding: 'linear16', sampleRate: 8_000, channels: 1, bitDepth: 16 };

const samplesPerMs = 8;

/**
 * Encodes text as audio that can be decoded: every character is `msPerCharacter` milliseconds of samples with its code
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

/** Decodes such audio, as far as characters are complete; skips any cut off in the middle. */
export function audioToText(chunks: readonly AudioChunk[], msPerCharacter: number = 50): string {
  const samplesPerCharacter = msPerCharacter * samplesPerMs;
  let text = '';
  let code = 0;
  let run = 0;
  let utterance: string | undefined;
  const endRun = (): void => {
    text += String.fromCharCode(code).repeat(Math.floor(run / samplesPerCharacter));
    run = 0;
  };
  for (const { data, utteranceId } of chunks) {
    if (utteranceId !== utterance) endRun();
    utterance = utteranceId;
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    for (let at = 0; at + 1 < data.byteLength; at += 2) {
      const next = view.getUint16(at, true);
      if (next !== code) endRun();
      code = next;
      run++;
    }
  }
  endRun();
  return text;
}
