import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { writeSamples } from '../../../samples/sandbox/pcm.ts';
import { encodeText } from '../../../samples/sandbox/modem.ts';
import { dialSocket, type SocketCaller, type SocketCallOptions } from '../../../samples/sandbox/phone-socket-caller.ts';
import { until } from '../../transport/test-clock.ts';

describe('the caller on a WebSocket of the platform', () => {
  let server: WebSocketServer;
  let url: string;
  beforeEach(async () => {
    server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/socket`;
  });
  afterEach(async () => {
    for (const client of server.clients) client.terminate();
    await new Promise((resolve) => server.close(resolve));
  });

  type Message = readonly [data: Buffer, isBinary: boolean];
  const call = async (
    options: Partial<SocketCallOptions> = {},
  ): Promise<{ caller: SocketCaller; socket: WebSocket; messages: Message[]; authorization: string | undefined }> => {
    const messages: Message[] = [];
    const accepted = new Promise<{ socket: WebSocket; authorization: string | undefined }>((resolve) =>
      server.once('connection', (socket, { headers }) => {
        socket.on('message', (data, isBinary) => messages.push([data as Buffer, isBinary]));
        resolve({ socket, authorization: headers.authorization });
      }),
    );
    const caller = await dialSocket({ url, speed: 'manual', ...options });
    return { caller, messages, ...(await accepted) };
  };

  it('says the format and its headers first, then sends a frame of 20 ms each 20 ms', async () => {
    const { caller, messages } = await call({ sampleRate: 24000, headers: { user: '42' } });
    caller.advance(60);
    caller.press('5');
    await until(() => messages.length === 5);
    expect(
      messages.map(([data, isBinary]) => (isBinary ? data.length : (JSON.parse(data.toString()) as object))),
    ).toEqual([
      { event: 'websocket:connected', 'content-type': 'audio/l16;rate=24000', user: '42' },
      ...[960, 960, 960],
      { event: 'websocket:dtmf', digit: '5', duration: 260 },
    ]);
    await caller.hangUp();
  });

  it('plays frames on its clock, says when all before a notify was played, and drops it all at a clear', async () => {
    const { caller, socket, messages } = await call({ sampleRate: 8000 });
    const audio = writeSamples(encodeText('Hi.', 8000), 'linear16');
    for (let at = 0; at < audio.length; at += 320) socket.send(audio.subarray(at, at + 320));
    socket.send('{"action":"notify","payload":{"id":"n-1"}}');
    await caller.until(({ bufferedMs }) => bufferedMs === 240);
    caller.advance(220);
    expect(caller.notified).toEqual([]);
    caller.advance(20);
    expect([caller.notified, caller.heard().text]).toEqual([[{ id: 'n-1' }], 'Hi.']);
    socket.send(audio.subarray(0, 320));
    socket.send('{"action":"notify","payload":{"id":"n-2"}}');
    socket.send('{"action":"clear"}');
    await until(() => messages.some(([data, isBinary]) => !isBinary && data.toString().includes('websocket:cleared')));
    expect([caller.clears, caller.bufferedMs, caller.notified.length, caller.warnings]).toEqual([1, 0, 1, []]);
    await caller.hangUp();
  });

  it('complains of what the platform would not take', async () => {
    const { caller, socket } = await call();
    const wrong: string[] = ['x', '[]', '{"action":"play"}', '{"action":"clear","x":1}'];
    wrong.push('{"action":"notify"}', '{"action":"notify","payload":5}');
    for (const data of wrong) socket.send(data);
    await caller.until(({ warnings }) => warnings.length === wrong.length);
    for (let count = 0; count < 3073; count++) socket.send(new Uint8Array(640));
    await caller.until(({ warnings }) => warnings.length > wrong.length);
    expect(caller.warnings.at(-1)?.text).toContain('more than 3072 messages');
    await caller.hangUp('abruptly');
  });

  for (const bytes of [639, 1280]) {
    it(`breaks off a call for a frame of ${bytes} bytes`, async () => {
      const { caller, socket } = await call();
      const closed = once(socket, 'close');
      socket.send(new Uint8Array(bytes));
      expect([await caller.ended, (await closed)[0]]).toEqual([1006, 1006]);
      expect(caller.warnings.map(({ text }) => text)).toEqual([`a frame of ${bytes} bytes: it must have 640`]);
    });
  }

  it('says that it is muted', async () => {
    const { caller, messages } = await call();
    caller.mute(true);
    await until(() => messages.length === 2);
    const { event, active } = JSON.parse(String(messages[1]?.[0])) as { event?: string; active?: boolean };
    expect([event, active]).toEqual(['websocket:media:update', false]);
    await caller.hangUp();
  });

  it('signs the upgrade, or brings the header that it is given', async () => {
    const signed = await call({ signatureSecret: 'secret' });
    expect(signed.authorization).toMatch(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/);
    const custom = await call({ authorization: 'Bearer abc123' });
    expect([custom.authorization, (await call()).authorization]).toEqual(['Bearer abc123', undefined]);
  });
});
