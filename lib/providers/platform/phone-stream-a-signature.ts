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
  readonly params?: Readonly<Record<string, string>>;
}

/**
 * Whether a request (the upgrade of a media stream, or a webhook) comes from Twilio. Compares in constant time; tries
 * the address with and without a trailing slash and a port, since Twilio doesn't document which it signs. Never throws.
 */
export async function verifyPhoneStreamASignature(options: PhoneStreamASignatureOptions): Promise<boolean> {
  const { authToken, url, signature, params = {} } = options;
  const expected = decodeBase64(signature ?? '');
  const addresses = formsOf(url);
  if (!authToken || !expected || !addresses) return false;
  const encoder = new TextEncoder();
  const fields = Object.keys(params).sort();
  const suffix = fields.map((name) => name + (params[name] ?? '')).join('');
  const algorithm = { name: 'HMAC', hash: 'SHA-1' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(authToken), algorithm, false, ['verify']);
  const verified = await Promise.all(
    addresses.map((address) => crypto.subtle.verify('HMAC', key, expected, encoder.encode(address + suffix))),
  );
  return verified.includes(true);
}

function formsOf(url: string): string[] | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, port, pathname, search } = new URL(url);
  const usual = /^(https|wss):$/.test(protocol) ? '443' : '80';
  const path = pathname.replace(/\/$/, '');
  const ports = port ? [`:${port}`] : ['', `:${usual}`];
  const forms = ports.flatMap((each) =>
    [path, `${path}/`].map((end) => `${protocol}//${hostname}${each}${end}${search}`),
  );
  return [url, ...forms];
}
