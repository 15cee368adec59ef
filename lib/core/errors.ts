/** What went wrong, for programs; the message says it for people. */
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
  | 'aborted'
  | 'internal';

/** Everything that a {@link VoiceError} can say beside its message. */
export interface VoiceErrorOptions {
  /** What went wrong, for programs. */
  readonly code: VoiceErrorCode;
  /** True when the same thing may work if it is tried again. Default: false. */
  readonly recoverable?: boolean | undefined;
  /** Class name of the provider that failed. */
  readonly provider?: string | undefined;
  /** HTTP status or WebSocket close code of the service, where there was one. */
  readonly status?: number | undefined;
  /** How long the service asks to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The error behind this one. */
  readonly cause?: unknown;
}

const brand = Symbol.for('rxvoice.error');

/**
 * The one error class of the library. Recognise it with {@link VoiceError.is}, which also works when two copies of the
 * library are loaded.
 */
export class VoiceError extends Error {
  readonly code: VoiceErrorCode;
  readonly recoverable: boolean;
  readonly provider: string | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: VoiceErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'VoiceError';
    this.code = options.code;
    this.recoverable = options.recoverable ?? false;
    this.provider = options.provider;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    Object.defineProperty(this, brand, { value: true });
  }

  /** Whether a value is an error of this library. */
  static is(this: void, value: unknown): value is VoiceError {
    return typeof value === 'object' && value !== null && brand in value;
  }

  /** The value itself when it is a {@link VoiceError}, else one that wraps it. */
  static from(this: void, cause: unknown, options: Partial<VoiceErrorOptions> = {}): VoiceError {
    if (VoiceError.is(cause)) return cause;
    return new VoiceError(messageOf(cause), { code: 'internal', ...options, cause });
  }

  /** What a log may hold: never the cause, which can carry a request with its credential. */
  toJSON(): Record<string, unknown> {
    const { name, message, code, recoverable, provider, status, retryAfterMs } = this;
    return { name, message, code, recoverable, provider, status, retryAfterMs };
  }
}

/** Thrown by `initialize()`: its message names the provider, its `cause` is the original error (SPEC.md, Errors). */
export class ProviderInitializationError extends VoiceError {
  constructor(provider: string, cause: unknown, message: string = messageOf(cause)) {
    const inner = VoiceError.is(cause) ? cause : undefined;
    const name = `${provider}: `;
    // Who failed is said once.
    const reason = message.startsWith(name) ? message.slice(name.length) : message;
    super(`${provider} could not be initialized: ${reason}`, {
      code: inner?.code ?? 'initialization',
      recoverable: inner?.recoverable,
      status: inner?.status,
      retryAfterMs: inner?.retryAfterMs,
      provider,
      cause,
    });
    this.name = 'ProviderInitializationError';
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  if (typeof error === 'string') return error;
  const message: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : undefined;
  return typeof message === 'string' ? message : 'unknown error';
}
