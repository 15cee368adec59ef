import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import type { Voice } from './control.ts';

/** Moments of one turn, in milliseconds on the world's one clock. */
export type Moment =
  'final' | 'request' | 'token' | 'text' | 'audio' | 'media' | 'interim' | 'clear' | 'aborted' | 'told';

/** How a {@link World} behaves. */
export interface WorldOptions {
  /** How long the voice takes to accept a connection, in milliseconds. Default: 0. */
  readonly handshakeMs?: number;
  /** What the voice sends. Default: `mulaw`. */
  readonly voice?: Voice;
}

/** How long the system under test has for anything, in milliseconds: one that never does it fails, with a name for it. */
export const patienceMs = 10_000;

/** How much of its voice a {@link World} sends at a time, in milliseconds. */
export const pieceMs = 200;

/** A piece of each voice: a tone. What it costs does not depend on what it says. */
const pieces: Readonly<Record<Voice, Buffer>> = {
  mulaw: Buffer.alloc(8 * pieceMs, 0x7f),
  linear16: Buffer.from(Int16Array.from({ length: 24 * pieceMs }, (_, at) => 8000 * Math.sin(at * 0.1)).buffer),
};

/** The services and the telephone at the other end of one call: all clocks are here. */
export class World {
  readonly #http = createServer((request, response) => {
    this.#onRequest(request, response);
  });
  readonly #sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  readonly #stt: WebSocket[] = [];
  #waiting = new Map<Moment, (at: number) => void>();
  #response: ServerResponse | undefined;
  #tts: WebSocket | undefined;
  #turn = 0;
  /** Media frames that came after a `clear` and before the next answer's audio. */
  lateFrames = 0;
  #silenced = false;
  /** Bytes of audio that the speech-to-text service was sent. */
  heardBytes = 0;
  /** The call, once it was dialled. */
  phone: Call | undefined;
  readonly #voice: Voice;

  private constructor({ handshakeMs = 0, voice = 'mulaw' }: WorldOptions) {
    this.#voice = voice;
    this.#http.on('upgrade', (request, socket, head) => {
      const isListener = request.url?.startsWith('/v1/listen') ?? false;
      const accept = (): void => {
        this.#sockets.handleUpgrade(request, socket, head, (ws) => {
          if (isListener) this.#onListener(ws);
          else this.#onVoice(ws);
        });
      };
      if (isListener || handshakeMs === 0) accept();
      else setTimeout(accept, handshakeMs);
    });
  }

  static async open(options: WorldOptions = {}): Promise<World> {
    const world = new World(options);
    await new Promise<void>((resolve) => world.#http.listen(0, '127.0.0.1', resolve));
    return world;
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  /** When something happens next. Rejects when it does not. */
  next(moment: Moment): Promise<number> {
    const happened = new Promise<number>((resolve, reject) => {
      const tooLong = setTimeout(() => {
        reject(new Error(`The system under test did not get to "${moment}" within ${patienceMs / 1000} s`));
      }, patienceMs);
      this.#waiting.set(moment, (at) => {
        clearTimeout(tooLong);
        resolve(at);
      });
    });
    // Several are waited for one after the other: the first that fails is enough.
    happened.catch(() => undefined);
    return happened;
  }

  /** The speech-to-text service has a final: the user's turn is over. */
  sayFinal(text: string): number {
    this.#transcript(text, true);
    return performance.now();
  }

  /** The speech-to-text service hears words. */
  sayInterim(text: string): number {
    this.#transcript(text, false);
    return performance.now();
  }

  /** The speech-to-text service hears a voice. */
  sayStarted(): number {
    for (const ws of this.#stt) ws.send('{"type":"SpeechStarted","channel":[0],"timestamp":0}');
    return performance.now();
  }

  /** The model streams a piece; the answer goes on. */
  sendTokens(text: string): number {
    const chunk = { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: text } }] };
    this.#response?.write(`data: ${JSON.stringify(chunk)}\n\n`);
    return performance.now();
  }

  /** The voice sends audio. */
  sendAudio(): number {
    this.#silenced = false;
    this.#tts?.send(pieces[this.#voice]);
    return performance.now();
  }

  get listeners(): number {
    return this.#stt.length;
  }

  async close(): Promise<void> {
    for (const client of this.#sockets.clients) client.terminate();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  /** A telephone call to the system under test. */
  async dial(port: number): Promise<Call> {
    const address = `ws://127.0.0.1:${port}/phone?world=${this.port}&voice=${this.#voice}`;
    const socket = new WebSocket(address, { perMessageDeflate: false });
    await new Promise((resolve) => socket.once('open', resolve));
    const streamSid = `MZ${String(++this.#turn).padStart(32, '0')}`;
    const send = (message: object): void => {
      socket.send(JSON.stringify(message));
    };
    socket.on('message', (data) => {
      const message = JSON.parse((data as Buffer).toString()) as { event: string; mark?: object };
      if (message.event === 'media') {
        if (this.#silenced) this.lateFrames++;
        this.#tell('media');
      } else if (message.event === 'clear') {
        this.#silenced = true;
        this.#tell('clear');
      } else if (message.event === 'mark') send({ event: 'mark', streamSid, sequenceNumber: '1', mark: message.mark });
    });
    const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 };
    const start = {
      accountSid: 'AC',
      callSid: 'CA',
      streamSid,
      tracks: ['inbound'],
      mediaFormat,
      customParameters: {},
    };
    send({ event: 'connected', protocol: 'Call', version: '1.0.0' });
    send({ event: 'start', sequenceNumber: '1', start, streamSid });
    this.phone = { socket, streamSid, send };
    return this.phone;
  }

  #onListener(ws: WebSocket): void {
    this.#stt.push(ws);
    ws.on('message', (data, isBinary) => {
      if (isBinary) this.heardBytes += (data as Buffer).length;
      else if ((data as Buffer).includes('CloseStream')) ws.close(1000);
    });
  }

  #transcript(transcript: string, final: boolean): void {
    const words = [{ word: 'w', start: this.#turn, end: this.#turn + 0.1, confidence: 1 }];
    const message = {
      ...{ type: 'Results', channel_index: [0, 1], duration: 1, start: ++this.#turn, is_final: final },
      ...{ speech_final: final, channel: { alternatives: [{ transcript, confidence: 1, words }] }, metadata: {} },
    };
    for (const ws of this.#stt) ws.send(JSON.stringify(message));
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    request.once('end', () => {
      this.#tell('request');
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      this.#response = response;
      response.once('close', () => {
        this.#tell('aborted');
      });
    });
  }

  #onVoice(ws: WebSocket): void {
    this.#tts = ws;
    ws.on('message', (data) => {
      const { type } = JSON.parse((data as Buffer).toString()) as { type: string };
      if (type === 'Speak') this.#tell('text');
      if (type === 'Close') ws.close(1000);
      // No `Flushed`: the answer is cut off while the voice is still at it.
      if (type !== 'Clear') return;
      this.#tell('told');
      ws.send('{"type":"Cleared","sequence_id":0}');
    });
  }

  #tell(moment: Moment): void {
    const waiting = this.#waiting.get(moment);
    this.#waiting.delete(moment);
    waiting?.(performance.now());
  }
}

/** One telephone call, as the platform sees it. */
export interface Call {
  readonly socket: WebSocket;
  readonly streamSid: string;
  send(message: object): void;
}
