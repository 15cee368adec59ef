import { readFileSync } from 'node:fs';
import { presignUrl, signRequest, type AwsSigning } from '../../lib/transport/aws-signature.ts';
import { ServerClock } from '../../lib/transport/aws-signer.ts';
import { TestClock } from './test-clock.ts';

interface Vector {
  readonly name: string;
  readonly kind: 'presign' | 'header';
  readonly input: {
    readonly method: string;
    readonly scheme?: string;
    readonly host: string;
    readonly path: string;
    readonly query: Readonly<Record<string, string>>;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly service: string;
    readonly region: string;
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken: string | null;
    readonly amzDate: string;
    readonly expiresIn?: number;
    readonly addContentSha256Header?: boolean;
    readonly signedHeaders: readonly string[];
  };
  readonly expected: {
    readonly url?: string;
    readonly authorization?: string;
    readonly requestHeaders?: Readonly<Record<string, string>>;
  };
}
const file = new URL('./vectors/sigv4.json', import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, 'utf8')) as { readonly vectors: readonly Vector[] };

/** Milliseconds of `20250115T120000Z`. */
const msOf = (date: string): number =>
  Date.parse(date.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, '$1-$2-$3T$4:$5:$6Z'));

function given({ input }: Vector): { url: URL; signing: AwsSigning } {
  const { region, service, accessKeyId, secretAccessKey, sessionToken, amzDate } = input;
  const url = new URL(`${input.scheme ?? 'https'}://${input.host}${input.path}`);
  for (const [name, value] of Object.entries(input.query)) url.searchParams.set(name, value);
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== null && { sessionToken }) };
  return { url, signing: { credentials, region, service, now: msOf(amzDate) } };
}

describe('AWS Signature, Version 4', () => {
  for (const vector of vectors) {
    const { input, expected } = vector;
    if (vector.kind === 'presign') {
      it(`signs an address: ${vector.name}`, async () => {
        const { url, signing } = given(vector);
        const before = url.href;
        const presigned = await presignUrl(url, signing, input.expiresIn ?? 0);
        expect(presigned.href).toBe(expected.url);
        expect(url.href).toBe(before);
      });
      continue;
    }
    it(`signs a request: ${vector.name}`, async () => {
      const { url, signing } = given(vector);
      const headers = Object.fromEntries(
        Object.entries(input.headers ?? {}).filter(([name]) => name !== 'host' && input.signedHeaders.includes(name)),
      );
      const request = { method: input.method, url, headers, sendsHash: input.addContentSha256Header ?? false };
      const signed = await signRequest({ ...request, body: input.body }, signing);
      expect(signed['authorization']).toBe(expected.authorization);
      expect({ ...input.headers, ...signed, host: undefined }).toEqual({ ...expected.requestHeaders, host: undefined });
      // The bytes are what counts, whoever encodes them.
      const bytes = new TextEncoder().encode(input.body);
      expect(await signRequest({ ...request, body: bytes }, signing)).toEqual(signed);
    });
  }

  it('has every vector', () => {
    expect(vectors.map(({ kind }) => kind).sort()).toEqual([
      ...['header', 'header', 'header', 'presign', 'presign', 'presign', 'presign'],
    ]);
  });

  it('names headers in lower case, and takes their values without the blanks around and between', async () => {
    const [vector] = vectors.filter(({ kind }) => kind === 'header');
    if (!vector) throw new Error('no vector');
    const { url, signing } = given(vector);
    const sign = (headers: Record<string, string>): Promise<Record<string, string>> =>
      signRequest({ method: 'POST', url, headers }, signing);
    const [plain, blank] = await Promise.all([sign({ 'x-a': 'b c' }), sign({ 'X-A': '  b   c ' })]);
    expect(blank['authorization']).toBe(plain['authorization']);
    expect(Object.keys(blank)).toContain('x-a');
  });
});

describe('F45: the clock that signatures are made with', () => {
  const noon = Date.parse('2025-01-15T12:00:00Z');
  const at = (ms: number) => {
    const scheduler = new TestClock();
    scheduler.frame = ms;
    return { scheduler, clock: new ServerClock(() => scheduler) };
  };
  const refusal = (date: string, message = '', status: number | undefined = 403) => ({
    ...{ status, message, headers: date ? { date } : {} },
  });

  it('is the machine’s', async () => {
    const { clock, scheduler } = at(noon);
    expect(clock.now).toBe(noon);
    await scheduler.advance(5);
    expect(clock.now).toBe(noon + 5);
  });

  it('is corrected once by the Date of a rejection', async () => {
    const { clock, scheduler } = at(noon + 3_600_000);
    const refused = refusal('Wed, 15 Jan 2025 12:00:00 GMT');
    expect([clock.correct(refused), clock.now]).toEqual([true, noon]);
    expect([clock.correct(refused), clock.now]).toEqual([false, noon]);
    await scheduler.advance(1_000);
    expect(clock.now).toBe(noon + 1_000);
  });

  it('is set right again when the machine’s clock jumps', () => {
    const { clock, scheduler } = at(noon + 3_600_000);
    clock.correct(refusal('Wed, 15 Jan 2025 12:00:00 GMT'));
    scheduler.frame = noon + 1_000;
    expect(clock.correct(refusal('Wed, 15 Jan 2025 12:00:01 GMT'))).toBe(true);
    expect(clock.now).toBe(noon + 1_000);
  });

  it('is corrected by the message of a rejection without a Date', () => {
    const { clock } = at(noon - 3_600_000);
    const expired =
      'Signature expired: 20250115T110000Z is now earlier than 20250115T115500Z (20250115T120000Z - 5 min.)';
    expect([clock.correct(refusal('', expired, undefined)), clock.now]).toEqual([true, noon]);
  });

  const others: readonly (readonly [string, ReturnType<typeof refusal>])[] = [
    ['a clock that is right enough', refusal('Wed, 15 Jan 2025 12:03:59 GMT')],
    ['no Date', refusal('')],
    ['a Date that is none', refusal('yesterday')],
    ['a refusal of something else', refusal('Wed, 15 Jan 2025 10:00:00 GMT', '', 429)],
  ];
  for (const [what, refused] of others) {
    it(`stays as it is with ${what}`, () => {
      const { clock } = at(noon);
      expect([clock.correct(refused), clock.now]).toEqual([false, noon]);
    });
  }
});
