/** Writes a WAV file of somebody who says a text, in the tones that the sandbox understands, for a browser's microphone. */
import { writeFileSync } from 'node:fs';
import { encodeWav, int16Bytes } from '../../lib/audio/index.ts';
import { encodeText, noise } from '../../samples/sandbox/modem.ts';

const [file = '', text = ''] = process.argv.slice(2);
const sampleRate = 48_000;
// Before and after, what a quiet room has.
const samples = [1_500, 20_000].map((ms) => noise(ms, sampleRate, 0.0005));
const spoken = Int16Array.from([...(samples[0] ?? []), ...encodeText(text, sampleRate), ...(samples[1] ?? [])]);
writeFileSync(file, encodeWav(int16Bytes(spoken), { encoding: 'linear16', sampleRate, channels: 1 }));
