import { Pipeline, TextInput, type AnyProvider } from 'rxvoice';
import { DeepgramFlux, DeepgramTTS } from 'rxvoice/deepgram';
import { GroqLLM } from 'rxvoice/groq';

// With ?type in the address you type, and no microphone is opened.
const ears: AnyProvider[] = location.search.includes('type')
  ? [new TextInput()]
  : [new DeepgramFlux({ proxyUrl: '/voice/deepgram', options: { eagerEotThreshold: 0.5 } })];

const agent = new Pipeline({
  providers: [
    ...ears,
    new GroqLLM({ proxyUrl: '/voice/groq', model: 'openai/gpt-oss-20b' }),
    new DeepgramTTS({ proxyUrl: '/voice/deepgram' }),
  ],
  systemPrompt: 'You are a friendly voice assistant. Answer in one or two short sentences.',
});

const find = (id: string): HTMLElement => document.querySelector<HTMLElement>(`#${id}`) ?? document.body;
const show = (who: string, text: string): void => {
  const line = document.createElement('li');
  line.textContent = `${who}: ${text}`;
  find('log').append(line);
};

agent.on('agent.state', ({ state }) => (find('state').textContent = state));
agent.on('transcript.interim', ({ text }) => (find('caption').textContent = text));
agent.on('turn.committed', ({ text }) => {
  find('caption').textContent = '';
  show('you', text);
});
agent.on('speech.ended', ({ heardText }) => show('agent', heardText));
agent.on('error', ({ code, message }) => {
  if (code !== 'retiring') show('problem', message);
});

find('start').onclick = () => {
  agent.start().catch((error: unknown) => show('problem', String(error)));
};
find('stop').onclick = () => void agent.stop();
find('form').onsubmit = (event) => {
  event.preventDefault();
  const text = find('text') as HTMLInputElement;
  agent.send(text.value);
  text.value = '';
};
