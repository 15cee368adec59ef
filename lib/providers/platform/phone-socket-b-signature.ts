import { asyncScheduler, type SchedulerLike } from 'rxjs';
import { decodeBase64 } from '../../core/base64.ts';
import { asNumber, asString, type WireObject } from '../../core/guard.ts';
import { encodeHex } from '../../core/hex.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import { bytesOf, verifyHmacSha256 } from './hmac.ts';

/** What {@link verifyPhoneSocketBSignature} checks. */
export interface PhoneSocketBSignatureOptions {
  /** The account's signature secret. */
  readonly signatureSecret: string;
  /** The request's `authorization` header: `Bearer` and a JWT. */
  readonly authorization: string | undefined;
  /** The account's API key, to accept only that account's tokens. Default: any. */
  readonly apiKey?: string;
  /** The application's id, to accept only that application's tokens. Default: any. */
  readonly applicationId?: string;
  /** The raw body of a webhook, whose hash the token carries. An upgrade has none. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Maximum age of a token, in milliseconds, and how far it may be in the future. Default: 300,000. */
  readonly maxAgeMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * Whether a request comes from Vonage: the upgrade of an endpoint with `"authorization": {"type": "vonage"}`, or a
 * signed webhook. Accepts only JWTs signed with HS256. Compares in constant time. Never throws.
 */
export async function verifyPhoneSocketBSignature(options: PhoneSocketBSignatureOptions): Promise<boolean> {
  const { signatureSecret, authorization, apiKey, applicationId, body } = options;
  const { maxAgeMs = 300_000, scheduler = asyncScheduler } = options;
  const [, signed = '', header = '', payload = '', signature = ''] =
    /^Bearer\s+(([\w-]+)\.([\w-]+))\.([\w-]+)$/i.exec(authorization ?? '') ?? [];
  const given = decodeBase64Url(signature);
  const claims = jsonOf(payload);
  if (!given || !claims || jsonOf(header)?.['alg'] !== 'HS256') return false;
  if (!(await verifyHmacSha256(signatureSecret, given, signed))) return false;
  const ageMs = scheduler.now() - (asNumber(claims['iat']) ?? NaN) * 1000;
  const hash = body === undefined ? undefined : await sha256(body);
  return [
    Math.abs(ageMs) <= maxAgeMs,
    claims['iss'] === 'Vonage',
    apiKey === undefined || claims['api_key'] === apiKey,
    applicationId === undefined || claims['application_id'] === applicationId,
    hash === undefined || asString(claims['payload_hash'])?.toLowerCase() === hash,
  ].every(Boolean);
}

function jsonOf(part: string): WireObject | undefined {
  const bytes = decodeBase64Url(part);
  return bytes && parseJsonObject(bytes);
}

function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!text) return undefined;
  const standard = text.replace(/-/g, '+').replace(/_/g, '/');
  return decodeBase64(standard + '='.repeat((4 - (standard.length % 4)) % 4));
}

async function sha256(body: string | Uint8Array<ArrayBuffer>): Promise<string> {
  return encodeHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytesOf(body))));
}
