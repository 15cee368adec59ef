import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import {
  AlphaFlux,
  AlphaTTS,
  BrowserAudioOutput,
  BufferInput,
  MicrophoneInput,
  NuLLM,
  type PipelineOptions,
} from 'rxvoice';
import { App } from './app.tsx';

/** Whether the server has no keys: the sandbox speaks and hears in tones, and would take a room's noise for some. */
const isSandbox = document.documentElement.hasAttribute('data-sandbox');
const notice =
  'A demo without keys: type, and the answer comes in tones, with its words here. Your microphone stays off. ' +
  'With DEEPGRAM_API_KEY and GROQ_API_KEY, you talk to it.';

/** The services, through the proxy on this page's own server. */
const options = (): PipelineOptions => ({
  providers: [
    isSandbox ? new BufferInput({ sampleRate: 16_000 }) : new MicrophoneInput(),
    new AlphaFlux({ proxyUrl: '/voice/alpha' }),
    new NuLLM({ proxyUrl: '/voice/nu', model: 'openai/gpt-oss-20b' }),
    new AlphaTTS({ proxyUrl: '/voice/alpha' }),
    new BrowserAudioOutput(),
  ],
  systemPrompt: 'You are a friendly voice assistant. Answer in one or two short sentences.',
});

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App options={options} {...(isSandbox && { notice })} />
    </StrictMode>,
  );
}
