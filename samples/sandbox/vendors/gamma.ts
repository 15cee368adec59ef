import type { Call, HttpRequest } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import type { Vendor } from '../vendor.ts';
import { gammaAgent, gammaSignedUrl } from './gamma-agent.ts';
import { gammaDialogue } from './gamma-dialogue.ts';
import { gammaRefusal } from './gamma-refusal.ts';
import { gammaStt, grantScribe } from './gamma-stt.ts';
import { gammaTts } from './gamma-tts.ts';

const tokenPrefix = 'sutkn_';

/** The key goes in a header, a single-use token in the query. */
function authorize({ headers, query }: Call, credentials: Credentials): void {
  const key = headers['xi-api-key'];
  const token = query.get('single_use_token');
  if (key !== undefined && token !== null) throw gammaRefusal(401, 'a key and a single-use token at once');
  if (credentials.isKey(key)) return;
  if (token?.startsWith(tokenPrefix) && credentials.isToken(token.slice(tokenPrefix.length))) return;
  throw gammaRefusal(401, 'neither xi-api-key nor single_use_token with a credential that is known');
}

function grant(request: HttpRequest, { credentials }: Environment): void {
  if (!credentials.isKey(request.headers['xi-api-key'])) throw gammaRefusal(401, 'a token is asked for without a key');
  request.send(200, { token: tokenPrefix + credentials.grant(900) });
}

/** ElevenLabs: `https://api.elevenlabs.io/v1/…`. */
export const gamma: Vendor = {
  mount: 'gamma',
  refuse: gammaRefusal,
  authorize,
  routes: [
    gammaStt,
    gammaTts,
    gammaDialogue,
    gammaAgent,
    gammaSignedUrl,
    { service: 'gamma-stt', method: 'POST', path: '/v1/single-use-token/realtime_scribe', handle: grantScribe },
    { service: 'gamma-tts', method: 'POST', path: '/v1/single-use-token/tts_websocket', handle: grant },
  ],
};
