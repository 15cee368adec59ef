// The floor of a cold start: one sentence to the voice's socket, and its first audio. node first-audio.mjs <endpoint>
import { WebSocket } from 'ws';

const base = (process.argv[2] ?? '').replace(/^http/, 'ws');
const tts = new WebSocket(`${base}/v1/speak?model=aura-2-thalia-en&encoding=linear16&sample_rate=24000`, {
  headers: { authorization: 'Token sandbox-key' },
  perMessageDeflate: false,
});
tts.on('open', () => {
  tts.send(JSON.stringify({ type: 'Speak', text: 'Your table is booked for seven.' }));
  tts.send('{"type":"Flush"}');
});
tts.on('message', (_, isBinary) => {
  if (isBinary) process.stdout.write('audio', () => process.exit());
});
tts.on('error', ({ message }) => {
  console.error(message);
  process.exit(1);
});
