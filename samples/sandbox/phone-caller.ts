import { createHmac, randomBytes } from 'node:crypto';
import type WebSocket from 'ws';
import { connectPhone, hasOnly, parsed, PhoneLine } from './phone-line.ts';
import type { LineOptions } from './phone-line.ts';
import { isObject } from './validate.ts';

export type { PhoneWarning } from './phone-line.ts';

/** How a call is made. */
export interface CallOptions extends LineOptions {
  readonly customParameters?: Readonly<Record<string, string>>;
  /** The account's auth token: signs the upgrade as the platform does. */
  readonly authToken?: string;
  /** The address that is signed, when it is not `url`. */
  readonly publicUrl?: string;
  /** Whether its port is signed, too: the platform does either. Default: true. */
  readonly signsPort?: boolean;
}

/** The value of `X-Twilio-Signature` for an upgrade: nothing is signed but the address. */
export function sign(authToken: string, url: string): string {
  return createHmac('sha1', authToken).update(url).digest('base64');
}

/** A caller on a Twilio media stream (PhoneStreamA). Its warnings are those of the platform's console. */
export class PhoneCaller extends PhoneLine {
  readonly streamSid: string = `MZ${randomBytes(16).toString('hex')}`;
  readonly callSid: string = `CA${randomBytes(16).toString('hex')}`;
  readonly accountSid: string = `AC${randomBytes(16).toString('hex')}`;
  /** Names of marks in the order in which they were echoed. */
  readonly marks: string[] = [];
  #chunk = 0;
  #sequence = 0;

  /** @internal Use {@link dial}. */
  constructor(socket: WebSocket, options: CallOptions) {
    super(socket, options, { encoding: 'mulaw', sampleRate: 8000, silent: 0xff });
    const { customParameters = {} } = options;
    this.sendJson({ event: 'connected', protocol: 'Call', version: '1.0.0' });
    const ids = { accountSid: this.accountSid, streamSid: this.streamSid, callSid: this.callSid };
    const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 };
    const start = { ...ids, tracks: ['inbound'], mediaFormat, customParameters };
    this.sendJson({ event: 'start', ...this.#next(), start, streamSid: this.streamSid });
    this.begin();
  }

  override press(digit: string): void {
    const dtmf = { track: 'inbound_track', digit };
    this.sendJson({ event: 'dtmf', streamSid: this.streamSid, ...this.#next(), dtmf });
  }

  protected override sendFrame(frame: Uint8Array, atMs: number): void {
    const payload = Buffer.from(frame).toString('base64');
    const media = { track: 'inbound', chunk: String(++this.#chunk), timestamp: String(atMs), payload };
    this.sendJson({ event: 'media', ...this.#next(), media, streamSid: this.streamSid });
  }

  protected override echo(mark: unknown): void {
    const name = String(mark);
    this.marks.push(name);
    this.sendJson({ event: 'mark', ...this.#next(), streamSid: this.streamSid, mark: { name } });
  }

  protected override sayGoodbye(): void {
    const stop = { accountSid: this.accountSid, callSid: this.callSid };
    this.sendJson({ event: 'stop', ...this.#next(), stop, streamSid: this.streamSid });
  }

  protected override receive(data: Buffer, isBinary: boolean): void {
    if (isBinary) {
      this.warn({ code: 31950, text: `a binary frame of ${data.length} bytes` });
      return;
    }
    const text = data.toString();
    const wrong = this.#handle(parsed(text));
    if (wrong !== undefined) this.warn({ code: 31951, text: `${wrong}: ${text.slice(0, 120)}` });
  }

  /** Does what a message says, or tells what is wrong with it. */
  #handle(message: unknown): string | undefined {
    if (!isObject(message)) return 'not a JSON object';
    const { event, streamSid, ...rest } = message;
    if (streamSid !== this.streamSid) return `streamSid is ${String(streamSid)}`;
    if (event === 'clear' && hasOnly(rest)) {
      for (const mark of this.clear()) this.echo(mark);
      return undefined;
    }
    const inner = typeof event === 'string' ? rest[event] : undefined;
    if ((event !== 'media' && event !== 'mark') || !hasOnly(rest, event) || !isObject(inner))
      return 'not media, mark or clear';
    const field = event === 'media' ? 'payload' : 'name';
    const value = inner[field];
    if (typeof value !== 'string' || !hasOnly(inner, field)) return `${event} must have ${field} and nothing else`;
    if (event === 'mark') {
      this.mark(value);
      return undefined;
    }
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(value)) return 'payload is not base64';
    this.buffer(new Uint8Array(Buffer.from(value, 'base64')));
    return undefined;
  }

  #next(): { sequenceNumber: string } {
    return { sequenceNumber: String(++this.#sequence) };
  }
}

/**
 * Calls an application.
 *
 * @throws Error with the status when the application refuses the upgrade (the platform's error 31920).
 */
export function dial(options: CallOptions): Promise<PhoneCaller> {
  const { authToken, publicUrl, url, signsPort = true } = options;
  const full = publicUrl ?? url;
  const signed = signsPort ? full : full.replace(/^(wss?:\/\/[^/:]+):\d+/, '$1');
  const headers = authToken === undefined ? {} : { 'X-Twilio-Signature': sign(authToken, signed) };
  return connectPhone(url, headers, (socket) => new PhoneCaller(socket, options), '31920: ');
}
