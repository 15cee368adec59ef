import { createServer } from 'node:http';
import { AlphaFlux, AlphaTTS, NuLLM, PhoneStreamA, sessions, verifyPhoneStreamASignature } from 'rxvoice';
import { WebSocketServer } from 'ws';

const { env } = process;
const port = Number(env['PORT'] ?? 8080);
/** Where Twilio reaches this server, such as https://voice.example.com. */
const publicUrl = env['PUBLIC_URL'] ?? '';
const address = `${publicUrl.replace(/^http/, 'ws')}/call`;

const at = (endpoint: string | undefined): { endpoint?: string } => (endpoint ? { endpoint } : {});
const voice = { apiKey: env['DEEPGRAM_API_KEY'] ?? '', ...at(env['DEEPGRAM_BASE_URL']) };
const model = { apiKey: env['GROQ_API_KEY'] ?? '', model: 'openai/gpt-oss-20b', ...at(env['GROQ_BASE_URL']) };

/** A pipeline for each call. */
const calls = sessions({
  maxSessions: 50,
  config: {
    greeting: 'Hello! How can I help you?',
    systemPrompt: 'You are a friendly assistant on the phone. Answer in one or two short sentences.',
  },
  create: (phone: PhoneStreamA) => ({
    providers: [
      phone,
      new AlphaFlux({ ...voice, options: { eagerEotThreshold: 0.5 } }),
      new NuLLM(model),
      new AlphaTTS({ ...voice, outputFormat: 'mulaw' }),
    ],
  }),
  // Here a call is stored: what was said, how it ended, what it used.
  onEnd: ({ id, pipeline }, { reason, durationMs }) => {
    console.log(`${id}: ${reason} after ${Math.round(durationMs / 1000)} s`, pipeline.history.items);
  },
});
calls.events$.subscribe((event) => {
  if (event.type === 'refused') {
    console.log(`refused: ${event.reason}`);
    return;
  }
  const { session } = event;
  if (!session) {
    console.error('A subscriber of these events has thrown:', event);
    return;
  }
  const { id, pipeline } = session;
  console.log(event.type, id, 'error' in event ? event.error : '');
  // What fails while the call goes on, and what is tried again: the caller only hears silence.
  if (event.type === 'opened') {
    pipeline.on('error', ({ code, message }) => console.error(`${id}: ${code}: ${message}`));
    pipeline.on('provider.reconnecting', ({ message }) => console.warn(`${id}: again: ${message}`));
  }
});

/** Who calls: Twilio, or on this machine anybody while there is no PUBLIC_URL. */
async function isGenuine(signature: string): Promise<boolean> {
  if (publicUrl === '') return true;
  return verifyPhoneStreamASignature({ authToken: env['TWILIO_AUTH_TOKEN'] ?? '', url: address, signature });
}

const server = createServer((request, response) => {
  if (request.url !== '/twiml') {
    response.writeHead(404).end();
    return;
  }
  // What Twilio does with a call: it opens a socket here.
  response.setHeader('content-type', 'text/xml');
  response.end(`<Response><Connect><Stream url="${address}"/></Connect></Response>`);
});
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: 65_536 });
server.on('upgrade', (request, socket, head) => {
  // Until the socket is accepted, nobody else listens: an error would end the process.
  socket.on('error', () => socket.destroy());
  void isGenuine(String(request.headers['x-twilio-signature'] ?? '')).then((genuine) => {
    if (!genuine || request.url !== '/call' || calls.refusal) {
      socket.end(`HTTP/1.1 ${genuine ? 503 : 403} Refused\r\nConnection: close\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      const phone = new PhoneStreamA();
      phone.attach(accepted);
      calls.open(phone);
    });
  });
});
server.listen(port, publicUrl === '' ? '127.0.0.1' : undefined, () => {
  const bound = server.address();
  console.log(`Calls are answered at ws://127.0.0.1:${typeof bound === 'object' ? bound?.port : port}/call`);
});

process.once('SIGTERM', () => {
  server.close();
  void calls.drain({ patienceMs: 10_000 }).then(() => process.exit(0));
});
