import { asyncScheduler, type SchedulerLike } from 'rxjs';
import type { VoiceError, VoiceErrorOptions } from '../core/errors.ts';
import { presignUrl, signRequest, type AwsCredentials, type AwsRequest, type AwsSigning } from './aws-signature.ts';
import type { HttpFailure } from './http-error.ts';

/** Configuration of every provider that signs its requests. */
export interface AwsConfig {
  /** Credentials, or an async factory called whenever they are needed; preferably temporary ones. */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>);
  /** The service's region, such as `us-east-1`; required without `proxyUrl`. */
  readonly region?: string;
}

/** What an {@link AwsSigner} needs from its provider. */
export interface AwsSignerOptions {
  /** The service's signing name, such as `polly`. */
  readonly service: string;
  /** The current configuration. */
  readonly config: () => AwsConfig & { readonly scheduler?: SchedulerLike | undefined };
  /** Keeps a secret out of every error and log. */
  readonly remember: (secret: string) => Promise<unknown>;
  /** Creates an error of the provider. */
  readonly error: (message: string, options: Omit<VoiceErrorOptions, 'provider'>) => VoiceError;
}

/** A rejection because of the time: re-signing with the corrected clock is worth an immediate retry. */
export interface ClockError {
  readonly recoverable: true;
  readonly retryAfterMs: 0;
}

/** Signs a provider's requests to AWS, with fresh credentials each time and a clock that rejections correct (F45). */
export class AwsSigner {
  readonly #options: AwsSignerOptions;
  readonly #clock: ServerClock;

  constructor(options: AwsSignerOptions) {
    this.#options = options;
    this.#clock = new ServerClock(() => options.config().scheduler);
  }

  /** The URL with its signature, valid for `expiresSeconds` (default: 300, the most that services accept). */
  async presign(url: URL, expiresSeconds: number = 300): Promise<URL> {
    return presignUrl(url, await this.#signing(), expiresSeconds);
  }

  /** A request's headers, with its signature. */
  async headers(request: AwsRequest): Promise<Record<string, string>> {
    return signRequest(request, await this.#signing());
  }

  /**
   * Whether a rejection revealed that the clock was wrong: then the request is worth one retry. For `errorOf` of
   * requests and sockets.
   */
  errorOf(failure: Pick<HttpFailure, 'status' | 'headers' | 'message'>): ClockError | undefined {
    return this.#clock.correct(failure) ? { recoverable: true, retryAfterMs: 0 } : undefined;
  }

  async #signing(): Promise<AwsSigning> {
    const { service, config, remember } = this.#options;
    const { region = '' } = config();
    const credentials = await this.#credentials();
    const { secretAccessKey, sessionToken } = credentials;
    for (const secret of [secretAccessKey, sessionToken]) if (secret) await remember(secret);
    return { service, region, credentials, now: this.#clock.now };
  }

  async #credentials(): Promise<AwsCredentials> {
    const { config, error } = this.#options;
    const { credentials } = config();
    let value: unknown = credentials;
    if (typeof credentials === 'function') {
      try {
        value = await credentials();
      } catch (cause) {
        throw error('the credentials factory failed', { code: 'unauthorized', recoverable: true, cause });
      }
    }
    if (isCredentials(value)) return value;
    throw error('credentials must have accessKeyId and secretAccessKey', { code: 'unauthorized' });
  }
}

function isCredentials(value: unknown): value is AwsCredentials {
  const member = (name: string): unknown =>
    typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  const isFilled = (name: string): boolean => typeof member(name) === 'string' && member(name) !== '';
  return isFilled('accessKeyId') && isFilled('secretAccessKey');
}

/** A larger clock error invalidates signatures: services allow 5 minutes, part of which transit takes. */
const toleranceMs = 4 * 60_000;

/** Statuses of rejected signatures. */
const refusing: ReadonlySet<number | undefined> = new Set([undefined, 400, 401, 403]);

/** Where AWS states its own time: `Signature expired: … is now earlier than … (20250115T121000Z - 5 min.)`. */
const serverTime = /\((\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z [-+] \d+ min/;

/** The time for signatures: this machine's, until a service shows that it is wrong (F45). */
export class ServerClock {
  readonly #scheduler: () => SchedulerLike | undefined;
  #offsetMs: number = 0;

  /** @param scheduler - The machine's clock. Default: RxJS's asyncScheduler. */
  constructor(scheduler: () => SchedulerLike | undefined = () => undefined) {
    this.#scheduler = scheduler;
  }

  /** Milliseconds since 1970. */
  get now(): number {
    return this.#machineMs + this.#offsetMs;
  }

  /**
   * Reads the time from a rejection: its Date header, or its message.
   *
   * @returns Whether the clock was wrong enough to be the reason. The same request, signed again, is then worth one
   * retry; a second rejection has another reason.
   */
  correct({ status, headers, message }: Pick<HttpFailure, 'status' | 'headers' | 'message'>): boolean {
    if (!refusing.has(status)) return false;
    const told = timeIn(message) ?? Date.parse(headers['date'] ?? '');
    if (Number.isNaN(told) || Math.abs(told - this.now) <= toleranceMs) return false;
    this.#offsetMs = told - this.#machineMs;
    return true;
  }

  get #machineMs(): number {
    return (this.#scheduler() ?? asyncScheduler).now();
  }
}

function timeIn(message: string): number | undefined {
  const found = serverTime.exec(message);
  return found ? Date.parse(found.slice(1, 4).join('-') + 'T' + found.slice(4, 7).join(':') + 'Z') : undefined;
}
