/** A page as a telephone to a server: it has no key and no service, and a lost connection does not end the conversation. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { filter, firstValueFrom } from 'rxjs';
import { PageSockets, sessions, sharePipeline, type PageSocket } from 'rxvoice';
import { RemotePipeline, type RemoteSocket } from 'rxvoice/remote';
import { WebSocket, WebSocketServer } from 'ws';
import { ListenerSpeaker, TalkerInput } from '../sandbox/remote-ends.ts';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  const conversations = sessions({
    create: (page: PageSocket) => ({
      providers: [page, kit.stt(), kit.llm(), kit.tts()],
      timeouts: { playoutMs: 30_000 },
    }),
  });
  const pages = new PageSockets({
    open: (page) => void sharePipeline(conversations.open(page).pipeline, page, { streams: ['tokens$', 'turns$'] }),
  });
  const server = createServer().listen(0, '127.0.0.1');
  const sockets = new WebSocketServer({ server, maxPayload: 64 * 1024 });
  sockets.on('connection', (socket, request) => pages.accept(socket, request));
  await once(server, 'listening');

  // In a browser, `new RemotePipeline({ url })` is enough: it opens the microphone and the speaker.
  const speaker = new ListenerSpeaker();
  const voice = new RemotePipeline({
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ microphone: new TalkerInput(), speaker },
    openSocket: (url) => new WebSocket(url) as unknown as RemoteSocket,
  });
  voice.link$.subscribe(({ type }) => kit.print(`link: ${type}`));
  voice.tokens$.subscribe((event) => {
    if (event.type === 'llm.completed') kit.print(`shown: ${event.text}`);
  });
  await voice.start();
  const answered = firstValueFrom(voice.turns$.pipe(filter(({ type }) => type === 'turn.ended')));
  voice.send('count to 5');
  await speaker.hears(500);
  for (const socket of sockets.clients) socket.terminate();
  await answered;
  kit.print(`heard: ${speaker.text()}`);
  await voice.dispose();
  await conversations.drain({ patienceMs: 0 });
  server.close();
}
