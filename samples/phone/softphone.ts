/** The page's code: a telephone in the browser that calls this server with the platforms' own frames. */
import { decodeMulaw, encodeMulaw } from 'rxvoice/audio';
import { decodeSamples, encodeText } from '../sandbox/modem.ts';

/** A platform's wire, as its client speaks it. */
interface Wire {
  readonly sampleRate: number;
  hello(): string[];
  frame(samples: Int16Array<ArrayBuffer>, atMs: number): string | Uint8Array<ArrayBuffer>;
  key(digit: string): string;
  /** The server's audio, or `clear`. */
  read(data: string | ArrayBuffer, echo: (text: string) => void): Int16Array<ArrayBuffer> | 'clear' | undefined;
}

function wireA(): Wire {
  const id = (prefix: string): string => prefix + crypto.randomUUID().replaceAll('-', '');
  const streamSid = id('MZ');
  const ids = { accountSid: id('AC'), streamSid, callSid: id('CA') };
  let sequence = 1;
  const say = (event: string, body: object): string =>
    JSON.stringify({ event, sequenceNumber: String(sequence++), streamSid, [event]: body });
  const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 };
  return {
    sampleRate: 8000,
    hello: () => [
      JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }),
      say('start', { ...ids, tracks: ['inbound'], mediaFormat, customParameters: {} }),
    ],
    frame: (samples, atMs) => {
      const payload = btoa(String.fromCharCode(...encodeMulaw(samples)));
      return say('media', { track: 'inbound', chunk: String(atMs / 20 + 1), timestamp: String(atMs), payload });
    },
    key: (digit) => say('dtmf', { track: 'inbound_track', digit }),
    read: (data, echo) => {
      const message = JSON.parse(typeof data === 'string' ? data : '{}') as {
        event: string;
        media?: { payload: string };
        mark?: object;
      };
      if (message.event === 'clear') return 'clear';
      // The platform echoes a mark when what was sent before it was played: `echo` knows when that is.
      if (message.mark) echo(say('mark', message.mark));
      const bytes = atob(message.media?.payload ?? '');
      return decodeMulaw(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
    },
  };
}

function wireB(): Wire {
  return {
    sampleRate: 16000,
    hello: () => [JSON.stringify({ event: 'websocket:connected', 'content-type': 'audio/l16;rate=16000' })],
    frame: (samples) => new Uint8Array(samples.slice().buffer),
    key: (digit) => JSON.stringify({ event: 'websocket:dtmf', digit, duration: 200 }),
    read: (data) => (typeof data === 'string' ? 'clear' : new Int16Array(data)),
  };
}

/** One call: sends a frame each 20 ms, and plays what comes. */
class Call {
  readonly #wire: Wire;
  readonly #socket: WebSocket;
  readonly #context: AudioContext;
  readonly #heard: Int16Array<ArrayBuffer>[] = [];
  readonly #playing = new Set<AudioBufferSourceNode>();
  readonly #echoes = new Set<ReturnType<typeof setTimeout>>();
  #waiting: Int16Array<ArrayBuffer> = new Int16Array(0);
  #sentMs = 0;
  #playUntil = 0;
  #clock: ReturnType<typeof setInterval> | undefined;
  #microphone: MediaStream | undefined;

  constructor(wire: Wire, path: string, changed: (state: string) => void) {
    this.#wire = wire;
    this.#context = new AudioContext({ sampleRate: wire.sampleRate });
    this.#socket = new WebSocket(new URL(path, location.href.replace(/^http/, 'ws')));
    this.#socket.binaryType = 'arraybuffer';
    this.#socket.onopen = () => {
      changed('in a call');
      for (const message of wire.hello()) this.#socket.send(message);
      const startedAt = performance.now();
      this.#clock = setInterval(() => {
        while (this.#sentMs < performance.now() - startedAt) this.#sendFrame();
      }, 10);
    };
    this.#socket.onmessage = ({ data }) => this.#receive(data as string | ArrayBuffer);
    this.#socket.onclose = ({ code }) => {
      this.end();
      changed(`ended (${code})`);
    };
  }

  /** What the receiver has given so far, as the sandbox's voice would have meant it. */
  get text(): string {
    const length = this.#heard.reduce((sum, part) => sum + part.length, 0);
    const samples = new Int16Array(length);
    let at = 0;
    for (const part of this.#heard) {
      samples.set(part, at);
      at += part.length;
    }
    return decodeSamples(samples, this.#wire.sampleRate).text;
  }

  say(text: string): void {
    this.#push(encodeText(text, this.#wire.sampleRate));
  }

  press(digit: string): void {
    this.#send(this.#wire.key(digit));
  }

  async useMicrophone(): Promise<void> {
    this.#microphone = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true } });
    const worklet = `registerProcessor('capture', class extends AudioWorkletProcessor {
      process([[samples]]) { if (samples) this.port.postMessage(samples.slice()); return true; }
    })`;
    await this.#context.audioWorklet.addModule(URL.createObjectURL(new Blob([worklet], { type: 'text/javascript' })));
    const capture = new AudioWorkletNode(this.#context, 'capture', { numberOfOutputs: 0 });
    capture.port.onmessage = ({ data }) =>
      this.#push(Int16Array.from(data as Float32Array, (sample) => Math.max(-1, Math.min(1, sample)) * 32767));
    this.#context.createMediaStreamSource(this.#microphone).connect(capture);
  }

  end(): void {
    clearInterval(this.#clock);
    this.#silence();
    for (const track of this.#microphone?.getTracks() ?? []) track.stop();
    this.#socket.close();
    if (this.#context.state !== 'closed') void this.#context.close();
  }

  #push(samples: Int16Array<ArrayBuffer>): void {
    const all = new Int16Array(this.#waiting.length + samples.length);
    all.set(this.#waiting);
    all.set(samples, this.#waiting.length);
    this.#waiting = all;
  }

  #sendFrame(): void {
    const frame = new Int16Array(this.#wire.sampleRate / 50);
    frame.set(this.#waiting.subarray(0, frame.length));
    this.#waiting = this.#waiting.slice(frame.length);
    this.#send(this.#wire.frame(frame, this.#sentMs));
    this.#sentMs += 20;
  }

  #send(data: string | Uint8Array<ArrayBuffer>): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(data);
  }

  #receive(data: string | ArrayBuffer): void {
    const audio = this.#wire.read(data, (mark) => {
      const ms = Math.max(0, (this.#playUntil - this.#context.currentTime) * 1000);
      const echo = setTimeout(() => this.#send(mark), ms);
      this.#echoes.add(echo);
    });
    if (audio === 'clear') this.#silence();
    else if (audio?.length) this.#play(audio);
  }

  #play(samples: Int16Array<ArrayBuffer>): void {
    this.#heard.push(samples);
    const buffer = this.#context.createBuffer(1, samples.length, this.#wire.sampleRate);
    buffer.copyToChannel(
      Float32Array.from(samples, (sample) => sample / 32768),
      0,
    );
    const source = new AudioBufferSourceNode(this.#context, { buffer });
    source.connect(this.#context.destination);
    this.#playUntil = Math.max(this.#playUntil, this.#context.currentTime + 0.06);
    source.start(this.#playUntil);
    this.#playUntil += buffer.duration;
    this.#playing.add(source);
    source.onended = () => this.#playing.delete(source);
  }

  #silence(): void {
    for (const source of this.#playing) source.stop();
    for (const echo of this.#echoes) clearTimeout(echo);
    this.#playing.clear();
    this.#echoes.clear();
    this.#playUntil = 0;
  }
}

const element = <T extends HTMLElement>(selector: string, kind: new () => T): T => {
  const found = document.querySelector(selector);
  if (!(found instanceof kind)) throw new Error(`the page has no ${selector}`);
  return found;
};
const button = (selector: string): HTMLButtonElement => element(selector, HTMLButtonElement);
let call: Call | undefined;

const show = (state: string): void => {
  element('#state', HTMLElement).textContent = state;
  const isOver = !state.startsWith('in');
  if (isOver) call = undefined;
  button('#call').disabled = !isOver;
  for (const selector of ['#hangup', '#say button']) button(selector).disabled = isOver;
};

button('#call').onclick = () => {
  const path = element('#wire', HTMLSelectElement).value;
  element('#heard', HTMLElement).textContent = '';
  call = new Call(path === 'a' ? wireA() : wireB(), path, show);
  if (element('#microphone', HTMLInputElement).checked) {
    call.useMicrophone().catch((error: unknown) => show(`in a call, but without a microphone: ${String(error)}`));
  }
};
button('#hangup').onclick = () => call?.end();
element('#say', HTMLFormElement).onsubmit = (event) => {
  event.preventDefault();
  call?.say(element('#text', HTMLInputElement).value);
};
for (const digit of '123456789*0#') {
  const key = document.createElement('button');
  key.textContent = digit;
  key.onclick = () => call?.press(digit);
  element('#keys', HTMLElement).append(key);
}
setInterval(() => {
  if (call) element('#heard', HTMLElement).textContent = call.text;
}, 250);
