import { encodeBase64 } from '../../core/base64.ts';
import { VoiceError } from '../../core/errors.ts';
import { asObject, asString } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { Credential } from '../../core/remote-provider.ts';
import { escapeXml } from '../../text/xml.ts';
import type { CallControl, CallState, CallStatus, CallStep, PlacedCall } from './call-control.ts';
import { CallService, type CallServiceConfig } from './call-service.ts';
import { bytesOf } from './hmac.ts';

/** Configuration of {@link PhoneStreamACalls}. */
export interface PhoneStreamACallsConfig extends CallServiceConfig {
  /** The account's id, `AC…`. */
  readonly accountSid: string;
  /** The account's auth token, or a function that fetches it. For servers: it must not reach a page. */
  readonly authToken: Credential;
}

/** What the platform records while paused. */
export type PauseBehavior = 'silence' | 'skip';

const name = 'PhoneStreamACalls';
/** Longest instructions in a request, in characters. */
const maxTwiml = 4_000;

/**
 * Twilio calls, controlled through its REST API, for `PhoneStreamA`: placing, transferring, ending, recording. Default
 * address: `https://api.twilio.com`. See https://www.twilio.com/docs/voice/api/call-resource.
 *
 * @example
 * ```ts
 * import { PhoneStreamACalls, type PhoneStreamA } from 'rxvoice';
 *
 * declare const phone: PhoneStreamA;
 *
 * const calls = new PhoneStreamACalls({ accountSid: 'AC…', authToken: process.env['TWILIO_AUTH_TOKEN'] ?? '' });
 * await calls.redirect(phone.getCallSid() ?? '', [{ dial: '+442071838750' }]);
 * ```
 */
export class PhoneStreamACalls implements CallControl {
  readonly #service: CallService;
  readonly #calls: string;

  constructor({ accountSid, authToken, ...config }: PhoneStreamACallsConfig) {
    this.#calls = `/2010-04-01/Accounts/${encodeURIComponent(accountSid)}/Calls`;
    this.#service = new CallService(name, 'https://api.twilio.com', config, async () => {
      const token = typeof authToken === 'function' ? await authToken() : authToken;
      return { authorization: `Basic ${encodeBase64(bytesOf(`${accountSid}:${token}`))}` };
    });
  }

  async place({ to, from, steps, ringMs, statusUrl }: PlacedCall): Promise<string> {
    const form = {
      ...{ To: to, From: from, Twiml: shortTwiml(steps), StatusCallback: statusUrl },
      StatusCallbackEvent: statusUrl === undefined ? undefined : ['initiated', 'ringing', 'answered', 'completed'],
      Timeout: ringMs === undefined ? undefined : String(Math.ceil(ringMs / 1_000)),
    };
    const { sid } = asObject(await this.#service.read({ path: `${this.#calls}.json`, form })) ?? {};
    return asString(sid) ?? incomplete('sid');
  }

  async stateOf(call: string): Promise<CallState> {
    const { status, answered_by: by } = asObject(await this.#service.read({ path: this.#of(call) })) ?? {};
    return stateOf(asString(status), asString(by)) ?? incomplete('status');
  }

  async redirect(call: string, steps: readonly CallStep[]): Promise<void> {
    await this.#service.send({ path: this.#of(call), form: { Twiml: shortTwiml(steps) } });
  }

  async end(call: string): Promise<void> {
    await this.#service.send({ path: this.#of(call), form: { Status: 'completed' } }).catch(unlessOver);
  }

  /**
   * Has the platform record a call from now on, caller and agent on separate channels.
   *
   * @param statusUrl - The webhook that receives the recording's status. Default: none.
   * @returns The recording's id.
   * @throws VoiceError when the platform refuses.
   */
  async record(call: string, statusUrl?: string): Promise<string> {
    const form = { RecordingChannels: 'dual', RecordingStatusCallback: statusUrl };
    const path = this.#of(call, '/Recordings.json');
    const { sid } = asObject(await this.#service.read({ path, form })) ?? {};
    return asString(sid) ?? incomplete('sid');
  }

  /**
   * Pauses the platform's recording of a call, such as while the caller types a PIN: its tones are in the recording.
   *
   * @param behavior - Whether the pause is silence in the recording, or missing. Default: `silence`.
   * @throws VoiceError when the platform refuses, such as without a recording.
   */
  async pauseRecording(call: string, behavior: PauseBehavior = 'silence'): Promise<void> {
    await this.#setRecording(call, { Status: 'paused', PauseBehavior: behavior });
  }

  /**
   * Resumes the platform's recording of a call.
   *
   * @throws VoiceError when the platform refuses.
   */
  async resumeRecording(call: string): Promise<void> {
    await this.#setRecording(call, { Status: 'in-progress' });
  }

  /** The recording in progress. */
  async #setRecording(call: string, form: Readonly<Record<string, string>>): Promise<void> {
    await this.#service.send({ path: this.#of(call, '/Recordings/Twilio.CURRENT.json'), form });
  }

  #of(call: string, rest: string = '.json'): string {
    return `${this.#calls}/${encodeURIComponent(call)}${rest}`;
  }
}

/**
 * TwiML for these steps, for the voice webhook.
 *
 * @example
 * ```ts
 * import { twiml } from 'rxvoice';
 *
 * const answer = twiml([{ stream: 'wss://voice.example.com/a', parameters: { user: '42' } }]);
 * ```
 */
export function twiml(steps: readonly CallStep[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?><Response>${steps.map(verb).join('')}</Response>`;
}

function verb(step: CallStep): string {
  if ('stream' in step) {
    const given = Object.entries(step.parameters ?? {});
    const parameters = given.map(([key, value]) => `<Parameter name="${escapeXml(key)}" value="${escapeXml(value)}"/>`);
    return `<Connect><Stream url="${escapeXml(step.stream)}">${parameters.join('')}</Stream></Connect>`;
  }
  if ('say' in step) return `<Say${attribute('language', step.language)}>${escapeXml(step.say)}</Say>`;
  if ('dial' in step) return `<Dial${attribute('callerId', step.from)}><Number>${escapeXml(step.dial)}</Number></Dial>`;
  const opens = attribute('startConferenceOnEnter', String(step.opens ?? true));
  return `<Dial><Conference${opens} endConferenceOnExit="true" beep="false">${escapeXml(step.room)}</Conference></Dial>`;
}

function attribute(key: string, value: string | undefined): string {
  return value === undefined ? '' : ` ${key}="${escapeXml(value)}"`;
}

function shortTwiml(steps: readonly CallStep[]): string {
  const text = twiml(steps);
  if (text.length <= maxTwiml) return text;
  const problem = `the steps make ${text.length} characters of TwiML, and at most ${maxTwiml} are allowed: shorten their texts`;
  throw new VoiceError(`${name}: ${problem}`, { code: 'configuration', provider: name });
}

function incomplete(field: string): never {
  throw new VoiceError(`${name}: the answer has no ${field}`, { code: 'protocol', provider: name });
}

/** The platform does not find a call that has ended. */
function unlessOver(error: unknown): void {
  if (!(VoiceError.is(error) && error.status === 404)) throw error;
}

/**
 * Reads the form fields of a Twilio status callback; `undefined` if it reports no state. Verify the request first, with
 * `verifyPhoneStreamASignature()`.
 */
export function readPhoneStreamAStatus(fields: Readonly<Record<string, string>>): CallStatus | undefined {
  const { CallSid: call, CallStatus: status, AnsweredBy: by } = fields;
  const state = stateOf(status, by);
  return call !== undefined && state ? { call, state } : undefined;
}

function stateOf(status: string | undefined, by: string | undefined): CallState | undefined {
  const state = ownEntry(states, status);
  const who = by === 'human' ? 'human' : /^(machine|fax)/.test(by ?? '') ? 'machine' : undefined;
  return state?.state === 'answered' && who ? { ...state, by: who } : state;
}

const states: Readonly<Record<string, CallState>> = {
  queued: { state: 'ringing' },
  initiated: { state: 'ringing' },
  ringing: { state: 'ringing' },
  'in-progress': { state: 'answered' },
  answered: { state: 'answered' },
  completed: { state: 'ended', reason: 'completed' },
  busy: { state: 'ended', reason: 'busy' },
  'no-answer': { state: 'ended', reason: 'no-answer' },
  canceled: { state: 'ended', reason: 'canceled' },
  failed: { state: 'ended', reason: 'failed' },
};
