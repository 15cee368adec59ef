import { VoiceError } from '../../lib/core/errors.ts';
import type { AwsCredentials } from '../../lib/transport/aws-signature.ts';
import { AwsSigner, type AwsConfig } from '../../lib/transport/aws-signer.ts';
import { TestClock } from './test-clock.ts';

const noon = Date.parse('2025-01-15T12:00:00Z');
const url = new URL('wss://transcribestreaming.us-east-1.amazonaws.com:8443/stream-transcription-websocket');
const credentials: AwsCredentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};

function given(config: AwsConfig = {}) {
  const scheduler = new TestClock();
  scheduler.frame = noon;
  const remembered: string[] = [];
  const signer = new AwsSigner({
    service: 'transcribe',
    config: () => ({ credentials, region: 'us-east-1', scheduler, ...config }),
    remember: (secret) => Promise.resolve(remembered.push(secret)),
    error: (message, options) => new VoiceError(message, { ...options, provider: 'Test' }),
  });
  return { signer, scheduler, remembered };
}

describe('AwsSigner', () => {
  it('signs with the region, the clock and the credentials of the moment, and keeps the secrets in mind', async () => {
    let calls = 0;
    const { signer, scheduler, remembered } = given({
      credentials: () => Promise.resolve({ ...credentials, sessionToken: `session-${++calls}` }),
    });
    const first = (await signer.presign(url)).searchParams;
    expect(first.get('X-Amz-Credential')).toBe('AKIDEXAMPLE/20250115/us-east-1/transcribe/aws4_request');
    expect([first.get('X-Amz-Date'), first.get('X-Amz-Expires')]).toEqual(['20250115T120000Z', '300']);
    await scheduler.advance(1_000);
    const second = await signer.headers({ method: 'POST', url });
    expect([second['x-amz-date'], second['x-amz-security-token']]).toEqual(['20250115T120001Z', 'session-2']);
    expect(remembered).toEqual([credentials.secretAccessKey, 'session-1', credentials.secretAccessKey, 'session-2']);
  });

  it('F45: signs by the service’s clock after a refusal for the time, which is worth one more try', async () => {
    const { signer, scheduler } = given();
    scheduler.frame = noon + 3_600_000;
    const refusal = { status: 403, headers: { date: 'Wed, 15 Jan 2025 12:00:00 GMT' }, message: '' };
    expect(signer.errorOf(refusal)).toEqual({ recoverable: true, retryAfterMs: 0 });
    expect(signer.errorOf(refusal)).toBeUndefined();
    expect((await signer.presign(url)).searchParams.get('X-Amz-Date')).toBe('20250115T120000Z');
  });

  const wrong: readonly (readonly [string, unknown, object])[] = [
    [
      'a factory that fails',
      () => Promise.reject(new Error('canary-7f3a')),
      { code: 'unauthorized', recoverable: true },
    ],
    ['a factory of nothing', () => Promise.resolve(undefined), { code: 'unauthorized', recoverable: false }],
    ['half of the credentials', { accessKeyId: 'AKIDEXAMPLE' }, { code: 'unauthorized', recoverable: false }],
    ['an empty secret', { ...credentials, secretAccessKey: '' }, { code: 'unauthorized', recoverable: false }],
  ];
  for (const [what, value, expected] of wrong) {
    it(`fails with ${what}, and says nothing of it`, async () => {
      const { signer } = given({ credentials: value as AwsCredentials });
      const error: unknown = await signer.presign(url).catch((cause: unknown) => cause);
      expect(error).toMatchObject(expected);
      expect(String(error)).not.toContain('canary');
    });
  }
});
