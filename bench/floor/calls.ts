// The floor: the same job by hand, with no SDK at all. What the wire, the kernel and Node cost.
import { Agent, request, type ClientRequest } from 'node:http';
import { createParser } from 'eventsource-parser';
import { WebSocket, WebSocketServer } from 'ws';
import { reportTo, voiceOf, worldOf } from '../calls/control.ts';
import { toPhone } from './to-phone.ts';

const agent = new Agent({ keepAlive: true });
const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });

interface Heard {
  readonly type: string;
}

interface Result extends Heard {
  readonly is_final: boolean;
  readonly channel: { readonly alternatives: readonly { readonly transcript: string }[] };
}

server.on('connection', (phone, { url }) => {
  const { port } = new URL(worldOf(url));
  const headers = { authorization: 'Token bench-key' };
  const open = (path: string): WebSocket =>
    new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers, perMessageDeflate: false });
  const stt = open('/v1/listen?model=nova-3&encoding=mulaw&sample_rate=8000');
  const voice = voiceOf(url);
  const format = voice === 'mulaw' ? 'encoding=mulaw&sample_rate=8000' : 'encoding=linear16&sample_rate=24000';
  const tts = open(`/v1/speak?model=aura-2-thalia-en&${format}`);
  const convert = voice === 'mulaw' ? (bytes: Buffer): Buffer => bytes : toPhone();
  const history: { role: string; content: string }[] = [];
  /** The voice may still be connecting when the first answer comes. */
  const tell = (message: string): void => {
    if (tts.readyState === WebSocket.OPEN) tts.send(message);
    else tts.once('open', () => tts.send(message));
  };
  let streamSid = '';
  let answering: ClientRequest | undefined;
  let clearing = 0;

  const cut = (): void => {
    if (!answering) return;
    phone.send(JSON.stringify({ event: 'clear', streamSid }));
    answering.destroy();
    answering = undefined;
    clearing++;
    tell('{"type":"Clear"}');
  };
  const answer = (text: string): void => {
    history.push({ role: 'user', content: text });
    const body = JSON.stringify({ model: 'openai/gpt-oss-20b', messages: history, stream: true });
    let pending = '';
    const parser = createParser({
      onEvent: ({ data }) => {
        const chunk = JSON.parse(data) as { choices: { delta: { content?: string } }[] };
        pending += chunk.choices[0]?.delta.content ?? '';
        const end = /[.!?]\s/.exec(pending);
        if (!end) return;
        tell(JSON.stringify({ type: 'Speak', text: pending.slice(0, end.index + 2) }));
        tell('{"type":"Flush"}');
        pending = pending.slice(end.index + 2);
      },
    });
    const decoder = new TextDecoder();
    answering = request(
      {
        agent,
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: '/chat/completions',
        headers: { 'content-type': 'application/json' },
      },
      (response) => {
        response.on('data', (data: Buffer) => {
          parser.feed(decoder.decode(data, { stream: true }));
        });
        response.on('error', () => undefined);
      },
    );
    answering.on('error', () => undefined);
    answering.end(body);
  };

  phone.on('message', (data) => {
    const message = JSON.parse((data as Buffer).toString()) as {
      event: string;
      streamSid?: string;
      media?: { payload: string };
    };
    if (message.event === 'start') streamSid = message.streamSid ?? '';
    if (message.event !== 'media' || stt.readyState !== WebSocket.OPEN) return;
    stt.send(Buffer.from(message.media?.payload ?? '', 'base64'));
  });
  stt.on('message', (data) => {
    const message = JSON.parse((data as Buffer).toString()) as Heard;
    if (message.type !== 'Results') return;
    const { is_final: final, channel } = message as Result;
    const text = channel.alternatives[0]?.transcript ?? '';
    cut();
    if (final) answer(text);
  });
  tts.on('message', (data, isBinary) => {
    if (!isBinary) {
      if ((data as Buffer).includes('Cleared')) clearing--;
      return;
    }
    if (clearing) return;
    const bytes = convert(data as Buffer);
    for (let at = 0; at < bytes.length; at += 160) {
      const payload = bytes.subarray(at, at + 160).toString('base64');
      phone.send(JSON.stringify({ event: 'media', streamSid, media: { payload } }));
    }
  });
  phone.on('close', () => {
    stt.terminate();
    tts.terminate();
  });
});
reportTo(server);
