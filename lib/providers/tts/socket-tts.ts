import {
  asyncScheduler,
  catchError,
  concatMap,
  defer,
  EMPTY,
  endWith,
  finalize,
  ignoreElements,
  lastValueFrom,
  ReplaySubject,
  Subject,
  Subscription,
  takeUntil,
  type Observable,
} from 'rxjs';
import { VoiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { Query, SocketCredentials } from '../../core/remote-provider.ts';
import type { ConnectionEvent, ProviderType } from '../../core/roles.ts';
import { fromAbort } from '../../stream/bridge.ts';
import {
  ReconnectingSocket,
  type ReconnectingSocketOptions,
  type SocketClose,
  type SocketData,
} from '../../transport/reconnecting-socket.ts';
import { RemoteTTS } from './remote-tts.ts';
import type { Attribution, SpeechRules } from './sockets/speech-step.ts';
import type { ContextVoice, SpeechWire } from './sockets/speech-wire.ts';
import type { VoiceConnectionOptions, VoiceConnections } from './sockets/voice-connection.ts';
import type { SynthesisEvent } from './utterance.ts';
import type { TTSCallOptions, TTSConfig, VoiceService, WireErrors } from './voice-service.ts';

/** Longest message of a service: RELIABILITY's limit for roles that receive audio. */
const maxMessageBytes = 16 * 1024 * 1024;

/** TTS gives up early: nobody waits as long for a sentence as for a connection that captures audio. */
const reconnect = { maxTries: 3, maxRetryAfterMs: 5_000 };

/** Most pieces of text that a synthesis queues while others are spoken. */
const maxPieces = 10_000;

/** A provider's additions to the session options. */
export type SocketTTSSessionOptions = Pick<
  ReconnectingSocketOptions,
  'classifyClose' | 'isReady' | 'keepAlive' | 'opening' | 'replay'
>;

/** A text-to-speech service on a WebSocket. */
export interface SocketWire<C, S> extends VoiceService<C>, SpeechWire<S> {
  /** The credentials of an upgrade. Default: the Authorization header and SPEC.md's subprotocols. */
  credentials?(key: string, config: C): SocketCredentials;
  /** The address, fixed per connection: if it changes, the next text opens another. */
  address(config: C): { readonly path: string; readonly query?: Query };
  /** How texts are sent and matched to messages, within the service's limits: `byOrder()` or `byId()`. */
  attribution(config: C): Attribution;
  /** The voice of the next synthesis. */
  voice(config: C): ContextVoice;
  /** Ends the connection gracefully. */
  readonly farewell?: readonly SocketData[];
  /** What it means when the service closes the connection while speaking. Default: retry. */
  closeError?(close: SocketClose, errors: WireErrors): VoiceError | undefined;
}

/** One synthesis of `processChunk()` and `finalize()`. */
interface Draft {
  readonly text$: ReplaySubject<string>;
  /** Completes when it was spoken or cancelled; fails when that failed. */
  readonly over$: Subject<void>;
}

/**
 * Runs the wire of a text-to-speech service over WebSocket. The connection is opened in advance and stays open between
 * texts; a lost one is replaced, and the text resumes from the first piece that was not heard to its end.
 *
 * @typeParam C - The provider's configuration.
 * @typeParam S - The readers' state of a context.
 */
export abstract class SocketTTS<C extends TTSConfig, S = undefined> extends RemoteTTS<C> {
  override readonly type: ProviderType = 'websocket';

  readonly #wire: SocketWire<C, S>;
  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  readonly #sessions = new Map<ReconnectingSocket, Subscription>();
  #connections: VoiceConnections | undefined;
  /** The fixed settings of the current connections. */
  #terms: string | undefined;
  /** The configuration that they follow from. */
  #termsOf: C | undefined;
  /** What `processChunk()` adds to. */
  #draft: Draft | undefined;
  /** All unfinished drafts. */
  readonly #drafts = new Set<Draft>();
  readonly #drafts$ = new Subject<Draft>();
  #speaking: Subscription = Subscription.EMPTY;

  constructor(wire: SocketWire<C, S>, config: C, logger?: Logger) {
    super(wire, config, logger);
    this.#wire = wire;
  }

  /** State of the connection. Hot; replays the latest value. */
  get connection$(): Observable<ConnectionEvent> {
    return this.#connection$.asObservable();
  }

  /** Opens the connection unless one is open, so that the next text need not wait. */
  override warm(): void {
    this.#current()?.warm();
  }

  /**
   * Speaks text: the first call starts a synthesis, {@link SocketTTS.finalize} ends it. Audio is emitted on `audio$`.
   */
  override processChunk(text: string): void {
    this.assertReady('processChunk');
    if (!this.#draft) {
      this.#draft = { text$: new ReplaySubject(maxPieces), over$: new Subject() };
      this.#drafts.add(this.#draft);
      this.#drafts$.next(this.#draft);
    }
    this.#draft.text$.next(text);
  }

  /**
   * Ends the synthesis started by {@link SocketTTS.processChunk}; resolves when its last audio has arrived, or on
   * {@link SocketTTS.cancel}.
   *
   * @throws VoiceError when the synthesis fails, and when `signal` aborts, which cancels it.
   */
  override async finalize({ signal }: TTSCallOptions = {}): Promise<void> {
    this.assertReady('finalize');
    const draft = this.#draft;
    this.#draft = undefined;
    if (!draft) return;
    draft.text$.complete();
    const over$ = draft.over$.pipe(
      takeUntil(fromAbort(signal)),
      finalize(() => draft.over$.complete()),
    );
    await lastValueFrom(over$, { defaultValue: undefined });
  }

  /** Drops the text of {@link SocketTTS.processChunk} and silences it at the service. */
  override cancel(): void {
    this.#draft = undefined;
    // The last one first: when the first ends, the next would start.
    for (const { over$ } of [...this.#drafts].reverse()) over$.complete();
  }

  /** A session with this provider's credential, limits and clock; ended with the provider. */
  protected createSession(options: SocketTTSSessionOptions): ReconnectingSocket {
    const url = this.#url();
    const session = new ReconnectingSocket({
      ...this.transportOptions,
      ...{ reconnect, maxMessageBytes, errorOf: this.errorOf },
      ...options,
      request: async () => ({ url, ...(await this.resolveSocketCredentials()) }),
    });
    const events = session.connection$.subscribe({
      // Merged into one history that ends with the last session.
      next: (event) => {
        if (event.type !== 'closed' || this.#sessions.size === 1) this.#connection$.next(event);
      },
      error: () => undefined,
    });
    this.#sessions.set(session, events);
    return session;
  }

  protected override socketCredentials(key: string): SocketCredentials {
    return this.#wire.credentials?.(key, this.config) ?? super.socketCredentials(key);
  }

  protected override synthesis(pieces$: Observable<string>): Observable<SynthesisEvent> {
    return defer(() => this.#current()?.speak(pieces$) ?? EMPTY);
  }

  protected override onConfigUpdate(): void {
    if (this.initialized) this.warm();
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    await super.onInitialize(signal);
    // No page waits for what speaks.
    const code = new OnDemand(this.name, () => import('./sockets/voice-connection.ts'));
    const { VoiceConnection, VoiceConnections } = await code.load();
    signal.throwIfAborted();
    const { scheduler = asyncScheduler } = this.config;
    this.#connections = new VoiceConnections({
      open: () => new VoiceConnection(this.#connectionOptions()),
      closed: ({ session }) => this.#forget(session),
      ...{ capacity: this.#wire.attribution(this.config).capacity, scheduler },
    });
    this.#speaking = this.#drafts$
      .pipe(concatMap((draft) => this.#speakDraft(draft)))
      .subscribe({ error: () => undefined });
    this.warm();
  }

  protected override async onDispose(): Promise<void> {
    await this.#connections?.close();
    this.cancel();
    this.#speaking.unsubscribe();
    this.#drafts.clear();
    for (const session of this.#sessions.keys()) {
      session.terminate();
      this.#forget(session);
    }
  }

  #url(): URL {
    const { path, query } = this.#wire.address(this.config);
    return this.resolveSocketUrl(path, query);
  }

  /** Connections for the current configuration; if it has changed, the others retire. */
  #current(): VoiceConnections | undefined {
    // A changed configuration is another object: the same one asks for nothing new.
    if (this.#termsOf === this.config) return this.#connections;
    const terms = JSON.stringify([this.#url(), this.#wire.attribution(this.config).terms, this.#timeouts]);
    if (this.#terms !== undefined && this.#terms !== terms) this.#connections?.retire();
    this.#terms = terms;
    this.#termsOf = this.config;
    return this.#connections;
  }

  get #timeouts(): Pick<SpeechRules, 'firstAudioTimeoutMs' | 'idleTimeoutMs' | 'connectTimeoutMs'> {
    const { firstAudioTimeoutMs = 5_000, idleTimeoutMs = 5_000, connectTimeoutMs = 10_000 } = this.config;
    return { firstAudioTimeoutMs, idleTimeoutMs, connectTimeoutMs };
  }

  #connectionOptions(): VoiceConnectionOptions {
    const wire = this.#wire;
    return {
      ...{ wire, attribution: wire.attribution(this.config), maxTextLength: this.maxTextLength, errors: this.errors },
      ...{ ...this.#timeouts, scheduler: this.config.scheduler },
      session: (options) => this.createSession(options),
      voice: () => ({ voice: wire.voice(this.config), format: this.getMetadata() }),
      farewell: wire.farewell ?? [],
      closeError: (close) => wire.closeError?.(close, this.errors),
      report: (error) => this.report(error),
      note: (text) => this.logger.debug(`${this.name}: ${text}`),
    };
  }

  /** Releases a session that has ended. */
  #forget(session: ReconnectingSocket): void {
    this.#sessions.get(session)?.unsubscribe();
    this.#sessions.delete(session);
  }

  /** Speaks one draft until it ends, fails or is cancelled. */
  #speakDraft(draft: Draft): Observable<never> {
    return this.speak(draft.text$).pipe(
      ignoreElements(),
      catchError((cause: unknown) => {
        const error = VoiceError.from(cause, { provider: this.name });
        draft.over$.error(error);
        // `finalize()` will throw it, but perhaps much later.
        if (this.#draft === draft && error.code !== 'aborted') this.report(error);
        return EMPTY;
      }),
      takeUntil(
        draft.over$.pipe(
          catchError(() => EMPTY),
          endWith(undefined),
        ),
      ),
      finalize(() => {
        draft.over$.complete();
        this.#drafts.delete(draft);
      }),
    );
  }
}
