import { createHmac, randomUUID } from 'node:crypto';
import type WebSocket from 'ws';
import { connectPhone, frameMs, hasOnly, parsed, PhoneLine } from './phone-line.ts';
import type { LineOptions } from './phone-line.ts';
import { isObject } from './validate.ts';

/** How a call is made. */
export interface SocketCallOptions extends LineOptions {
  /** The rate of the NCCO's `content-type`. Default: 16,000. */
  readonly sampleRate?: 8000 | 16000 | 24000;
  /** The `headers` of the NCCO's endpoint. */
  readonly headers?: Readonly<Record<string, unknown>>;
  /** The account's signature secret: signs the upgrade as `"authorization": {"type": "vonage"}` does. */
  readonly signatureSecret?: string;
  /** The header of `"authorization": {"type": "custom"}`. */
  readonly authorization?: string;
}

/** What the platform's token says, beside its defaults. */
export type SocketClaims = Readonly<Record<string, unknown>>;

const base64Url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The platform's token for an upgrade or a webhook: a JWT signed with HS256. */
export function signToken(signatureSecret: string, claims: SocketClaims = {}, header: SocketClaims = {}): string {
  const times = { iat: Math.floor(Date.now() / 1000), jti: randomUUID() };
  const body = { ...times, iss: 'Vonage', api_key: 'a1b2c3d4', ...claims };
  const signed = `${base64Url({ alg: 'HS256', typ: 'JWT', ...header })}.${base64Url(body)}`;
  return `${signed}.${createHmac('sha256', signatureSecret).update(signed).digest('base64url')}`;
}

/** Messages that the platform keeps for playing. */
const mostMessages = 3072;

/** A caller on a Vonage WebSocket (PhoneSocketB). */
export class SocketCaller extends PhoneLine {
  /** The payloads of `notify` in the order in which they were echoed. */
  readonly notified: unknown[] = [];
  readonly #frameBytes: number;

  /** @internal Use {@link dialSocket}. */
  constructor(socket: WebSocket, options: SocketCallOptions) {
    const { sampleRate = 16000, headers = {} } = options;
    super(socket, options, { encoding: 'linear16', sampleRate, silent: 0 });
    this.#frameBytes = (frameMs * sampleRate * 2) / 1000;
    const contentType = `audio/l16;rate=${sampleRate}`;
    this.sendJson({ event: 'websocket:connected', 'content-type': contentType, ...headers });
    this.begin();
  }

  override press(digit: string): void {
    this.sendJson({ event: 'websocket:dtmf', digit, duration: 260 });
  }

  /** The leg is muted, or heard again. */
  mute(isMuted: boolean): void {
    this.sendJson({ event: 'websocket:media:update', method: 'update', active: !isMuted });
  }

  protected override sendFrame(frame: Uint8Array): void {
    this.raw(frame);
  }

  protected override echo(mark: unknown): void {
    this.notified.push(mark);
    this.sendJson({ event: 'websocket:notify', payload: mark });
  }

  protected override sayGoodbye(): void {
    // The platform closes the socket, and that is all.
  }

  protected override receive(data: Buffer, isBinary: boolean): void {
    if (!isBinary) {
      const text = data.toString();
      const wrong = this.#handle(parsed(text));
      if (wrong !== undefined) this.warn({ text: `${wrong}: ${text.slice(0, 120)}` });
    } else if (data.length !== this.#frameBytes) {
      this.warn({ text: `a frame of ${data.length} bytes: it must have ${this.#frameBytes}` });
      void this.hangUp('abruptly');
    } else if (this.bufferedMs >= mostMessages * frameMs) {
      this.warn({ text: `more than ${mostMessages} messages wait: one is lost` });
    } else {
      this.buffer(new Uint8Array(data));
    }
  }

  /** Does what a message says, or tells what is wrong with it. */
  #handle(message: unknown): string | undefined {
    if (!isObject(message)) return 'not a JSON object';
    const { action, payload } = message;
    if (action === 'clear' && hasOnly(message, 'action')) {
      this.clear();
      this.sendJson({ event: 'websocket:cleared' });
      return undefined;
    }
    if (action !== 'notify' || !hasOnly(message, 'action', 'payload') || !isObject(payload))
      return 'neither clear nor notify';
    this.mark(payload);
    return undefined;
  }
}

/**
 * Calls an application.
 *
 * @throws Error with the status when the application refuses the upgrade.
 */
export function dialSocket(options: SocketCallOptions): Promise<SocketCaller> {
  const { signatureSecret, url } = options;
  const token = signatureSecret === undefined ? undefined : `Bearer ${signToken(signatureSecret)}`;
  const authorization = options.authorization ?? token;
  return connectPhone(
    url,
    authorization === undefined ? {} : { authorization },
    (socket) => new SocketCaller(socket, options),
  );
}
