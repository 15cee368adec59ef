import { request } from 'node:http';
import WebSocket from 'ws';
import { concatBytes } from '../../../samples/sandbox/pcm.ts';
import { isObject } from '../../../samples/sandbox/validate.ts';

/** Any string, and any number, in what is expected. */
export const aText: unknown = expect.any(String);
export const aNumber: unknown = expect.any(Number);

export type Message = Readonly<Record<string, unknown>>;

/** A socket's client that keeps what it gets. */
export interface Client {
  /** Frames that were read; of text frames, what is no object is left out. */
  readonly messages: Message[];
  /** Binary frames that were not. */
  readonly frames: Uint8Array[];
  readonly audio: () => Uint8Array<ArrayBuffer>;
  readonly protocol: string;
  readonly closed: Promise<{ code: number; reason: string }>;
  send(message: unknown): void;
  sendBytes(bytes: Uint8Array): void;
  /** Resolves with the answer. */
  ping(): Promise<void>;
  /** The first message, past or to come, that satisfies a condition. */
  until(condition: (message: Message) => boolean): Promise<Message>;
  untilType(type: string): Promise<Message>;
  close(): void;
}

/** What a frame says. Default: the JSON of a text frame. */
export type Read = (data: string | Uint8Array<ArrayBuffer>) => unknown;

function readJson(data: string | Uint8Array<ArrayBuffer>): unknown {
  try {
    return typeof data === 'string' ? JSON.parse(data) : undefined;
  } catch {
    return undefined;
  }
}

/** Connects, with offered subprotocols and headers. */
export function connect(
  url: string,
  protocols: string[] = [],
  headers: Record<string, string> = {},
  read: Read = readJson,
): Promise<Client> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), protocols, { headers, perMessageDeflate: false });
  const messages: Message[] = [];
  const frames: Uint8Array[] = [];
  const waiting = new Set<(message: Message | undefined) => void>();
  socket.on('message', (data, isBinary) => {
    const bytes = new Uint8Array(data as Buffer);
    const message = read(isBinary ? bytes : (data as Buffer).toString());
    if (!isObject(message)) {
      if (isBinary) frames.push(bytes);
      return;
    }
    messages.push(message);
    for (const check of [...waiting]) check(message);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => {
      resolve({ code, reason: reason.toString() });
      for (const check of [...waiting]) check(undefined);
    });
  });
  const until = (condition: (message: Message) => boolean): Promise<Message> =>
    new Promise((resolve, reject) => {
      const known = messages.find(condition);
      if (known) {
        resolve(known);
        return;
      }
      const check = (message: Message | undefined): void => {
        if (message && !condition(message)) return;
        waiting.delete(check);
        if (message) resolve(message);
        else reject(new Error('the socket closed before that message came'));
      };
      waiting.add(check);
    });
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('open', () => {
      socket.off('error', reject);
      socket.on('error', () => undefined);
      resolve({
        ...{ messages, frames, closed, until, protocol: socket.protocol },
        audio: () => concatBytes(frames),
        send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
        sendBytes: (bytes) => socket.send(bytes),
        ping: () =>
          new Promise((answered, failed) => {
            socket.once('pong', () => answered());
            void closed.then(() => failed(new Error('the socket closed before the answer came')));
            socket.ping();
          }),
        untilType: (type) => until((message) => message['type'] === type),
        close: () => socket.close(1000),
      });
    });
  });
}

/** How a service refuses an upgrade. */
export interface RefusedUpgrade {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Asks for an upgrade that is to be refused. */
export function refused(url: string, headers: Record<string, string> = {}): Promise<RefusedUpgrade> {
  const upgrade = {
    ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  return new Promise((resolve, reject) => {
    const asking = request(
      url.replace(/^ws/, 'http'),
      { headers: { ...upgrade, ...headers }, agent: false },
      (answer) => {
        let body = '';
        answer.on('data', (part: Buffer) => (body += part.toString()));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }));
      },
    );
    asking.on('upgrade', (_answer, socket) => {
      socket.destroy();
      resolve({ status: 101, headers: {}, body: '' });
    });
    asking.on('error', reject);
    asking.end();
  });
}

/** The data of a body of server-sent events; what is no JSON as text. */
export function events(body: string): unknown[] {
  return body
    .split('\n\n')
    .flatMap((event) => event.split('\n').filter((line) => line.startsWith('data: ')))
    .map((line): unknown => {
      try {
        return JSON.parse(line.slice(6));
      } catch {
        return line.slice(6);
      }
    });
}
