import { WebSocket as NodeWebSocket } from 'ws';
import type { SocketClose, SocketData } from '../../lib/transport/socket.ts';
import { openSocket } from '../../lib/transport/websocket-browser.ts';
import { serveSockets, type Service } from './socket-fixture.ts';

let service: Service;
let offered: string[] = [];
let asked: string = '';
const absent = !('WebSocket' in globalThis);

beforeAll(async () => {
  // Node 20 has none; that of `ws` has the same interface.
  if (absent) Reflect.set(globalThis, 'WebSocket', NodeWebSocket);
  service = await serveSockets((socket, { headers, url = '' }) => {
    asked = url;
    offered = (headers['sec-websocket-protocol'] ?? '').split(/, */);
    socket.on('message', (data, isBinary) => {
      if ((data as Buffer).toString() === 'drop') socket.close(1011, 'no audio');
      else socket.send(data as Buffer, { binary: isBinary });
    });
  });
});

afterAll(async () => {
  if (absent) Reflect.deleteProperty(globalThis, 'WebSocket');
  await service.close();
});

/** Opens a socket and keeps what it says. */
function listen(
  request: {
    url?: string;
    protocols?: string[];
    headers?: Record<string, string>;
    query?: Record<string, string>;
  } = {},
  maxMessageBytes = 1024,
) {
  const messages: SocketData[] = [];
  const ends: SocketClose[] = [];
  const causes: unknown[] = [];
  let heard: () => void = () => undefined;
  const tell = (): void => heard();
  const socket = openSocket(
    { url: service.url, ...request },
    { maxMessageBytes, maxFragments: 1 },
    {
      opened: () => {
        messages.push('(opened)');
        tell();
      },
      message: (data) => {
        messages.push(data);
        tell();
      },
      alive: () => messages.push('(alive)'),
      refused: () => messages.push('(refused)'),
      closed: (end, cause) => {
        ends.push(end);
        causes.push(cause);
        tell();
      },
    },
  );
  const until = async (happened: () => boolean): Promise<void> => {
    while (!happened()) await new Promise<void>((resolve) => (heard = resolve));
  };
  return { socket, messages, ends, causes, until };
}

describe("the runtime's own WebSocket", () => {
  it('carries text and audio both ways', async () => {
    const { socket, messages, ends, until } = listen();
    socket.send('before it is open');
    await until(() => messages.length === 1);
    socket.send('tëxt');
    socket.send(new Uint8Array([0, 255]));
    await until(() => messages.length === 3);
    expect(messages).toEqual(['(opened)', 'tëxt', new Uint8Array([0, 255])]);
    socket.close(1000);
    await until(() => ends.length === 1);
    expect(ends).toMatchObject([{ code: 1000 }]);
    socket.send('after it was closed');
  });

  it('offers the subprotocols, for it cannot send headers', async () => {
    const { socket, messages, until } = listen({
      protocols: ['token', 'key'],
      headers: { Authorization: 'Token key' },
    });
    await until(() => messages.length === 1);
    expect(offered).toEqual(['token', 'key']);
    socket.terminate();
  });

  it('adds the credential to the query where it belongs there', async () => {
    const { socket, messages, until } = listen({
      url: `${service.url}?a=1`,
      ...{ query: { token: 'k y+' }, headers: { Authorization: 'k y+' } },
    });
    await until(() => messages.length === 1);
    expect(asked).toMatch(/\?a=1&token=k%20y%2B$/);
    socket.terminate();
  });

  it('cannot ping', () => {
    const { socket } = listen();
    expect(socket.ping).toBe(undefined);
    socket.terminate();
  });

  it('tells code and reason of a close', async () => {
    const { socket, messages, ends, until } = listen();
    await until(() => messages.length === 1);
    socket.send('drop');
    await until(() => ends.length === 1);
    expect(ends).toEqual([{ code: 1011, reason: 'no audio' }]);
  });

  it('F14: ends the connection on a message that is too long', async () => {
    const { socket, messages, ends, causes, until } = listen({}, 4);
    await until(() => messages.length === 1);
    socket.send('12345');
    socket.send('1');
    await until(() => ends.length === 1);
    expect([messages.length, ends, causes.length]).toEqual([1, [{ code: 1009, reason: '' }], 1]);
  });

  it('hears nothing more once it was terminated', async () => {
    const early = listen();
    early.socket.terminate();
    const open = listen();
    await open.until(() => open.messages.length === 1);
    open.socket.send('echo');
    open.socket.terminate();
    const other = listen();
    await other.until(() => other.messages.length === 1);
    other.socket.terminate();
    expect([early.messages, early.ends, open.messages.length, open.ends]).toEqual([[], [], 1, []]);
  });

  it('F50: reports a credential that cannot be offered, without showing it', async () => {
    const { ends, causes, until } = listen({ protocols: ['token', 'canary 7f3a'] });
    await until(() => ends.length === 1);
    expect(causes).toMatchObject([{ code: 'configuration' }]);
    expect(String(causes[0])).not.toContain('canary');
  });

  it('F50: says nothing of it when it was terminated first', async () => {
    const { socket, ends } = listen({ protocols: ['a b'] });
    socket.terminate();
    socket.send('x');
    socket.close(1000);
    await Promise.resolve();
    expect([ends, socket.bufferedAmount]).toEqual([[], 0]);
  });
});
