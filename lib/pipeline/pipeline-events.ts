import { EventEmitter } from 'eventemitter3';
import { BehaviorSubject, defer, filter, finalize, type Observable, type SchedulerLike, type Subscription } from 'rxjs';
import { callSafely, publicStream, safeLogger } from '../core/application-code.ts';
import { messageOf, VoiceError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { ProviderRole } from '../core/roles.ts';
import { createEventBus, reportError, type EventBus } from '../conversation/event-bus.ts';
import { eventStreams, type EventStream, type StreamEvent } from '../conversation/event-streams.ts';
import type { VoiceEvent, VoiceEventType } from '../conversation/events.ts';
import { select } from '../stream/select.ts';
import { Facts, stateLike } from './facts.ts';

type Listeners = { [T in VoiceEventType]: [VoiceEvent<T>] } & { '*': [VoiceEvent] };

/** A pipeline's events: as one stream, as streams by topic, and as callbacks. */
export abstract class PipelineEvents {
  /** @internal Where all events are published. */
  protected readonly bus: EventBus;
  /** @internal Logs callbacks that throw. */
  protected readonly logger: Logger;
  readonly #emitter = new EventEmitter<Listeners>();
  /** Pending `once()` callbacks, to be removed by the callback the application passed. */
  readonly #onces = new Set<{ readonly type: string; readonly callback: unknown; undo(): void }>();
  readonly #callbacks: Subscription;
  readonly #facts = new Facts();
  /** Somebody listens, or no longer does. */
  readonly #counted$ = new BehaviorSubject<void>(undefined);
  /** Subscribers of `captions$`. */
  #subscribers = 0;
  /** One object per stream, however often it is read: a React component would resubscribe to a new one. */
  readonly #streams: Partial<Record<EventStream | 'events$', Observable<VoiceEvent>>> = {};

  /** @internal */
  constructor(scheduler: SchedulerLike, logger: Logger) {
    this.bus = createEventBus(scheduler);
    this.logger = safeLogger(logger, (cause) => this.reportError(broken('the logger', cause)));
    this.#callbacks = this.bus.events$.subscribe({
      next: (event) => this.#callBack(event),
      error: (cause: unknown) => this.reportError(cause),
    });
  }

  /** All events, in order. Hot; completes on `dispose()`, and never errors. */
  get events$(): Observable<VoiceEvent> {
    return (this.#streams.events$ ??= this.#handOut('events$', this.bus.events$));
  }

  /**
   * `agent.state`, `agent.handoff`, `user.state`, `user.language`, `session.ready`, `session.updated`, `session.closed`.
   * Hot; replays what is true now: all but `session.updated`.
   */
  get state$(): Observable<StreamEvent<'state$'>> {
    return this.#stream('state$');
  }

  /**
   * `provider.connecting`, `.connected`, `.reconnecting`, `.lost`, `.fallback`, `.format`. Hot; replays what is true now
   * of each provider: all but `.format`.
   */
  get connection$(): Observable<StreamEvent<'connection$'>> {
    return this.#stream('connection$');
  }

  /** `transcript.interim`, `.final`, `.preflight`, `.timeout`. Hot. */
  get transcripts$(): Observable<StreamEvent<'transcripts$'>> {
    return this.#stream('transcripts$');
  }

  /** `turn.started`, `.committed`, `.ended`, `guard.acted`, `user.idle`, `.away`. Hot. */
  get turns$(): Observable<StreamEvent<'turns$'>> {
    return this.#stream('turns$');
  }

  /** `preflight.started`, `.adopted`, `.discarded`. Hot. */
  get preflight$(): Observable<StreamEvent<'preflight$'>> {
    return this.#stream('preflight$');
  }

  /** `bargeIn.suspected`, `.paused`, `.confirmed`, `.resumed`, `.ignored`. Hot. */
  get bargeIn$(): Observable<StreamEvent<'bargeIn$'>> {
    return this.#stream('bargeIn$');
  }

  /** `llm.started`, `.token`, `.completed`, `.aborted`. Hot. */
  get tokens$(): Observable<StreamEvent<'tokens$'>> {
    return this.#stream('tokens$');
  }

  /** `tool.call`, `.result`, `.error`, `.cancelled`. Hot. */
  get tools$(): Observable<StreamEvent<'tools$'>> {
    return this.#stream('tools$');
  }

  /** `speech.created`, `.started`, `.paused`, `.resumed`, `.ended`. Hot. */
  get speech$(): Observable<StreamEvent<'speech$'>> {
    return this.#stream('speech$');
  }

  /** `audio.chunk` (synthesized), and `audio.input` with `inputEvents`. Hot. */
  get audio$(): Observable<StreamEvent<'audio$'>> {
    return this.#stream('audio$');
  }

  /** `caption.word`: each word of the agent as it begins to sound. Hot; costs nothing while nobody listens. */
  get captions$(): Observable<StreamEvent<'captions$'>> {
    return this.#stream('captions$');
  }

  /** `history.added`, `.updated`, `.truncated`. Hot. */
  get history$(): Observable<StreamEvent<'history$'>> {
    return this.#stream('history$');
  }

  /**
   * `dtmf.digit`, `call.state`, `call.ended`, `speaker.active`, `meeting.joined`, `meeting.left`, from phones and
   * meetings. Hot.
   */
  get call$(): Observable<StreamEvent<'call$'>> {
    return this.#stream('call$');
  }

  /**
   * `input.muted`, `input.listening`, `input.device` (the microphone was lost, found, muted by the system, …),
   * `input.permission`, of each of which it replays the latest; `input.overflow`; and `input.level` while somebody
   * listens to it by name. Hot.
   */
  get input$(): Observable<StreamEvent<'input$'>> {
    return this.#stream('input$');
  }

  /**
   * `output.device` (the browser blocks audio until a click, allows it again, …), of which it replays the latest; and
   * `output.level` while somebody listens to it by name. Hot.
   */
  get output$(): Observable<StreamEvent<'output$'>> {
    return this.#stream('output$');
  }

  /** `turn.metrics`, `usage`. Hot. */
  get metrics$(): Observable<StreamEvent<'metrics$'>> {
    return this.#stream('metrics$');
  }

  /** `error`: what went wrong without stopping the pipeline. Hot. */
  get errors$(): Observable<StreamEvent<'errors$'>> {
    return this.#stream('errors$');
  }

  /**
   * Calls `callback` for each event of a type, `*` for all. A callback that throws is reported, without affecting
   * others.
   *
   * @returns A function that unsubscribes.
   */
  on<T extends VoiceEventType>(type: T, callback: (event: VoiceEvent<T>) => void): () => void;
  on(type: '*', callback: (event: VoiceEvent) => void): () => void;
  on(type: VoiceEventType | '*', callback: (event: never) => void): () => void {
    // A context of its own: without it, a callback's removal would remove all its registrations.
    const own = {};
    this.#emitter.on(type, callback as () => void, own);
    this.#counted$.next();
    return () => {
      this.#emitter.off(type, callback as () => void, own);
      this.#counted$.next();
    };
  }

  /** Like {@link PipelineEvents.on}, for the next event only. */
  once<T extends VoiceEventType>(type: T, callback: (event: VoiceEvent<T>) => void): () => void;
  once(type: '*', callback: (event: VoiceEvent) => void): () => void;
  once(type: VoiceEventType | '*', callback: (event: never) => void): () => void {
    const stop = this.on(type as '*', (event) => {
      once.undo();
      // An async callback may reject.
      return (callback as (event: VoiceEvent) => unknown)(event);
    });
    const undo = (): void => {
      stop();
      this.#onces.delete(once);
    };
    const once = { type, callback, undo };
    this.#onces.add(once);
    return undo;
  }

  /**
   * Removes callbacks of {@link PipelineEvents.on} and {@link PipelineEvents.once}; without a callback, all of that
   * type.
   */
  off<T extends VoiceEventType>(type: T, callback?: (event: VoiceEvent<T>) => void): void;
  off(type: '*', callback?: (event: VoiceEvent) => void): void;
  off(type: VoiceEventType | '*', callback?: (event: never) => void): void {
    this.#emitter.off(type, callback as (() => void) | undefined);
    this.#counted$.next();
    for (const once of [...this.#onces]) {
      if (once.type === type && (callback === undefined || once.callback === callback)) once.undo();
    }
  }

  /** @internal Whether anybody listens to an event by name, or to captions by their stream. */
  protected readonly wants$ = (type: VoiceEventType): Observable<boolean> =>
    this.#counted$.pipe(
      select(() => this.#emitter.listenerCount(type) + (type === 'caption.word' ? this.#subscribers : 0) > 0),
    );

  /** @internal Publishes a non-fatal error. */
  protected reportError(
    cause: unknown,
    envelope: { readonly provider?: string; readonly role?: ProviderRole } = {},
  ): void {
    reportError(this.bus, cause, envelope);
  }

  /** @internal Completes the streams, and removes the callbacks. */
  protected closeEvents(): void {
    this.#callbacks.unsubscribe();
    this.#emitter.removeAllListeners();
    this.#facts.clear();
    this.bus.close();
  }

  #stream<S extends EventStream>(name: S): Observable<StreamEvent<S>> {
    return (this.#streams[name] ??= this.#handOut(name, this.#eventsOf(name))) as Observable<StreamEvent<S>>;
  }

  #eventsOf(name: EventStream): Observable<VoiceEvent> {
    const types: readonly VoiceEventType[] = eventStreams[name];
    const events$ = this.bus.events$.pipe(filter((event) => types.includes(event.type)));
    if (stateLike.has(name)) return this.#facts.before(types, events$);
    return name === 'captions$' ? this.#captioned(events$) : events$;
  }

  /** Captions are made while anybody subscribes. */
  #captioned(events$: Observable<VoiceEvent>): Observable<VoiceEvent> {
    return defer(() => {
      this.#subscribers += 1;
      this.#counted$.next();
      return events$;
    }).pipe(
      finalize(() => {
        this.#subscribers -= 1;
        this.#counted$.next();
      }),
    );
  }

  /** A hot stream for the application; what its subscribers throw is an error event. */
  #handOut(name: string, events$: Observable<VoiceEvent>): Observable<VoiceEvent> {
    return publicStream(events$, (cause) => {
      const error = broken(`a subscriber of ${name}`, cause);
      this.logger.error(error.message);
      this.reportError(error);
    });
  }

  readonly #onBrokenCallback = (cause: unknown, { type }: VoiceEvent): void => {
    const error = broken(`a callback for ${type}`, cause);
    this.logger.error(error.message);
    if (type !== 'error') this.reportError(error);
  };

  #callBack(event: VoiceEvent): void {
    this.#facts.note(event);
    this.#callAll(event.type, event);
    this.#callAll('*', event);
  }

  #callAll(type: VoiceEventType | '*', event: VoiceEvent): void {
    if (this.#emitter.listenerCount(type) === 0) return;
    for (const callback of this.#emitter.listeners(type)) callSafely(callback, event, this.#onBrokenCallback);
  }
}

/** An error of the application's own code. */
function broken(what: string, cause: unknown): VoiceError {
  return new VoiceError(`${what} threw: ${messageOf(cause)}`, { code: 'internal', cause });
}
