import type { Call, HttpRequest } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import type { Refusal, Vendor } from '../vendor.ts';
import { alphaAgent } from './alpha-agent.ts';
import { alphaFlux } from './alpha-flux.ts';
import { alphaRefusal } from './alpha-refusal.ts';
import { alphaStt } from './alpha-stt.ts';
import { alphaTts } from './alpha-tts.ts';

const unauthorized = (why: string): Refusal => alphaRefusal(401, 'INVALID_AUTH', 'Invalid credentials.', why);

/** Checks the header, else the subprotocols: a key goes with `token`, a temporary token with `bearer`. */
function authorize({ headers, protocols }: Call, credentials: Credentials): void {
  const header = headers['authorization'];
  const [scheme, value] = header === undefined ? protocols : header.split(' ');
  if (scheme === undefined || value === undefined) throw unauthorized('no credential: neither header nor subprotocols');
  const kind = scheme.toLowerCase();
  if (kind === 'token' && credentials.isKey(value)) return;
  if (kind === 'bearer' && credentials.isToken(value)) return;
  const hint = kind === 'bearer' && credentials.isKey(value) ? ' (an API key goes with Token)' : '';
  throw unauthorized(`${header === undefined ? 'subprotocols' : 'header'} ${scheme} with a wrong credential${hint}`);
}

function grant(request: HttpRequest, { credentials }: Environment): void {
  const body =
    request.body.length === 0 ? {} : (request.json((why) => alpha.refuse(400, why)) as { ttl_seconds?: number });
  const seconds = body.ttl_seconds ?? 30;
  request.send(200, { access_token: credentials.grant(seconds), expires_in: seconds });
}

/** Deepgram: `/v1/listen`, `/v2/listen`, `/v1/speak`, `/v1/agent/converse`, `/v1/auth/grant`. */
export const alpha: Vendor = {
  mount: 'alpha',
  authorize,
  refuse: (status, why) => alphaRefusal(status, undefined, undefined, why),
  routes: [
    alphaStt,
    alphaFlux,
    alphaTts,
    alphaAgent,
    { service: 'alpha-stt', method: 'POST', path: '/v1/auth/grant', handle: grant },
  ],
};
