import { readFile, writeFile } from 'node:fs/promises';
import { concatMap, interval, lastValueFrom, map, of, reduce, Subscription, tap } from 'rxjs';
import type { AudioMetadata, BufferInput, TTSProvider } from 'rxvoice';
import { encodeWav, int16Bytes, WavReader } from 'rxvoice/audio';

/** The format of the caller's file. */
export const callerFormat: AudioMetadata = { encoding: 'linear16', sampleRate: 16_000, channels: 1, bitDepth: 16 };

const frameMs = 20;
const bytesPerMs = 32;
const frameBytes = frameMs * bytesPerMs;
/** Silence in the file that parts two things that the caller says. */
const gapMs = 1_500;

/** A line of the caller's; `…` is a pause within it, long enough to look like its end. */
const pauseMs = 550;

/** Has the caller's lines spoken by a voice, and writes them to one WAV file with silence between them. */
export async function writeCallerFile(path: string, lines: readonly string[], voice: TTSProvider): Promise<void> {
  const parts: Uint8Array[] = [];
  for (const line of lines) {
    for (const [index, phrase] of line.split('…').entries()) {
      if (index > 0) parts.push(new Uint8Array(pauseMs * bytesPerMs));
      parts.push(await speech(phrase.trim(), voice));
    }
    parts.push(new Uint8Array(gapMs * bytesPerMs));
  }
  await writeFile(path, encodeWav(joined(parts), callerFormat));
}

async function speech(text: string, voice: TTSProvider): Promise<Uint8Array> {
  const chunks$ = voice.speak([text]).pipe(
    map(({ data }) => data),
    reduce<Uint8Array, Uint8Array[]>((all, data) => [...all, data], []),
  );
  return joined(await lastValueFrom(chunks$, { defaultValue: [] }));
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Somebody on the line: sends a frame every 20 ms, silence unless there is something to say. */
export class Caller {
  /** Everything that was sent, for the recording. */
  readonly sent: Uint8Array[] = [];
  readonly #input: BufferInput;
  readonly #lines: readonly Uint8Array[];
  readonly #line = new Subscription();
  #waiting: Uint8Array[] = [];
  #onSpoken: () => void = () => undefined;
  #next = 0;

  private constructor(input: BufferInput, lines: readonly Uint8Array[]) {
    this.#input = input;
    this.#lines = lines;
  }

  /** Reads the caller's file. */
  static async fromFile(path: string, input: BufferInput): Promise<Caller> {
    const reader = new WavReader();
    const bytes = new Uint8Array(await readFile(path));
    const samples = reader.push(bytes);
    return new Caller(input, partAtSilence(samples));
  }

  /** Picks up the receiver. */
  connect(): void {
    const startedAt = performance.now();
    let due = 0;
    const frames$ = interval(frameMs / 2).pipe(
      map(() => Math.floor((performance.now() - startedAt) / frameMs)),
      concatMap((count) => of(...Array.from({ length: Math.max(0, count - due) }, () => ++due))),
      tap(() => {
        this.#sendFrame();
      }),
    );
    this.#line.add(frames$.subscribe());
  }

  /** Says the next line of the file; resolves when it was said. */
  sayNext(): Promise<void> {
    const line = this.#lines[this.#next++];
    if (!line) return Promise.reject(new Error('The caller has nothing more to say'));
    return this.#send(line);
  }

  /** Makes a sound that is on no file, in the caller's format; resolves when it was made. */
  make(samples: Int16Array<ArrayBuffer>): Promise<void> {
    return this.#send(int16Bytes(samples));
  }

  #send(sound: Uint8Array): Promise<void> {
    for (let at = 0; at < sound.length; at += frameBytes) {
      const frame = new Uint8Array(frameBytes);
      frame.set(sound.subarray(at, at + frameBytes));
      this.#waiting.push(frame);
    }
    return new Promise((resolve) => {
      this.#onSpoken = resolve;
    });
  }

  hangUp(): void {
    this.#line.unsubscribe();
  }

  #sendFrame(): void {
    const frame = this.#waiting.shift() ?? new Uint8Array(frameBytes);
    this.sent.push(frame);
    this.#input.push(new Uint8Array(frame));
    if (this.#waiting.length > 0) return;
    this.#onSpoken();
    this.#onSpoken = () => undefined;
  }
}

/** The stretches of a recording between long silences. */
function partAtSilence(samples: Uint8Array<ArrayBuffer>): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let start: number | undefined;
  let lastSound = 0;
  for (let at = 0; at + frameBytes <= samples.length; at += frameBytes) {
    const frame = new Int16Array(samples.buffer, samples.byteOffset + at, frameBytes / 2);
    if (frame.some((sample) => Math.abs(sample) > 300)) {
      start ??= at;
      lastSound = at + frameBytes;
    } else if (start !== undefined && at - lastSound > (gapMs / 2) * bytesPerMs) {
      parts.push(samples.subarray(start, lastSound));
      start = undefined;
    }
  }
  return start === undefined ? parts : [...parts, samples.subarray(start, lastSound)];
}
