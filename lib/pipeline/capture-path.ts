import { BehaviorSubject, isObservable, Observable, Subject, Subscription, type SchedulerLike } from 'rxjs';
import { durationMs, isPcmLike } from '../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { catchLater } from '../core/application-code.ts';
import type {
  AgentProvider,
  InputProvider,
  ProviderContract,
  STTProvider,
  VoiceActivity,
  VoiceDetector,
} from '../core/roles.ts';
import { validator } from '../conversation/malformed.ts';
import { feed } from '../stream/feed.ts';
import { filterMap } from '../stream/filter-map.ts';
import { audioPath, formatOf, type AudioPath, type AudioRoute } from './audio-path.ts';
import { microphoneGate, silenced } from './microphone-gate.ts';
import { refused } from './pipeline-options.ts';

/** Options of a {@link CapturePath}. */
export interface CapturePathOptions {
  readonly input: InputProvider;
  /** Receives the captured audio. */
  readonly listener: STTProvider | AgentProvider;
  /** Whether the listener receives nothing before the first {@link CapturePath.open}. */
  readonly isPushToTalk: boolean;
  readonly isMuted: boolean;
  /** Detects voices in what is captured. */
  readonly vad: VoiceDetector | undefined;
  readonly scheduler: SchedulerLike;
  readonly onPath: (path: AudioPath, route: AudioRoute) => void;
  readonly onChunk: (chunk: AudioChunk) => void;
  readonly onError: (error: unknown, provider: ProviderContract) => void;
}

/** Carries captured audio to the listener, and keeps its clock. */
export class CapturePath {
  readonly #options: CapturePathOptions;
  readonly #isOpen$: BehaviorSubject<boolean>;
  readonly #isMuted$: BehaviorSubject<boolean>;
  readonly #detected$ = new Subject<AudioChunk>();
  /** What the voice detector hears, if there is one. */
  readonly voice$: Observable<VoiceActivity> | undefined;
  #isMuted: boolean;
  #isListening = true;
  #isPushToTalk: boolean;
  /** How much was captured, in milliseconds. */
  #capturedMs = 0;
  /** When the last chunk of it arrived. */
  #capturedAt = 0;
  #path: AudioPath | undefined;
  readonly #flowing = new Subscription();
  #current: Subscription | undefined;

  constructor(options: CapturePathOptions) {
    this.#options = options;
    this.#isPushToTalk = options.isPushToTalk;
    this.#isOpen$ = new BehaviorSubject(!options.isPushToTalk);
    this.#isMuted = options.isMuted;
    this.#isMuted$ = new BehaviorSubject(options.isMuted);
    this.voice$ = options.vad?.(this.#detected$);
    if (this.voice$ && !isObservable(this.voice$)) throw refused('vad must be a voice detector such as energyVad()');
  }

  /** @throws VoiceError `unsupported_format` when the listener cannot accept the captured audio. */
  start(): Subscription {
    const { input, listener, isPushToTalk, onPath, onError } = this.#options;
    const route = { source: input.name, target: listener.name };
    const path = audioPath(formatOf(input), listener.accepts, route);
    onPath(path, route);
    const configure = (): unknown => listener.configureAudio(path.to);
    catchLater(configure(), (error) => onError(error, listener));
    this.#flowing.add(this.#flow(path, isPushToTalk));
    this.#path = path;
    return this.#flowing;
  }

  /** Switches between the gate's two forms: push-to-talk, and always open. */
  setPushToTalk(isPushToTalk: boolean): void {
    if (!this.#path || this.#flowing.closed) return;
    this.#isPushToTalk = isPushToTalk;
    this.#current?.unsubscribe();
    this.#isOpen$.next(!isPushToTalk);
    this.#flowing.add(this.#flow(this.#path, isPushToTalk));
  }

  #flow(path: AudioPath, isPushToTalk: boolean): Subscription {
    const { input, listener, onError } = this.#options;
    const metadata = formatOf(input);
    const { accepts } = validator((error) => onError(error, input));
    const heard$ = input.audio$.pipe(
      filterMap((chunk) => (accepts('captured', chunk) ? this.#capture(chunk, metadata) : undefined)),
      microphoneGate({ isOpen$: this.#isOpen$, isMuted$: this.#isMuted$, isPushToTalk, metadata }),
      (audio$) => path.convert(audio$),
    );
    let fails = false;
    // One error for a whole run of chunks that it cannot accept.
    const fail = (error: unknown): void => {
      if (!fails) onError(error, listener);
      fails = true;
    };
    const succeed = (): void => {
      fails = false;
    };
    // A provider of the application may be async.
    const send = (chunk: AudioChunk): unknown => listener.sendAudio(chunk);
    const flow$ = new Observable<never>((flow) => {
      feed(heard$, flow, {
        next: (chunk) => {
          try {
            const sent = send(chunk);
            if (sent instanceof Promise) sent.then(succeed, fail);
            else succeed();
          } catch (error) {
            fail(error);
          }
        },
        complete: () => flow.complete(),
        error: (error) => {
          onError(error, input);
          flow.complete();
        },
      });
    });
    this.#current = flow$.subscribe();
    return this.#current;
  }

  /** Mutes or unmutes: while muted, the listener is sent silence. */
  mute(isMuted: boolean): void {
    this.#isMuted = isMuted;
    this.#isMuted$.next(isMuted || !this.#isListening);
  }

  /** Pauses or resumes listening, independently of mute. */
  listen(isListening: boolean): void {
    this.#isListening = isListening;
    this.#isMuted$.next(this.#isMuted || !isListening);
  }

  /** Push-to-talk: lets the user's audio through, including what was captured just before. */
  open(): void {
    this.#isOpen$.next(true);
  }

  /** Push-to-talk: stops the user's audio. Without it, the microphone stays open. */
  close(): void {
    if (this.#isPushToTalk) this.#isOpen$.next(false);
  }

  /** When a position of the captured audio was captured: audio is captured as it is spoken. */
  timeOf(positionMs: number): number | undefined {
    const aheadMs = this.#capturedMs - positionMs;
    return aheadMs < 0 ? undefined : this.#capturedAt - aheadMs;
  }

  /** Milliseconds captured so far. Muted time counts: silence is sent in its place. 0 for compressed audio. */
  get capturedMs(): number {
    return this.#capturedMs;
  }

  #capture(chunk: AudioChunk, metadata: AudioMetadata): AudioChunk {
    if (isPcmLike(metadata.encoding)) this.#capturedMs += durationMs(chunk.data.byteLength, metadata);
    this.#capturedAt = this.#options.scheduler.now();
    this.#options.onChunk(chunk);
    if (this.voice$) this.#detect(chunk, metadata);
    return chunk;
  }

  /** Passes the voice detector what the listener may hear. */
  #detect(chunk: AudioChunk, metadata: AudioMetadata): void {
    const heard = chunk.metadata ? chunk : { ...chunk, metadata };
    const isShut = this.#isMuted$.value || !this.#isOpen$.value;
    this.#detected$.next(isShut ? silenced(heard, metadata) : heard);
  }
}
