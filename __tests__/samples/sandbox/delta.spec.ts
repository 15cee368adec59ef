import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { isObject } from '../../../samples/sandbox/validate.ts';
import { pieces, speech } from './audio.ts';
import { aText, connect, refused } from './client.ts';
import type { Client, Message } from './client.ts';

const key = { authorization: 'Bearer sandbox-key' };
const usual = { model: 'stt-rt-v5', audio_format: 'pcm_s16le', sample_rate: 16_000, num_channels: 1 };
const endpoints = { ...usual, enable_endpoint_detection: true, max_endpoint_delay_ms: 1_000 };

const tokens = ({ tokens: given }: Message): Record<string, unknown>[] =>
  Array.isArray(given) ? given.filter(isObject) : [];

/** What became final, each token once. */
const finals = ({ messages }: Client): string =>
  messages
    .flatMap(tokens)
    .filter(({ is_final: isFinal }) => isFinal)
    .map(({ text }) => String(text))
    .join('');

describe("the sandbox's Soniox", () => {
  let sandbox: Sandbox;
  let address: string;
  beforeAll(async () => {
    sandbox = await startSandbox({ limits: { deltaIdleMs: 300 } });
    address = `${sandbox.endpoints.delta}/transcribe-websocket`;
  });
  afterAll(() => sandbox.close());

  const begun = async (start: unknown = endpoints, headers: Record<string, string> = key): Promise<Client> => {
    const client = await connect(address, [], headers);
    client.send(start);
    return client;
  };

  it('says each final token once, guesses anew in each message, and ends what is over with a marker', async () => {
    const client = await begun();
    for (const piece of pieces(speech(['Hello world.', 800, 'Next', 800]), 3_840)) client.sendBytes(piece);
    client.send('');
    await client.closed;
    expect(finals(client)).toBe('Hello world.<end> Next<end>');
    expect(client.messages.flatMap(tokens).some(({ is_final: isFinal }) => isFinal === false)).toBe(true);
    expect(client.messages.at(-1)).toMatchObject({ tokens: [], finished: true });
    expect((await client.closed).code).toBe(1000);
  });

  it('ends nothing on its own unless asked to; `finalize` does', async () => {
    const client = await begun(usual);
    client.sendBytes(speech(['Hello', 1_500]));
    client.send({ type: 'keepalive' });
    client.send({ type: 'finalize', trailing_silence_ms: 300 });
    await client.until((message) => tokens(message).some(({ text }) => text === '<fin>'));
    expect(finals(client)).toBe('Hello<fin>');
    client.close();
  });

  const translations: readonly (readonly [string, Record<string, unknown>, string | undefined])[] = [
    ['all speech', { type: 'one_way', target_language: 'es' }, 'es'],
    ['speech in one of two languages', { type: 'two_way', language_a: 'de', language_b: 'en' }, 'de'],
    ['no speech in a third', { type: 'two_way', language_a: 'de', language_b: 'fr' }, undefined],
  ];
  for (const [what, translation, language] of translations) {
    it(`translates ${what}, in tokens that follow what they translate`, async () => {
      const client = await begun({ ...usual, translation });
      client.sendBytes(speech(['Hello world', 500]));
      client.send('');
      await client.closed;
      const all = client.messages.flatMap(tokens);
      const translated = all.filter(({ translation_status: status }) => status === 'translation');
      const statuses = new Set(all.map(({ translation_status: status }) => status));
      expect([...statuses]).toEqual(language === undefined ? ['none'] : ['original', 'translation']);
      expect(translated.map(({ text }) => text)).toEqual(language === undefined ? [] : [' olleH', ' dlrow']);
      expect(translated.every((token) => token['language'] === language && !('start_ms' in token))).toBe(true);
    });
  }

  it('names speakers and languages where it is asked to', async () => {
    const client = await begun({
      ...endpoints,
      enable_speaker_diarization: true,
      enable_language_identification: true,
    });
    client.sendBytes(speech(['Hi', 800]));
    const [first] = tokens(await client.until((message) => tokens(message).length > 0));
    expect(first).toMatchObject({ speaker: '1', language: 'en' });
    client.close();
  });

  for (const [format, encoding, rate] of [
    ['pcm_f32le', 'linear32', 16_000],
    ['mulaw', 'mulaw', 8_000],
    ['alaw', 'alaw', 8_000],
  ] as const) {
    it(`hears ${format}`, async () => {
      const client = await begun({ ...endpoints, audio_format: format, sample_rate: rate });
      client.sendBytes(speech(['Heard', 800], encoding, rate));
      await client.until((message) => tokens(message).some(({ text }) => text === '<end>'));
      expect(finals(client)).toBe('Heard<end>');
      client.close();
    });
  }

  const wrong: readonly (readonly [what: string, frames: readonly (object | string)[], type: string])[] = [
    ['audio before the start', [new Uint8Array(320)], 'invalid_request'],
    ['a start that is no JSON', ['hello'], 'invalid_request'],
    ['a model that is none', [{ ...usual, model: 'stt-rt-v0' }], 'model_not_available'],
    ['no model', [{ ...usual, model: undefined }], 'model_not_available'],
    ['an unknown key', [{ ...usual, language: 'en' }], 'invalid_request'],
    ['a rate as text', [{ ...usual, sample_rate: '16000' }], 'invalid_request'],
    ['raw audio without its rate', [{ model: 'stt-rt-v5', audio_format: 'pcm_s16le' }], 'invalid_request'],
    ['a region in a hint', [{ ...usual, language_hints: ['en-US'] }], 'invalid_request'],
    ['a hint twice', [{ ...usual, language_hints: ['en', 'en'] }], 'invalid_request'],
    ['too short a delay', [{ ...usual, max_endpoint_delay_ms: 400 }], 'invalid_request'],
    ['an unknown control message', [usual, { type: 'stop' }], 'invalid_request'],
  ];
  for (const [what, frames, type] of wrong) {
    it(`answers ${what} with 400, then closes`, async () => {
      const client = await connect(address, [], key);
      for (const frame of frames) {
        if (frame instanceof Uint8Array) client.sendBytes(frame);
        else client.send(frame);
      }
      const answer = await client.until((message) => 'error_code' in message);
      expect(answer).toMatchObject({ tokens: [], error_code: 400, error_type: type, error_message: aText });
      expect((await client.closed).code).toBe(1000);
    });
  }

  it('gives a stream up that hears nothing', async () => {
    const client = await begun();
    expect(await client.until((message) => 'error_code' in message)).toMatchObject({ error_code: 408 });
    await client.closed;
  });

  it('takes the key with the connection, or in the first message', async () => {
    const old = await begun({ ...endpoints, api_key: 'sandbox-key' }, {});
    old.sendBytes(speech(['Old', 800]));
    await old.until((message) => tokens(message).length > 0);
    old.close();
    const none = await begun(endpoints, {});
    expect(await none.until((message) => 'error_code' in message)).toMatchObject({ error_code: 401 });
  });

  it('grants temporary keys to who has a key, which open a stream as a subprotocol that is echoed', async () => {
    const ask = (body: unknown, headers: Record<string, string> = key): Promise<Response> =>
      fetch(`${sandbox.endpoints.delta}/v1/auth/temporary-api-key`, {
        ...{ method: 'POST', body: JSON.stringify(body) },
        headers: { 'content-type': 'application/json', ...headers },
      });
    const answer = await ask({ usage_type: 'transcribe_websocket', expires_in_seconds: 60 });
    const granted = (await answer.json()) as { readonly api_key: string };
    expect([answer.status, granted]).toEqual([201, { api_key: aText, expires_at: aText }]);
    const page = await connect(address, ['soniox-api-key', granted.api_key]);
    expect([page.protocol, granted.api_key]).toEqual(['soniox-api-key', expect.stringMatching(/^snx_temp_\w/)]);
    page.close();
    const old = granted.api_key.replace('snx_temp_', 'temp:');
    (await connect(address, [], { authorization: `Bearer ${old}` })).close();
    expect((await ask({ usage_type: 'transcribe_websocket', expires_in_seconds: 3_601 })).status).toBe(400);
    expect((await ask({ usage_type: 'transcribe_websocket', expires_in_seconds: 60 }, {})).status).toBe(401);
    const client = await connect(address, ['soniox-api-key', 'sandbox-key']);
    expect(client.protocol).toBe('soniox-api-key');
    client.close();
  });

  it('refuses another path, any query, a wrong key, another scheme, and a key behind the proxy', async () => {
    expect((await refused(`${sandbox.endpoints.delta}/transcribe`, key)).status).toBe(404);
    expect((await refused(`${address}?model=stt-rt-v5`, key)).status).toBe(400);
    expect((await refused(address, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await refused(address, { authorization: 'Token sandbox-key' })).status).toBe(401);
    expect((await refused(`${sandbox.proxies.delta}/transcribe-websocket`, key)).status).toBe(400);
  });
});
