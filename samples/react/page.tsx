import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { AlphaFlux, AlphaTTS, BrowserAudioOutput, MicrophoneInput, NuLLM, type PipelineOptions } from 'rxvoice';
import { App } from './app.tsx';

/** The services, through the proxy on this page's own server. */
const options = (): PipelineOptions => ({
  providers: [
    new MicrophoneInput(),
    new AlphaFlux({ proxyUrl: '/voice/alpha' }),
    new NuLLM({ proxyUrl: '/voice/nu' }),
    new AlphaTTS({ proxyUrl: '/voice/alpha' }),
    new BrowserAudioOutput(),
  ],
  systemPrompt: 'You are a friendly voice assistant. Answer in one or two short sentences.',
});

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App options={options} />
    </StrictMode>,
  );
}
