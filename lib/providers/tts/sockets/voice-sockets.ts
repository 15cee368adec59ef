import {
  asyncScheduler,
  defer,
  filter,
  lastValueFrom,
  map,
  type Observable,
  of,
  type Subscription,
  takeUntil,
  toArray,
} from 'rxjs';
import type { ConnectionEvent } from '../../../core/roles.ts';
import { fromAbort } from '../../../stream/bridge.ts';
import { merge } from '../../../stream/merge.ts';
import { ReconnectingSocket, type ReconnectingSocketOptions } from '../../../transport/reconnecting-socket.ts';
import { assembleUtterance, type UtteranceEvent, type UtteranceOptions } from '../utterance.ts';
import type { TTSCallOptions, TTSConfig, VoiceHost, WireErrors } from '../voice-service.ts';
import { withErrorsOf, wireErrors } from '../wire-errors.ts';
import type { SocketWire } from './socket-wire.ts';
import type { SpeechRules } from './speech-step.ts';
import { VoiceConnectionPool } from './voice-connection-pool.ts';
import { VoiceConnection, type VoiceConnectionOptions } from './voice-connection.ts';

/** Longest message of a service: RELIABILITY's limit for roles that receive audio. */
const maxMessageBytes = 16 * 1024 * 1024;

/** TTS gives up early: nobody waits as long for a sentence as for a connection that captures audio. */
const reconnect = { maxTries: 3, maxRetryAfterMs: 5_000 };

/** A provider's sockets: opens them as configured, and retires those that no longer fit. */
export class VoiceSockets<C extends TTSConfig> {
  readonly #wireOf: (config: Readonly<C>) => SocketWire<C, unknown>;
  readonly #host: VoiceHost<C>;
  readonly #errors: WireErrors;
  readonly #onConnection: (event: ConnectionEvent) => void;
  readonly #connections: VoiceConnectionPool;
  readonly #sessions = new Map<ReconnectingSocket, Subscription>();
  /** The fixed settings of the current connections. */
  #terms: string | undefined;
  /** The configuration that they follow from. */
  #termsOf: Readonly<C> | undefined;

  constructor(
    wireOf: (config: Readonly<C>) => SocketWire<C, unknown>,
    host: VoiceHost<C>,
    onConnection: (event: ConnectionEvent) => void,
  ) {
    this.#wireOf = wireOf;
    this.#host = withErrorsOf({ errorOf: (failure, config) => wireOf(config).errorOf?.(failure, config) }, host);
    this.#errors = wireErrors(this.#host);
    this.#onConnection = onConnection;
    const { scheduler = asyncScheduler } = this.#config;
    this.#connections = new VoiceConnectionPool({
      open: () => new VoiceConnection(this.#connectionOptions()),
      closed: ({ session }) => this.#forget(session),
      capacity: this.#wire.attribution(this.#config, () => this.#config).capacity,
      scheduler,
    });
  }

  warm(): void {
    this.#current().warm();
  }

  speak(pieces$: Observable<string>, options: UtteranceOptions): Observable<UtteranceEvent> {
    return defer(() => this.#current().speak(pieces$)).pipe(assembleUtterance(options));
  }

  async synthesize(text: string, { signal }: TTSCallOptions = {}): Promise<Blob> {
    const { provider, error, ended$ } = this.#host;
    if (!text.trim()) throw error('no text to synthesize', { code: 'configuration' });
    const format = provider.getMetadata();
    const chunks$ = this.speak(of(text), { provider: provider.name, utteranceId: '', format, text: () => text }).pipe(
      filter((event) => event.type === 'chunk'),
      map(({ chunk }) => chunk.data),
      toArray(),
      takeUntil(merge(ended$, fromAbort(signal))),
    );
    return new Blob(await lastValueFrom(chunks$, { defaultValue: [] }), { type: format.mimeType ?? '' });
  }

  /** Ends all connections gracefully. */
  close(): Promise<void> {
    return this.#connections.close();
  }

  /** Ends what is left at once. */
  terminate(): void {
    for (const session of this.#sessions.keys()) {
      session.terminate();
      this.#forget(session);
    }
  }

  get #config(): Readonly<C> {
    return this.#host.provider.config;
  }

  /** The wire of the current configuration. */
  get #wire(): SocketWire<C, unknown> {
    return this.#wireOf(this.#config);
  }

  #url(): URL {
    const { path, query } = this.#wire.address(this.#config);
    return this.#host.socketUrl(path, query);
  }

  /** Connections for the current configuration; if it has changed, the others retire. */
  #current(): VoiceConnectionPool {
    // A changed configuration is another object: the same one asks for nothing new.
    if (this.#termsOf === this.#config) return this.#connections;
    const terms = JSON.stringify([
      this.#url(),
      this.#wire.attribution(this.#config, () => this.#config).terms,
      this.#timeouts,
    ]);
    if (this.#terms !== undefined && this.#terms !== terms) this.#connections.retire();
    this.#terms = terms;
    this.#termsOf = this.#config;
    return this.#connections;
  }

  get #timeouts(): Pick<SpeechRules, 'firstAudioTimeoutMs' | 'idleTimeoutMs' | 'connectTimeoutMs'> {
    const { firstAudioTimeoutMs = 5_000, idleTimeoutMs = 5_000, connectTimeoutMs = 10_000 } = this.#config;
    return { firstAudioTimeoutMs, idleTimeoutMs, connectTimeoutMs };
  }

  #connectionOptions(): VoiceConnectionOptions {
    const wire = this.#wire;
    const { provider } = this.#host;
    const errors = this.#errors;
    return {
      wire,
      attribution: wire.attribution(this.#config, () => this.#config),
      maxTextLength: provider.maxTextLength,
      errors,
      ...this.#timeouts,
      scheduler: this.#config.scheduler,
      session: (options) => this.#session(options),
      voice: () => ({ voice: wire.voice(this.#config), format: provider.getMetadata() }),
      farewell: wire.farewell ?? [],
      closeError: (close) => wire.closeError?.(close, errors),
      report: (error) => this.#host.report(error),
      note: (text) => this.#host.logger().debug(`${provider.name}: ${text}`),
    };
  }

  /** A session with the provider's credential, limits and clock; ended with the provider. */
  #session(options: Partial<ReconnectingSocketOptions>): ReconnectingSocket {
    const { provider, transport } = this.#host;
    const url = this.#url();
    const session = new ReconnectingSocket({
      ...transport(),
      reconnect,
      maxMessageBytes,
      ...options,
      request: async () => ({ url, ...(await provider.resolveSocketCredentials()) }),
    });
    const events = session.connection$.subscribe({
      // Merged into one history that ends with the last session.
      next: (event) => {
        if (event.type !== 'closed' || this.#sessions.size === 1) this.#onConnection(event);
      },
      error: () => undefined,
    });
    this.#sessions.set(session, events);
    return session;
  }

  /** Releases a session that has ended. */
  #forget(session: ReconnectingSocket): void {
    this.#sessions.get(session)?.unsubscribe();
    this.#sessions.delete(session);
  }
}
