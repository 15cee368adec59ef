import { redact } from './redact.ts';

/** How important a log entry is. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Where log entries go. `console` is one; so is any logger with these four methods. */
export interface LogSink {
  /** Of use to whoever looks for a fault. */
  readonly debug: (message: string, ...details: unknown[]) => void;
  /** What normally happens. */
  readonly info: (message: string, ...details: unknown[]) => void;
  /** What was mended, or may go wrong. */
  readonly warn: (message: string, ...details: unknown[]) => void;
  /** What went wrong. */
  readonly error: (message: string, ...details: unknown[]) => void;
}

/** A scoped logger that cannot print a credential: every text passes {@link redact} first. */
export interface Logger extends LogSink {
  /** A logger for a part of this one, such as a provider. */
  scope(name: string): Logger;
}

/** Options of {@link createLogger}. */
export interface LoggerOptions {
  /** The least important level that is written. Default: `warn`. */
  readonly level?: LogLevel | 'silent';
  /** Stands in brackets before each message. */
  readonly scope?: string;
}

const order = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 } as const;

/** Wraps a sink, `console` by default, so that levels are filtered, scopes are named and credentials are masked. */
export function createLogger(
  sink: LogSink = console,
  { level = 'warn', scope = 'rxvoice' }: LoggerOptions = {},
): Logger {
  const write =
    (entry: LogLevel) =>
    (message: string, ...details: unknown[]): void => {
      if (order[entry] < order[level]) return;
      sink[entry](`[${scope}] ${redact(message)}`, ...details.map(safeDetail));
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
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
