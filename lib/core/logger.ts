import { redact } from './redact.ts';

/** Severity of a log entry. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Where log entries go. `console` is one; so is any logger with these four methods. */
export interface LogSink {
  /** Details for debugging. */
  readonly debug: (message: string, ...details: unknown[]) => void;
  /** Normal operation. */
  readonly info: (message: string, ...details: unknown[]) => void;
  /** Recovered from, or likely to cause trouble. */
  readonly warn: (message: string, ...details: unknown[]) => void;
  /** Failures. */
  readonly error: (message: string, ...details: unknown[]) => void;
}

/** A scoped logger that never prints a credential: every text passes through {@link redact} first. */
export interface Logger extends LogSink {
  /** A logger for a part, such as a provider. */
  scope(name: string): Logger;
}

/** Options of {@link createLogger}. */
export interface LoggerOptions {
  /** The lowest level to write. Default: `warn`. */
  readonly level?: LogLevel | 'silent';
  /** Prefixed in brackets to each message. */
  readonly scope?: string;
}

const order = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 } as const;

/** Wraps a sink, `console` by default, to filter levels, name scopes and mask credentials. */
export function createLogger(
  sink: LogSink = console,
  { level = 'warn', scope = 'rxvoice' }: LoggerOptions = {},
): Logger {
  const at =
    (entry: LogLevel) =>
    (message: string, ...details: unknown[]): unknown => {
      if (order[entry] < order[level]) return undefined;
      // An async sink returns a promise: whoever calls it handles a rejection.
      const write: (message: string, ...details: unknown[]) => unknown = sink[entry].bind(sink);
      return write(`[${scope}] ${redact(message)}`, ...details.map(safeDetail));
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    scope: (name) => createLogger(sink, { level, scope: `${scope}:${name}` }),
  };
}

const noop = (): void => undefined;

/** A logger that writes nothing. */
export const silentLogger: Logger = { debug: noop, info: noop, warn: noop, error: noop, scope: () => silentLogger };

const toJson: (value: unknown) => string | undefined = JSON.stringify;

/** Details are written as redacted JSON: an object could hold a credential anywhere. */
function safeDetail(detail: unknown): unknown {
  if (typeof detail === 'number' || typeof detail === 'boolean' || detail === undefined || detail === null)
    return detail;
  if (typeof detail === 'string') return redact(detail);
  if (detail instanceof Error) return redact(`${detail.name}: ${detail.message}`);
  try {
    return redact(toJson(detail) ?? typeof detail);
  } catch {
    return typeof detail;
  }
}
