import { VoiceError } from '../core/errors.ts';
import { encodeHex } from '../core/hex.ts';
import { utf8Of } from '../core/utf8.ts';

/** Credentials of an AWS account; temporary ones have a session token. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Parameters of an AWS signature. */
export interface AwsSigning {
  readonly credentials: AwsCredentials;
  /** Such as `us-east-1`. */
  readonly region: string;
  /** The service's signing name, such as `polly`; not always the first label of its host. */
  readonly service: string;
  /** The time of the signature, in milliseconds since 1970. */
  readonly now: number;
}

/** A request to sign. */
export interface AwsRequest {
  readonly method: string;
  readonly url: URL;
  /** Headers to send and sign; `host` is signed automatically. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The exact bytes to send (a text as UTF-8). Default: none. */
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
  /** Whether `x-amz-content-sha256` is sent and signed too. Default: false. */
  readonly sendsHash?: boolean;
}

const algorithm = 'AWS4-HMAC-SHA256';

/**
 * Creates a URL with an AWS Signature, Version 4, for a GET without a body; put parameters into its query first. Valid
 * for `expiresSeconds` from `now` on.
 * See https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
 */
export async function presignUrl(url: URL, signing: AwsSigning, expiresSeconds: number): Promise<URL> {
  const { credentials } = signing;
  const { date, scope } = scopeOf(signing);
  const query = canonicalQuery([
    ...url.searchParams,
    ['X-Amz-Algorithm', algorithm],
    ['X-Amz-Credential', `${credentials.accessKeyId}/${scope}`],
    ['X-Amz-Date', date],
    ['X-Amz-Expires', String(expiresSeconds)],
    ...(credentials.sessionToken ? [['X-Amz-Security-Token', credentials.sessionToken] as const] : []),
    ['X-Amz-SignedHeaders', 'host'],
  ]);
  const request = ['GET', canonicalPath(url), query, `host:${url.host}`, '', 'host', await sha256('')];
  const presigned = new URL(url);
  // Send exactly the text that was signed.
  presigned.search = `${query}&X-Amz-Signature=${await signatureOf(request, signing)}`;
  return presigned;
}

/**
 * Returns a request's headers with its AWS Signature, Version 4, in `authorization`; names in lower case. The body must
 * be sent byte for byte as signed.
 */
export async function signRequest(request: AwsRequest, signing: AwsSigning): Promise<Record<string, string>> {
  const { method, url, headers = {}, body = '', sendsHash = false } = request;
  const { credentials } = signing;
  const { date, scope } = scopeOf(signing);
  const hash = await sha256(body);
  const sent: Record<string, string> = {
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    'x-amz-date': date,
    ...(credentials.sessionToken && { 'x-amz-security-token': credentials.sessionToken }),
    ...(sendsHash && { 'x-amz-content-sha256': hash }),
  };
  const lines = Object.entries({ ...sent, host: url.host }).sort(byName);
  const names = lines.map(([name]) => name).join(';');
  const signed = lines.map(([name, value]) => `${name}:${value.trim().replace(/\s+/g, ' ')}`);
  const signature = await signatureOf(
    [method, canonicalPath(url), canonicalQuery([...url.searchParams]), ...signed, '', names, hash],
    signing,
  );
  const parts = `Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...sent, authorization: `${algorithm} ${parts}` };
}

async function signatureOf(canonicalRequest: readonly string[], signing: AwsSigning): Promise<string> {
  const { date, scope } = scopeOf(signing);
  const { secretAccessKey } = signing.credentials;
  const toSign = [algorithm, date, scope, await sha256(canonicalRequest.join('\n'))].join('\n');
  let key = utf8Of(`AWS4${secretAccessKey}`);
  for (const part of [...scope.split('/'), toSign]) key = await hmac(key, part);
  return encodeHex(key);
}

function scopeOf({ now, region, service }: AwsSigning): { date: string; scope: string } {
  const date = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '');
  return { date, scope: `${date.slice(0, 8)}/${region}/${service}/aws4_request` };
}

/** The path as sent, encoded once more, as for every service except storage. */
function canonicalPath(url: URL): string {
  return encode(url.pathname).replaceAll('%2F', '/');
}

function canonicalQuery(pairs: readonly (readonly [string, string])[]): string {
  const encoded = pairs.map(([name, value]) => [encode(name), encode(value)] as const);
  return encoded
    .sort(byName)
    .map((pair) => pair.join('='))
    .join('&');
}

/** By code unit: no locale may affect what is signed. */
function byName(a: readonly [string, string], b: readonly [string, string]): number {
  if (a[0] !== b[0]) return a[0] < b[0] ? -1 : 1;
  return a[1] < b[1] ? -1 : Number(a[1] > b[1]);
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}

async function sha256(data: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof data === 'string' ? utf8Of(data) : data;
  return encodeHex(new Uint8Array(await subtle().digest('SHA-256', bytes)));
}

async function hmac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const imported = await subtle().importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await subtle().sign('HMAC', imported, utf8Of(text)));
}

function subtle(): SubtleCrypto {
  const { crypto } = globalThis as { readonly crypto?: { readonly subtle?: SubtleCrypto } };
  if (crypto?.subtle) return crypto.subtle;
  const message =
    'signed requests need WebCrypto, which browsers provide only on https: and localhost: serve the page there';
  throw new VoiceError(message, { code: 'configuration' });
}
