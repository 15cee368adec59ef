import { createHmac, randomBytes } from 'node:crypto';
import WebSocket from 'ws';
import { decodeSamples, encodeText, noise } from './modem.ts';
import type { Heard } from './modem.ts';
import { readSamples, writeSamples } from './pcm.ts';
import { isObject } from './validate.ts';

/** Bytes of mu-law in 20 ms. */
const frameBytes = 160;
const frameMs = 20;
const silent = 0xff;

/** How a call is made. */
export interface CallOptions {
  /** The application's socket, such as `ws://127.0.0.1:8080/phone`. */
  readonly url: string;
  readonly customParameters?: Readonly<Record<string, string>>;
  /**
   * How fast the caller's clock runs, as a multiple of real time; `manual` moves it by `advance()` alone. Default: 1.
   */
  readonly speed?: number | 'manual';
  /** The account's auth token: signs the upgrade as the platform does. */
  readonly authToken?: string;
  /** The address that is signed, when it is not `url`. */
  readonly publicUrl?: string;
  /** Sends silence while the caller says nothing, as phones do. Default: true. */
  readonly comfortNoise?: boolean;
  /** Seconds of what was heard that are kept, from the start. Default: 3600. */
  readonly keepSeconds?: number;
}

/** What the platform would report of the application's messages: its console's warnings. */
export interface PhoneWarning {
  readonly code: 31950 | 31951 | 31924;
  readonly text: string;
}

/** The value of `X-Twilio-Signature` for an upgrade: nothing is signed but the address. */
export function sign(authToken: string, url: string): string {
  return createHmac('sha1', authToken).update(url).digest('base64');
}

/** Something that waits in the platform's play buffer. */
type Buffered = { readonly audio: Uint8Array; at: number } | { readonly mark: string };

/**
 * A caller on a phone platform's media stream: the platform is the client of the application's socket.
 *
 * The caller has a clock of its own. Each 20 ms of it, one frame of what the caller says is sent and one frame of what
 * the application sent is played, so that `playedMs` and `heard()` are what a person at the phone would have heard.
 */
export class PhoneCaller {
  readonly streamSid: string = `MZ${randomBytes(16).toString('hex')}`;
  readonly callSid: string = `CA${randomBytes(16).toString('hex')}`;
  readonly accountSid: string = `AC${randomBytes(16).toString('hex')}`;
  /** What the platform complains about; a correct application causes none. */
  readonly warnings: PhoneWarning[] = [];
  /** Names of marks in the order in which they were echoed. */
  readonly marks: string[] = [];
  /** How often the application sent `clear`. */
  clears = 0;
  /** Resolves with the close code when the call is over. */
  readonly ended: Promise<number>;
  readonly #socket: WebSocket;
  readonly #options: CallOptions;
  readonly #speech: Uint8Array[] = [];
  readonly #waiters = new Set<() => void>();
  #buffer: Buffered[] = [];
  #played: Uint8Array<ArrayBuffer> = new Uint8Array(8000 * 60);
  #playedBytes = 0;
  #voicedBytes = 0;
  #frames = 0;
  #chunk = 0;
  #sequence = 0;
  #clock: ReturnType<typeof setInterval> | undefined;
  #isOver = false;

  /** @internal Use {@link dial}. */
  constructor(socket: WebSocket, options: CallOptions) {
    this.#socket = socket;
    this.#options = options;
    this.ended = new Promise((resolve) => {
      socket.on('close', (code) => {
        this.#stopClock();
        this.#isOver = true;
        this.#wake();
        resolve(code);
      });
    });
    socket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary));
    socket.on('error', () => undefined);
    this.#begin();
  }

  /** Milliseconds of the caller's clock. */
  get nowMs(): number {
    return this.#frames * frameMs;
  }

  /** Milliseconds of the application's audio that were played, pauses not counted. */
  get playedMs(): number {
    return this.#voicedBytes / 8;
  }

  /** Milliseconds of audio that wait to be played. */
  get bufferedMs(): number {
    return this.#buffer.reduce((sum, each) => sum + ('audio' in each ? each.audio.length - each.at : 0), 0) / 8;
  }

  /** Whether the caller has something left to say. */
  get isSpeaking(): boolean {
    return this.#speech.length > 0;
  }

  /** What the caller heard, silence included: mu-law, 8000 Hz. */
  get playedAudio(): Uint8Array<ArrayBuffer> {
    return this.#played.subarray(0, this.#playedBytes);
  }

  /** What the caller heard, as text. */
  heard(): Heard {
    return decodeSamples(readSamples(this.playedAudio, 'mulaw'), 8000);
  }

  /** Says a text after what was said before. */
  say(text: string): void {
    this.play(writeSamples(encodeText(text, 8000), 'mulaw'));
  }

  /** Says nothing for a while, then goes on. */
  pause(ms: number): void {
    this.play(new Uint8Array(ms * 8).fill(silent));
  }

  /** A cough. */
  cough(ms = 300): void {
    this.play(writeSamples(noise(ms, 8000), 'mulaw'));
  }

  /** Plays mu-law at 8000 Hz into the phone. */
  play(audio: Uint8Array): void {
    if (audio.length > 0) this.#speech.push(audio);
  }

  /** Presses a key. */
  press(digit: string): void {
    this.#send({ event: 'dtmf', streamSid: this.streamSid, ...this.#next(), dtmf: { track: 'inbound_track', digit } });
  }

  /** Ends the call: with `stop` and a close, or as a lost network does, without either. */
  hangUp(how: 'politely' | 'abruptly' = 'politely'): Promise<number> {
    if (how === 'abruptly') this.#socket.terminate();
    else {
      const stop = { accountSid: this.accountSid, callSid: this.callSid };
      this.#send({ event: 'stop', ...this.#next(), stop, streamSid: this.streamSid });
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

  #begin(): void {
    const { customParameters = {}, speed = 1 } = this.#options;
    this.#send({ event: 'connected', protocol: 'Call', version: '1.0.0' });
    const ids = { accountSid: this.accountSid, streamSid: this.streamSid, callSid: this.callSid };
    const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 };
    const start = { ...ids, tracks: ['inbound'], mediaFormat, customParameters };
    this.#send({ event: 'start', ...this.#next(), start, streamSid: this.streamSid });
    if (speed === 'manual') return;
    const began = performance.now();
    // Late ticks catch up: the clock does not drift.
    this.#clock = setInterval(
      () => this.advance((performance.now() - began) * speed - this.nowMs),
      Math.max(1, frameMs / speed),
    );
  }

  #stopClock(): void {
    clearInterval(this.#clock);
    this.#clock = undefined;
  }

  #frame(): void {
    const at = this.nowMs;
    this.#frames++;
    const frame = this.#takeSpeech();
    if (frame) {
      const payload = Buffer.from(frame).toString('base64');
      const media = { track: 'inbound', chunk: String(++this.#chunk), timestamp: String(at), payload };
      this.#send({ event: 'media', ...this.#next(), media, streamSid: this.streamSid });
    }
    this.#hear();
  }

  /** The next 20 ms of what the caller says. */
  #takeSpeech(): Uint8Array | undefined {
    if (this.#speech.length === 0 && this.#options.comfortNoise === false) return undefined;
    const frame = new Uint8Array(frameBytes).fill(silent);
    for (let filled = 0; filled < frameBytes;) {
      const next = this.#speech.shift();
      if (!next) break;
      const part = next.subarray(0, frameBytes - filled);
      frame.set(part, filled);
      filled += part.length;
      if (part.length < next.length) this.#speech.unshift(next.subarray(part.length));
    }
    return frame;
  }

  /** Plays 20 ms of what the application sent. */
  #hear(): void {
    const frame = new Uint8Array(frameBytes).fill(silent);
    let filled = 0;
    while (filled < frameBytes) {
      this.#echoMarks();
      const [next] = this.#buffer;
      if (!next || !('audio' in next)) break;
      const part = next.audio.subarray(next.at, next.at + frameBytes - filled);
      frame.set(part, filled);
      filled += part.length;
      next.at += part.length;
      if (next.at === next.audio.length) this.#buffer.shift();
    }
    this.#echoMarks();
    this.#voicedBytes += filled;
    this.#keep(frame);
  }

  #keep(frame: Uint8Array): void {
    if (this.#playedBytes + frame.length > 8000 * (this.#options.keepSeconds ?? 3600)) return;
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
      this.#echo(next.mark);
    }
  }

  #echo(name: string): void {
    this.marks.push(name);
    this.#send({ event: 'mark', ...this.#next(), streamSid: this.streamSid, mark: { name } });
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (isBinary) {
      this.#warn(31950, `a binary frame of ${data.length} bytes`);
      return;
    }
    const text = data.toString();
    const wrong = this.#handle(text);
    if (wrong !== undefined) this.#warn(31951, `${wrong}: ${text.slice(0, 120)}`);
    this.#wake();
  }

  /** Does what a message says, or tells what is wrong with it. */
  #handle(text: string): string | undefined {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return 'not JSON';
    }
    if (!isObject(message)) return 'not an object';
    const { event, streamSid, ...rest } = message;
    if (streamSid !== this.streamSid) return `streamSid is ${String(streamSid)}`;
    if (event === 'clear' && hasOnly(rest)) {
      this.clears++;
      const marks = this.#buffer.flatMap((each) => ('mark' in each ? [each.mark] : []));
      this.#buffer = [];
      for (const mark of marks) this.#echo(mark);
      return undefined;
    }
    const inner = typeof event === 'string' ? rest[event] : undefined;
    if ((event !== 'media' && event !== 'mark') || !hasOnly(rest, event) || !isObject(inner))
      return 'not media, mark or clear';
    const field = event === 'media' ? 'payload' : 'name';
    const value = inner[field];
    if (typeof value !== 'string' || !hasOnly(inner, field)) return `${event} must have ${field} and nothing else`;
    if (event === 'mark') {
      this.#buffer.push({ mark: value });
      this.#echoMarks();
      return undefined;
    }
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(value)) return 'payload is not base64';
    const audio = new Uint8Array(Buffer.from(value, 'base64'));
    if (audio.length > 0) this.#buffer.push({ audio, at: 0 });
    return undefined;
  }

  #warn(code: PhoneWarning['code'], text: string): void {
    this.warnings.push({ code, text });
  }

  #next(): { sequenceNumber: string } {
    return { sequenceNumber: String(++this.#sequence) };
  }

  #send(message: unknown): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #wake(): void {
    for (const check of [...this.#waiters]) check();
  }
}

function hasOnly(value: Readonly<Record<string, unknown>>, ...names: readonly string[]): boolean {
  const own = Object.keys(value);
  return own.length === names.length && names.every((name) => own.includes(name));
}

/**
 * Calls an application.
 *
 * @throws Error with the status when the application refuses the upgrade (the platform's error 31920).
 */
export function dial(options: CallOptions): Promise<PhoneCaller> {
  const headers: Record<string, string> = {};
  if (options.authToken !== undefined) {
    headers['X-Twilio-Signature'] = sign(options.authToken, options.publicUrl ?? options.url);
  }
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(options.url, { headers, perMessageDeflate: false, followRedirects: false });
    socket.once('unexpected-response', (_request, response) => {
      reject(new Error(`31920: the server answered the upgrade with ${response.statusCode ?? 0}`));
      socket.on('error', () => undefined);
      socket.terminate();
    });
    socket.once('error', reject);
    socket.once('open', () => {
      socket.off('error', reject);
      resolve(new PhoneCaller(socket, options));
    });
  });
}
