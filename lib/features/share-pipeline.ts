import { EMPTY, filter, map, type Observable, Subscription, takeUntil, tap } from 'rxjs';
import type { EventStream } from '../conversation/event-streams.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import type { TranscriptionResult } from '../core/roles.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { gate } from '../stream/gate.ts';
import { merge } from '../stream/merge.ts';

/** A stream of events that can be shared: all but the audio. */
export type SharedStream = Exclude<EventStream, 'audio$'>;

/** What a page may do: send text, interrupt, begin, commit and cancel turns. */
export type SharedCommand = 'send' | 'interrupt' | 'turns';

/** Options of {@link sharePipeline}. */
export interface SharePipelineOptions {
  /**
   * The streams that the page receives. `tools$` and `history$` contain arguments and results of tools, `errors$`
   * services' messages. Default: `state$`, `transcripts$`, `tokens$`, `captions$` and `metrics$`.
   */
  readonly streams?: readonly SharedStream[];
  /** What the page may do. Default: all three. */
  readonly commands?: readonly SharedCommand[];
}

/** The page's end: a `PageSocket`. */
export interface SharedPage {
  readonly commands$: Observable<
    | { readonly type: 'send'; readonly text: string }
    | { readonly type: 'interrupt' | 'beginTurn' | 'commitTurn' | 'cancelTurn' }
  >;
  readonly callEnded$: Observable<unknown>;
  /** Sends an event to the page, now or when it is back. */
  tell(event: object): void;
}

/** The streams shared by default. */
const usualStreams: readonly SharedStream[] = ['state$', 'transcripts$', 'tokens$', 'captions$', 'metrics$'];
const usualCommands: readonly SharedCommand[] = ['send', 'interrupt', 'turns'];

/** Most commands that wait for the conversation to begin. */
const maxWaiting = 500;

/**
 * Connects a pipeline to a page that uses `rxvoice/remote`: sends the events of the listed streams, and no others, and
 * carries out the page's commands; those that come before the conversation wait for it. No event names a provider, or
 * contains service-specific fields or error causes.
 *
 * @returns Ends the sharing; the end of the call does so too.
 */
export function sharePipeline(
  pipeline: Pipeline,
  page: SharedPage,
  { streams = usualStreams, commands = usualCommands }: SharePipelineOptions = {},
): Subscription {
  const shared = new Subscription();
  const events$: Observable<VoiceEvent> = merge(...streams.map((name): Observable<VoiceEvent> => pipeline[name]));
  const told$ = (streams.length > 0 ? events$ : EMPTY).pipe(
    tap((event) => page.tell(pageEvent(event))),
    takeUntil(page.callEnded$),
  );
  shared.add(told$.subscribe());
  const may = (command: SharedCommand): boolean => commands.includes(command);
  // A page may be quicker than the services: a pipeline that has not begun drops commands.
  const isUnderWay$ = pipeline.state$.pipe(
    filter((event) => event.type === 'agent.state'),
    map(({ state }) => state !== 'idle'),
  );
  const done$ = page.commands$.pipe(
    gate(isUnderWay$, { limit: maxWaiting, onDrop: () => undefined }),
    tap((command) => {
      if (command.type === 'send') {
        if (may('send')) pipeline.send(command.text);
      } else if (may(command.type === 'interrupt' ? 'interrupt' : 'turns')) pipeline[command.type]();
    }),
    takeUntil(page.callEnded$),
  );
  shared.add(done$.subscribe());
  return shared;
}

/** An event, stripped for the page. */
function pageEvent(event: VoiceEvent): object {
  const { provider: _, ...rest } = publicEvent(event);
  return rest.type === 'session.closed' ? { ...rest, usage: [] } : rest;
}

/** An event without service-specific fields and error causes: safe to leave the process. */
export function publicEvent<E extends VoiceEvent>(event: E): E {
  if (event.type === 'error') return { ...event, cause: undefined };
  return 'result' in event ? { ...event, result: publicResult(event.result) } : event;
}

/** A result without service-specific fields. */
function publicResult({ metadata, ...result }: TranscriptionResult): TranscriptionResult {
  const { text, isFinal, utteranceComplete, isPreflight, confidence } = result;
  const { words, language, speaker, translations } = metadata ?? {};
  return {
    ...{ text, isFinal, utteranceComplete, isPreflight },
    ...(confidence !== undefined && { confidence }),
    ...(metadata && {
      metadata: {
        ...(words && { words }),
        ...(language && { language }),
        ...(speaker && { speaker }),
        ...(translations && { translations }),
      },
    }),
  };
}
