import {
  AlphaFlux,
  AlphaTTS,
  BrowserAudioOutput,
  BufferInput,
  MicrophoneInput,
  NuLLM,
  Pipeline,
  transcript,
} from 'rxvoice';

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
const talk = find('talk');
const input = find<HTMLInputElement>('text');
find('hint').hidden = !__SANDBOX__;

agent.state$.subscribe((event) => {
  if (event.type !== 'agent.state') return;
  find('state').textContent = event.state;
  talk.textContent = event.state === 'idle' ? 'Start' : 'Stop';
});
// What both have said: the user's words as they are recognized, the agent's as they are heard.
transcript(agent).subscribe((lines) => {
  const items = lines.map(({ speaker, text }) => {
    const item = document.createElement('li');
    item.dataset['who'] = speaker;
    item.textContent = text;
    return item;
  });
  find('lines').replaceChildren(...items);
});
agent.errors$.subscribe(({ message }) => (find('error').textContent = message));

const start = (): Promise<void> => {
  find('error').textContent = '';
  return agent.start().catch((error: Error) => {
    find('error').textContent = error.message;
  });
};
talk.addEventListener('click', () => void (agent.state === 'running' ? agent.stop() : start()));
find('form').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = input.value;
  input.value = '';
  void start().then(() => agent.send(text));
});
