import type { SchedulerLike } from 'rxjs';
import { ProviderInitializationError, type VoiceError } from './errors.ts';
import { oncePerKind, ownEntry } from './guard.ts';
import type { Logger } from './logger.ts';
import { Provider } from './provider.ts';
import { redact } from './redact.ts';

/** A credential, or what fetches a fresh one each time one is needed. */
export type Credential = string | (() => Promise<string>);

/** How a credential is presented: `Token <key>` or `Bearer <token>`. */
export type AuthType = 'token' | 'bearer';

/** Configuration keys of every provider that reaches a service (SPEC.md, Base configuration keys). */
export interface RemoteConfig {
  /** Direct credential: a string, or an async factory that is called for each fresh one. */
  readonly apiKey?: Credential;
  /** Address of an application-owned proxy, absolute or relative to the page; enables proxy mode. */
  readonly proxyUrl?: string;
  /** Base address of the service, in place of the default. */
  readonly endpoint?: string;
  /** How the credential is presented. Default: the provider's own. */
  readonly authType?: AuthType;
  /** Lets a credential travel over `http:` or `ws:` to a host that is not this machine. Default: false. */
  readonly allowInsecure?: boolean;
  /** Longest wait for a connection, its credential included, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs?: number;
  /** The clock; for tests. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** What a WebSocket upgrade carries: Node sends the headers, browsers only the subprotocols or the query. */
export interface SocketCredentials {
  /** Sent where the runtime can. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Subprotocols to offer where there are no headers. */
  readonly protocols?: readonly string[];
  /** Parameters to add to the address where there are no headers. */
  readonly query?: Readonly<Record<string, string>>;
}

/** What every connection of a provider shares; the options of `ReconnectingSocket` and of `httpRequest` take it. */
export interface TransportOptions {
  /** Class name of the provider, for errors. */
  readonly provider: string;
  /** Where the connection writes what it mends. */
  readonly logger: Logger;
  /** Masks the provider's credentials in a text. */
  readonly redact: (text: string) => string;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler: SchedulerLike | undefined;
  /** Longest wait for the connection, its credential included, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs: number | undefined;
  /** Whether a refused credential is worth asking for another: true when a factory makes it. */
  readonly renewsCredential: boolean;
}

/** Query parameters; arrays repeat the key, `undefined` leaves it out. */
export type Query = Readonly<Record<string, string | number | boolean | readonly (string | number)[] | undefined>>;

/** A provider that reaches a service: SPEC.md's Authentication section, and addresses as base + path. */
export abstract class RemoteProvider<C extends RemoteConfig> extends Provider<C> {
  /** Scheme, host and fixed path prefix of the service; `undefined` when only the user knows it. */
  protected abstract readonly defaultBaseUrl: string | undefined;
  protected readonly defaultAuthType: AuthType = 'token';
  /** The configuration key that holds the credential, for errors. */
  protected readonly credentialKey: string = 'apiKey';
  /** The credentials that this provider has used, so that no message can show one. */
  readonly #secrets: string[] = [];
  /** Tells once that the page shows its credential to whoever opens it (RELIABILITY.md, F49). */
  readonly #warnOfExposure = oncePerKind((kind) => this.#exposed(kind === 'long-lived'));

  /** Whether requests go to the application's proxy, without a credential. */
  get isProxyMode(): boolean {
    return Boolean(this.config.proxyUrl);
  }

  get authType(): AuthType {
    return this.config.authType ?? this.defaultAuthType;
  }

  /** @throws ProviderInitializationError when neither a credential nor `proxyUrl` is set. */
  assertAuth(): void {
    if (this.isProxyMode) return;
    const { directCredential } = this;
    if (directCredential) {
      const isShown = typeof directCredential === 'string' && 'document' in globalThis;
      if (isShown) this.#warnOfExposure(longLived.test(directCredential) ? 'long-lived' : 'short-lived');
      return;
    }
    throw new ProviderInitializationError(
      this.name,
      undefined,
      `it needs a credential: set ${this.credentialKey} (development, servers) or proxyUrl (browsers, production)`,
    );
  }

  /** The literal `proxy` in proxy mode, else the credential; a factory is called anew each time. */
  async resolveApiKey(): Promise<string> {
    if (this.isProxyMode) return 'proxy';
    const { apiKey } = this.config;
    if (!apiKey) this.assertAuth();
    return this.freshCredential(apiKey ?? '');
  }

  /** The Authorization header's value; `undefined` in proxy mode. */
  async resolveAuthHeader(): Promise<string | undefined> {
    if (this.isProxyMode) return undefined;
    return this.authHeader(await this.resolveApiKey());
  }

  /** The WebSocket subprotocols that carry the credential; `undefined` in proxy mode. */
  async resolveWsProtocols(): Promise<string[] | undefined> {
    if (this.isProxyMode) return undefined;
    return [this.authType, await this.resolveApiKey()];
  }

  /** What one upgrade carries, from one credential; empty in proxy mode. */
  async resolveSocketCredentials(): Promise<SocketCredentials> {
    return this.isProxyMode ? {} : this.socketCredentials(await this.resolveApiKey());
  }

  /** `proxyUrl`, else `endpoint`, else the default; without a trailing slash. */
  resolveBaseUrl(): string | undefined {
    // An empty setting, as an unset environment variable may give, counts as none.
    const base = [this.config.proxyUrl, this.config.endpoint, this.defaultBaseUrl].find(Boolean);
    if (base === undefined) return undefined;
    const page = (globalThis as { location?: { href?: string } }).location?.href;
    const absolute = /^[a-z][a-z\d+.-]*:/i.test(base) || !page ? base : new URL(base, page).href;
    return absolute.replace(/\/+$/, '');
  }

  /**
   * The base address with a path and query added.
   *
   * @throws VoiceError `configuration` when the base is missing or malformed, or would send a credential in the clear.
   */
  protected resolveUrl(path: string, query: Query = {}): URL {
    const base = this.resolveBaseUrl();
    if (!base) throw this.error(`${this.name} needs an address: set endpoint or proxyUrl`, { code: 'configuration' });
    let url: URL;
    try {
      url = new URL(base + path);
    } catch (cause) {
      throw this.error(`${this.name}: "${redact(base)}" is not an absolute address`, { code: 'configuration', cause });
    }
    for (const [key, value] of Object.entries(query)) {
      for (const each of Array.isArray(value) ? (value as readonly (string | number)[]) : [value]) {
        if (each !== undefined) url.searchParams.append(key, String(each));
      }
    }
    this.assertSecure(url);
    return url;
  }

  /** What every connection of this provider is given: its name, clock, time-out and masking. */
  protected get transportOptions(): TransportOptions {
    const { scheduler, connectTimeoutMs } = this.config;
    return {
      provider: this.name,
      logger: this.logger,
      redact: (text) => this.redact(text),
      scheduler,
      connectTimeoutMs,
      renewsCredential: !this.isProxyMode && typeof this.directCredential === 'function',
    };
  }

  /** The credential of direct mode, or the function that fetches it: `apiKey`, unless the provider takes another. */
  protected get directCredential(): unknown {
    return this.config.apiKey;
  }

  /** Like {@link resolveUrl}, with http(s) turned into ws(s). */
  protected resolveSocketUrl(path: string, query: Query = {}): URL {
    const url = this.resolveUrl(path, query);
    url.protocol = url.protocol.replace(/^http/, 'ws');
    return url;
  }

  /** A fresh value of one of the provider's credentials, which none of its errors or logs will show. */
  protected async freshCredential(credential: Credential): Promise<string> {
    const value = typeof credential === 'string' ? credential : await this.#callFactory(credential);
    if (!this.#secrets.includes(value)) {
      this.#secrets.push(value);
      if (this.#secrets.length > 8) this.#secrets.shift();
    }
    return value;
  }

  /** An error of this provider; a credential in the message is masked. */
  protected override error(
    message: string,
    options: Omit<ConstructorParameters<typeof VoiceError>[1], 'provider'>,
  ): VoiceError {
    return super.error(this.redact(message), options);
  }

  /**
   * Warns of a model that the service has retired.
   *
   * @param model - The one that is configured.
   * @param successors - The model to use in place of each retired one.
   */
  protected warnOfRetired(model: string | undefined, successors: Readonly<Record<string, string>>): void {
    const successor = ownEntry(successors, model);
    if (successor === undefined || model === undefined) return;
    this.logger.warn(`${this.name}: the service has retired ${model}; take ${successor} in its place`);
  }

  /** A text without this provider's credentials. */
  protected redact(text: string): string {
    return redact(text, this.#secrets);
  }

  /** How an upgrade presents a credential. Default: the Authorization header, and the subprotocols of SPEC.md. */
  protected socketCredentials(key: string): SocketCredentials {
    return { headers: { Authorization: this.authHeader(key) }, protocols: [this.authType, key] };
  }

  /** The Authorization header's value for a credential. */
  protected authHeader(key: string): string {
    return `${this.authType === 'bearer' ? 'Bearer' : 'Token'} ${key}`;
  }

  /** @throws VoiceError `configuration` when a credential would cross the network unencrypted (RELIABILITY.md, F48). */
  protected assertSecure(url: URL): void {
    if (this.isProxyMode || !this.directCredential || this.config.allowInsecure) return;
    if (!/^(http|ws):$/.test(url.protocol) || isLoopback(url.hostname)) return;
    throw this.error(
      `${this.name} will not send its credential unencrypted to ${url.host}: use https/wss, a proxyUrl, or set allowInsecure`,
      { code: 'configuration' },
    );
  }

  #exposed(isLongLived: boolean): void {
    const advice = 'set proxyUrl, or an apiKey factory that fetches short-lived tokens (docs/authentication.md)';
    if (isLongLived) {
      const message = `${this.name}: this page shows a long-lived key to everyone who opens it: ${advice}`;
      this.report(this.error(message, { code: 'configuration', recoverable: true }));
    } else {
      this.logger.warn(`${this.name}: the credential is readable by everyone who opens this page: ${advice}`);
    }
  }

  async #callFactory(factory: () => Promise<string>): Promise<string> {
    let value: unknown;
    try {
      value = await factory();
    } catch (cause) {
      throw this.error(`${this.name}: the apiKey factory failed`, { code: 'unauthorized', recoverable: true, cause });
    }
    if (typeof value === 'string' && value) return value;
    throw this.error(`${this.name}: the apiKey factory gave no credential`, { code: 'unauthorized' });
  }
}

/** How keys that never expire begin: OpenAI's and Anthropic's, Groq's, ElevenLabs' and Cartesia's, Google's. */
const longLived = /^(sk-|sk_|gsk_|AIza)/;

/** Whether a host is this machine; `URL` has written every form of an IPv4 address as four numbers. */
function isLoopback(hostname: string): boolean {
  return /^(127(\.\d+){3}|\[::1\]|(.+\.)?localhost)$/.test(hostname);
}
