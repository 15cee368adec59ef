/** What went wrong, for programs; the message explains it to people. */
export type VoiceErrorCode =
  | 'configuration'
  | 'initialization'
  | 'not_ready'
  | 'missing_package'
  | 'unsupported_format'
  | 'unauthorized'
  | 'forbidden'
  | 'quota'
  | 'not_found'
  | 'rate_limited'
  | 'overloaded'
  | 'server'
  | 'timeout'
  | 'connection'
  | 'protocol'
  | 'overflow'
  | 'permission'
  | 'device'
  | 'tool'
  | 'retiring'
  | 'aborted'
  | 'internal';

/** The details of a {@link VoiceError} besides its message. */
export interface VoiceErrorOptions {
  /** What went wrong, for programs. */
  readonly code: VoiceErrorCode;
  /** True when a retry may succeed. Default: false. */
  readonly recoverable?: boolean | undefined;
  /** Class name of the provider that failed. */
  readonly provider?: string | undefined;
  /** The service's HTTP status or WebSocket close code, if any. */
  readonly status?: number | undefined;
  /** How long the service asks to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The service's id of the request, for its support. */
  readonly requestId?: string | undefined;
  /** The underlying error. */
  readonly cause?: unknown;
}

const brand = Symbol.for('rxvoice.error');

/**
 * The library's one error class. Recognize it with {@link VoiceError.is}, which works even when two copies of the
 * library are loaded.
 */
export class VoiceError extends Error {
  readonly code: VoiceErrorCode;
  readonly recoverable: boolean;
  readonly provider: string | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** The service's id of the request, for its support. Browsers show it where the service's CORS headers expose it. */
  readonly requestId: string | undefined;

  constructor(message: string, options: VoiceErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'VoiceError';
    this.code = options.code;
    this.recoverable = options.recoverable ?? false;
    this.provider = options.provider;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.requestId = options.requestId;
    Object.defineProperty(this, brand, { value: true });
  }

  /** Whether a value is an error of this library. */
  static is(this: void, value: unknown): value is VoiceError {
    return typeof value === 'object' && value !== null && brand in value;
  }

  /** Returns the value itself if it is a {@link VoiceError}, else one that wraps it. */
  static from(this: void, cause: unknown, options: Partial<VoiceErrorOptions> = {}): VoiceError {
    if (VoiceError.is(cause)) return cause;
    return new VoiceError(messageOf(cause), { code: 'internal', ...options, cause });
  }

  /** A form safe to log: without the cause, which may contain a request with its credential. */
  toJSON(): Record<string, unknown> {
    const { name, message, code, recoverable, provider, status, retryAfterMs, requestId } = this;
    return { name, message, code, recoverable, provider, status, retryAfterMs, requestId };
  }
}

/** A copy of an error, with changes. */
export function withChanges(
  error: VoiceError,
  changes: Partial<VoiceErrorOptions>,
  message: string = error.message,
): VoiceError {
  const facts: VoiceErrorOptions = error;
  return new VoiceError(message, { cause: error.cause, ...facts, ...changes });
}

/** Thrown by `initialize()`: its message names the provider, its `cause` is the original error. */
export class ProviderInitializationError extends VoiceError {
  constructor(provider: string, cause: unknown, message: string = messageOf(cause)) {
    const name = `${provider}: `;
    // Name the provider only once.
    const reason = message.startsWith(name) ? message.slice(name.length) : message;
    const inner: VoiceErrorOptions = VoiceError.from(cause, { code: 'initialization' });
    super(`${provider} could not be initialized: ${reason}`, { ...inner, provider, cause });
    this.name = 'ProviderInitializationError';
  }
}

const longestMessage = 16_384;

/** The message of any thrown value, cut at 16,384 characters; it may be no text: applications throw anything. */
export function messageOf(error: unknown): string {
  try {
    const message: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : error;
    if (typeof message !== 'string') return 'unknown error';
    return message.length > longestMessage ? `${message.slice(0, longestMessage)}…` : message;
  } catch {
    return 'unknown error';
  }
}
