// The library under test, in a process of its own: a server that answers telephone calls with a pipeline each.
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { AlphaSTT, AlphaTTS, NuLLM, PhoneStreamA, Pipeline } from 'rxvoice';

const world = `http://127.0.0.1:${process.argv[2] ?? ''}`;
// The floor counts nothing either.
const limits = { charactersPerMinute: 1e9, flushesPerMinute: 1e9 };
const credential = { apiKey: 'bench-key', endpoint: world };

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
server.on('connection', (socket) => {
  const phone = new PhoneStreamA();
  phone.attach(socket);
  const pipeline = new Pipeline({
    providers: [
      phone,
      new AlphaSTT({ ...credential, language: 'en' }),
      new NuLLM({ ...credential, model: 'openai/gpt-oss-20b' }),
      new AlphaTTS({ ...credential, outputFormat: 'mulaw', sampleRate: 8000, limits }),
    ],
    bargeIn: 'immediate',
  });
  socket.once('close', () => void pipeline.dispose());
  void pipeline.start();
});
server.once('listening', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuMs: (user + system) / 1000 });
});
