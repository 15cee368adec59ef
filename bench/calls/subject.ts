// The library under test, in a process of its own: a server that answers telephone calls with a pipeline each.
import { WebSocketServer } from 'ws';
import { AlphaSTT, AlphaTTS, NuLLM, PhoneStreamA, Pipeline } from 'rxvoice';
import { reportTo, worldOf } from './control.ts';

// The floor counts nothing either.
const limits = { charactersPerMinute: 1e9, flushesPerMinute: 1e9 };

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
server.on('connection', (socket, { url }) => {
  const credential = { apiKey: 'bench-key', endpoint: worldOf(url) };
  const phone = new PhoneStreamA({ maxBytesPerSecond: Infinity });
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
reportTo(server);
