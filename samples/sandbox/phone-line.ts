import WebSocket from 'ws';
import { decodeSamples, encodeText, noise } from './modem.ts';
import type { Heard } from './modem.ts';
import { bytesPerSample, readSamples, writeSamples } from './pcm.ts';
import type { SampleEncoding } from './pcm.ts';

/** Length of a frame, in milliseconds. */
export const frameMs = 20;

/** How a call is made. */
export interface LineOptions {
  /** The application's socket, such as `ws://127.0.0.1:8080/phone`. */
  readonly url: string;
  /**
   * How fast the caller's clock runs, as a multiple of real time; `manual` moves it by `advance()` alone. Default: 1.
   */
  readonly speed?: number | 'manual';
  /** Sends silence while the caller says nothing, as phones do. Default: true. */
  readonly comfortNoise?: boolean;
  /** Seconds of what was heard that are kept, from the start. Default: 3600. */
  readonly keepSeconds?: number;
}

/** What the platform would report of the application's messages. */
export interface PhoneWarning {
  /** The platform's own number, where it has one. */
  readonly code?: number;
  readonly text: string;
}

/** The audio of a call, in both directions. */
export interface LineFormat {
  readonly encoding: SampleEncoding;
  readonly sampleRate: number;
  /** The byte of silence. */
  readonly silent: number;
}

/** Something that waits in the platform's play buffer. */
type Buffered = { readonly audio: Uint8Array; at: number } | { readonly mark: unknown };

/**
 * A caller on a phone platform, which is the client of the application's socket. What is peculiar to a platform's wire
 * is a subclass's.
 *
 * The caller has a clock of its own. Each 20 ms of it, one frame of what the caller says is sent and one frame of what
 * the application sent is played, so that `playedMs` and `heard()` are what a person at the phone would have heard.
 */
export abstract class PhoneLine {
  /** What the platform complains about; a correct application causes none. */
  readonly warnings: PhoneWarning[] = [];
  /** When the application silenced the caller's receiver, in milliseconds of the caller's clock. */
  readonly silencedMs: number[] = [];
  /** The most audio that has waited to be played, in milliseconds. */
  mostBufferedMs = 0;
  /** Resolves with the close code when the call is over. */
  readonly ended: Promise<number>;
  readonly #socket: WebSocket;
  readonly #options: LineOptions;
  readonly #format: LineFormat;
  readonly #bytesPerMs: number;
  readonly #frameBytes: number;
  readonly #speech: Uint8Array[] = [];
  readonly #waiters = new Set<() => void>();
  #buffer: Buffered[] = [];
  #played: Uint8Array<ArrayBuffer>;
  #playedBytes = 0;
  #voicedBytes = 0;
  #bufferedBytes = 0;
  #frames = 0;
  #clock: ReturnType<typeof setInterval> | undefined;
  #isOver = false;

  protected constructor(socket: WebSocket, options: LineOptions, format: LineFormat) {
    this.#socket = socket;
    this.#options = options;
    this.#format = format;
    this.#bytesPerMs = (bytesPerSample[format.encoding] * format.sampleRate) / 1000;
    this.#frameBytes = frameMs * this.#bytesPerMs;
    this.#played = new Uint8Array(this.#bytesPerMs * 60_000);
    this.ended = new Promise((resolve) => {
      socket.on('close', (code) => {
        this.#stopClock();
        this.#isOver = true;
        this.#wake();
        resolve(code);
      });
    });
    socket.on('message', (data, isBinary) => {
      this.receive(data as Buffer, isBinary);
      this.#wake();
    });
    socket.on('error', () => undefined);
  }

  /** How often the application silenced the caller's receiver. */
  get clears(): number {
    return this.silencedMs.length;
  }

  /** Milliseconds of the caller's clock. */
  get nowMs(): number {
    return this.#frames * frameMs;
  }

  /** Milliseconds of the application's audio that were played, pauses not counted. */
  get playedMs(): number {
    return this.#voicedBytes / this.#bytesPerMs;
  }

  /** Milliseconds of audio that wait to be played. */
  get bufferedMs(): number {
    return this.#bufferedBytes / this.#bytesPerMs;
  }

  /** Whether the caller has something left to say. */
  get isSpeaking(): boolean {
    return this.#speech.length > 0;
  }

  /** What the caller heard, silence included. */
  get playedAudio(): Uint8Array<ArrayBuffer> {
    return this.#played.subarray(0, this.#playedBytes);
  }

  /** What the caller heard, as text. */
  heard(): Heard {
    const { encoding, sampleRate } = this.#format;
    return decodeSamples(readSamples(this.playedAudio, encoding), sampleRate);
  }

  /** Says a text after what was said before. */
  say(text: string): void {
    this.play(writeSamples(encodeText(text, this.#format.sampleRate), this.#format.encoding));
  }

  /** Says nothing for a while, then goes on. */
  pause(ms: number): void {
    this.play(new Uint8Array(ms * this.#bytesPerMs).fill(this.#format.silent));
  }

  /** A cough. */
  cough(ms = 300): void {
    this.play(writeSamples(noise(ms, this.#format.sampleRate), this.#format.encoding));
  }

  /** The beep of an answering machine. */
  beep(ms = 400, hz = 1_000): void {
    const { sampleRate, encoding } = this.#format;
    const samples = Int16Array.from({ length: (ms * sampleRate) / 1_000 }, (_, n) =>
      Math.round(9_000 * Math.sin((2 * Math.PI * hz * n) / sampleRate)),
    );
    this.play(writeSamples(samples, encoding));
  }

  /** Plays audio of the call's format into the phone. */
  play(audio: Uint8Array): void {
    if (audio.length > 0) this.#speech.push(audio);
  }

  /** Presses a key. */
  abstract press(digit: string): void;

  /** Sends something that the platform would not. */
  raw(data: string | Uint8Array): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(data);
  }

  /** Ends the call: as the platform does, or as a lost network does, without a word. */
  hangUp(how: 'politely' | 'abruptly' = 'politely'): Promise<number> {
    if (how === 'abruptly') this.#socket.terminate();
    else {
      this.sayGoodbye();
      this.#socket.close();
    }
    this.#stopClock();
    return this.ended;
  }

  /** Moves the caller's clock: sends and plays what is due. */
  advance(ms: number): void {
    for (let left = ms; left >= frameMs && !this.#isOver; left -= frameMs) this.#frame();
    this.#wake();
  }

  /** Resolves when something is so, checked with each message and each tick; rejects when the call ends before. */
  until(condition: (caller: this) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        const isSo = condition(this);
        if (!isSo && !this.#isOver) return;
        this.#waiters.delete(check);
        if (isSo) resolve();
        else reject(new Error('The call ended before that.'));
      };
      this.#waiters.add(check);
      check();
    });
  }

  /** Sends 20 ms of what the caller says. */
  protected abstract sendFrame(frame: Uint8Array, atMs: number): void;

  /** Tells the application that what it sent before a mark was played. */
  protected abstract echo(mark: unknown): void;

  /** Takes a message of the application. */
  protected abstract receive(data: Buffer, isBinary: boolean): void;

  /** The last message of a call. */
  protected abstract sayGoodbye(): void;

  /** The caller picks up: from now on the clock runs. */
  protected begin(): void {
    const { speed = 1 } = this.#options;
    if (speed === 'manual') return;
    const began = performance.now();
    // Late ticks catch up: the clock does not drift.
    this.#clock = setInterval(
      () => this.advance((performance.now() - began) * speed - this.nowMs),
      Math.max(1, frameMs / speed),
    );
  }

  /** Lets audio wait to be played. */
  protected buffer(audio: Uint8Array): void {
    if (audio.length === 0) return;
    this.#buffer.push({ audio, at: 0 });
    this.#bufferedBytes += audio.length;
    this.mostBufferedMs = Math.max(this.mostBufferedMs, this.bufferedMs);
  }

  /** Lets a mark wait for what stands before it. */
  protected mark(mark: unknown): void {
    this.#buffer.push({ mark });
    this.#echoMarks();
  }

  /** Silences the receiver; gives the marks that waited. */
  protected clear(): unknown[] {
    this.silencedMs.push(this.nowMs);
    const marks = this.#buffer.flatMap((each) => ('mark' in each ? [each.mark] : []));
    this.#buffer = [];
    this.#bufferedBytes = 0;
    return marks;
  }

  protected warn(warning: PhoneWarning): void {
    this.warnings.push(warning);
  }

  protected sendJson(message: unknown): void {
    this.raw(JSON.stringify(message));
  }

  #stopClock(): void {
    clearInterval(this.#clock);
    this.#clock = undefined;
  }

  #frame(): void {
    const at = this.nowMs;
    this.#frames++;
    const frame = this.#takeSpeech();
    if (frame) this.sendFrame(frame, at);
    this.#hear();
  }

  /** The next 20 ms of what the caller says. */
  #takeSpeech(): Uint8Array | undefined {
    if (this.#speech.length === 0 && this.#options.comfortNoise === false) return undefined;
    const frame = new Uint8Array(this.#frameBytes).fill(this.#format.silent);
    for (let filled = 0; filled < frame.length;) {
      const next = this.#speech.shift();
      if (!next) break;
      const part = next.subarray(0, frame.length - filled);
      frame.set(part, filled);
      filled += part.length;
      if (part.length < next.length) this.#speech.unshift(next.subarray(part.length));
    }
    return frame;
  }

  /** Plays 20 ms of what the application sent. */
  #hear(): void {
    const frame = new Uint8Array(this.#frameBytes).fill(this.#format.silent);
    let filled = 0;
    while (filled < frame.length) {
      this.#echoMarks();
      const [next] = this.#buffer;
      if (!next || !('audio' in next)) break;
      const part = next.audio.subarray(next.at, next.at + frame.length - filled);
      frame.set(part, filled);
      filled += part.length;
      next.at += part.length;
      if (next.at === next.audio.length) this.#buffer.shift();
    }
    this.#echoMarks();
    this.#bufferedBytes -= filled;
    this.#voicedBytes += filled;
    this.#keep(frame);
  }

  #keep(frame: Uint8Array): void {
    const { keepSeconds = 3600 } = this.#options;
    if (this.#playedBytes + frame.length > this.#bytesPerMs * 1000 * keepSeconds) return;
    if (this.#playedBytes + frame.length > this.#played.length) {
      const longer = new Uint8Array(this.#played.length * 2);
      longer.set(this.#played);
      this.#played = longer;
    }
    this.#played.set(frame, this.#playedBytes);
    this.#playedBytes += frame.length;
  }

  /** Echoes the marks that nothing stands before. */
  #echoMarks(): void {
    for (let [next] = this.#buffer; next && 'mark' in next; [next] = this.#buffer) {
      this.#buffer.shift();
      this.echo(next.mark);
    }
  }

  #wake(): void {
    for (const check of [...this.#waiters]) check();
  }
}

/**
 * Connects to an application as a platform does.
 *
 * @throws Error with the status when the application refuses the upgrade; `code` stands before it.
 */
export function connectPhone<T>(
  url: string,
  headers: Readonly<Record<string, string>>,
  answered: (socket: WebSocket) => T,
  code = '',
): Promise<T> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { headers, perMessageDeflate: false, followRedirects: false });
    socket.once('unexpected-response', (_request, response) => {
      reject(new Error(`${code}the server answered the upgrade with ${response.statusCode ?? 0}`));
      socket.on('error', () => undefined);
      socket.terminate();
    });
    socket.once('error', reject);
    socket.once('open', () => {
      socket.off('error', reject);
      resolve(answered(socket));
    });
  });
}

/** Whether an object has just these members. */
export function hasOnly(value: Readonly<Record<string, unknown>>, ...names: readonly string[]): boolean {
  const own = Object.keys(value);
  return own.length === names.length && names.every((name) => own.includes(name));
}

/** The JSON in a text, or what is wrong with it. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
