import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { sessions } from 'rxvoice';
import { DeepgramFlux, DeepgramTTS } from 'rxvoice/deepgram';
import { GroqLLM } from 'rxvoice/groq';
import { twiml, TwilioPhone, verifyTwilioSignature } from 'rxvoice/twilio';
import { WebSocketServer } from 'ws';

const { PORT = '8080', PUBLIC_URL = '', TWILIO_AUTH_TOKEN: authToken = '', SANDBOX } = process.env;
const streamUrl = `${PUBLIC_URL.replace(/^http/, 'ws')}/call`;

/** Where a service is, and what it wants: on the sandbox any service takes `sandbox-key`. */
const service = (mount: string, apiKey: string = ''): { apiKey: string; endpoint?: string } =>
  SANDBOX ? { apiKey: 'sandbox-key', endpoint: SANDBOX + mount } : { apiKey };
const deepgram = service('/alpha', process.env['DEEPGRAM_API_KEY']);
const groq = service('/nu/openai/v1', process.env['GROQ_API_KEY']);

const calls = sessions({
  maxSessions: 20,
  config: {
    systemPrompt: 'You answer the telephone of a bicycle shop. One or two short sentences.',
    greeting: 'Hello!',
    locale: 'en',
  },
  create: (phone: TwilioPhone) => ({
    providers: [
      phone,
      new DeepgramFlux({ ...deepgram, options: { eagerEotThreshold: 0.5 } }),
      new GroqLLM({ ...groq, model: 'openai/gpt-oss-20b' }),
      // What the wire carries: nothing is converted.
      new DeepgramTTS({ ...deepgram, outputFormat: 'mulaw', sampleRate: 8000 }),
    ],
  }),
});
calls.events$.subscribe((event) => console.log(event.type, 'reason' in event ? event.reason : ''));

/** Whether Twilio has sent this: a webhook with its fields, or the upgrade of a call. */
function isGenuine({ headers }: IncomingMessage, url: string, params: Record<string, string> = {}): Promise<boolean> {
  return verifyTwilioSignature({ authToken, url, params, signature: headers['x-twilio-signature']?.toString() });
}

/** The webhook of the number: connects the call to this server. */
async function answer(request: IncomingMessage): Promise<string | undefined> {
  const fields = Object.fromEntries(new URLSearchParams(await text(request)));
  const isCall = request.url === '/twiml' && (await isGenuine(request, `${PUBLIC_URL}/twiml`, fields));
  return isCall ? twiml([{ stream: streamUrl }]) : undefined;
}

const server = createServer((request, response) => {
  answer(request)
    .then((body) => response.writeHead(body ? 200 : 403, { 'content-type': 'text/xml' }).end(body))
    .catch(() => response.destroy());
});
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: 65_536 });
server.on('upgrade', (request, socket, head) => {
  // Until the socket is accepted, nobody else listens: an error would end the process.
  socket.on('error', () => socket.destroy());
  const refuse = (status: string): void => void socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  void isGenuine(request, streamUrl).then((isCall) => {
    if (!isCall || request.url !== '/call') refuse('403 Forbidden');
    else if (calls.refusal) refuse('503 Service Unavailable');
    else {
      sockets.handleUpgrade(request, socket, head, (accepted) => {
        const phone = new TwilioPhone();
        phone.attach(accepted);
        calls.open(phone);
      });
    }
  });
});
server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address();
  console.log(`port ${typeof address === 'object' ? address?.port : PORT}`);
});

// A deployment: no new calls, and those under way may end.
process.once('SIGTERM', () => {
  void calls.drain({ patienceMs: 30_000 }).then(() => process.exit(0));
});
