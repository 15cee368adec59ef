import { useMemo, useState, type ReactElement } from 'react';
import { createRoot } from 'react-dom/client';
import { map } from 'rxjs';
import { TextInput, type HistoryItem } from 'rxvoice';
import { DeepgramFlux, DeepgramTTS } from 'rxvoice/deepgram';
import { GroqLLM } from 'rxvoice/groq';
import { useObservable, usePipeline } from 'rxvoice/react';

const nothing: readonly HistoryItem[] = [];

/** What one side said. Of an answer that was cut off, only what was heard. */
function Line({ item }: { readonly item: HistoryItem }): ReactElement | null {
  if (item.role === 'tool') return null;
  return <li>{item.role === 'user' ? `you: ${item.text}` : `agent: ${item.heard}`}</li>;
}

function Talk(): ReactElement {
  const { pipeline, state, agentState, error, start, stop } = usePipeline(() => ({
    providers: [
      location.search.includes('type')
        ? new TextInput()
        : new DeepgramFlux({ proxyUrl: '/voice/deepgram', options: { eagerEotThreshold: 0.5 } }),
      new GroqLLM({ proxyUrl: '/voice/groq', model: 'openai/gpt-oss-20b' }),
      new DeepgramTTS({ proxyUrl: '/voice/deepgram' }),
    ],
    systemPrompt: 'You are a friendly voice assistant. Answer in one or two short sentences.',
  }));
  const lines$ = useMemo(() => pipeline.history$.pipe(map(() => [...pipeline.history.items])), [pipeline]);
  const lines = useObservable(lines$, nothing);
  const [text, setText] = useState('');

  return (
    <>
      <h1>A page that talks</h1>
      <button onClick={() => void (state === 'idle' ? start() : stop())}>{state === 'idle' ? 'Start' : 'Stop'}</button>
      <span role="status">{state === 'running' ? agentState : state}</span>
      {error && <p role="alert">{error.message}</p>}
      <ol>
        {lines.map((item) => (
          <Line key={item.id} item={item} />
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
          Type <input value={text} autoComplete="off" onChange={(event) => setText(event.target.value)} />
        </label>
        <button>Send</button>
      </form>
    </>
  );
}

const root = document.createElement('main');
document.body.append(root);
createRoot(root).render(<Talk />);
