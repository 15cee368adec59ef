'use client';
import { useState } from 'react';
import { AlphaFlux, AlphaTTS, BrowserAudioOutput, BufferInput, MicrophoneInput, NuLLM } from 'rxvoice';
import { proxyToken } from 'rxvoice/proxy';
import { usePipeline, useTranscript } from 'rxvoice/react';

/** @param sandbox - Its address: it hears and speaks in tones, so the microphone stays off and you type. */
export function Talk({ sandbox }: { readonly sandbox: string | undefined }) {
  const { pipeline, state, agentState, error, start, stop } = usePipeline(() => {
    // A route of Next takes no sockets: these go to the service, with a token of the proxy's that lives for seconds.
    const speech = {
      apiKey: proxyToken('/api/voice/deepgram/token'),
      authType: 'bearer' as const,
      ...(sandbox && { endpoint: `${sandbox}/alpha` }),
    };
    return {
      providers: [
        sandbox ? new BufferInput() : new MicrophoneInput(),
        new AlphaFlux(speech),
        new NuLLM({ proxyUrl: '/api/voice/groq', model: 'openai/gpt-oss-20b' }),
        new AlphaTTS(speech),
        new BrowserAudioOutput(),
      ],
      systemPrompt: 'You are a friendly voice assistant. Answer in one or two short sentences.',
    };
  });
  // What both have said: the user's words as they are recognized, the agent's as they are heard.
  const lines = useTranscript(pipeline);
  const [text, setText] = useState('');

  return (
    <>
      <button onClick={() => void (state === 'idle' ? start() : stop())}>{state === 'idle' ? 'Start' : 'Stop'}</button>
      <output>{state === 'running' ? agentState : state}</output>
      {sandbox && <p>This is the sandbox: start, type “count to 5”, and hear the answer in tones.</p>}
      <ol aria-live="polite">
        {lines.map(({ id, speaker, text }) => (
          <li key={id}>{speaker === 'user' ? <b>{text}</b> : text}</li>
        ))}
      </ol>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          pipeline.send(text);
          setText('');
        }}
      >
        <label>
          Or type: <input value={text} autoComplete="off" onChange={(event) => setText(event.target.value)} />
        </label>
        <button disabled={state !== 'running'}>Send</button>
      </form>
      {error && <p role="alert">{error.message}</p>}
    </>
  );
}
