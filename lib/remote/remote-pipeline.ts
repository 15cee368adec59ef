/// <reference lib="esnext.disposable" preserve="true" />
import { asyncScheduler, filter, ReplaySubject, Subject, type Observable, type SchedulerLike } from 'rxjs';
import { publicStream } from '../core/application-code.ts';
import { VoiceError } from '../core/errors.ts';
import { silentLogger, type Logger } from '../core/logger.ts';
import { OnDemand } from '../core/on-demand.ts';
import type { InputProvider } from '../core/roles.ts';
import { eventStreams, type EventStream, type StreamEvent } from '../conversation/event-streams.ts';
import type { AgentState, VoiceEvent, VoiceEventType } from '../conversation/events.ts';
import { Facts, stateLike } from '../pipeline/facts.ts';
import { maxSendLength, type PageCommand } from '../transport/page-wire.ts';
import type { RemoteLink, RemoteSocket } from './remote-link.ts';
import { RemoteSession } from './remote-session.ts';
import type { RemoteSpeaker } from './speaker.ts';

/** Options of a {@link RemotePipeline}. */
export interface RemotePipelineOptions {
  /** The server's socket, such as `wss://voice.example.com/talk`, or `/talk` on the page's own server. */
  readonly url: string;
  /** The input: linear16, mono, at 8, 16, 24 or 48 kHz. Default: the user's microphone, at 16 kHz. */
  readonly microphone?: InputProvider;
  /** The output. Default: the page's speaker. */
  readonly speaker?: RemoteSpeaker;
  /**
   * The audio on the wire. `opus` takes about a seventh of the network, and needs a browser with WebCodecs and an Opus
   * package on the server: without either, it is linear16, and the logger says why. Default: `linear16`.
   */
  readonly audio?: 'linear16' | 'opus';
  /** Where the page serves `rxvoice/worklets.js`, if its Content-Security-Policy forbids `blob:` scripts. */
  readonly workletUrl?: string;
  /** Opens a socket. Default: the browser's `WebSocket`. */
  readonly openSocket?: (url: string) => RemoteSocket;
  /** Default: silent. */
  readonly logger?: Logger;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * The page's end of a pipeline that runs on your server: microphone, speaker and the pipeline's events. The page
 * contains no key and no service; the server chooses what to share, with `sharePipeline()`. The streams are those of a
 * `Pipeline`, limited to the events that the server shares; those of the page's own devices, and their errors, are
 * always available.
 *
 * A lost connection is re-established and the conversation continues: nothing said is repeated or lost, within ten
 * seconds of microphone audio and for as long as the server waits.
 *
 * @example
 * ```ts
 * import { RemotePipeline } from 'rxvoice/remote';
 *
 * const voice = new RemotePipeline({ url: '/talk' });
 * voice.transcripts$.subscribe((event) => console.log(event.type, event.text));
 * document.querySelector('button')?.addEventListener('click', () => void voice.start());
 * ```
 */
export class RemotePipeline implements AsyncDisposable {
  readonly #options: RemotePipelineOptions;
  readonly #scheduler: SchedulerLike;
  readonly #all$ = new Subject<VoiceEvent>();
  readonly #facts = new Facts();
  readonly #link$ = new ReplaySubject<RemoteLink>(1);
  #session: RemoteSession | undefined;
  #isMuted = false;
  #isDisposed = false;
  /** What the server has told of the session. */
  #told: 'nothing' | 'something' | 'its end' = 'nothing';
  #agentState: AgentState = 'idle';

  /** All events, in order. Hot; never errors. */
  readonly events$: Observable<VoiceEvent> = this.#handOut(this.#all$);
  /** As in a `Pipeline`; replays the current state. */
  readonly state$: Observable<StreamEvent<'state$'>> = this.#stream('state$');
  /** As in a `Pipeline`: the server's providers. Not shared by default; replays the current state. */
  readonly connection$: Observable<StreamEvent<'connection$'>> = this.#stream('connection$');
  /** As in a `Pipeline`. */
  readonly transcripts$: Observable<StreamEvent<'transcripts$'>> = this.#stream('transcripts$');
  /** As in a `Pipeline`. Not shared by default. */
  readonly turns$: Observable<StreamEvent<'turns$'>> = this.#stream('turns$');
  /** As in a `Pipeline`. Not shared by default. */
  readonly preflight$: Observable<StreamEvent<'preflight$'>> = this.#stream('preflight$');
  /** As in a `Pipeline`. Not shared by default. */
  readonly bargeIn$: Observable<StreamEvent<'bargeIn$'>> = this.#stream('bargeIn$');
  /** As in a `Pipeline`. */
  readonly tokens$: Observable<StreamEvent<'tokens$'>> = this.#stream('tokens$');
  /** As in a `Pipeline`. Not shared by default. */
  readonly tools$: Observable<StreamEvent<'tools$'>> = this.#stream('tools$');
  /** As in a `Pipeline`. Not shared by default. */
  readonly speech$: Observable<StreamEvent<'speech$'>> = this.#stream('speech$');
  /** As in a `Pipeline`. */
  readonly captions$: Observable<StreamEvent<'captions$'>> = this.#stream('captions$');
  /** As in a `Pipeline`. Not shared by default. */
  readonly history$: Observable<StreamEvent<'history$'>> = this.#stream('history$');
  /** As in a `Pipeline`. Not shared by default. */
  readonly call$: Observable<StreamEvent<'call$'>> = this.#stream('call$');
  /** As in a `Pipeline`: the page's microphone. Replays the latest of each. */
  readonly input$: Observable<StreamEvent<'input$'>> = this.#stream('input$');
  /** As in a `Pipeline`: the page's speaker. Replays the latest. */
  readonly output$: Observable<StreamEvent<'output$'>> = this.#stream('output$');
  /** As in a `Pipeline`. */
  readonly metrics$: Observable<StreamEvent<'metrics$'>> = this.#stream('metrics$');
  /** Errors in the page that do not end the conversation, and the server's, if shared. */
  readonly errors$: Observable<StreamEvent<'errors$'>> = this.#stream('errors$');
  /** The connection to the server. Replays the latest value. */
  readonly link$: Observable<RemoteLink> = this.#handOut(this.#link$);

  constructor(options: RemotePipelineOptions) {
    this.#options = options;
    this.#scheduler = options.scheduler ?? asyncScheduler;
  }

  /** `running` after a successful `start()`, even while the connection is lost. */
  get state(): 'idle' | 'starting' | 'running' {
    if (!this.#session) return 'idle';
    return this.#session.isRunning ? 'running' : 'starting';
  }

  /** What the agent is doing. */
  get agentState(): AgentState {
    return this.#agentState;
  }

  /**
   * Starts a conversation; resolves once the server hears the user. Call it from a click handler, so that the page may
   * play audio.
   *
   * @throws VoiceError `permission` or `device` for the microphone; `connection`, `timeout`, `overloaded` or `forbidden`
   * for the server; `configuration`; `aborted` when `stop()` came first; `not_ready` once disposed.
   */
  start(): Promise<void> {
    if (this.#isDisposed) {
      const message = 'RemotePipeline: disposed; create another one';
      return Promise.reject(new VoiceError(message, { code: 'not_ready' }));
    }
    this.#session ??= this.#begin();
    return this.#session.started;
  }

  /** Ends the conversation, also on the server. */
  async stop(): Promise<void> {
    await this.#end();
  }

  /** Ends the conversation, and the streams. */
  async dispose(): Promise<void> {
    this.#isDisposed = true;
    await this.#end();
    this.#all$.complete();
    this.#link$.complete();
  }

  /** Same as `dispose()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /**
   * Sends what the user typed.
   *
   * @throws VoiceError `configuration` for more than 10,000 characters.
   */
  send(text: string): void {
    if (text.length > maxSendLength) {
      throw new VoiceError(`RemotePipeline: send() takes ${maxSendLength} characters`, { code: 'configuration' });
    }
    if (text.trim()) this.#command({ type: 'send', text });
  }

  /** Cuts off what the agent is saying or preparing. */
  interrupt(): void {
    this.#command({ type: 'interrupt' });
  }

  /** Push-to-talk: the user starts speaking. Interrupts the agent. */
  beginTurn(): void {
    this.#command({ type: 'beginTurn' });
  }

  /** Push-to-talk: the user has finished. */
  commitTurn(): void {
    this.#command({ type: 'commitTurn' });
  }

  /** Push-to-talk: drops what was said. */
  cancelTurn(): void {
    this.#command({ type: 'cancelTurn' });
  }

  /** Sends silence from now on: the microphone's audio does not leave the page. */
  mute(): void {
    this.#mute(true);
  }

  /** Sends the user's audio again. */
  unmute(): void {
    this.#mute(false);
  }

  #mute(muted: boolean): void {
    if (muted === this.#isMuted) return;
    this.#isMuted = muted;
    this.#tell({ type: 'input.muted', at: this.#scheduler.now(), muted });
  }

  /** @throws VoiceError `not_ready` outside a conversation. */
  #command(command: PageCommand): void {
    if (!this.#session?.isRunning) {
      throw new VoiceError('RemotePipeline: await start() first', { code: 'not_ready' });
    }
    this.#session.command(command);
  }

  #begin(): RemoteSession {
    const { url, openSocket = openOwn, workletUrl } = this.#options;
    const scheduler = this.#scheduler;
    const { audio = 'linear16', logger = silentLogger, microphone, speaker } = this.#options;
    const ownMicrophone = new OnDemand<InputProvider>('RemotePipeline', async () => {
      const { MicrophoneInput } = await import('../providers/input/microphone-input.ts');
      return new MicrophoneInput({ ...(workletUrl !== undefined && { workletUrl }), scheduler });
    });
    const ownSpeaker = new OnDemand<RemoteSpeaker>('RemotePipeline', async () => {
      const { PageSpeaker } = await import('./speaker.ts');
      return new PageSpeaker(workletUrl, scheduler);
    });
    const session: RemoteSession = new RemoteSession({
      microphone: Promise.resolve(microphone ?? ownMicrophone.load()),
      speaker: Promise.resolve(speaker ?? ownSpeaker.load()),
      open: () => openSocket(addressOf(url)),
      ...{ audio, logger },
      isMuted: () => this.#isMuted,
      scheduler,
      onEvent: (event) => {
        if (event.type === 'session.closed') this.#told = 'its end';
        else if (this.#told === 'nothing') this.#told = 'something';
        this.#tell(event);
      },
      onLink: (link) => this.#link$.next(link),
      onDevice: (type, change) => this.#tell({ type, at: scheduler.now(), change }),
      onError: ({ code, message, recoverable }) =>
        this.#tell({ type: 'error', at: scheduler.now(), code, message, recoverable, cause: undefined }),
      onOver: (error) => {
        if (this.#session === session) this.#close(error);
      },
    });
    return session;
  }

  async #end(): Promise<void> {
    const session = this.#session;
    if (!session) return;
    this.#close();
    await session.closed;
  }

  #close(error?: VoiceError): void {
    const session = this.#session;
    const isUntold = this.#told === 'something';
    this.#session = undefined;
    this.#told = 'nothing';
    session?.close(error ?? new VoiceError('RemotePipeline: stop() was called first', { code: 'aborted' }));
    if (this.#agentState !== 'idle') {
      this.#tell({ type: 'agent.state', at: this.#scheduler.now(), state: 'idle', previous: this.#agentState });
    }
    // The server can no longer tell a page that has left.
    if (isUntold) this.#tell({ type: 'session.closed', at: this.#scheduler.now(), usage: [] });
    this.#link$.next({ type: 'closed', ...(error && { error }) });
  }

  #tell(event: VoiceEvent): void {
    if (event.type === 'agent.state') this.#agentState = event.state;
    this.#facts.note(event);
    this.#all$.next(event);
  }

  #stream<S extends EventStream>(name: S): Observable<StreamEvent<S>> {
    const types: readonly VoiceEventType[] = eventStreams[name];
    const events$ = this.#all$.pipe(filter((event) => types.includes(event.type)));
    const stream$ = stateLike.has(name) ? this.#facts.before(types, events$) : events$;
    return this.#handOut(stream$) as Observable<StreamEvent<S>>;
  }

  /** An error thrown by a subscriber becomes an event, unless thrown while handling that event. */
  #handOut<T>(stream$: Observable<T>): Observable<T> {
    return publicStream(stream$, (cause) => {
      const message = `a subscriber threw: ${VoiceError.from(cause).message}`;
      const at = this.#scheduler.now();
      this.#tell({ type: 'error', at, code: 'internal', message, recoverable: false, cause });
    });
  }
}

/** The runtime's socket: all have it but Node before 22. */
function openOwn(address: string): RemoteSocket {
  if ('WebSocket' in globalThis) return new WebSocket(address);
  const advice = 'set openSocket: (url) => new WebSocket(url), with the WebSocket of ws';
  throw new VoiceError(`RemotePipeline: this runtime has no WebSocket: ${advice}`, { code: 'configuration' });
}

/** A path refers to the page's own server. */
function addressOf(url: string): string {
  const page = (globalThis as { readonly location?: { readonly href: string } }).location?.href;
  if (URL.canParse(url, page)) return new URL(url, page).href.replace(/^http/, 'ws');
  const wanted = 'an address such as wss://voice.example.com/talk, or in a page a path';
  throw new VoiceError(`RemotePipeline: url must be ${wanted}, not "${url}"`, { code: 'configuration' });
}
