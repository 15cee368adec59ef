import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { concatBytes, readSamples } from '../../../samples/sandbox/pcm.ts';
import { connect, refused, type Client } from './client.ts';

const at = '/tts/websocket?cartesia_version=2026-03-01';
const key = { 'x-api-key': 'sandbox-key' };

describe("the sandbox's /tts/websocket", () => {
  let sandbox: Sandbox;
  let client: Client;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  beforeEach(async () => {
    client = await connect(`${sandbox.endpoints.pi}${at}`, [], key);
  });
  afterEach(() => client.close());
  afterAll(() => sandbox.close());

  const usual = {
    ...{ context_id: 'a', model_id: 'sonic-3', transcript: 'Hello there. ', continue: true, language: 'en' },
    voice: { mode: 'id', id: '694f9389-aac1-45b6-b726-9d9369183238' },
    output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24000 },
    ...{ add_timestamps: true, max_buffer_delay_ms: 0 },
  };
  const ending = { ...usual, transcript: '', continue: false };
  const heard = (context: string): string => {
    const audio = client.messages.flatMap(({ context_id, data }) =>
      context_id === context && typeof data === 'string' ? [new Uint8Array(Buffer.from(data, 'base64'))] : [],
    );
    return decodeSamples(readSamples(concatBytes(audio), 'linear16'), 24000).text;
  };

  it('speaks a context in pieces, with times that go on, then says that it is done', async () => {
    client.send(usual);
    client.send({ ...usual, transcript: 'Bye.' });
    client.send(ending);
    expect(await client.untilType('done')).toEqual({ type: 'done', context_id: 'a', done: true, status_code: 200 });
    expect(heard('a')).toBe('Hello there. Bye.');
    const words = client.messages.flatMap(({ word_timestamps }) => (word_timestamps ? [word_timestamps] : []));
    expect(words).toEqual([
      { words: ['Hello'], start: [0], end: [0.4] },
      { words: ['there.'], start: [0.48], end: [0.96] },
      { words: ['Bye.'], start: [1.04], end: [1.36] },
    ]);
  });

  it('says what it is saying to its end when it is cancelled, and nothing more', async () => {
    client.send(usual);
    client.send({ ...usual, transcript: 'Never said.' });
    client.send({ context_id: 'a', cancel: true });
    await client.untilType('done');
    expect(heard('a')).toBe('Hello there. ');
  });

  it('answers a flush', async () => {
    client.send(usual);
    client.send({ ...usual, transcript: '', flush: true });
    expect(await client.untilType('flush_done')).toMatchObject({ context_id: 'a', flush_done: true });
  });

  const wrong: readonly (readonly [string, readonly object[], number, string])[] = [
    ['no context', [{ ...usual, context_id: undefined }], 400, 'invalid_request'],
    ['an unknown field', [{ ...usual, emotion: ['sad'] }], 400, 'invalid_request'],
    [
      'a container',
      [{ ...usual, output_format: { ...usual.output_format, container: 'wav' } }],
      400,
      'invalid_request',
    ],
    ['other settings in a context', [usual, { ...usual, language: 'fr' }], 400, 'invalid_request'],
    ['text after the end', [{ ...usual, continue: false }, usual], 400, 'invalid_request'],
    ['nothing to say', [usual, { ...usual, transcript: '' }], 400, 'invalid_request'],
    ['a retired model', [{ ...usual, model_id: 'sonic' }], 400, 'model_sunsetted'],
    ['an unknown model', [{ ...usual, model_id: 'sonic-9' }], 404, 'model_not_found'],
    ['an unknown voice', [{ ...usual, voice: { mode: 'id', id: 'x' } }], 404, 'voice_not_found'],
    ['a speed in words for a new model', [{ ...usual, speed: 'fast' }], 400, 'invalid_request'],
    [
      'an emotion for an old one',
      [{ ...usual, model_id: 'sonic-2', generation_config: { emotion: 'sad' } }],
      400,
      'invalid_request',
    ],
  ];
  for (const [name, messages, status_code, error_code] of wrong) {
    it(`refuses ${name}, and goes on`, async () => {
      for (const message of messages) client.send(message);
      expect(await client.untilType('error')).toMatchObject({ done: true, status_code, error_code });
      client.send({ ...usual, context_id: 'z' });
      await client.until(({ type, context_id }) => type === 'chunk' && context_id === 'z');
    });
  }

  it('refuses a third context until another is over', async () => {
    for (const context_id of ['a', 'b', 'c']) client.send({ ...usual, context_id });
    expect(await client.untilType('error')).toMatchObject({ status_code: 429, error_code: 'concurrency_limited' });
    client.send({ context_id: 'b', cancel: true });
    await client.untilType('done');
    client.send({ ...usual, context_id: 'd' });
    await client.until(({ type, context_id }) => type === 'chunk' && context_id === 'd');
  });

  it('refuses wrong versions and credentials, and any behind a proxy', async () => {
    const { pi } = sandbox.endpoints;
    expect((await refused(`${pi}/tts/websocket`, key)).status).toBe(400);
    expect((await refused(`${pi}/tts/websocket?cartesia_version=2020-01-01`, key)).status).toBe(400);
    expect((await refused(pi + at)).status).toBe(401);
    expect((await refused(pi + at, { 'x-api-key': 'x' })).status).toBe(401);
    expect((await refused(`${pi}${at}&access_token=x`)).status).toBe(401);
    expect((await refused(`${pi}${at}&api_key=sandbox-key`)).status).toBe(101);
    expect((await refused(pi + at, { authorization: 'Bearer sandbox-key' })).status).toBe(101);
    expect((await refused(sandbox.proxies.pi + at, key)).status).toBe(400);
    expect((await refused(`${sandbox.proxies.pi}${at}&access_token=t`)).status).toBe(400);
  });
});
