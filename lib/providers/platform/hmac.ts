import { utf8Of } from '../../core/utf8.ts';

/** The bytes of a text; bytes are returned as they are. */
export function bytesOf(data: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return typeof data === 'string' ? utf8Of(data) : data;
}

/** HMAC-SHA256 of a message. */
export async function hmacSha256(
  secret: string,
  message: string | Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', utf8Of(secret), algorithm, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, bytesOf(message)));
}

/** Whether a signature matches the message, in constant time; an empty secret matches nothing. */
export async function verifyHmacSha256(
  secret: string,
  signature: Uint8Array<ArrayBuffer>,
  message: string | Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  if (!secret) return false;
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', utf8Of(secret), algorithm, false, ['verify']);
  return crypto.subtle.verify('HMAC', key, signature, bytesOf(message));
}
