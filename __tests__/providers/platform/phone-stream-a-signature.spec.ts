import { createHmac } from 'node:crypto';
import { verifyPhoneStreamASignature } from '../../../lib/providers/platform/phone-stream-a-signature.ts';

const authToken = '0123456789abcdef0123456789abcdef';
const url = 'wss://voice.example.com/phone';
const signed = 'rJsCV32Z3/hPCDXvZa3cviQqTJA=';
const signedWithSlash = 'nFb2FQ0fxjStwYvIs2y+wnUMIKg=';
const sign = (text: string): string => createHmac('sha1', authToken).update(text).digest('base64');

/** Signed with a key of the webhooks' settings. */
const sharedKey = 'a-shared-key';
const settings = 'key=SK0123,algorithm=HMAC_SHA256';
const share = (text: string, hash = 'sha256'): string => createHmac(hash, sharedKey).update(text).digest('base64');

describe('verifyPhoneStreamASignature (F39)', () => {
  for (const [what, options, expected] of [
    ['the address as it is', { url, signature: signed }, true],
    ['the address with a trailing slash', { url, signature: signedWithSlash }, true],
    ['the address without the trailing slash that ours has', { url: `${url}/`, signature: signed }, true],
    ['the address with its port', { url, signature: sign('wss://voice.example.com:443/phone') }, true],
    [
      'an address with a port of its own',
      { url: 'wss://a.example:8443/p', signature: sign('wss://a.example:8443/p') },
      true,
    ],
    [
      'an address without the port of its own',
      { url: 'wss://a.example:8443/p', signature: sign('wss://a.example/p') },
      true,
    ],
    [
      'a webhook with a name and a password, and its port',
      { url: 'https://u:p@a.example/voice', signature: sign('https://u:p@a.example:443/voice') },
      true,
    ],
    [
      'a query whose quote is signed as it is',
      { url: 'https://a.example/voice?x=a%27b', signature: sign("https://a.example/voice?x=a'b") },
      true,
    ],
    [
      'a query whose quote is signed encoded',
      { url: "https://a.example/voice?x=a'b", signature: sign('https://a.example/voice?x=a%27b') },
      true,
    ],
    [
      'a webhook with a field of several values, each once, in their order',
      {
        url: 'https://a.example/voice',
        params: { Digits: ['2', '1', '2'], From: '+1' },
        signature: sign('https://a.example/voiceDigits1Digits2From+1'),
      },
      true,
    ],
    ['what a shared key signed', { url, sharedKey, settings, signature: share(url) }, true],
    [
      'what a shared key signed with the older hash',
      { url, sharedKey, settings: 'key=SK0123, algorithm=HMAC_SHA1', signature: share(url, 'sha1') },
      true,
    ],
    ['what another shared key signed', { url, sharedKey: 'another', settings, signature: share(url) }, false],
    ['what a shared key signed, without the key', { url, settings, signature: share(url) }, false],
    ['what the token signed as if a shared key had', { url, sharedKey, settings, signature: signed }, false],
    [
      'a hash that is unknown',
      { url, sharedKey, settings: 'key=SK0123,algorithm=HMAC_SHA25', signature: share(url) },
      false,
    ],
    ['a host alone', { url: 'wss://a.example', signature: sign('wss://a.example/') }, true],
    [
      'an address with a query, which is signed with it',
      { url: 'https://a.example/voice?x=1&y=%20', signature: sign('https://a.example/voice?x=1&y=%20') },
      true,
    ],
    [
      'an address with a query, a port and a trailing slash that ours has not',
      { url: 'https://a.example/voice?x=1', signature: sign('https://a.example:443/voice/?x=1') },
      true,
    ],
    ['another query', { url: 'https://a.example/voice?x=1', signature: sign('https://a.example/voice?x=2') }, false],
    ['another scheme', { url: 'https://voice.example.com/phone', signature: signed }, false],
    ['another port', { url: 'wss://a.example:8443/p', signature: sign('wss://a.example:8444/p') }, false],
    ['another address', { url: 'wss://voice.example.com/other', signature: signed }, false],
    ['another host', { url: 'wss://evil.example.com/phone', signature: signed }, false],
    ['another token', { url, signature: signed, authToken: 'f'.repeat(32) }, false],
    ['an empty token', { url, signature: signed, authToken: '' }, false],
    ['no signature', { url, signature: undefined }, false],
    ['an empty signature', { url, signature: '' }, false],
    ['half a signature', { url, signature: signed.slice(0, 14) }, false],
    ['a signature that is no base64', { url, signature: '%%%' }, false],
    ['an address that is none', { url: 'phone', signature: signed }, false],
    [
      'a webhook with its form, in any order',
      {
        url: 'https://a.example/voice',
        params: { To: '+2', From: '+1', CallSid: 'CA' },
        signature: sign('https://a.example/voiceCallSidCAFrom+1To+2'),
      },
      true,
    ],
    [
      'a webhook whose form was changed',
      {
        url: 'https://a.example/voice',
        params: { To: '+3', From: '+1', CallSid: 'CA' },
        signature: sign('https://a.example/voiceCallSidCAFrom+1To+2'),
      },
      false,
    ],
  ] as const) {
    it(`${expected ? 'accepts' : 'refuses'} ${what}`, async () => {
      expect(await verifyPhoneStreamASignature({ authToken, ...options })).toBe(expected);
    });
  }
});
