import { presignUrl } from '../../../lib/transport/aws-signature.ts';
import { readStreamMessage, writeStreamMessage } from '../../../samples/sandbox/event-stream.ts';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { member } from '../../../samples/sandbox/validate.ts';
import { pieces, speech } from './audio.ts';
import { aNumber, aText, connect, refused } from './client.ts';
import type { Client, Message, RefusedUpgrade } from './client.ts';

const usual = { 'media-encoding': 'pcm', 'sample-rate': '16000', 'language-code': 'en-US' };
const audioHeaders = {
  ...{ ':event-type': 'AudioEvent', ':message-type': 'event', ':content-type': 'application/octet-stream' },
};

/** A message of the service's: its headers, and its JSON. */
function read(data: string | Uint8Array<ArrayBuffer>): unknown {
  const message = typeof data === 'string' ? data : readStreamMessage(data);
  if (typeof message === 'string') return undefined;
  return { headers: message.headers, body: JSON.parse(new TextDecoder().decode(message.payload)) as unknown };
}
/** A frame with bytes in place of the JSON that `writeStreamMessage` makes: its checksums must fit both. */
function audioEvent(bytes: Uint8Array, headers: Readonly<Record<string, string>> = audioHeaders): Uint8Array {
  const frame = Buffer.from(writeStreamMessage(headers, undefined));
  const head = frame.subarray(12, -4);
  const event = Buffer.alloc(16 + head.length + bytes.length);
  event.writeUInt32BE(event.length, 0);
  event.writeUInt32BE(head.length, 4);
  event.writeUInt32BE(crc32(event.subarray(0, 8)), 8);
  event.set(head, 12);
  event.set(bytes, 12 + head.length);
  event.writeUInt32BE(crc32(event.subarray(0, -4)), event.length - 4);
  return event;
}
function crc32(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}
const resultsOf = ({ messages }: Client): Message[] =>
  messages.flatMap(({ body }) => (member(member(body, 'Transcript'), 'Results') as Message[] | undefined) ?? []);
const textOf = ({ Alternatives: alternatives, IsPartial: isPartial }: Message): string =>
  `${isPartial === true ? 'partial' : 'final'}:${String(member((alternatives as unknown[])[0], 'Transcript'))}`;

describe("the sandbox's Transcribe", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox({ limits: { lambdaIdleMs: 1_000 } });
  });
  afterAll(() => sandbox.close());

  interface Signed {
    readonly secret?: string;
    readonly service?: string;
    readonly now?: number;
    readonly seconds?: number;
    readonly path?: string;
  }
  const signed = async (
    query: Readonly<Record<string, string | undefined>> = usual,
    options: Signed = {},
  ): Promise<string> => {
    const { secret = 'sandbox-key', service = 'transcribe', now = Date.now(), seconds = 300 } = options;
    const { path = '/stream-transcription-websocket' } = options;
    const url = new URL(`${sandbox.endpoints.lambda}${path}`);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
    const credentials = { accessKeyId: 'AK', secretAccessKey: secret };
    return (await presignUrl(url, { credentials, region: 'eu-west-1', service, now }, seconds)).href;
  };
  const ready = async (query: Readonly<Record<string, string | undefined>> = usual): Promise<Client> =>
    connect(await signed(query), [], {}, read);
  const say = (client: Client, ...said: Parameters<typeof speech>): void => {
    for (const piece of pieces(speech(...said), 3_200)) client.sendBytes(audioEvent(piece));
  };
  const refusal = async (url: string | Promise<string>): Promise<RefusedUpgrade> => refused(await url);

  it('sends partial results, finals by silence, and the last one when the audio has ended, then closes', async () => {
    const client = await ready();
    say(client, [200, 'Hello world.', 800, 'Bye.', 100]);
    client.sendBytes(audioEvent(new Uint8Array(0)));
    expect((await client.closed).code).toBe(1000);
    expect(resultsOf(client).map(textOf)).toEqual([
      ...['partial:Hello', 'partial:Hello world.', 'final:Hello world.', 'partial:Bye.', 'final:Bye.'],
    ]);
    const ids = resultsOf(client).map(({ ResultId: id }) => id);
    expect([ids[0] === ids[2], ids[2] === ids[3], ids[3] === ids[4]]).toEqual([true, false, true]);
    expect(client.messages[0]?.['headers']).toEqual({
      ...{ ':event-type': 'TranscriptEvent', ':content-type': 'application/json', ':message-type': 'event' },
    });
  });

  it('gives words their times, marks apart, confidence when they are final, speakers and languages when asked', async () => {
    const client = await ready({
      ...{ ...usual, 'language-code': undefined, 'identify-language': 'true', 'language-options': 'fr-FR,en-US' },
      ...{ 'show-speaker-label': 'true', 'enable-partial-results-stabilization': 'true' },
    });
    say(client, [200, 'Oui.', 800]);
    client.sendBytes(audioEvent(new Uint8Array(0)));
    await client.closed;
    const items = resultsOf(client).map(({ Alternatives: [first] = [] }: Message & { Alternatives?: unknown[] }) =>
      member(first, 'Items'),
    );
    const word = { Type: 'pronunciation', Content: 'Oui', StartTime: aNumber, EndTime: aNumber };
    const mark = {
      Type: 'punctuation',
      Content: '.',
      StartTime: aNumber,
      EndTime: aNumber,
      VocabularyFilterMatch: false,
    };
    expect(items).toEqual([
      [{ ...word, VocabularyFilterMatch: false, Stable: false }, mark],
      [{ ...word, VocabularyFilterMatch: false, Stable: true, Confidence: 0.99, Speaker: '0' }, mark],
    ]);
    expect(resultsOf(client)[1]).toMatchObject({ LanguageCode: 'fr-FR', LanguageIdentification: [{ Score: aNumber }] });
  });

  for (const [encoding, rate, sample] of [
    ['g711-ulaw', '8000', 'mulaw'],
    ['g711-alaw', '8000', 'alaw'],
    ['pcm', '44100', 'linear16'],
  ] as const) {
    it(`hears ${encoding} at ${rate} Hz`, async () => {
      const client = await ready({ ...usual, 'media-encoding': encoding, 'sample-rate': rate });
      say(client, ['Heard.', 800], sample, Number(rate));
      client.sendBytes(audioEvent(new Uint8Array(0)));
      await client.closed;
      expect(resultsOf(client).map(textOf)).toContain('final:Heard.');
    });
  }

  const damaged = audioEvent(new Uint8Array(320));
  damaged[100] = 1;
  const frames: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
    ['a text frame', 'audio', /text frame/],
    ['bytes that are no event', new Uint8Array(320), /another length/],
    ['a wrong checksum', damaged, /checksum of a frame/],
    ['another event', audioEvent(new Uint8Array(2), { ...audioHeaders, ':event-type': 'TextEvent' }), /:event-type/],
    ['no content type', audioEvent(new Uint8Array(2), { ...audioHeaders, ':content-type': '' }), /:content-type/],
    ['half a sample', audioEvent(new Uint8Array(3)), /middle of a sample/],
    ['more than a second', audioEvent(new Uint8Array(32_002)), /more than a second/],
  ];
  for (const [what, frame, why] of frames) {
    it(`ends the stream with an exception at ${what}`, async () => {
      const client = await ready();
      if (typeof frame === 'string') client.send(frame);
      else client.sendBytes(frame);
      expect((await client.closed).code).toBe(1000);
      expect(client.messages).toEqual([
        {
          headers: {
            ...{ ':message-type': 'exception', ':exception-type': 'BadRequestException' },
            ':content-type': 'application/json',
          },
          body: { Message: expect.stringMatching(why) as unknown },
        },
      ]);
    });
  }

  it('ends a stream that brings no audio, and hears nothing after the end', async () => {
    const idle = await ready();
    await idle.closed;
    expect(idle.messages[0]?.['body']).toEqual({
      Message: expect.stringMatching(/^Your request timed out/) as unknown,
    });
    const ended = await ready();
    ended.sendBytes(audioEvent(new Uint8Array(0)));
    say(ended, ['Late.', 800]);
    await ended.closed;
    expect(resultsOf(ended)).toEqual([]);
  });

  const queries: readonly (readonly [string, Readonly<Record<string, string | undefined>>])[] = [
    ['no media-encoding', { ...usual, 'media-encoding': undefined }],
    ['no sample-rate', { ...usual, 'sample-rate': undefined }],
    ['4000 Hz', { ...usual, 'sample-rate': '4000' }],
    ['another encoding', { ...usual, 'media-encoding': 'mp3' }],
    ['no language', { ...usual, 'language-code': undefined }],
    ['two ways to the language', { ...usual, 'identify-language': 'true', 'language-options': 'en-US,fr-FR' }],
    ['options without identification', { ...usual, 'language-options': 'en-US,fr-FR' }],
    ['one option', { ...usual, 'language-code': undefined, 'identify-language': 'true', 'language-options': 'en-US' }],
    ['false', { ...usual, 'show-speaker-label': 'false' }],
    ['stability without stabilization', { ...usual, 'partial-results-stability': 'high' }],
    ['channels without their number', { ...usual, 'enable-channel-identification': 'true' }],
    [
      'redaction beside identification',
      { ...usual, 'content-redaction-type': 'PII', 'content-identification-type': 'PII' },
    ],
    ['an unknown parameter', { ...usual, model: 'nova' }],
  ];
  for (const [what, query] of queries) {
    it(`refuses ${what}`, async () => {
      const answer = await refusal(signed(query));
      expect([answer.status, answer.headers['x-amzn-errortype'], JSON.parse(answer.body)]).toEqual([
        ...[400, 'BadRequestException', { Message: aText }],
      ]);
    });
  }

  it('refuses another path, and whatever is not signed right', async () => {
    const anHour = 3_600_000;
    const type = async (url: string | Promise<string>): Promise<unknown> => {
      const { status, headers } = await refusal(url);
      return [status, headers['x-amzn-errortype']];
    };
    expect((await refusal(signed(usual, { path: '/stream' }))).status).toBe(404);
    const bare = `${sandbox.endpoints.lambda}/stream-transcription-websocket?${new URLSearchParams(usual).toString()}`;
    expect(await type(bare)).toEqual([403, 'MissingAuthenticationTokenException']);
    for (const wrong of [{ secret: 'wrong' }, { service: 'transcribestreaming' }]) {
      expect(await type(signed(usual, wrong))).toEqual([403, 'InvalidSignatureException']);
    }
    const changed = (await signed()).replace('en-US', 'fr-FR');
    expect(await type(changed)).toEqual([403, 'InvalidSignatureException']);
    for (const now of [Date.now() - anHour, Date.now() + anHour]) {
      const late = await refusal(signed(usual, { now }));
      expect(late.body).toMatch(now < Date.now() ? /Signature expired/ : /Signature not yet current/);
      expect(late.headers['date']).toBeDefined();
    }
    expect(await type(signed(usual, { seconds: 301 }))).toEqual([400, 'BadRequestException']);
  });

  it('behind the proxy takes no signature', async () => {
    const proxied = `${sandbox.proxies.lambda}/stream-transcription-websocket?`;
    (await connect(proxied + new URLSearchParams(usual).toString())).close();
    const signature = new URL(await signed()).search.slice(1);
    expect((await refusal(proxied + signature)).status).toBe(400);
  });
});
