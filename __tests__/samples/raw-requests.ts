import { once } from 'node:events';
import { connect } from 'node:net';

/** Targets that are no address, or that a server could read in two ways. */
export const oddTargets: readonly string[] = [
  ...[
    '//',
    '///',
    '//evil.example/',
    '/\\',
    '/%',
    '/%zz',
    '/%00',
    '*',
    'http://[',
    'http://evil.example/',
    '/?%',
    '/#',
  ],
  ...[
    '/sandbox//',
    '/sandbox/%',
    '/sandbox/alpha//v1/listen',
    '/sandbox/nobody/v1',
    '/sandbox/..//',
    '/proxy//',
    '/proxy/%',
  ],
];

/** Sends a request as it stands; gives the status of the answer, or 0 when the line was closed without one. */
export async function askRaw(
  port: number,
  target: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (data) => {
    text += data.toString();
    if (text.includes('\r\n')) socket.destroy();
  });
  socket.on('error', () => undefined);
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map((line) => `${line.join(': ')}\r\n`);
  socket.write(`GET ${target} HTTP/1.1\r\n${lines.join('')}\r\n`);
  await once(socket, 'close');
  return Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? 0);
}

/** Asks for an upgrade and resets the connection once there is an answer: the server has not yet closed its side. */
export async function resetOnceAnswered(port: number, target: string): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...upgrade }).map((line) => `${line.join(': ')}\r\n`);
  socket.write(`GET ${target} HTTP/1.1\r\n${lines.join('')}\r\n`);
  await once(socket, 'data');
  socket.resetAndDestroy();
  await once(socket, 'close');
}

/** What makes a request an upgrade to a WebSocket. */
export const upgrade: Readonly<Record<string, string>> = {
  connection: 'upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};
