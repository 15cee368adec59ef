import type { SchedulerLike } from 'rxjs';
import { ProviderInitializationError, VoiceError } from './errors.ts';
import type { Logger } from './logger.ts';
import { Provider } from './provider.ts';
import { redact } from './redact.ts';
import type * as RemoteWarnings from './remote-warnings.ts';
import type { RetiringModel } from './retirement.ts';

/** A credential, or a function that fetches a fresh one whenever one is needed. */
export type Credential = string | (() => Promise<string>);

/** How a credential is presented: `Token <key>` or `Bearer <token>`. */
export type AuthType = 'token' | 'bearer';

/** Configuration of every provider that reaches a service. */
export interface RemoteConfig {
  /** Direct credential: a string, or an async factory called whenever one is needed. */
  readonly apiKey?: Credential | undefined;
  /** Address of the application's proxy, absolute or relative to the page; enables proxy mode. */
  readonly proxyUrl?: string | URL | undefined;
  /** Base address of the service, instead of the default. */
  readonly endpoint?: string | URL | undefined;
  /** How the credential is presented. Default: the provider's own. */
  readonly authType?: AuthType;
  /** Allows sending a credential over `http:` or `ws:` to another machine. Default: false. */
  readonly allowInsecure?: boolean;
  /** Longest wait for a connection, including its credential, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs?: number;
  /** Additional query parameters of each address; these take precedence, and `undefined` omits one. Default: none. */
  readonly extraQuery?: Query;
  /**
   * Additional headers of each request, such as a gateway's; these take precedence. Browsers send none with a WebSocket.
   * Default: none.
   */
  readonly extraHeaders?: Readonly<Record<string, string>>;
  /** The application's own `fetch`, such as one with a proxy or a client certificate. Default: the runtime's HTTP client. */
  readonly fetch?: typeof globalThis.fetch;
  /**
   * The application's own WebSocket. As in a browser, it gets an address and subprotocols and no headers: credentials go
   * there too. Default: the runtime's.
   */
  readonly WebSocket?: WebSocketClass;
  /** The clock; for tests. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** The part of a WebSocket that the library uses: a browser's, or that of the package ws. */
export interface WebSocketLike {
  /** Set to `arraybuffer`. */
  binaryType: string;
  /** 1 while it is open. */
  readonly readyState: number;
  /** Bytes waiting to be sent; some runtimes do not report it. */
  readonly bufferedAmount?: number;
  /** Called when it is open. */
  onopen: ((event: never) => unknown) | null;
  /** Called with each message, as `data`: a text or an ArrayBuffer. */
  onmessage: ((event: never) => unknown) | null;
  /** Called when it fails; `onclose` follows. */
  onerror: ((event: never) => unknown) | null;
  /** Called last, with `code` and `reason`. */
  onclose: ((event: never) => unknown) | null;
  /** Sends a message: a text, or bytes. */
  send(data: string | Uint8Array<ArrayBuffer>): void;
  /** Begins the closing handshake. */
  close(code?: number): void;
}

/** The class of a {@link WebSocketLike}. */
export type WebSocketClass = new (url: URL, protocols: string[]) => WebSocketLike;

/** Credentials of a WebSocket upgrade: Node sends the headers, browsers only the subprotocols or the query. */
export interface SocketCredentials {
  /** Sent where the runtime supports headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Subprotocols to offer without header support. */
  readonly protocols?: readonly string[];
  /** Query parameters to add without header support. */
  readonly query?: Readonly<Record<string, string>>;
}

/** Shared by all connections of a provider; accepted by the options of `ReconnectingSocket` and `httpRequest`. */
export interface TransportOptions {
  /** Class name of the provider, for errors. */
  readonly provider: string;
  /** Receives the problems that the connection recovers from. */
  readonly logger: Logger;
  /** Masks the provider's credentials in a text. */
  readonly redact: (text: string) => string;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler: SchedulerLike | undefined;
  /** Longest wait for the connection, including its credential, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs: number | undefined;
  /** Whether to request a new credential when one is rejected: true for a factory. */
  readonly renewsCredential: boolean;
  /** Whether it leads to the application's proxy. */
  readonly isProxied: boolean;
  /** Headers that take precedence over a request's own. */
  readonly extraHeaders: Readonly<Record<string, string>> | undefined;
  /** The application's own, in place of the runtime's. */
  readonly fetch: typeof globalThis.fetch | undefined;
  /** The application's own, in place of the runtime's. */
  readonly WebSocket: WebSocketClass | undefined;
}

/** Query parameters; arrays repeat the key, `undefined` omits it. */
export type Query = Readonly<Record<string, string | number | boolean | readonly (string | number)[] | undefined>>;

/** A provider that reaches a service: its credential or proxy, and addresses as base + path. */
export abstract class RemoteProvider<C extends RemoteConfig> extends Provider<C> {
  /** Scheme, host and fixed path prefix of the service; `undefined` when only the user knows it. */
  protected abstract readonly defaultBaseUrl: string | undefined;
  protected readonly defaultAuthType: AuthType = 'token';
  /** The configuration key of the credential, for errors. */
  protected readonly credentialKey: string = 'apiKey';
  /** Credentials that this provider has used, to mask them in messages. */
  readonly #secrets: string[] = [];
  /** The warnings that were given: one for each way to configure it. */
  readonly #told = new Set<string>();

  /** Whether requests go to the application's proxy, without a credential. */
  get isProxyMode(): boolean {
    return Boolean(this.config.proxyUrl);
  }

  get authType(): AuthType {
    return this.config.authType ?? this.defaultAuthType;
  }

  /**
   * @throws ProviderInitializationError `configuration` when neither a credential nor `proxyUrl` is set, or the credential
   *   cannot be sent.
   */
  assertAuth(): void {
    if (this.isProxyMode) return;
    const { directCredential } = this;
    const isText = typeof directCredential === 'string';
    if (isText ? !sendable.test(directCredential) : !directCredential) {
      const problem = `it needs a credential, ASCII without spaces: set ${this.credentialKey} (servers) or proxyUrl (browsers)`;
      throw new ProviderInitializationError(this.name, this.error(problem, { code: 'configuration' }));
    }
    const isShown = isText && 'document' in globalThis;
    if (isShown) this.#warn(({ exposureOf }) => exposureOf(directCredential));
  }

  /** The literal `proxy` in proxy mode, else the credential; a factory is called each time. */
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

  /**
   * Headers with the Authorization header's value, `undefined` without a credential and in proxy mode; a function if
   * the credential must be fetched. A request that waits for nothing leaves in the same tick.
   */
  protected authorized<H>(headersOf: (authorization: string | undefined) => H): H | (() => Promise<H>) {
    const { apiKey } = this.config;
    // An empty key, such as from an unset environment variable, is none.
    if (this.isProxyMode || !apiKey) return headersOf(undefined);
    if (typeof apiKey === 'function') return async () => headersOf(await this.resolveAuthHeader());
    this.#keepSecret(apiKey);
    return headersOf(this.authHeader(apiKey));
  }

  /** The WebSocket subprotocols that carry the credential; `undefined` in proxy mode. */
  async resolveWsProtocols(): Promise<string[] | undefined> {
    if (this.isProxyMode) return undefined;
    return [this.authType, await this.resolveApiKey()];
  }

  /** The credentials of one upgrade; empty in proxy mode. */
  async resolveSocketCredentials(): Promise<SocketCredentials> {
    return this.isProxyMode ? {} : this.socketCredentials(await this.resolveApiKey());
  }

  /** `proxyUrl`, else `endpoint`, else the default; without a trailing slash. */
  resolveBaseUrl(): string | undefined {
    // An empty setting, such as from an unset environment variable, counts as absent.
    const base = [this.config.proxyUrl, this.config.endpoint, this.defaultBaseUrl].find(Boolean)?.toString();
    if (!base) return undefined;
    const page = (globalThis as { location?: { href?: string } }).location?.href;
    const absolute = /^[a-z][a-z\d+.-]*:/i.test(base) || !page ? base : new URL(base, page).href;
    return absolute.replace(/(?<!\/)\/+$/, '');
  }

  /**
   * The base address with a path and query added, and the configuration's `extraQuery` last. A query of the base is kept.
   *
   * @throws VoiceError `configuration` when the base is missing or malformed, or would expose a credential.
   */
  protected resolveUrl(path: string, query: Query = {}): URL {
    const base = this.resolveBaseUrl();
    if (!base) throw this.error(`${this.name} needs an address: set endpoint or proxyUrl`, { code: 'configuration' });
    const [address = '', ownQuery] = base.split(/\?(.*)/s);
    const whole = address.replace(/(?<!\/)\/+$/, '') + path;
    // "localhost:8080/voice" is a URL as well, of the scheme "localhost".
    if (!/^(http|ws)s?:/i.test(whole) || !URL.canParse(whole)) {
      throw this.error(`${this.name}: "${redact(whole)}" must be an https:// URL`, { code: 'configuration' });
    }
    const url = new URL(whole);
    if (ownQuery) for (const [key, value] of new URLSearchParams(ownQuery)) url.searchParams.append(key, value);
    appendQuery(url, query);
    const { extraQuery = {} } = this.config;
    for (const key of Object.keys(extraQuery)) url.searchParams.delete(key);
    appendQuery(url, extraQuery);
    this.assertSecure(url);
    return url;
  }

  /** Options shared by this provider's connections: name, clock, timeout, masking. */
  protected get transportOptions(): TransportOptions {
    const { scheduler, connectTimeoutMs, extraHeaders, fetch, WebSocket } = this.config;
    return {
      provider: this.name,
      logger: this.logger,
      redact: (text) => this.redact(text),
      scheduler,
      connectTimeoutMs,
      extraHeaders,
      fetch,
      WebSocket,
      isProxied: this.isProxyMode,
      renewsCredential: !this.isProxyMode && typeof this.directCredential === 'function',
    };
  }

  /** The direct-mode credential, or the function that fetches it: `apiKey`, unless the provider uses another key. */
  protected get directCredential(): unknown {
    return this.config.apiKey;
  }

  /** Like {@link resolveUrl}, with http(s) turned into ws(s). */
  protected resolveSocketUrl(path: string, query: Query = {}): URL {
    const url = this.resolveUrl(path, query);
    url.protocol = url.protocol.replace(/^http/, 'ws');
    return url;
  }

  /** Resolves a credential, and masks it in all further errors and logs. */
  protected async freshCredential(credential: Credential): Promise<string> {
    const value = typeof credential === 'string' ? credential : await this.#callFactory(credential);
    this.#keepSecret(value);
    return value;
  }

  /** Creates an error of this provider, masking credentials in the message. */
  protected override error(
    message: string,
    options: Omit<ConstructorParameters<typeof VoiceError>[1], 'provider'>,
  ): VoiceError {
    return super.error(this.redact(message), options);
  }

  /**
   * Reports, once a model, that the service retires the one in use: an error `retiring`, recoverable, as nothing failed.
   *
   * @param wire - The models that the service retires, and the rules that hold the default one.
   * @param model - The model in use. Default: the configured `model`, else the default one.
   */
  protected reportRetiring(
    wire: {
      readonly retiring?: readonly RetiringModel[] | undefined;
      readonly rules?: Readonly<Record<string, { readonly default?: unknown }>>;
    },
    model?: string,
  ): void {
    const { retiring, rules } = wire;
    const used: unknown = model ?? Reflect.get(this.config, 'model') ?? rules?.['model']?.default;
    if (typeof used !== 'string') return;
    // Most models are like none of them; a row may end with `*`.
    const isLike = retiring?.some((row) => used.includes(row.model.slice(0, -1)));
    if (isLike) this.#warn(({ retiringOf }) => retiringOf(used, retiring));
  }

  /** Masks this provider's credentials in a text. */
  protected redact(text: string): string {
    return redact(text, this.#secrets);
  }

  /** How an upgrade presents a credential. Default: the Authorization header, or subprotocols in a browser. */
  protected socketCredentials(key: string): SocketCredentials {
    return { headers: { Authorization: this.authHeader(key) }, protocols: [this.authType, key] };
  }

  /** The Authorization header's value for a credential. */
  protected authHeader(key: string): string {
    return `${this.authType === 'bearer' ? 'Bearer' : 'Token'} ${key}`;
  }

  /** @throws VoiceError `configuration` when a credential would cross the network unencrypted. */
  protected assertSecure(url: URL): void {
    // docs/faults.md, F48.
    if (this.isProxyMode || !this.directCredential || this.config.allowInsecure) return;
    if (!/^(http|ws):$/.test(url.protocol) || isLoopback(url.hostname)) return;
    throw this.error(
      `${this.name} will not send its credential unencrypted to ${url.host}: use https/wss, a proxyUrl, or set allowInsecure`,
      { code: 'configuration' },
    );
  }

  #keepSecret(value: string): void {
    if (this.#secrets.includes(value)) return;
    this.#secrets.push(value);
    if (this.#secrets.length > 8) this.#secrets.shift();
  }

  /** Warns once. Few applications need the wording, so it is loaded on demand; if that fails, there is no warning. */
  #warn(find: (warnings: typeof RemoteWarnings) => RemoteWarnings.RemoteWarning | undefined): void {
    const tell = (warnings: typeof RemoteWarnings): void => {
      const { message, code } = find(warnings) ?? {};
      if (!message || this.#told.has(message)) return;
      this.#told.add(message);
      const told = `${this.name}: ${message}`;
      if (code) this.report(this.error(told, { code, recoverable: true }));
      else this.logger.warn(told);
    };
    void import('./remote-warnings.ts').then(tell, () => undefined);
  }

  async #callFactory(factory: () => Promise<string>): Promise<string> {
    let value: unknown;
    try {
      value = await factory();
    } catch (cause) {
      // What it knows to say is for the application, and whether another try makes sense.
      if (VoiceError.is(cause)) throw cause;
      throw this.error(`${this.name}: the apiKey factory failed`, { code: 'unauthorized', recoverable: true, cause });
    }
    if (typeof value === 'string' && sendable.test(value)) return value;
    throw this.error(`${this.name}: the apiKey factory returned no credential`, { code: 'unauthorized' });
  }
}

function appendQuery(url: URL, query: Query): void {
  for (const [key, value] of Object.entries(query)) {
    for (const each of [value].flat()) {
      if (each !== undefined) url.searchParams.append(key, String(each));
    }
  }
}

/** What a header, a subprotocol and a query can carry alike: ASCII without white space. */
const sendable = /^[!-~]+$/;

/** Whether a host is this machine; `URL` normalizes every form of an IPv4 address to four numbers. */
function isLoopback(hostname: string): boolean {
  return /^(127(\.\d+){3}|\[::1\]|(.+\.)?localhost)$/.test(hostname);
}
