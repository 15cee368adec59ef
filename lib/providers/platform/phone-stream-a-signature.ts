import { decodeBase64 } from '../../core/base64.ts';

/** What {@link verifyPhoneStreamASignature} checks. */
export interface PhoneStreamASignatureOptions {
  /** The account's auth token. */
  readonly authToken: string;
  /** The public address as in the TwiML, such as `wss://voice.example.com/phone`; not the one behind a proxy. */
  readonly url: string;
  /** The request's `x-twilio-signature` header. */
  readonly signature: string | undefined;
  /** The form fields of a webhook. An upgrade has none. */
  readonly params?: Readonly<Record<string, string | readonly string[]>>;
  /** The request's `x-twilio-webhooks-signature-settings` header: a shared key signed it. Default: the auth token did. */
  readonly settings?: string | undefined;
  /** The shared key's secret. Default: none, and what a shared key signed is refused. */
  readonly sharedKey?: string;
}

/**
 * Whether a request (the upgrade of a media stream, or a webhook) comes from Twilio. Compares in constant time; tries
 * the address with and without a trailing slash and a port, since Twilio doesn't document which it signs, and both
 * encodings of its query. Never throws.
 */
export async function verifyPhoneStreamASignature(options: PhoneStreamASignatureOptions): Promise<boolean> {
  const { authToken, url, signature, params = {}, settings, sharedKey = '' } = options;
  const secret = settings === undefined ? authToken : sharedKey;
  const hash = settings === undefined ? 'SHA-1' : hashOf(settings);
  const expected = decodeBase64(signature ?? '');
  const addresses = formsOf(url);
  if (!secret || !hash || !expected || !addresses) return false;
  const encoder = new TextEncoder();
  const fields = Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1));
  const suffix = fields.flatMap(([name, value]) => valuesOf(value).map((each) => name + each)).join('');
  const algorithm = { name: 'HMAC', hash };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['verify']);
  const verified = await Promise.all(
    addresses.map((address) => crypto.subtle.verify('HMAC', key, expected, encoder.encode(address + suffix))),
  );
  return verified.includes(true);
}

/** The hash that a header's `algorithm` names. */
function hashOf(settings: string): string | undefined {
  const [, bits] = /(?:^|,)\s*algorithm=HMAC_SHA(1|256)\s*(?:,|$)/.exec(settings) ?? [];
  return bits && `SHA-${bits}`;
}

/** A field's values, as they are signed. */
function valuesOf(value: string | readonly string[]): readonly string[] {
  return typeof value === 'string' ? [value] : [...new Set(value)].sort();
}

function formsOf(url: string): string[] | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, username, password, hostname, port, pathname, search, searchParams } = new URL(url);
  const usual = /^(https|wss):$/.test(protocol) ? '443' : '80';
  const user = username && `${username}${password && `:${password}`}@`;
  const path = pathname.replace(/\/$/, '');
  const query = [...searchParams].map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
  const hosts = ['', `:${port || usual}`].map((each) => `${protocol}//${user}${hostname}${each}`);
  const ends = new Set([search, query && `?${query}`]);
  const forms = hosts.flatMap((host) =>
    [path, `${path}/`].flatMap((each) => [...ends].map((end) => host + each + end)),
  );
  return [url, ...forms];
}
