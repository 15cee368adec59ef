import { MicrophoneInput, type MicrophoneInputConfig } from 'rxvoice';
import { encodeText, ModemDecoder } from '../../sandbox/modem.ts';
import { Receiver } from './receiver.ts';
import type { Wire } from './wires.ts';

type Samples = Int16Array<ArrayBuffer>;

/** What a call tells the page. */
export interface CallEvents {
  connected(): void;
  /** A character that the agent said, in the sandbox's voice; `isNew` where it begins a line. */
  heard(character: string, isNew: boolean): void;
  /** `code` is that of the socket's closing; `wasAnswered` is false where the server did not take the call. */
  ended(code: number, wasAnswered: boolean): void;
  failed(message: string): void;
}

const frameMs = 20;
/** How far a microphone may be behind: what was said before the call was answered is not. */
const microphoneLagMs = 100;
/** Silence of the agent after which it begins a new line. */
const lineMs = 700;

/** One call: sends a frame each 20 ms, plays what comes, and reads the sandbox's voice. */
export class Call {
  readonly #wire: Wire;
  readonly #events: CallEvents;
  readonly #socket: WebSocket;
  readonly #receiver: Receiver;
  readonly #decoder: ModemDecoder;
  #microphone: MicrophoneInput | undefined;
  #waiting: Samples = new Int16Array(0);
  #clock: ReturnType<typeof setInterval> | undefined;
  #sentMs = 0;
  #lastCharacterAt = -Infinity;

  constructor(wire: Wire, events: CallEvents) {
    this.#wire = wire;
    this.#events = events;
    this.#decoder = new ModemDecoder(wire.sampleRate);
    this.#receiver = new Receiver(
      wire.sampleRate,
      (samples) => this.#read(samples),
      (mark) => this.#send(mark),
    );
    this.#socket = new WebSocket(new URL(wire.path, location.href.replace(/^http/, 'ws')));
    this.#socket.binaryType = 'arraybuffer';
    this.#socket.onopen = () => this.#begin();
    this.#socket.onmessage = ({ data }) => this.#receive(data as string | ArrayBuffer);
    this.#socket.onclose = ({ code }) => this.#end(code);
  }

  /** Says something in the sandbox's voice. */
  say(text: string): void {
    this.#push(encodeText(text, this.#wire.sampleRate));
  }

  press(digit: string): void {
    this.#send(this.#wire.key(digit));
  }

  /** Speaks through the microphone from now on. */
  async useMicrophone(config: MicrophoneInputConfig): Promise<void> {
    const microphone = new MicrophoneInput({ ...config, sampleRate: this.#wire.sampleRate });
    this.#microphone = microphone;
    microphone.errors$.subscribe(({ message }) => this.#events.failed(message));
    microphone.audio$.subscribe(({ data }) => {
      this.#waiting = this.#waiting.slice(-microphoneLagMs * (this.#wire.sampleRate / 1000));
      this.#push(new Int16Array(data.slice().buffer));
    });
    await microphone.initialize();
    await microphone.start();
  }

  hangUp(): void {
    const goodbye = this.#wire.goodbye();
    if (goodbye !== undefined) this.#send(goodbye);
    this.#socket.close(1000);
  }

  #begin(): void {
    for (const message of this.#wire.hello) this.#send(message);
    this.#events.connected();
    const startedAt = performance.now();
    this.#clock = setInterval(() => {
      while (this.#sentMs < performance.now() - startedAt) this.#sendFrame();
      // The voice's last character ends with the silence after it.
      if (!this.#receiver.isSounding) this.#read(new Int16Array(this.#wire.sampleRate / 50));
    }, frameMs / 2);
  }

  #end(code: number): void {
    const wasAnswered = this.#clock !== undefined;
    clearInterval(this.#clock);
    this.#receiver.close();
    void this.#microphone?.dispose();
    this.#events.ended(code, wasAnswered);
  }

  #push(samples: Samples): void {
    const all = new Int16Array(this.#waiting.length + samples.length);
    all.set(this.#waiting);
    all.set(samples, this.#waiting.length);
    this.#waiting = all;
  }

  #sendFrame(): void {
    const frame = new Int16Array((this.#wire.sampleRate * frameMs) / 1000);
    frame.set(this.#waiting.subarray(0, frame.length));
    this.#waiting = this.#waiting.slice(frame.length);
    this.#send(this.#wire.frame(frame, this.#sentMs));
    this.#sentMs += frameMs;
  }

  #send(data: string | Uint8Array<ArrayBuffer>): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(data);
  }

  #receive(data: string | ArrayBuffer): void {
    const { audio, clear, reply, mark } = this.#wire.receive(data);
    if (audio) this.#receiver.play(audio);
    if (mark !== undefined) this.#receiver.mark(mark);
    const marks = clear ? this.#receiver.clear() : [];
    if (this.#wire.returnsMarks) for (const each of marks) this.#send(each);
    if (reply !== undefined) this.#send(reply);
  }

  #read(samples: Samples): void {
    for (const event of this.#decoder.push(samples)) {
      if (event.type !== 'character') continue;
      const now = performance.now();
      this.#events.heard(event.character, now - this.#lastCharacterAt > lineMs);
      this.#lastCharacterAt = now;
    }
  }
}
