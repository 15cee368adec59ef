import { createHash } from 'node:crypto';
import { VirtualTimeScheduler } from 'rxjs';
import { verifyPhoneSocketBSignature } from '../../../lib/providers/platform/phone-socket-b-signature.ts';
import { signToken, type SocketClaims } from '../../../samples/sandbox/phone-socket-caller.ts';

const signatureSecret = 'a-signature-secret-of-the-account';
const scheduler = new VirtualTimeScheduler();
scheduler.frame = 1_774_958_400_000;
const iat = scheduler.frame / 1000;
const token = (claims: SocketClaims = {}, header: SocketClaims = {}, secret = signatureSecret): string =>
  `Bearer ${signToken(secret, { iat, ...claims }, header)}`;
const genuine = token({ api_key: 'a1b2c3d4', application_id: 'app-1' });
const hash = (body: string): string => createHash('sha256').update(body).digest('hex');
const body = '{"status":"started","from":"447700900000"}';

describe('verifyPhoneSocketBSignature (F39)', () => {
  for (const [what, options, expected] of [
    ['a token of the platform', {}, true],
    ['the scheme in lower case', { authorization: genuine.replace('Bearer', 'bearer') }, true],
    ['a token of the account and application', { apiKey: 'a1b2c3d4', applicationId: 'app-1' }, true],
    ['a token of five minutes ago', { authorization: token({ iat: iat - 300 }) }, true],
    ['a webhook with its body', { authorization: token({ payload_hash: hash(body) }), body }, true],
    [
      'a webhook with its body in bytes',
      { authorization: token({ payload_hash: hash(body).toUpperCase() }), body: new TextEncoder().encode(body) },
      true,
    ],
    ['a token of another account', { apiKey: 'ffffffff' }, false],
    ['a token for another application', { applicationId: 'app-2' }, false],
    ['a token of another issuer', { authorization: token({ iss: 'Somebody' }) }, false],
    ['a token that is too old: a replay', { authorization: token({ iat: iat - 301 }) }, false],
    ['a token older than a limit of ours', { authorization: token({ iat: iat - 20 }), maxAgeMs: 10_000 }, false],
    ['a token of the future', { authorization: token({ iat: iat + 301 }) }, false],
    ['a token without a time', { authorization: token({ iat: undefined }) }, false],
    ['a token signed with another secret', { authorization: token({}, {}, 'another') }, false],
    ['a token that says it is not signed', { authorization: token({}, { alg: 'none' }) }, false],
    ['a token of another algorithm', { authorization: token({}, { alg: 'HS512' }) }, false],
    ['a token whose claims were changed', { authorization: forged() }, false],
    ['a token without its signature', { authorization: genuine.slice(0, genuine.lastIndexOf('.') + 1) }, false],
    [
      'a webhook whose body was changed',
      { authorization: token({ payload_hash: hash(body) }), body: `${body} ` },
      false,
    ],
    ['a webhook whose token has no hash', { body }, false],
    ['an empty secret', { signatureSecret: '', authorization: token({}, {}, '') }, false],
    ['no header', { authorization: undefined }, false],
    ['an empty header', { authorization: '' }, false],
    ['another scheme', { authorization: 'Basic dXNlcjpwYXNz' }, false],
    ['nonsense', { authorization: 'Bearer a.b.c' }, false],
    ['what is no base64', { authorization: 'Bearer %%.%%.%%' }, false],
  ] as const) {
    it(`${expected ? 'accepts' : 'refuses'} ${what}`, async () => {
      const given = { signatureSecret, authorization: genuine, scheduler, ...options };
      expect(await verifyPhoneSocketBSignature(given)).toBe(expected);
    });
  }

  it('goes by the time of the day', async () => {
    const authorization = `Bearer ${signToken(signatureSecret)}`;
    expect(await verifyPhoneSocketBSignature({ signatureSecret, authorization })).toBe(true);
  });
});

function forged(): string {
  const [header, , signature] = genuine.split('.');
  const claims = Buffer.from(JSON.stringify({ iss: 'Vonage', iat, api_key: 'ffffffff' })).toString('base64url');
  return [header, claims, signature].join('.');
}
