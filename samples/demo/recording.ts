import { writeFile } from 'node:fs/promises';
import type { AudioMetadata } from 'rxvoice';
import { createTranscoder, encodeWav, int16Bytes, int16View, interleave } from 'rxvoice/audio';
import type { CallRecord } from './call.ts';
import { callerFormat } from './caller.ts';

/** The format of one side of the recording. */
const sideFormat: AudioMetadata = { encoding: 'linear16', sampleRate: 24_000, channels: 1, bitDepth: 16 };
const samplesPerMs = 24;

/** Writes a call as a stereo WAV file: the caller on the left, what the caller heard on the right. */
export async function writeRecording(path: string, call: CallRecord): Promise<void> {
  const length = Math.ceil((call.endedAt - call.startedAt + 1_000) * samplesPerMs);
  const [left, right] = [new Int16Array(length), new Int16Array(length)];
  const transcoder = createTranscoder(callerFormat, sideFormat);
  let at = 0;
  for (const frame of call.sent) {
    const samples = int16View(transcoder.push(new Uint8Array(frame)));
    left.set(samples.subarray(0, Math.max(0, length - at)), at);
    at += samples.length;
  }
  for (const { data, timestamp = 0 } of call.heard) {
    const samples = int16View(data);
    const from = Math.round((timestamp - call.startedAt) * samplesPerMs);
    if (from >= 0 && from + samples.length <= length) right.set(samples, from);
  }
  const samples = int16Bytes(interleave([left, right]));
  await writeFile(path, encodeWav(samples, { ...sideFormat, channels: 2 }));
}
