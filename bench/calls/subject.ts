// The library under test, in a process of its own: a server that answers telephone calls with a pipeline each.
import { WebSocketServer } from 'ws';
import { AlphaSTT, AlphaTTS, NuLLM, PhoneStreamA, Pipeline, type AlphaTTSConfig } from 'rxvoice';
import { record } from '../profile/recorder.ts';
import { reportTo, voiceOf, worldOf, type Voice } from './control.ts';
import { countSubscriptions } from './subscriptions.ts';

// The floor counts nothing either.
const limits = { charactersPerMinute: 1e9, flushesPerMinute: 1e9 };
const formats: Readonly<Record<Voice, Partial<AlphaTTSConfig>>> = {
  mulaw: { outputFormat: 'mulaw', sampleRate: 8000 },
  linear16: { outputFormat: 'linear16', sampleRate: 24_000 },
};

const open = process.argv.includes('--subscriptions') ? countSubscriptions() : undefined;
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
      new AlphaTTS({ ...credential, ...formats[voiceOf(url)], limits }),
    ],
    bargeIn: 'immediate',
  });
  socket.once('close', () => void pipeline.dispose());
  void pipeline.start();
});
reportTo(server, () => (open ? { subscriptions: open() } : {}));
record();
