import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { concatBytes, readSamples } from '../../../samples/sandbox/pcm.ts';
import { aText, connect, refused, type Client, type Message } from './client.ts';

const path = '/v1/text-to-speech/21m00Tcm4TlvDq8ikWAM/multi-stream-input';
const usual = 'model_id=eleven_turbo_v2_5&output_format=pcm_16000&sync_alignment=true';
const key = { 'xi-api-key': 'sandbox-key' };
const isFinal = ({ isFinal: over }: Message): boolean => over === true;

describe("the sandbox's multi-stream-input", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const talk = (query = usual): Promise<Client> => connect(`${sandbox.endpoints.gamma}${path}?${query}`, [], key);
  const heard = (client: Client, context: string): string => {
    const audio = client.messages.flatMap(({ contextId, audio: piece }) =>
      contextId === context && typeof piece === 'string' ? [new Uint8Array(Buffer.from(piece, 'base64'))] : [],
    );
    return decodeSamples(readSamples(concatBytes(audio), 'linear16'), 16000).text;
  };

  it('speaks what was flushed, tells its characters, and ends the context', async () => {
    const client = await talk();
    client.send({ text: ' ', context_id: 'a', voice_settings: { stability: 0.5, similarity_boost: 0.75 } });
    client.send({ text: 'Hi there. ', context_id: 'a' });
    client.send({ context_id: 'a', flush: true });
    client.send({ context_id: 'a', close_context: true });
    expect(await client.until(isFinal)).toEqual({ isFinal: true, contextId: 'a' });
    expect(heard(client, 'a')).toBe('Hi there. ');
    expect(client.messages[0]).toMatchObject({
      alignment: { chars: ['H', 'i', ' '], charStartTimesMs: [0, 80, 160], charDurationsMs: [80, 80, 80] },
    });
    client.send({ close_socket: true });
    expect((await client.closed).code).toBe(1000);
  });

  it('with a dictionary, begins one alignment anew in each message, and not the other', async () => {
    const client = await talk();
    const pronunciation_dictionary_locators = [{ pronunciation_dictionary_id: 'd', version_id: 'v' }];
    client.send({ text: ' ', context_id: 'a', pronunciation_dictionary_locators });
    client.send({ text: 'Hi you. ', context_id: 'a', flush: true });
    client.send({ context_id: 'a', close_context: true });
    await client.until(isFinal);
    const texts = (field: string): string[] =>
      client.messages.flatMap(({ [field]: alignment }) => {
        const { chars } = (alignment ?? {}) as { chars?: readonly string[] };
        return chars?.join('') ?? [];
      });
    const pieces = texts('normalizedAlignment');
    expect(pieces.join('')).toBe('Hi you. ');
    expect(texts('alignment')).toEqual(pieces.map((_, index) => pieces.slice(0, index + 1).join('')));
    expect(pieces.length).toBeGreaterThan(1);
    client.close();
  });

  it('waits for its schedule, which auto_mode does without; a flush alone ends nothing', async () => {
    const client = await talk();
    client.send({ text: ' ', context_id: 'a', generation_config: { chunk_length_schedule: [50] } });
    client.send({ text: 'Short. ', context_id: 'a' });
    client.send({ text: 'This makes it more than fifty characters in all. ', context_id: 'a' });
    client.send({ text: ' ', context_id: 'b' });
    client.send({ text: 'Lost. ', context_id: 'b' });
    client.send({ context_id: 'b', close_context: true });
    expect(await client.until(isFinal)).toMatchObject({ contextId: 'b' });
    await client.until(({ contextId }) => contextId === 'a');
    expect(heard(client, 'b')).toBe('');
    client.close();
    const automatic = await talk(`${usual}&auto_mode=true`);
    automatic.send({ text: ' ', context_id: 'a' });
    automatic.send({ text: 'Short. ', context_id: 'a' });
    await automatic.until(({ contextId }) => contextId === 'a');
    expect(automatic.messages.some(isFinal)).toBe(false);
    automatic.close();
  });

  const wrong: readonly (readonly [string, readonly unknown[], string])[] = [
    ['no JSON', ['{'], 'invalid_input_message'],
    ['an unknown field', [{ text: ' ', context_id: 'a', voice: 'x' }], 'invalid_input_message'],
    ['a first message without a space', [{ text: 'Hi. ', context_id: 'a' }], 'invalid_input_message'],
    ['a keep-alive that opens a context', [{ text: '', context_id: 'a' }], 'invalid_input_message'],
    ['a flush that opens a context', [{ context_id: 'a', flush: true }], 'invalid_input_message'],
    ['text without a context', [{ text: 'Hi. ' }], 'invalid_input_message'],
    [
      'other settings in an open context',
      [
        { text: ' ', context_id: 'a' },
        { text: 'Hi. ', context_id: 'a', voice_settings: { speed: 1 } },
      ],
      'invalid_input_message',
    ],
    [
      'a speed that does not exist',
      [{ text: ' ', context_id: 'a', voice_settings: { speed: 2 } }],
      'invalid_input_message',
    ],
    [
      'six contexts',
      ['a', 'b', 'c', 'd', 'e', 'f'].map((context_id) => ({ text: ' ', context_id })),
      'max_active_conversations',
    ],
  ];
  for (const [name, messages, error] of wrong) {
    it(`refuses ${name}`, async () => {
      const client = await talk();
      for (const message of messages) client.send(message);
      expect(await client.until((message) => 'error' in message)).toEqual({ message: aText, error, code: 1008 });
      expect((await client.closed).code).toBe(1008);
    });
  }

  it('keeps a connection open by messages without text, and ends one that is silent', async () => {
    const client = await talk(`${usual}&inactivity_timeout=1`);
    client.send({ text: '' });
    expect(await client.until((message) => 'error' in message)).toMatchObject({ error: 'input_timeout_exceeded' });
  });

  const queries: readonly (readonly [string, string])[] = [
    ['an unknown parameter', `${usual}&voice=x`],
    ['an unknown model', 'model_id=eleven_v3&output_format=pcm_16000'],
    ['an unknown format', 'model_id=eleven_turbo_v2_5&output_format=pcm_11025'],
    ['too long a silence', `${usual}&inactivity_timeout=181`],
    ['a language for a model that takes none', 'model_id=eleven_turbo_v2&language_code=fr'],
  ];
  for (const [name, query] of queries) {
    it(`refuses ${name} in the query`, async () => {
      expect((await refused(`${sandbox.endpoints.gamma}${path}?${query}`, key)).status).toBe(400);
    });
  }

  it('refuses wrong credentials, and any behind a proxy', async () => {
    const at = `${path}?${usual}`;
    expect((await refused(sandbox.endpoints.gamma + at)).status).toBe(401);
    expect((await refused(sandbox.endpoints.gamma + at, { 'xi-api-key': 'x' })).status).toBe(401);
    expect((await refused(sandbox.endpoints.gamma + at, { authorization: 'Bearer sandbox-key' })).status).toBe(401);
    expect((await refused(`${sandbox.endpoints.gamma}${at}&single_use_token=sutkn_x`)).status).toBe(401);
    expect((await refused(sandbox.proxies.gamma + at, key)).status).toBe(400);
    expect((await refused(`${sandbox.proxies.gamma}${at}&single_use_token=t`)).status).toBe(400);
    expect((await refused(`${sandbox.endpoints.gamma}/v1/text-to-speech/multi-stream-input`, key)).status).toBe(404);
  });
});
