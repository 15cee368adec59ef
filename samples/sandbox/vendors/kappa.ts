import type { Call } from '../call.ts';
import type { Credentials } from '../environment.ts';
import type { Vendor } from '../vendor.ts';
import { refuse } from './kappa-refusal.ts';
import { kappaStt } from './kappa-stt.ts';
import { kappaTts } from './kappa-tts.ts';

/** A key, or a token of `issueToken`, which is good for 10 minutes. */
function authorize({ headers, path, query, record }: Call, credentials: Credentials): void {
  // Browsers' sockets have no headers: theirs come in the query.
  const sent = (name: string): string | undefined =>
    headers[name.toLowerCase()] ?? (record.method === 'WS' ? (query.get(name) ?? undefined) : undefined);
  const key = sent('Ocp-Apim-Subscription-Key');
  const [scheme, token] = (sent('Authorization') ?? '').split(' ');
  if (key === undefined && scheme !== 'Bearer') throw refuse(401, 'neither a key nor a bearer token');
  if (key === undefined ? !credentials.isToken(token) || path.startsWith('/sts/') : !credentials.isKey(key))
    throw refuse(401, key === undefined ? 'wrong token' : 'wrong key');
}

/** Azure AI Speech: `https://<region>.tts.speech.microsoft.com`, and its tokens. */
export const kappa: Vendor = {
  mount: 'kappa',
  refuse,
  authorize,
  routes: [
    ...kappaStt,
    ...kappaTts,
    {
      ...{ service: 'kappa-token', method: 'POST', path: '/sts/v1.0/issueToken' },
      handle: (request, { credentials }) => {
        request.send(200, new TextEncoder().encode(credentials.grant(600)), { 'content-type': 'application/jwt' });
      },
    },
  ],
};
