import type { Call, HttpRequest } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';
import { piTts } from './pi-tts.ts';

const titles: Readonly<Record<number, readonly [code: string, title: string]>> = {
  400: ['invalid_request', 'Invalid request'],
  401: ['unauthorized', 'Unauthorized'],
  402: ['quota_exceeded', 'Credit limit reached'],
  404: ['not_found', 'Not found'],
  429: ['concurrency_limited', 'Too many concurrent requests'],
};

function refuse(status: number, why: string): Refusal {
  const [error_code, title] = titles[status] ?? ['internal_error', 'Internal server error'];
  return new Refusal(status, { error_code, title, message: why, request_id: crypto.randomUUID() }, why);
}

/** A key goes in `X-API-Key` or as a bearer, a token as a bearer or in the query. */
function authorize({ headers, query }: Call, credentials: Credentials): void {
  const bearer = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1];
  const given = [
    headers['x-api-key'],
    bearer,
    query.get('access_token') ?? undefined,
    query.get('api_key') ?? undefined,
  ];
  if (given.filter((each) => each !== undefined).length > 1) throw refuse(401, 'more than one credential');
  if ([headers['x-api-key'], bearer, query.get('api_key') ?? undefined].some((key) => credentials.isKey(key))) return;
  if ([bearer, query.get('access_token') ?? undefined].some((token) => credentials.isToken(token))) return;
  throw refuse(401, 'no credential that is known');
}

function grant(request: HttpRequest, { credentials }: Environment): void {
  const { expires_in: seconds = 60 } = request.json((why) => refuse(400, why)) as { expires_in?: number };
  if (seconds > 3600) throw refuse(400, 'expires_in is at most 3600');
  request.send(200, { token: credentials.grant(seconds) });
}

/** Cartesia: `https://api.cartesia.ai`. */
export const pi: Vendor = {
  ...{ mount: 'pi', refuse, authorize },
  routes: [piTts(refuse), { service: 'pi-tts', method: 'POST', path: '/access-token', handle: grant }],
};
