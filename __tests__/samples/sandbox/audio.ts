import { encodeText, silence } from '../../../samples/sandbox/modem.ts';
import { concatBytes, writeSamples } from '../../../samples/sandbox/pcm.ts';
import type { SampleEncoding } from '../../../samples/sandbox/pcm.ts';

/** Speech and pauses (milliseconds) one after the other, as bytes. */
export function speech(
  parts: readonly (string | number)[],
  encoding: SampleEncoding = 'linear16',
  sampleRate = 16000,
): Uint8Array<ArrayBuffer> {
  return concatBytes(
    parts.map((part) =>
      writeSamples(typeof part === 'string' ? encodeText(part, sampleRate) : silence(part, sampleRate), encoding),
    ),
  );
}

/** Bytes in pieces. */
export function pieces(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer>[] {
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, n) => bytes.slice(n * length, (n + 1) * length));
}
