/**
 * Targets behind a signature: a stranger cannot get so far, but a platform that has our trust can. Every input is
 * signed first.
 */
import { createHmac } from 'node:crypto';
import { encodeHex } from '../../lib/core/hex.ts';
import { parseJsonObject } from '../../lib/core/parse-json.ts';
import { readMeetingInputDWebhook } from '../../lib/providers/platform/meeting-input-d-webhook.ts';
import { verifyPhoneSocketBSignature } from '../../lib/providers/platform/phone-socket-b-signature.ts';
import { verifyPhoneStreamASignature } from '../../lib/providers/platform/phone-stream-a-signature.ts';
import { TestClock } from '../transport/test-clock.ts';
import { assert, textOf, type Target } from './promises.ts';

const secret = 'secret';
const now = 1_732_313_171_881;
const url = 'https://voice.example.com/twiml';

const hmac = (hash: string, text: string): Buffer => createHmac(hash, secret).update(text).digest();
const base64Url = (text: string | Uint8Array): string => Buffer.from(text).toString('base64url');

export const signedTargets: Readonly<Record<string, Target>> = {
  /** The form of a call that begins, as the switchboard of samples/phone reads it. */
  phoneStreamAForm: async (bytes) => {
    const params = Object.fromEntries(new URLSearchParams(textOf(bytes)));
    const fields = Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1));
    const signature = hmac('sha1', url + fields.flat().join('')).toString('base64');
    const asked = { authToken: secret, url, params };
    assert(await verifyPhoneStreamASignature({ ...asked, signature }), 'a form that is signed is genuine');
    const more = { ...params, more: 'x' };
    assert(!(await verifyPhoneStreamASignature({ ...asked, params: more, signature })), 'no field can be added');
  },

  /** Claims of a token. */
  phoneSocketBToken: async (bytes) => {
    const claims = textOf(bytes);
    const signed = `${base64Url('{"alg":"HS256","typ":"JWT"}')}.${base64Url(bytes)}`;
    const isGenuine = await verifyPhoneSocketBSignature({
      signatureSecret: secret,
      scheduler: new TestClock(now),
      authorization: `Bearer ${signed}.${base64Url(hmac('sha256', signed))}`,
    });
    const { iss, iat } = parseJsonObject(claims) ?? {};
    const isRecent = typeof iat === 'number' && Math.abs(now - iat * 1000) <= 300_000;
    assert(isGenuine === (iss === 'Vonage' && isRecent) || claims.includes('\uFFFD'), 'a token is worth its claims');
  },

  meetingInputDWebhook: async (bytes) => {
    const body = textOf(bytes);
    const timestamp = String(Math.floor(now / 1000));
    const signature = `v0=${encodeHex(hmac('sha256', `v0:${timestamp}:${body}`))}`;
    const scheduler = new TestClock(now);
    const webhook = await readMeetingInputDWebhook({ secretToken: secret, signature, timestamp, body, scheduler });
    assert(webhook !== undefined, 'what is signed is genuine');
    if (webhook.type === 'started') {
      assert(
        Object.values(webhook.target).every((each) => typeof each === 'string' && each !== ''),
        'a stream has an address',
      );
    } else if (webhook.type === 'validation') {
      assert(/^[\da-f]{64}$/.test(webhook.response.encryptedToken), 'an address is proved by a digest');
    }
  },
};
