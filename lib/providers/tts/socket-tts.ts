import {
  catchError,
  concatMap,
  EMPTY,
  finalize,
  ignoreElements,
  ReplaySubject,
  Subject,
  Subscription,
  takeUntil,
  type Observable,
} from 'rxjs';
import { VoiceError } from '../../core/errors.ts';
import type { ConnectionEvent, ProviderType } from '../../core/roles.ts';
import { SocketSession, type SocketSessionOptions } from '../../transport/socket-session.ts';
import { BaseTTS, type TTSCallOptions, type TTSConfig } from './base-tts.ts';
import type { SpeechLinkOptions } from './sockets/speech-link.ts';

/** Longest message of a service: RELIABILITY's limit of roles that bring audio. */
const maxMessageBytes = 16 * 1024 * 1024;

/** A voice is soon given up: nobody waits for a sentence as long as for a connection that captures audio. */
const reconnect = { maxTries: 3, maxRetryAfterMs: 5_000 };

/** What a provider adds to the options of its session. */
export type SocketTTSSessionOptions = Pick<
  SocketSessionOptions,
  'classifyClose' | 'isReady' | 'keepAlive' | 'opening' | 'replay'
>;

/** Most pieces of text that an utterance holds while others are spoken. */
const maxPieces = 10_000;

/** One utterance of the imperative API. */
class Draft {
  readonly done: Promise<void>;
  readonly #text$ = new ReplaySubject<string>(maxPieces);
  /** Emits when it is over, also to who asks late. */
  readonly #over$ = new ReplaySubject<void>(1);
  #resolve: () => void = () => undefined;
  #reject: (error: VoiceError) => void = () => undefined;

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // `finalize()` may come later than the error, or never.
    this.done.catch(() => undefined);
  }

  get text$(): Observable<string> {
    return this.#text$;
  }

  get over$(): Observable<void> {
    return this.#over$;
  }

  add(text: string): void {
    this.#text$.next(text);
  }

  /** No more text will come. */
  close(): void {
    this.#text$.complete();
  }

  /** It has been spoken, cancelled, or has failed. */
  end(error?: VoiceError): void {
    if (error) this.#reject(error);
    else this.#resolve();
    this.#over$.next();
  }
}

/** Text-to-speech over a connection that stays open between utterances. */
export abstract class SocketTTS<C extends TTSConfig> extends BaseTTS<C> {
  readonly type: ProviderType = 'websocket';

  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  readonly #sessions = new Map<SocketSession, Subscription>();
  /** What `processChunk()` adds to. */
  #draft: Draft | undefined;
  /** All that are not over. */
  readonly #drafts = new Set<Draft>();
  readonly #drafts$ = new Subject<Draft>();
  #speaking: Subscription = Subscription.EMPTY;

  /** What becomes of the connection. Hot; the latest value first. */
  get connection$(): Observable<ConnectionEvent> {
    return this.#connection$.asObservable();
  }

  /** Opens the connection if there is none, so that the next utterance need not wait for it. */
  abstract warm(): void;

  /** Speaks text: the first call begins an utterance, {@link SocketTTS.finalize} ends it. Its audio comes on `audio$`. */
  override processChunk(text: string): void {
    this.assertReady('processChunk');
    if (!this.#draft) {
      this.#draft = new Draft();
      this.#drafts.add(this.#draft);
      this.#drafts$.next(this.#draft);
    }
    this.#draft.add(text);
  }

  /**
   * Ends the utterance that {@link SocketTTS.processChunk} began; resolves when its last audio has come, or with
   * {@link SocketTTS.cancel}.
   *
   * @throws VoiceError when the utterance failed, and when `signal` aborts, which cancels it.
   */
  override async finalize({ signal }: TTSCallOptions = {}): Promise<void> {
    this.assertReady('finalize');
    const draft = this.#draft;
    this.#draft = undefined;
    if (!draft) return;
    draft.close();
    const onAbort = (): void => draft.end(VoiceError.from(signal?.reason, { code: 'aborted', provider: this.name }));
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await draft.done;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  override cancel(): void {
    this.#draft = undefined;
    // The last one first: when the first one ends, the next would begin.
    for (const draft of [...this.#drafts].reverse()) draft.end();
  }

  /** The address with its query, as the configuration is now. */
  protected abstract socketUrl(): URL;

  /** A session with this provider's credential, limits and clock; it is ended with the provider. */
  protected createSession(options: SocketTTSSessionOptions): SocketSession {
    const url = this.socketUrl();
    const session = new SocketSession({
      ...this.transportOptions,
      ...{ reconnect, maxMessageBytes, errorOf: this.errorOf },
      ...options,
      request: async () => ({ url, ...(await this.resolveSocketCredentials()) }),
    });
    const events = session.connection$.subscribe({
      // One story: it ends with the last of the sessions.
      next: (event) => {
        if (event.type !== 'closed' || this.#sessions.size === 1) this.#connection$.next(event);
      },
      error: () => undefined,
    });
    this.#sessions.set(session, events);
    return session;
  }

  /**
   * What a connection that speaks needs to know of this provider.
   *
   * @internal
   */
  protected linkOptions(): SpeechLinkOptions {
    const { firstAudioTimeoutMs = 5_000, idleTimeoutMs = 5_000, connectTimeoutMs = 10_000, scheduler } = this.config;
    return {
      provider: this.name,
      session: (options) => this.createSession(options),
      ...{ firstAudioTimeoutMs, idleTimeoutMs, connectTimeoutMs, scheduler },
      report: (error) => this.report(error),
    };
  }

  /** Lets go of a session that has ended. */
  protected removeSession(session: SocketSession): void {
    this.#sessions.get(session)?.unsubscribe();
    this.#sessions.delete(session);
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    await super.onInitialize(signal);
    // What is wrong with the address is said here, not at the first sentence.
    this.socketUrl();
    this.#speaking = this.#drafts$
      .pipe(concatMap((draft) => this.#speakDraft(draft)))
      .subscribe({ error: () => undefined });
    this.warm();
  }

  protected override onDispose(): Promise<void> | void {
    this.cancel();
    this.#speaking.unsubscribe();
    this.#drafts.clear();
    for (const session of this.#sessions.keys()) {
      session.terminate();
      this.removeSession(session);
    }
  }

  /** Speaks one draft to its end, whatever that is. */
  #speakDraft(draft: Draft): Observable<never> {
    return this.speak(draft.text$).pipe(
      ignoreElements(),
      catchError((cause: unknown) => {
        const error = VoiceError.from(cause, { provider: this.name });
        draft.end(error);
        // `finalize()` throws it, but perhaps only much later.
        if (this.#draft === draft && error.code !== 'aborted') this.report(error);
        return EMPTY;
      }),
      takeUntil(draft.over$),
      finalize(() => {
        draft.end();
        this.#drafts.delete(draft);
      }),
    );
  }
}
