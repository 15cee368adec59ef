/** AWS's own signer and event-stream codec, with which ours agree byte for byte, whatever is asked. */
import { Sha256 } from '@aws-crypto/sha256-js';
import { EventStreamCodec } from '@smithy/eventstream-codec';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { presignUrl, signRequest, type AwsSigning } from '../../lib/transport/aws-signature.ts';
import { crc32, decodeEventStream, encodeEventStream } from '../../lib/transport/aws-event-stream.ts';

const utf8 = new TextEncoder();
const text = new TextDecoder();
const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === 'string' ? bytes : text.decode(bytes as Uint8Array)),
  (value) => utf8.encode(value),
);

const word = fc.stringMatching(/^[A-Za-z][\w-]{0,12}$/);
/** Any text that can be encoded: no half of a surrogate pair. */
const anyText = fc.string({ unit: 'grapheme', maxLength: 24 });

const signing = fc.record({
  credentials: fc.record({
    accessKeyId: fc.stringMatching(/^[A-Z\d]{16,20}$/),
    secretAccessKey: fc.stringMatching(/^[\w+/]{40}$/),
    sessionToken: fc.option(fc.stringMatching(/^[\w+/=]{10,60}$/), { nil: undefined }),
  }),
  region: fc.constantFrom('us-east-1', 'eu-west-1', 'cn-north-1'),
  service: fc.constantFrom('transcribe', 'polly'),
  now: fc.integer({ min: 0, max: 4_102_444_800 }).map((seconds) => seconds * 1000),
});
const query = fc.dictionary(word, anyText, { maxKeys: 6, noNullPrototype: true });
const path = fc.array(word, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join('/')}`);
const port = fc.constantFrom('', ':8443');

const signerOf = ({ credentials: { sessionToken, ...credentials }, region, service }: AwsSigning): SignatureV4 =>
  new SignatureV4({
    ...{ region, service, sha256: Sha256, applyChecksum: false },
    credentials: { ...credentials, ...(sessionToken !== undefined && { sessionToken }) },
  });

describe('the official signer', () => {
  it('signs the same addresses', async () => {
    await fc.assert(
      fc.asyncProperty(signing, query, path, port, async (given, asked, pathname, suffix) => {
        const host = `service.example${suffix}`;
        const [hostname = '', at] = host.split(':');
        const request = { method: 'GET', protocol: 'wss:', hostname, path: pathname, headers: { host }, query: asked };
        const theirs = await signerOf(given).presign(
          { ...request, ...(at !== undefined && { port: Number(at) }) },
          { expiresIn: 300, signingDate: new Date(given.now) },
        );
        const url = new URL(`wss://${host}${pathname}`);
        for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
        const ours = await presignUrl(url, given, 300);
        expect(Object.fromEntries(ours.searchParams)).toEqual(theirs.query);
      }),
    );
  });

  it('signs the same requests', async () => {
    const headers = fc.dictionary(
      word.map((name) => `x-test-${name.toLowerCase()}`),
      fc.stringMatching(/^[!-~]( ?[!-~]){0,9}$/),
      {
        maxKeys: 3,
        noNullPrototype: true,
      },
    );
    await fc.assert(
      fc.asyncProperty(signing, query, path, headers, anyText, async (given, asked, pathname, sent, body) => {
        const request = { method: 'POST', protocol: 'https:', hostname: 'service.example', path: pathname };
        const theirs = await signerOf(given).sign(
          { ...request, query: asked, headers: { host: 'service.example', ...sent }, body },
          { signingDate: new Date(given.now) },
        );
        const url = new URL(`https://service.example${pathname}`);
        for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
        const ours = await signRequest({ method: 'POST', url, headers: sent, body }, given);
        expect({ host: 'service.example', ...ours }).toEqual(theirs.headers);
      }),
    );
  });
});

describe('the official codec of event streams', () => {
  const bytes = fc.uint8Array({ maxLength: 64 }).map((data) => new Uint8Array(data));
  const value = fc.oneof(
    fc.boolean().map((each) => ({ type: 'boolean' as const, value: each })),
    fc.integer({ min: -128, max: 127 }).map((each) => ({ type: 'byte' as const, value: each })),
    fc.integer({ min: -32_768, max: 32_767 }).map((each) => ({ type: 'short' as const, value: each })),
    fc.integer().map((each) => ({ type: 'integer' as const, value: each })),
    bytes.map((each) => ({ type: 'binary' as const, value: each })),
    anyText.map((each) => ({ type: 'string' as const, value: each })),
    fc.uuid().map((each) => ({ type: 'uuid' as const, value: each })),
  );
  const headers = fc.dictionary(word, value, { maxKeys: 6, noNullPrototype: true });

  it('writes the same frames, and each reads what the other wrote', () => {
    fc.assert(
      fc.property(headers, bytes, (given, payload) => {
        const theirs = codec.encode({ headers: given, body: payload });
        const ours = encodeEventStream({ headers: new Map(Object.entries(given)), payload });
        expect(Buffer.compare(ours, theirs)).toBe(0);
        const read = decodeEventStream(new Uint8Array(theirs));
        expect(Object.fromEntries(read.headers)).toEqual(given);
        expect(Buffer.compare(read.payload, payload)).toBe(0);
        expect(codec.decode(ours).headers).toEqual(given);
      }),
    );
  });

  it('writes the same 64-bit headers', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), (ms) => {
        const theirs = codec.encode({
          headers: { at: { type: 'timestamp', value: new Date(ms) } },
          body: new Uint8Array(0),
        });
        const headers = new Map([['at', { type: 'timestamp' as const, value: BigInt(ms) }]]);
        expect(Buffer.compare(encodeEventStream({ headers, payload: new Uint8Array(0) }), theirs)).toBe(0);
      }),
    );
  });

  it('refuses the same damaged frames', () => {
    const accepts = (decode: () => unknown): boolean => {
      try {
        decode();
        return true;
      } catch {
        return false;
      }
    };
    const damage = fc.record({ at: fc.nat(200), to: fc.integer({ min: 0, max: 255 }), mends: fc.boolean() });
    fc.assert(
      fc.property(headers, bytes, damage, (given, payload, { at, to, mends }) => {
        const frame = encodeEventStream({ headers: new Map(Object.entries(given)), payload });
        frame[at % frame.length] = to;
        if (mends) {
          // With its checksums right again, what is inside is all that can be refused.
          const view = new DataView(frame.buffer);
          view.setUint32(8, crc32(frame.subarray(0, 8)));
          view.setUint32(frame.length - 4, crc32(frame.subarray(0, frame.length - 4)));
        }
        const ours = accepts(() => decodeEventStream(frame.slice()));
        const theirs = accepts(() => codec.decode(frame.slice()));
        // Theirs takes text that is no UTF-8 and headers that end in the middle; ours takes nothing that theirs refuses.
        expect(ours && !theirs).toBe(false);
        if (!mends) expect(ours).toBe(theirs);
      }),
    );
  });
});
