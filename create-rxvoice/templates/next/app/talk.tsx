'use client';
import { useMemo, useState } from 'react';
import { map } from 'rxjs';
import { AlphaFlux, AlphaTTS, BrowserAudioOutput, BufferInput, MicrophoneInput, NuLLM } from 'rxvoice';
import { proxyToken } from 'rxvoice/proxy';
import { useObservable, usePipeline } from 'rxvoice/react';

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
  const lines$ = useMemo(() => pipeline.history$.pipe(map(() => pipeline.history.messages())), [pipeline]);
  const lines = useObservable(lines$, []);
  const [text, setText] = useState('');

  return (
    <>
      <button onClick={() => void (state === 'idle' ? start() : stop())}>{state === 'idle' ? 'Start' : 'Stop'}</button>
      <output>{state === 'running' ? agentState : state}</output>
      <ol role="log">
        {lines.map(({ role, content }, at) => (
          <li key={at}>{role === 'user' ? <b>{content}</b> : content}</li>
        ))}
      </ol>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          pipeline.send(text);
          setText('');
        }}
      >
        <input aria-label="Or type" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={state !== 'running'}>Send</button>
      </form>
      {error && <p role="alert">{error.message}</p>}
    </>
  );
}
