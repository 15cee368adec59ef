import { BehaviorSubject, finalize, from, ReplaySubject, Subject, Subscription, tap, type Observable } from 'rxjs';
import { BrowserAudioOutput, VoiceError, type VoiceEvent } from 'rxvoice';
import { EventLog } from './event-log.ts';
import { playRecording, rerunRecording, writeRecording } from './recorder.ts';
import { Session, type Progress } from './session.ts';
import type { Choice, Setup } from './setup.ts';

/** What is on: nothing, a conversation, one that has ended by itself, or a recording that stands still or is played. */
export type Mode = 'idle' | 'starting' | 'live' | 'over' | 'recording' | 'playing';

/** What the page shows, and the one who lets it happen: a live conversation, or a recording. */
export class Stage {
  readonly log = new EventLog();
  /** Whether the user wants the sound recorded. */
  readonly consent$ = new BehaviorSubject(false);
  readonly #mode$ = new BehaviorSubject<Mode>('idle');
  readonly #sources$ = new ReplaySubject<Observable<VoiceEvent>>(1);
  readonly #errors$ = new Subject<VoiceError>();
  readonly #healed$ = new Subject<string>();
  readonly #progress$ = new Subject<Progress | undefined>();
  readonly #sound$ = new Subject<Blob>();
  #session: Session | undefined;
  #work = new Subscription();
  #recorded: readonly VoiceEvent[] = [];

  /** Hot, the latest first. */
  get mode$(): Observable<Mode> {
    return this.#mode$.asObservable();
  }

  get mode(): Mode {
    return this.#mode$.value;
  }

  /** The events of each thing that is shown, one after the other. Hot, the latest first. */
  get sources$(): Observable<Observable<VoiceEvent>> {
    return this.#sources$.asObservable();
  }

  /** What went wrong, in a conversation and at its start. Hot. */
  get errors$(): Observable<VoiceError> {
    return this.#errors$.asObservable();
  }

  /** Names of providers that are well again. Hot. */
  get healed$(): Observable<string> {
    return this.#healed$.asObservable();
  }

  /** A model that is loading; `undefined` when it has. Hot. */
  get progress$(): Observable<Progress | undefined> {
    return this.#progress$.asObservable();
  }

  /** The sound of each conversation that was recorded, once it is over. Hot. */
  get sound$(): Observable<Blob> {
    return this.#sound$.asObservable();
  }

  /** The conversation that is on. */
  get session(): Session | undefined {
    return this.mode === 'live' ? this.#session : undefined;
  }

  /** The time that the diagram follows: the clock's, or the end of what has stopped. */
  get now(): number {
    const moves = this.mode === 'live' || this.mode === 'playing' || this.mode === 'starting';
    return moves ? Date.now() : (this.log.timeline.endedAt ?? 0);
  }

  /** Begins a conversation; what goes wrong comes as an error. */
  async start(setup: Setup, choices: readonly Choice[]): Promise<boolean> {
    await this.stop();
    this.#mode$.next('starting');
    try {
      const session = new Session(setup, choices);
      this.#session = session;
      this.#show(session.events$);
      this.#work.add(session.progress$.subscribe((progress) => this.#progress$.next(progress)));
      // It ends by itself, after the conversation: the encoder has the last word.
      session.recorded(this.consent$).subscribe({
        next: (file) => this.#sound$.next(file),
        error: (cause: unknown) => {
          if (this.consent$.value) this.#errors$.next(VoiceError.from(cause));
        },
      });
      await session.start();
      this.#progress$.next(undefined);
      this.#mode$.next('live');
      this.#work.add(session.ended$.subscribe((error) => this.#over(session, error)));
      return true;
    } catch (cause) {
      this.#progress$.next(undefined);
      this.#session = undefined;
      this.#mode$.next('idle');
      this.#errors$.next(VoiceError.from(cause));
      return false;
    }
  }

  /** Ends what is on; what it has shown stays. */
  async stop(): Promise<void> {
    await this.#end();
    this.#mode$.next(this.#recorded.length > 0 ? 'recording' : 'idle');
  }

  /** Shows events that were recorded. */
  async open(events: readonly VoiceEvent[]): Promise<void> {
    await this.stop();
    this.#recorded = events;
    this.log.clear(events);
    this.#sources$.next(from(events));
    this.#mode$.next('recording');
  }

  /** Plays the recording that is open: as it went, and as it sounded. */
  async play(): Promise<void> {
    const events = this.#recorded;
    await this.stop();
    const speaker = new BrowserAudioOutput();
    await speaker.initialize();
    this.#mode$.next('playing');
    const played$ = playRecording(events, () => Date.now()).pipe(
      tap((event) => sound(event, speaker)),
      finalize(() => {
        void speaker.dispose();
        this.#mode$.next('recording');
      }),
    );
    this.#show(played$);
  }

  /** Shows what the engine makes of the recording's user and model today. */
  async rerun(): Promise<void> {
    const recorded = this.#recorded;
    const ndjson = (await writeRecording(recorded)).join('');
    await this.open(rerunRecording(ndjson));
    this.#recorded = recorded;
  }

  /** Forgets the recording. */
  async close(): Promise<void> {
    this.#recorded = [];
    await this.stop();
    this.log.clear();
    this.#sources$.next(from([]));
  }

  /** A conversation has ended by itself: the caller hung up, or it could not go on. */
  #over(session: Session, error: VoiceError | undefined): void {
    if (session !== this.session) return;
    if (error) this.#errors$.next(error);
    void this.#end();
    this.#mode$.next('over');
  }

  async #end(): Promise<void> {
    const [session, work] = [this.#session, this.#work];
    this.#session = undefined;
    this.#work = new Subscription();
    try {
      await session?.close();
    } catch (cause) {
      this.#errors$.next(VoiceError.from(cause));
    }
    work.unsubscribe();
  }

  #show(events$: Observable<VoiceEvent>): void {
    if (this.#session) this.#recorded = [];
    const shown$ = new Subject<VoiceEvent>();
    this.log.clear();
    this.#sources$.next(shown$);
    this.#work.add(
      events$.subscribe({
        next: (event) => {
          this.log.push(event);
          shown$.next(event);
          if (event.type === 'error') this.#errors$.next(errorOf(event));
          if (event.provider !== undefined && tellsHealth(event)) this.#healed$.next(event.provider);
        },
        error: (cause: unknown) => this.#errors$.next(VoiceError.from(cause)),
        complete: () => shown$.complete(),
      }),
    );
  }
}

/** An event of a recording as it sounded. */
function sound(event: VoiceEvent, speaker: BrowserAudioOutput): void {
  if (event.type === 'audio.chunk') speaker.enqueue(event.chunk);
  if (event.type === 'speech.paused') speaker.pause();
  if (event.type === 'speech.resumed') speaker.resume();
  if (event.type === 'speech.ended' && event.interrupted) speaker.stop();
}

function errorOf({ message, code, recoverable, provider, cause }: VoiceEvent<'error'>): VoiceError {
  return VoiceError.is(cause) ? cause : new VoiceError(message, { code, recoverable, provider });
}

/** Whether an event says that a provider works, whatever went wrong with it before. */
function tellsHealth(event: VoiceEvent): boolean {
  if (event.type === 'provider.connected') return true;
  const isDevice = event.type === 'input.device' || event.type === 'output.device';
  return isDevice && ['found', 'running', 'unmuted'].includes(event.change.type);
}
