import { decodeMulaw, encodeMulaw } from 'rxvoice/audio';

type Samples = Int16Array<ArrayBuffer>;

/** What the server sent: each part where the message has it. */
export interface Received {
  readonly audio?: Samples;
  /** What was not heard yet is not to be heard. */
  readonly clear?: boolean;
  /** To be sent back at once. */
  readonly reply?: string;
  /** To be sent back when all audio before it was heard. */
  readonly mark?: string;
}

/** A platform's wire, as its client speaks it. */
export interface Wire {
  readonly path: string;
  readonly sampleRate: number;
  /** The platform's first messages. */
  readonly hello: readonly string[];
  /** 20 ms of what the caller says. */
  frame(samples: Samples, atMs: number): string | Uint8Array<ArrayBuffer>;
  key(digit: string): string;
  /** Whether marks come back when a `clear` has taken the audio before them. */
  readonly returnsMarks: boolean;
  receive(data: string | ArrayBuffer): Received;
  /** The platform's last message, where it has one. */
  goodbye(): string | undefined;
}

/** Twilio Media Streams: JSON with mulaw at 8 kHz in base64. */
function wireA(): Wire {
  const id = (prefix: string): string => prefix + crypto.randomUUID().replaceAll('-', '');
  const streamSid = id('MZ');
  const call = { accountSid: id('AC'), callSid: id('CA') };
  let sequence = 1;
  const message = (event: string, body: object): string =>
    JSON.stringify({ event, sequenceNumber: String(sequence++), streamSid, [event]: body });
  const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 };
  return {
    ...{ path: '/a', sampleRate: 8000, returnsMarks: true },
    hello: [
      JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }),
      message('start', { ...call, streamSid, tracks: ['inbound'], mediaFormat, customParameters: {} }),
    ],
    frame: (samples, atMs) => {
      const payload = btoa(String.fromCharCode(...encodeMulaw(samples)));
      return message('media', { track: 'inbound', chunk: String(atMs / 20 + 1), timestamp: String(atMs), payload });
    },
    key: (digit) => message('dtmf', { track: 'inbound_track', digit }),
    receive: (data) => {
      const { event, media, mark } = JSON.parse(typeof data === 'string' ? data : '{}') as {
        event?: string;
        media?: { payload: string };
        mark?: object;
      };
      if (mark) return { mark: message('mark', mark) };
      if (!media) return { clear: event === 'clear' };
      const bytes = Uint8Array.from(atob(media.payload), (character) => character.charCodeAt(0));
      return { audio: decodeMulaw(bytes) };
    },
    goodbye: () => message('stop', call),
  };
}

/** Vonage's WebSocket: bare linear16 at 16 kHz. */
function wireB(): Wire {
  return {
    ...{ path: '/b', sampleRate: 16_000, returnsMarks: false },
    hello: [JSON.stringify({ event: 'websocket:connected', 'content-type': 'audio/l16;rate=16000' })],
    frame: (samples) => new Uint8Array(samples.slice().buffer),
    key: (digit) => JSON.stringify({ event: 'websocket:dtmf', digit, duration: 200 }),
    receive: (data) => {
      if (typeof data !== 'string') return { audio: new Int16Array(data) };
      const { action, payload } = JSON.parse(data) as { action?: string; payload?: object };
      if (action === 'clear') return { clear: true, reply: '{"event":"websocket:cleared"}' };
      return action === 'notify' ? { mark: JSON.stringify({ event: 'websocket:notify', payload }) } : {};
    },
    goodbye: () => undefined,
  };
}

/** The wires that the page can call with. */
export const wires: Readonly<Record<string, () => Wire>> = { a: wireA, b: wireB };
