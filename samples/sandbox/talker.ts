import type { HttpRequest } from './call.ts';
import { characterMs, encodeText } from './modem.ts';
import { writeSamples } from './pcm.ts';
import type { SampleEncoding } from './pcm.ts';
import type { Timers } from './timers.ts';

/** A piece of what is said. */
export interface Spoken {
  /** Of which it is a piece. */
  readonly text: string;
  /** Where it begins and ends in the audio of the text, in milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
}

/** How a talker speaks. */
export interface TalkerOptions {
  /** How samples are written, or how a text's samples become a file, which is then cut into pieces. */
  readonly encoding: SampleEncoding | ((samples: Int16Array) => Promise<Uint8Array<ArrayBuffer>>);
  readonly sampleRate: number;
  /** Length of one piece of audio, in milliseconds. */
  readonly chunkMs: number;
  /** Multiple of real time at which pieces come; 0 is as fast as it goes. */
  readonly realtimeFactor: number;
  readonly timers: Timers;
  readonly send: (bytes: Uint8Array<ArrayBuffer>, spoken: Spoken) => void;
}

/** Speaks texts one after the other, in pieces, as a streaming text-to-speech service does. */
export class Talker {
  readonly #options: TalkerOptions;
  readonly #queue: (string | (() => void))[] = [];
  #generation = 0;
  #running = false;

  constructor(options: TalkerOptions) {
    this.#options = options;
  }

  /** Whether something is being said or waits to be. */
  get busy(): boolean {
    return this.#running;
  }

  /** Says a text after all that was said before. */
  say(text: string): void {
    this.#queue.push(text);
    this.#start();
  }

  /** Runs once everything said before has been sent; never, when that is cleared. */
  afterwards(action: () => void): void {
    this.#queue.push(action);
    this.#start();
  }

  /** Forgets what waits; what is being said is said to its end. */
  drop(): void {
    this.#queue.length = 0;
  }

  /** Falls silent at once and forgets what waits. */
  clear(): void {
    this.#generation++;
    this.#queue.length = 0;
    this.#running = false;
  }

  #start(): void {
    if (this.#running) return;
    this.#running = true;
    void this.#run(this.#generation);
  }

  async #run(generation: number): Promise<void> {
    const { encoding, sampleRate, chunkMs, realtimeFactor, timers, send } = this.#options;
    const isOver = (): boolean => generation !== this.#generation;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      if (typeof next === 'function') {
        next();
        if (isOver()) return;
        continue;
      }
      const samples = encodeText(next, sampleRate);
      const file = typeof encoding === 'function' ? await encoding(samples) : undefined;
      const msOf = (sample: number): number => (sample * 1000) / sampleRate;
      const length = Math.round((chunkMs / 1000) * sampleRate);
      for (let at = 0; at < samples.length; at += length) {
        const piece = samples.subarray(at, at + length);
        await timers.sleep(realtimeFactor > 0 ? ((piece.length / sampleRate) * 1000) / realtimeFactor : 0);
        if (isOver()) return;
        const end = at + piece.length;
        const byteOf = (sample: number): number => Math.round((sample / samples.length) * (file?.length ?? 0));
        const bytes =
          typeof encoding === 'function' ? file?.slice(byteOf(at), byteOf(end)) : writeSamples(piece, encoding);
        if (bytes) send(bytes, { text: next, startMs: msOf(at), endMs: msOf(end) });
      }
    }
    this.#running = false;
  }
}

/** When each character of a text sounds that begins in a piece of it; in milliseconds from the text's beginning. */
export function charactersOf({
  text,
  startMs,
  endMs,
}: Spoken): { character: string; startMs: number; endMs: number }[] {
  let at = 0;
  return [...text]
    .map((character) => {
      const from = at;
      at += new TextEncoder().encode(character).length * characterMs;
      return { character, startMs: from, endMs: at };
    })
    .filter((each) => each.startMs >= startMs && each.startMs < endMs);
}

/** When each word of a text sounds that begins in a piece of it; in milliseconds from the text's beginning. */
export function wordsOf(spoken: Spoken): { word: string; startMs: number; endMs: number }[] {
  const all = charactersOf({ text: spoken.text, startMs: 0, endMs: Infinity });
  const ends = all.filter(
    ({ character }, index) => !/\s/.test(character) && /^\s?$/.test(all[index + 1]?.character ?? ''),
  );
  return ends
    .map((end) => {
      const from = all.findLastIndex(({ character, endMs }) => /\s/.test(character) && endMs <= end.startMs) + 1;
      const letters = all.slice(from, all.indexOf(end) + 1);
      const word = letters.map(({ character }) => character).join('');
      return { word, startMs: letters[0]?.startMs ?? 0, endMs: end.endMs };
    })
    .filter(({ startMs }) => startMs >= spoken.startMs && startMs < spoken.endMs);
}

/** How {@link sendAudio} answers. */
export interface SendAudioOptions {
  readonly timers: Timers;
  readonly realtimeFactor: number;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How many bytes of the audio are one second. */
  readonly bytesPerSecond: number;
  /** In one piece. */
  readonly whole?: boolean;
  /** Wraps each piece, in base64, in the data of a server-sent event; absent sends bytes. */
  readonly event?: (base64: string) => unknown;
  readonly eventName?: string;
  readonly lastEvent?: unknown;
  readonly lastEventName?: string;
}

/** Answers a request with audio, in pieces of 200 ms, at the sandbox's pace. */
export async function sendAudio(request: HttpRequest, audio: Uint8Array, options: SendAudioOptions): Promise<void> {
  const { timers, realtimeFactor, bytesPerSecond, event } = options;
  const out = request.stream(200, {
    'content-type': event ? 'text/event-stream' : options.contentType,
    ...options.headers,
  });
  const length = options.whole ? audio.length : 2 * Math.max(1, Math.round(bytesPerSecond / 10));
  for (let at = 0; at < audio.length; at += length) {
    const piece = audio.subarray(at, at + length);
    await timers.sleep(realtimeFactor > 0 ? (piece.length / bytesPerSecond / realtimeFactor) * 1000 : 0);
    if (!out.isOpen) return;
    if (event) out.event(event(Buffer.from(piece).toString('base64')), options.eventName);
    else out.write(piece);
  }
  if (options.lastEvent !== undefined) out.event(options.lastEvent, options.lastEventName);
  out.end();
}
