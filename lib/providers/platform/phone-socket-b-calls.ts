import { asyncScheduler } from 'rxjs';
import { decodeBase64, encodeBase64 } from '../../core/base64.ts';
import { VoiceError } from '../../core/errors.ts';
import { asObject, asString } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { CallControl, CallState, CallStatus, CallStep, PlacedCall } from './call-control.ts';
import { CallService, type CallServiceConfig } from './call-service.ts';
import { bytesOf } from './hmac.ts';

/** Configuration of {@link PhoneSocketBCalls}. */
export interface PhoneSocketBCallsConfig extends CallServiceConfig {
  /** The application's id. */
  readonly applicationId: string;
  /** The application's private key, a PEM (`-----BEGIN PRIVATE KEY-----`). For servers: it must not reach a page. */
  readonly privateKey: string;
}

/** A step of what Vonage does with a call: a {@link CallStep}, or a recording, whose address is sent to the webhook. */
export type PhoneSocketBStep = CallStep | { readonly record: string };

/** An action of an NCCO. */
export type NccoAction = Readonly<Record<string, unknown>>;

const name = 'PhoneSocketBCalls';
/** How long a token is valid, in seconds; each request has its own. */
const tokenSeconds = 300;

/**
 * Vonage calls, controlled through its Voice API, for `PhoneSocketB`: placing, transferring, ending. Default address:
 * `https://api.nexmo.com`. See https://developer.vonage.com/en/api/voice.
 *
 * A call's id is its `uuid`, which the answer webhook receives: pass it on in the stream's `parameters`, and read it
 * with `getHeaders()`.
 *
 * @example
 * ```ts
 * import { PhoneSocketBCalls, type PhoneSocketB } from 'rxvoice';
 *
 * declare const phone: PhoneSocketB;
 *
 * const calls = new PhoneSocketBCalls({ applicationId: '…', privateKey: process.env['VONAGE_PRIVATE_KEY'] ?? '' });
 * await calls.redirect(String(phone.getHeaders()['uuid']), [{ dial: '+442071838750', from: '+447700900000' }]);
 * ```
 */
export class PhoneSocketBCalls implements CallControl {
  readonly #service: CallService;

  constructor({ applicationId, privateKey, ...config }: PhoneSocketBCallsConfig) {
    const { scheduler = asyncScheduler } = config;
    let key: Promise<CryptoKey> | undefined;
    this.#service = new CallService(name, 'https://api.nexmo.com', config, async () => {
      key ??= importKey(privateKey);
      const iat = Math.floor(scheduler.now() / 1_000);
      const claims = { application_id: applicationId, iat, exp: iat + tokenSeconds, jti: crypto.randomUUID() };
      return { authorization: `Bearer ${await signed(claims, await key)}` };
    });
  }

  async place({ to, from, steps, ringMs, statusUrl }: PlacedCall): Promise<string> {
    const json = {
      to: [{ type: 'phone', number: digitsOf(to) }],
      from: { type: 'phone', number: digitsOf(from) },
      ncco: ncco(steps),
      ...(ringMs !== undefined && { ringing_timer: Math.ceil(ringMs / 1_000) }),
      ...(statusUrl !== undefined && { event_url: [statusUrl] }),
    };
    const { uuid } = asObject(await this.#service.read({ path: '/v1/calls', method: 'POST', json })) ?? {};
    return asString(uuid) ?? incomplete('uuid');
  }

  async stateOf(call: string): Promise<CallState> {
    const { status } = asObject(await this.#service.read({ path: pathOf(call) })) ?? {};
    return ownEntry(states, asString(status)) ?? incomplete('status');
  }

  async redirect(call: string, steps: readonly PhoneSocketBStep[]): Promise<void> {
    await this.#update(call, { action: 'transfer', destination: { type: 'ncco', ncco: ncco(steps) } });
  }

  async end(call: string): Promise<void> {
    await this.#update(call, { action: 'hangup' }).catch(unlessOver);
  }

  /**
   * Presses keys, such as for a phone menu.
   *
   * @param digits - `0` to `9`, `*`, `#`, and `p` for a pause of half a second.
   * @throws VoiceError when the platform refuses.
   */
  async sendDigits(call: string, digits: string): Promise<void> {
    await this.#service.send({ path: `${pathOf(call)}/dtmf`, method: 'PUT', json: { digits } });
  }

  async #update(call: string, json: object): Promise<void> {
    await this.#service.send({ path: pathOf(call), method: 'PUT', json });
  }
}

/**
 * The NCCO for these steps, for the answer webhook.
 *
 * @example
 * ```ts
 * import { ncco } from 'rxvoice';
 *
 * declare const uuid: string;
 *
 * const answer = ncco([{ stream: 'wss://voice.example.com/b', parameters: { uuid } }]);
 * ```
 */
export function ncco(steps: readonly PhoneSocketBStep[]): NccoAction[] {
  return steps.map((step) => {
    if ('record' in step) return { action: 'record', eventUrl: [step.record], split: 'conversation', channels: 2 };
    if ('say' in step) {
      return { action: 'talk', text: step.say, ...(step.language !== undefined && { language: step.language }) };
    }
    if ('room' in step) {
      return { action: 'conversation', name: step.room, startOnEnter: step.opens ?? true, endOnExit: true };
    }
    if ('dial' in step) {
      const endpoint = { type: 'phone', number: digitsOf(step.dial) };
      return { action: 'connect', endpoint: [endpoint], ...(step.from !== undefined && { from: digitsOf(step.from) }) };
    }
    const { stream: uri, parameters: headers } = step;
    const format = { 'content-type': 'audio/l16;rate=16000', authorization: { type: 'vonage' } };
    return { action: 'connect', endpoint: [{ type: 'websocket', uri, ...format, ...(headers && { headers }) }] };
  });
}

/**
 * Reads the JSON of a Vonage event webhook; `undefined` if it reports no state. Verify the request first, with
 * `verifyPhoneSocketBSignature()`.
 */
export function readPhoneSocketBStatus(event: unknown): CallStatus | undefined {
  const { uuid, status } = asObject(event) ?? {};
  const [call, state] = [asString(uuid), ownEntry(states, asString(status))];
  return call !== undefined && state ? { call, state } : undefined;
}

const states: Readonly<Record<string, CallState>> = {
  started: { state: 'ringing' },
  ringing: { state: 'ringing' },
  answered: { state: 'answered' },
  human: { state: 'answered', by: 'human' },
  machine: { state: 'answered', by: 'machine' },
  completed: { state: 'ended', reason: 'completed' },
  disconnected: { state: 'ended', reason: 'completed' },
  busy: { state: 'ended', reason: 'busy' },
  cancelled: { state: 'ended', reason: 'canceled' },
  rejected: { state: 'ended', reason: 'rejected' },
  timeout: { state: 'ended', reason: 'no-answer' },
  unanswered: { state: 'ended', reason: 'no-answer' },
  failed: { state: 'ended', reason: 'failed' },
};

function pathOf(call: string): string {
  return `/v1/calls/${encodeURIComponent(call)}`;
}

/** The platform writes numbers without the plus. */
function digitsOf(number: string): string {
  return number.replace(/\D/g, '');
}

function incomplete(field: string): never {
  throw new VoiceError(`${name}: the answer has no ${field}`, { code: 'protocol', provider: name });
}

/** The platform does not find a call that has ended, or has nothing to hang up. */
function unlessOver(error: unknown): void {
  if (!(VoiceError.is(error) && error.status === 404)) throw error;
}

const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };

async function importKey(pem: string): Promise<CryptoKey> {
  const [, body = ''] = /-----BEGIN PRIVATE KEY-----([^-]+)-----END PRIVATE KEY-----/.exec(pem) ?? [];
  const bytes = decodeBase64(body.replace(/\s+/g, ''));
  if (!bytes || bytes.length === 0) {
    const problem = 'privateKey must be a PEM that begins with -----BEGIN PRIVATE KEY-----';
    throw new VoiceError(`${name}: ${problem}`, { code: 'configuration', provider: name });
  }
  return crypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign']);
}

/** A JWT, signed with RS256. */
async function signed(claims: object, key: CryptoKey): Promise<string> {
  const text = [{ alg: 'RS256', typ: 'JWT' }, claims].map((part) => base64Url(JSON.stringify(part))).join('.');
  const signature = await crypto.subtle.sign(algorithm.name, key, bytesOf(text));
  return `${text}.${base64Url(new Uint8Array(signature))}`;
}

function base64Url(data: string | Uint8Array<ArrayBuffer>): string {
  return encodeBase64(bytesOf(data))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/={1,2}$/, '');
}
