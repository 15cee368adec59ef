import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import type { SampleEncoding } from '../../../samples/sandbox/pcm.ts';
import { pieces, speech } from './audio.ts';
import { aNumber, connect, refused } from './client.ts';
import type { Client, Message } from './client.ts';

const key = { 'ocp-apim-subscription-key': 'sandbox-key' };
const id = (digit: string): string => digit.repeat(32);
const crlf = '\r\n';
const now = '2026-01-20T20:12:37.367Z';

/** A message of the service's, parsed: headers, a blank line, a body. */
function read(data: string | Uint8Array): unknown {
  if (typeof data !== 'string') return undefined;
  const end = data.indexOf(crlf + crlf);
  const header = (name: string): string =>
    new RegExp(`^${name}:(.*)$`, 'm').exec(data.slice(0, end))?.[1]?.trim() ?? '';
  return { path: header('Path'), requestId: header('X-RequestId'), body: JSON.parse(data.slice(end + 4)) as unknown };
}
const head = (lines: readonly string[]): string => lines.map((line) => line + crlf).join('');
const jsonType = ['Content-Type: application/json'];
const text = (path: string, body: unknown, turn = id('A'), at = now, more = jsonType): string =>
  `${head([`Path: ${path}`, `X-RequestId: ${turn}`, `X-Timestamp: ${at}`, ...more])}${crlf}${JSON.stringify(body)}`;
function binary(payload: Uint8Array, turn = id('A'), more: readonly string[] = [], end = ''): Uint8Array {
  const lines = Buffer.from(head(['Path: audio', `X-RequestId: ${turn}`, `X-Timestamp: ${now}`, ...more]) + end);
  return Buffer.concat([Uint8Array.of(lines.length >> 8, lines.length & 255), lines, payload]);
}
const wav = ['Content-Type: audio/x-wav'];
function riff(tag = 1, sampleRate = 16_000): Uint8Array {
  const bits = tag === 1 ? 16 : 8;
  const header = Buffer.from(
    '524946460000000057415645666d74201000000001000100803e0000007d0000020010006461746100000000',
    'hex',
  );
  header.writeUInt16LE(tag, 20);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE((sampleRate * bits) / 8, 28);
  header.writeUInt16LE(bits / 8, 32);
  header.writeUInt16LE(bits, 34);
  return header;
}
const system = { name: 'SpeechSDK', version: '1.52.0', build: 'JavaScript', lang: 'JavaScript' };
const config = text('speech.config', { context: { system } });
const context = (turn?: string, body: unknown = {}): string => text('speech.context', body, turn);
const told = ({ messages }: Client): string[] =>
  messages.map(({ path, body }) => {
    const { Text, DisplayText, RecognitionStatus } = body as Readonly<Record<string, string>>;
    return [path, DisplayText ?? Text ?? RecognitionStatus ?? []].flat().join(':');
  });

describe("the sandbox's speech to text of Azure", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const connectionId = `X-ConnectionId=${id('B')}`;
  const at = (
    mode = 'conversation',
    query = `language=en-US&${connectionId}`,
    base = sandbox.endpoints.kappa,
  ): string => `${base}/speech/recognition/${mode}/cognitiveservices/v1?${query}`;
  const open = (url = at(), headers: Record<string, string> = key): Promise<Client> => connect(url, [], headers, read);
  const until = (client: Client, path: string): Promise<Message> => client.until((message) => message['path'] === path);
  function begin(client: Client, turn = id('A'), header = riff()): void {
    if (turn === id('A')) client.send(config);
    client.send(context(turn));
    client.sendBytes(binary(header, turn, wav));
  }
  function say(
    client: Client,
    parts: (string | number)[],
    turn = id('A'),
    encoding?: SampleEncoding,
    rate?: number,
  ): void {
    for (const piece of pieces(speech(parts, encoding, rate), 3_200)) client.sendBytes(binary(piece, turn));
  }

  it('tells a voice, hypotheses and phrases, and ends the turn when the audio has ended', async () => {
    const client = await open();
    begin(client);
    say(client, [200, 'Hello world.', 700, 'Bye.', 300]);
    client.sendBytes(binary(new Uint8Array(0)));
    await until(client, 'turn.end');
    expect(told(client)).toEqual([
      ...['turn.start', 'speech.startDetected', 'speech.hypothesis:hello', 'speech.hypothesis:hello world'],
      ...['speech.phrase:Hello world.', 'speech.hypothesis:bye', 'speech.phrase:Bye.', 'speech.endDetected'],
      ...['speech.phrase:EndOfDictation', 'turn.end'],
    ]);
    expect(client.messages.every(({ requestId }) => requestId === id('A'))).toBe(true);
    expect(client.messages[1]?.['body']).toEqual({ Offset: aNumber });
    client.close();
  });

  it('begins another turn on the same connection, with times from 0', async () => {
    const client = await open(at('interactive'));
    begin(client);
    say(client, [200, 'One.', 700]);
    await until(client, 'turn.end');
    begin(client, id('C'));
    say(client, [100, 'Two.', 700], id('C'));
    const { body } = await client.until((message) => JSON.stringify(message['body']).includes('Two.'));
    expect(body).toMatchObject({ RecognitionStatus: 'Success', DisplayText: 'Two.', Offset: aNumber });
    expect((body as { Offset: number }).Offset).toBeLessThan(2_000_000);
    client.close();
  });

  it('calls hypotheses fragments in dictation, and is detailed where it is asked to be', async () => {
    const client = await open(
      at('dictation', `language=en-US&format=detailed&wordLevelTimestamps=true&${connectionId}`),
    );
    begin(client);
    say(client, [200, 'Hi.', 700]);
    const phrase = await until(client, 'speech.phrase');
    expect(told(client)).toContain('speech.fragment:hi');
    expect(phrase['body']).toEqual({
      ...{ RecognitionStatus: 'Success', Offset: aNumber, Duration: aNumber },
      NBest: [
        {
          ...{ Confidence: 0.99, Lexical: 'hi', ITN: 'hi', MaskedITN: 'hi', Display: 'Hi.' },
          Words: [{ Word: 'hi', Offset: aNumber, Duration: aNumber }],
        },
      ],
    });
    client.close();
  });

  for (const [tag, encoding, rate] of [
    [6, 'alaw', 8_000],
    [7, 'mulaw', 8_000],
    [1, 'linear16', 44_100],
  ] as const) {
    it(`hears ${encoding} at ${rate} Hz by the header that it begins with`, async () => {
      const client = await open();
      begin(client, id('A'), riff(tag, rate));
      say(client, [200, 'Heard.', 700], id('A'), encoding, rate);
      await until(client, 'speech.phrase');
      expect(told(client)).toContain('speech.phrase:Heard.');
      client.close();
    });
  }

  const dashed = '37CA0326-A7F8-4285-2869-0A4C4BF99C50';
  const violations: readonly (readonly [string, readonly (string | Uint8Array)[], number, RegExp])[] = [
    ['a message without Path', [`X-RequestId: ${id('A')}${crlf}${crlf}{}`], 1002, /without Path/],
    ['a text without a body', ['Path: speech.config'], 1002, /without a body/],
    ['a text without Content-Type', [text('speech.config', {}, id('A'), now, [])], 1002, /Content-Type/],
    ['an id with dashes', [text('speech.config', { context: { system } }, dashed)], 1002, /X-RequestId/],
    ['a timestamp that is none', [text('speech.config', { context: { system } }, id('A'), 'now')], 1002, /X-Timestamp/],
    ['an unknown path', [config, text('speech.event', {})], 1002, /unknown path/],
    ['a second speech.config', [config, config], 1002, /comes once/],
    ['speech.context before speech.config', [context()], 1002, /before speech.config/],
    ['speech.context in the middle of a turn', [config, context(), context(id('C'))], 1002, /middle of a turn/],
    ['an unknown member', [config, context(id('A'), { phraseDetection: { speed: 1 } })], 1002, /speed/],
    ['a configuration without a system', [text('speech.config', { context: { system: 1 } })], 1002, /system/],
    ['a binary message shorter than its headers', [config, context(), Uint8Array.of(9, 9, 65)], 1002, /shorter/],
    ['a blank line after headers', [config, context(), binary(riff(), id('A'), wav, crlf)], 1002, /one line end/],
    ['audio of an unknown turn', [config, context(), binary(riff(), id('C'), wav)], 1007, /unknown turn/],
    ['audio as text', [config, context(), text('audio', {})], 1007, /binary message/],
    ['audio without its RIFF header', [config, context(), binary(new Uint8Array(320), id('A'), wav)], 1007, /RIFF/],
    ['a RIFF header without Content-Type', [config, context(), binary(riff())], 1007, /Content-Type/],
    ['a format that it does not take', [config, context(), binary(riff(3), id('A'), wav)], 1007, /not taken/],
    [
      'Content-Type on later audio',
      [config, context(), binary(riff(), id('A'), wav), binary(riff(), id('A'), wav)],
      ...([1007, /first message/] as const),
    ],
  ];
  for (const [what, messages, code, why] of violations) {
    it(`closes with ${code} at ${what}`, async () => {
      const client = await open();
      for (const message of messages) {
        if (typeof message === 'string') client.send(message);
        else client.sendBytes(message);
      }
      expect(await client.closed).toEqual({ code, reason: expect.stringMatching(why) as unknown });
    });
  }

  it('closes with 4429 once too many are transcribed, and takes another when one has left', async () => {
    await using busy = await startSandbox({ limits: { kappaSttConcurrency: 1 } });
    const url = at(undefined, undefined, busy.endpoints.kappa);
    const [first, second] = [await open(url), await open(url)];
    begin(first);
    await until(first, 'turn.start');
    begin(second);
    expect(await second.closed).toEqual({ code: 4429, reason: expect.stringMatching(/concurrent/) as unknown });
    first.close();
    await first.closed;
    const third = await open(url);
    begin(third);
    await until(third, 'turn.start');
    third.close();
  });

  it('closes at the id of a turn that is over', async () => {
    const client = await open(at('interactive'));
    begin(client);
    say(client, [200, 'One.', 700]);
    await until(client, 'turn.end');
    client.send(context());
    expect((await client.closed).code).toBe(1002);
  });

  it('refuses another path, wrong parameters, and who brings no language or no id', async () => {
    const status = async (url: string, headers: Record<string, string> = key): Promise<number> =>
      (await refused(url, headers)).status;
    expect(await status(at('chat'))).toBe(404);
    expect(await status(at('conversation', `language=english%20please&${connectionId}`))).toBe(400);
    expect(await status(at('conversation', `language=en-US&format=full&${connectionId}`))).toBe(400);
    expect(await status(at('conversation', `language=en-US&rate=16000&${connectionId}`))).toBe(400);
    expect(await status(at('conversation', 'language=en-US'))).toBe(400);
    expect(await status(at('conversation', `language=en-US&X-ConnectionId=${dashed}`))).toBe(400);
    expect(await status(at('conversation', connectionId))).toBe(400);
    expect(await status(at('conversation', `cid=custom&${connectionId}`))).toBe(101);
    expect(await status(at(), { ...key, 'sec-websocket-protocol': 'usp' })).toBe(400);
  });

  it('takes a key or a token of its own, as header or in the query, and none behind the proxy', async () => {
    const status = async (headers: Record<string, string>, query = ''): Promise<number> =>
      (await refused(at('conversation', `language=en-US&${connectionId}${query}`), headers)).status;
    const issue = (subscription: string): Promise<Response> =>
      fetch(`${sandbox.endpoints.kappa}/sts/v1.0/issueToken`, {
        ...{ method: 'POST', headers: { 'Ocp-Apim-Subscription-Key': subscription } },
      });
    const answer = await issue('sandbox-key');
    const token = await answer.text();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/jwt']);
    expect((await issue('wrong')).status).toBe(401);
    expect(await status(key)).toBe(101);
    expect(await status({ authorization: `Bearer ${token}` })).toBe(101);
    expect(await status({}, '&Ocp-Apim-Subscription-Key=sandbox-key')).toBe(101);
    expect(await status({}, `&Authorization=Bearer%20${token}`)).toBe(101);
    expect(await status({})).toBe(401);
    expect(await status({ 'ocp-apim-subscription-key': 'wrong' })).toBe(401);
    expect(await status({ authorization: 'Bearer sandbox-key' })).toBe(401);
    expect(await status({ 'x-api-key': 'sandbox-key' })).toBe(401);
    const proxied = at(undefined, undefined, sandbox.proxies.kappa);
    expect((await refused(proxied, key)).status).toBe(400);
    (await open(proxied, {})).close();
  });
});
