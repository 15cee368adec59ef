import { Subject, type Observable } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { CallStateChange, MeetingPerson, MeetingPresence } from '../../core/calls.ts';
import { oncePerKind } from '../../core/application-code.ts';
import { RemoteProvider, type RemoteConfig } from '../../core/remote-provider.ts';
import type { InputProvider, ProviderRole, ProviderType } from '../../core/roles.ts';
import type { Capture } from '../../playback/capture.ts';
import { CallInput } from './call-input.ts';

/** Audio of one of several speakers. */
export interface SpeakerAudio {
  /** The platform's id of the speaker. */
  readonly userId: string;
  /** The speaker's name, where the platform gives it. */
  readonly userName?: string;
  /** The speaker's own audio. */
  readonly chunk: AudioChunk;
}

/** The active speaker. */
export type ActiveSpeaker = MeetingPerson;

/** How a meeting ended for this provider. */
export interface MeetingEnd {
  /** `ended`: by the platform; `left`: by us; `lost`: the connection failed for good. */
  readonly reason: 'ended' | 'left' | 'lost';
  /** The platform's own explanation. */
  readonly detail?: string;
}

/** A receive-only meeting: pair it with NullOutput. */
export abstract class MeetingInput<C extends RemoteConfig> extends RemoteProvider<C> implements InputProvider {
  readonly roles: readonly ProviderRole[] = ['input'];
  readonly type: ProviderType = 'websocket';
  protected readonly defaultBaseUrl: string | undefined = undefined;
  readonly #input = new CallInput<MeetingEnd>(
    (problem, options) => this.report(this.error(`${this.name}: ${problem}`, options)),
    (ms) => this.dropped(ms),
  );

  readonly #people$ = new Subject<MeetingPresence>();
  readonly #activeSpeaker$ = new Subject<ActiveSpeaker>();

  /** Reports each kind of ignored message once. */
  protected readonly warn: (kind: string) => void = oncePerKind((kind) =>
    this.report(this.error(`${this.name} ignores ${kind}`, { code: 'protocol', recoverable: true })),
  );

  /**
   * The meeting's audio from `start()` on, preceded by up to 60 s that arrived earlier. Completes with the meeting.
   * Hot.
   */
  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#input.audio$);
  }

  /** The end of the meeting, once. Hot; replayed to late subscribers. */
  get callEnded$(): Observable<MeetingEnd> {
    return this.handOut('callEnded$', this.#input.end$);
  }

  /** The states of the session: `answered` and `ended`. Hot; late subscribers learn whether it is in progress. */
  get callStates$(): Observable<CallStateChange> {
    return this.handOut('callStates$', this.#input.states$);
  }

  /** Participants joining and leaving; those already present join first. Hot. */
  get people$(): Observable<MeetingPresence> {
    return this.handOut('people$', this.#people$);
  }

  /** The active speaker, as reported by the platform. Hot. */
  get activeSpeaker$(): Observable<ActiveSpeaker> {
    return this.handOut('activeSpeaker$', this.#activeSpeaker$);
  }

  /** Calls back when the active speaker changes; returns an unsubscribe function. */
  onActiveSpeaker(callback: (speaker: ActiveSpeaker) => void): () => void {
    return this.listen(this.activeSpeaker$, callback);
  }

  /** Calls back when the meeting has ended; returns an unsubscribe function. */
  onCallEnded(callback: (end: MeetingEnd) => void): () => void {
    return this.#input.listen(this.callEnded$, callback);
  }

  /** The format of `audio$`. */
  abstract getMetadata(): AudioMetadata;

  /** Starts `audio$`. */
  start(): Promise<void> {
    return this.#input.start(() => this.assertReady('start'));
  }

  /** Drops incoming audio until the next `start()`; stays in the meeting. */
  stop(): Promise<void> {
    this.capture.stop();
    return Promise.resolve();
  }

  /** Drops incoming audio until `resume()`. */
  pause(): void {
    this.capture.pause();
  }

  /** Resumes delivering audio. */
  resume(): void {
    this.capture.resume();
  }

  /** Buffers and delivers incoming audio. */
  protected get capture(): Capture {
    return this.#input.capture;
  }

  /** A meeting begins. */
  protected begin(): void {
    this.#input.begin();
  }

  /** Someone joined, left, or began to speak. */
  protected follow(event: MeetingPresence | ({ readonly type: 'speaker' } & ActiveSpeaker)): void {
    const { userId, userName } = event;
    const person: MeetingPerson = { userId, ...(userName && { userName }) };
    if (event.type === 'speaker') this.#activeSpeaker$.next(person);
    else this.#people$.next({ type: event.type, ...person });
  }

  /** The meeting has ended. */
  protected end(end: MeetingEnd): void {
    if (this.#input.isOver) return;
    this.#input.end(end);
    this.capture.end();
  }

  /**
   * Calls `callback` for each value until the returned function is called; what the callback throws goes to `errors$`.
   */
  protected listen<T>(values$: Observable<T>, callback: (value: T) => void): () => void {
    return this.#input.listen(values$, callback);
  }

  protected override onDispose(): Promise<void> | void {
    this.capture.stop();
  }
}
