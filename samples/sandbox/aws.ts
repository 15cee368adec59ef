import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Call } from './call.ts';
import type { Credentials } from './environment.ts';

/** What AWS says of a request that it does not take. */
export interface AwsComplaint {
  readonly type: string;
  readonly message: string;
}

const toleranceMs = 5 * 60_000;

const hash = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
const complaint = (type: string, message: string): AwsComplaint => ({ type, message });

/** Milliseconds of `20250115T120000Z`; NaN for anything else. */
function timeOf(date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}
const dateOf = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '');

/** The signature of a request, wherever it stands. */
interface Signature {
  readonly credential: string;
  readonly date: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  readonly payloadHash: string;
  /** For how long it is good. */
  readonly expiresMs: number;
}

function fromQuery({ query }: Call): Signature | AwsComplaint {
  const missing = ['Algorithm', 'Credential', 'Date', 'Expires', 'SignedHeaders', 'Signature'].find(
    (name) => query.getAll(`X-Amz-${name}`).length !== 1,
  );
  if (missing)
    return complaint('MissingAuthenticationTokenException', `Missing Authentication Token: X-Amz-${missing}`);
  const value = (name: string): string => query.get(`X-Amz-${name}`) ?? '';
  const expires = Number(value('Expires'));
  if (!Number.isInteger(expires) || expires < 1 || expires > 300) {
    return complaint('BadRequestException', 'X-Amz-Expires must be a number of seconds from 1 to 300');
  }
  return {
    ...{ credential: value('Credential'), date: value('Date'), signature: value('Signature') },
    ...{ signedHeaders: value('SignedHeaders').split(';'), payloadHash: hash(''), expiresMs: expires * 1000 },
  };
}

function fromHeader({ headers, record }: Call): Signature | AwsComplaint {
  const form = /^AWS4-HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), Signature=([\da-f]{64})$/;
  const found = form.exec(headers['authorization'] ?? '');
  if (!found) return complaint('MissingAuthenticationTokenException', 'Missing Authentication Token');
  const [, credential = '', names = '', signature = ''] = found;
  const payloadHash = hash(record.body);
  const sent = headers['x-amz-content-sha256'];
  if (sent !== undefined && sent !== payloadHash) {
    return complaint('InvalidSignatureException', 'x-amz-content-sha256 is not the hash of the body');
  }
  const signedHeaders = names.split(';');
  const unsigned = Object.keys(headers).find((name) => name.startsWith('x-amz-') && !signedHeaders.includes(name));
  if (unsigned) return complaint('InvalidSignatureException', `The header ${unsigned} is not signed`);
  const date = headers['x-amz-date'] ?? '';
  return { credential, signature, payloadHash, signedHeaders, date, expiresMs: toleranceMs };
}

/**
 * What is wrong with the AWS Signature (version 4) of a call, as AWS says it; `undefined` when it is right. The secret
 * is any key of the sandbox, the access key id anything.
 *
 * @param mount Where the vendor is: a part of the path that was signed.
 */
export function checkAwsSignature(
  call: Call,
  credentials: Credentials,
  { service, mount }: { readonly service: string; readonly mount: string },
): AwsComplaint | undefined {
  const { query, headers, record } = call;
  const signed = query.has('X-Amz-Algorithm') ? fromQuery(call) : fromHeader(call);
  if ('type' in signed) return signed;
  const { credential, date, signedHeaders, signature, payloadHash, expiresMs } = signed;
  const [, day = '', region = '', ...rest] = credential.split('/');
  if (rest.join('/') !== `${service}/aws4_request` || !region || day !== date.slice(0, 8)) {
    return complaint('InvalidSignatureException', `Credential should be scoped to correct service: '${service}'.`);
  }
  const [now, at] = [Date.now(), timeOf(date)];
  const says = (shown: number, sign: string): string => `${dateOf(shown)} (${dateOf(now)} ${sign} 5 min.)`;
  if (!(at + expiresMs >= now && at + toleranceMs >= now)) {
    const message = `Signature expired: ${date} is now earlier than ${says(now - toleranceMs, '-')}`;
    return complaint('InvalidSignatureException', message);
  }
  if (at > now + toleranceMs) {
    const message = `Signature not yet current: ${date} is still later than ${says(now + toleranceMs, '+')}`;
    return complaint('InvalidSignatureException', message);
  }
  if (!signedHeaders.includes('host')) return complaint('InvalidSignatureException', "'Host' must be a signed header");
  const canonicalQuery = [...query]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const request = [
    ...[record.method === 'WS' ? 'GET' : record.method, encode(`/${mount}${call.path}`).replaceAll('%2F', '/')],
    ...[canonicalQuery, ...signedHeaders.map((name) => `${name}:${(headers[name] ?? '').trim()}`)],
    ...['', signedHeaders.join(';'), payloadHash],
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', date, [day, region, ...rest].join('/'), hash(request)].join('\n');
  const matches = credentials.some((secret) => {
    let key = Buffer.from(`AWS4${secret}`);
    for (const part of [day, region, ...rest, toSign]) key = createHmac('sha256', key).update(part).digest();
    const given = Buffer.from(signature, 'hex');
    return given.length === key.length && timingSafeEqual(given, key);
  });
  if (matches) return undefined;
  const message = 'The request signature we calculated does not match the signature you provided.';
  return complaint('InvalidSignatureException', message);
}
