import { AlphaFlux, AlphaTTS, BrowserAudioOutput, BufferInput, MicrophoneInput, NuLLM, Pipeline } from 'rxvoice';

/** The sandbox hears and speaks in tones: there, the microphone stays off and you type. */
declare const __SANDBOX__: boolean;

const agent = new Pipeline({
  providers: [
    __SANDBOX__ ? new BufferInput() : new MicrophoneInput(),
    new AlphaFlux({ proxyUrl: '/voice/deepgram' }),
    new NuLLM({ proxyUrl: '/voice/groq', model: 'openai/gpt-oss-20b' }),
    new AlphaTTS({ proxyUrl: '/voice/deepgram' }),
    new BrowserAudioOutput(),
  ],
  systemPrompt: 'You are a friendly voice assistant. Answer in one or two short sentences.',
});

const find = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const caption = find('caption');
const input = find<HTMLInputElement>('text');

agent.state$.subscribe((event) => {
  if (event.type === 'agent.state') find('state').textContent = event.state;
});
agent.transcripts$.subscribe((event) => {
  if (event.type === 'transcript.interim') caption.textContent = event.text;
});
agent.history$.subscribe(() => {
  caption.textContent = '';
  const lines = agent.history.messages().flatMap(({ role, content }) => {
    if (role !== 'user' && role !== 'assistant') return [];
    const line = document.createElement('li');
    line.dataset['who'] = role;
    line.textContent = content;
    return [line];
  });
  find('lines').replaceChildren(...lines);
});
agent.errors$.subscribe(({ message }) => (find('error').textContent = message));

const start = (): Promise<void> =>
  agent.start().catch((error: Error) => {
    find('error').textContent = error.message;
  });
find('talk').addEventListener('click', () => void (agent.state === 'idle' ? start() : agent.stop()));
find('form').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = input.value;
  input.value = '';
  void (agent.state === 'idle' ? start() : Promise.resolve()).then(() => agent.send(text));
});
