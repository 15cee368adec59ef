import { createHmac } from 'node:crypto';
import { verifyPhoneStreamASignature } from '../../../lib/providers/platform/phone-stream-a-signature.ts';

const authToken = '0123456789abcdef0123456789abcdef';
const url = 'wss://voice.example.com/phone';
const signed = 'rJsCV32Z3/hPCDXvZa3cviQqTJA=';
const signedWithSlash = 'nFb2FQ0fxjStwYvIs2y+wnUMIKg=';
const sign = (text: string): string => createHmac('sha1', authToken).update(text).digest('base64');

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
