import { useMemo, useState, type ReactElement } from 'react';
import { filter, map, merge, type Observable } from 'rxjs';
import type { HistoryItem, Pipeline, PipelineOptions } from 'rxvoice';
import { useObservable, usePipeline } from 'rxvoice/react';

const nothing: readonly HistoryItem[] = [];

/** What was said and heard, whenever that changes. */
function linesOf(pipeline: Pipeline): Observable<readonly HistoryItem[]> {
  return pipeline.history$.pipe(map(() => [...pipeline.history.items]));
}

/** What the user is just saying; empty when it has become a line. */
function captionOf(pipeline: Pipeline): Observable<string> {
  return merge(pipeline.transcripts$, pipeline.turns$).pipe(
    map((event) => (event.type === 'transcript.interim' || event.type === 'transcript.final' ? event.text : '')),
  );
}

function Line({ item }: { readonly item: HistoryItem }): ReactElement | null {
  if (item.role === 'tool') return null;
  if (item.role === 'user') return <li data-who="user">{item.text}</li>;
  const unheard = item.interrupted ? item.generated.slice(item.heard.length) : '';
  return (
    <li data-who="agent">
      {item.heard}
      {unheard && <del>{unheard}</del>}
    </li>
  );
}

/** What the component is told. */
export interface AppProps {
  readonly options: () => PipelineOptions;
  /** What to know before the conversation. */
  readonly notice?: string;
}

/** A conversation: a button, live captions, a line to type in. */
export function App({ options, notice }: AppProps): ReactElement {
  const { pipeline, state, agentState, error, start, stop } = usePipeline(options);
  const lines = useObservable(
    useMemo(() => linesOf(pipeline), [pipeline]),
    nothing,
  );
  const caption = useObservable(
    useMemo(() => captionOf(pipeline), [pipeline]),
    '',
  );
  // That a model retires is for the developer, whom the logger tells.
  const trouble = useObservable(
    useMemo(() => pipeline.errors$.pipe(filter(({ code }) => code !== 'retiring')), [pipeline]),
  );
  const [text, setText] = useState('');
  const isOff = state === 'idle' || state === 'starting';
  const doing = state === 'running' ? agentState : state;

  return (
    <main>
      <header>
        <h1>rxvoice and React</h1>
        <p role="status" data-state={doing}>
          {doing}
        </p>
        <button
          type="button"
          className="main"
          disabled={state === 'stopping'}
          onClick={() => void (isOff ? start() : stop())}
        >
          {isOff ? 'Start' : 'Stop'}
        </button>
      </header>
      <div className="notices">
        {notice && <p>{notice}</p>}
        {error && <p role="alert">{error.message}</p>}
        {state === 'running' && trouble && <p role="alert">{trouble.message}</p>}
      </div>
      {/* Scrolls by itself to what comes, and by keys. */}
      <div className="conversation" tabIndex={0} role="region" aria-label="Conversation">
        <p aria-hidden="true" className="caption">
          {caption}
        </p>
        <ol aria-live="polite" aria-label="What was said">
          {lines.map((item) => (
            <Line key={item.id} item={item} />
          ))}
        </ol>
        {lines.length === 0 && !caption && (
          <p className="empty">{isOff ? 'Press Start.' : notice ? 'Type something.' : 'Say something, or type it.'}</p>
        )}
      </div>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== '') pipeline.send(text);
          setText('');
        }}
      >
        <label>
          Say it by hand
          <input value={text} autoComplete="off" onChange={(event) => setText(event.target.value)} />
        </label>
        <button type="submit" disabled={state !== 'running'}>
          Send
        </button>
      </form>
    </main>
  );
}
