import type { Call } from '../call.ts';
import type { Credentials } from '../environment.ts';
import type { Vendor } from '../vendor.ts';
import { refuse } from './kappa-refusal.ts';
import { kappaTts } from './kappa-tts.ts';

/** A key, or a token of `issueToken`, which is good for 10 minutes. */
function authorize({ headers, path }: Call, credentials: Credentials): void {
  const key = headers['ocp-apim-subscription-key'];
  const [scheme, token] = (headers['authorization'] ?? '').split(' ');
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
    ...kappaTts,
    {
      ...{ service: 'kappa-token', method: 'POST', path: '/sts/v1.0/issueToken' },
      handle: (request, { credentials }) => {
        request.send(200, new TextEncoder().encode(credentials.grant(600)), { 'content-type': 'application/jwt' });
      },
    },
  ],
};
