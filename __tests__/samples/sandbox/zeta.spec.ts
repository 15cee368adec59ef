import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { member } from '../../../samples/sandbox/validate.ts';
import { pieces, speech } from './audio.ts';
import { aText, connect, refused } from './client.ts';
import type { Client, Message } from './client.ts';

const key = { authorization: 'Bearer sandbox-key' };
const audioFormat = { type: 'raw', encoding: 'pcm_s16le', sample_rate: 16_000 };
const start = (config: object = {}, format: object = audioFormat): Message => ({
  ...{ message: 'StartRecognition', audio_format: format },
  transcription_config: { language: 'en', ...config },
});
const conversation = { enable_partials: true, conversation_config: { end_of_utterance_silence_trigger: 0.3 } };

/** A transcript's words and marks, by message; acknowledgements are left out. */
function told({ messages }: Client): string[] {
  return messages.flatMap(({ message, results, forced }) => {
    if (message === 'AudioAdded') return [];
    if (!Array.isArray(results)) return [String(message)];
    const said = results.map((result: unknown) => {
      const [alternative] = member(result, 'alternatives') as unknown[];
      return String(member(alternative, 'content'));
    });
    return [`${message === 'AddTranscript' ? 'final' : 'partial'}${forced ? ' forced' : ''}:${said.join(' ')}`];
  });
}

describe("the sandbox's Speechmatics", () => {
  let sandbox: Sandbox;
  let address: string;
  beforeAll(async () => {
    sandbox = await startSandbox();
    address = `${sandbox.endpoints.zeta}/v2`;
  });
  afterAll(() => sandbox.close());

  const ready = async (config: object = conversation, format: object = audioFormat): Promise<Client> => {
    const client = await connect(address, [], key);
    client.send(start(config, format));
    await client.until(({ message }) => message === 'RecognitionStarted');
    return client;
  };
  const until = (client: Client, name: string): Promise<Message> => client.until(({ message }) => message === name);

  it('says what words are final, what may follow, and when the utterance has ended', async () => {
    const client = await ready();
    const sent = pieces(speech([200, 'Hello world.', 500]), 3_200);
    for (const piece of sent) client.sendBytes(piece);
    await until(client, 'EndOfUtterance');
    expect(told(client)).toEqual([
      ...['Info', 'RecognitionStarted', 'partial:Hello', 'final:Hello', 'partial:world .', 'final:world .'],
      ...['partial:', 'EndOfUtterance'],
    ]);
    // Not how many were acknowledged by now: silence follows the utterance.
    client.send({ message: 'EndOfStream', last_seq_no: sent.length });
    await until(client, 'EndOfTranscript');
    client.close();
  });

  it('hears the same in messages of any length', async () => {
    const client = await ready();
    for (const piece of pieces(speech([200, 'Hello world.', 500]), 3_334)) client.sendBytes(piece);
    await until(client, 'EndOfUtterance');
    expect(told(client).filter((line) => line.startsWith('final'))).toEqual(['final:Hello', 'final:world .']);
    client.close();
  });

  it('gives words their times, marks what they attach to, and speakers where they are asked for', async () => {
    const client = await ready({ ...conversation, diarization: 'speaker' });
    client.sendBytes(speech([200, 'Yes.', 500]));
    const { results } = await client.until(({ message }) => message === 'AddTranscript');
    expect(results).toEqual([
      {
        ...{ type: 'word', start_time: 0.2, end_time: 0.51 },
        alternatives: [{ content: 'Yes', confidence: 0.99, language: 'en', speaker: 'S1' }],
      },
      {
        ...{ type: 'punctuation', start_time: 0.51, end_time: 0.51, is_eos: true, attaches_to: 'previous' },
        alternatives: [{ content: '.', confidence: 0.99, language: 'en', speaker: 'S1' }],
      },
    ]);
    client.close();
  });

  it('sends no partials and ends no utterance unless it is asked to, and says what it was made to end', async () => {
    const client = await ready({});
    client.sendBytes(speech(['One', 900]));
    client.send({ message: 'ForceEndOfUtterance', timestamp: 1.1 });
    await until(client, 'EndOfUtterance');
    expect(told(client)).toEqual(['Info', 'RecognitionStarted', 'final forced:One', 'EndOfUtterance']);
    client.send({ message: 'SetRecognitionConfig', transcription_config: { language: 'en', enable_partials: true } });
    client.sendBytes(speech(['two', 400]));
    await until(client, 'AddPartialTranscript');
    client.close();
  });

  for (const [encoding, rate, sample] of [
    ['pcm_f32le', 16_000, 'linear32'],
    ['mulaw', 8_000, 'mulaw'],
    ['pcm_s16le', 44_100, 'linear16'],
  ] as const) {
    it(`hears ${encoding} at ${rate} Hz`, async () => {
      const client = await ready(conversation, { type: 'raw', encoding, sample_rate: rate });
      client.sendBytes(speech(['Heard', 500], sample, rate));
      await until(client, 'EndOfUtterance');
      expect(told(client)).toContain('partial:Heard');
      client.close();
    });
  }

  const frames: readonly (readonly [string, readonly (Message | Uint8Array)[], string])[] = [
    ['audio before the start', [new Uint8Array(320)], 'protocol_error'],
    ['another message before the start', [{ message: 'ForceEndOfUtterance' }], 'protocol_error'],
    ['a second start', [start(), start()], 'protocol_error'],
    ['an unknown message', [start(), { message: 'Stop' }], 'invalid_message'],
    ['a wrong number of frames', [start(), { message: 'EndOfStream', last_seq_no: 1 }], 'protocol_error'],
    ['an end without that number', [start(), { message: 'EndOfStream' }], 'invalid_message'],
    ['a region in the language', [start({ language: 'en-US' })], 'invalid_config'],
    ['no language', [start({ language: undefined })], 'invalid_config'],
    ['an unknown setting', [start({ sample_rate: 16_000 })], 'invalid_config'],
    [
      'a trigger in milliseconds',
      [start({ conversation_config: { end_of_utterance_silence_trigger: 750 } })],
      'invalid_config',
    ],
    ['a delay that is too short', [start({ max_delay: 0.5 })], 'invalid_config'],
    ['another encoding', [start({}, { ...audioFormat, encoding: 'alaw' })], 'invalid_config'],
    ['a rate as text', [start({}, { ...audioFormat, sample_rate: '16000' })], 'invalid_config'],
    [
      'a change of what a session cannot change',
      [start(), { message: 'SetRecognitionConfig', transcription_config: { language: 'en', domain: 'medical' } }],
      'invalid_message',
    ],
  ];
  for (const [what, messages, type] of frames) {
    it(`ends the session at ${what}`, async () => {
      const client = await connect(address, [], key);
      for (const message of messages) {
        if (message instanceof Uint8Array) client.sendBytes(message);
        else client.send(message);
      }
      expect(await until(client, 'Error')).toEqual({ message: 'Error', type, reason: aText, code: 1003 });
      expect(await client.closed).toEqual({ code: 1003, reason: type });
    });
  }

  it('warns of audio after the end of the stream', async () => {
    const client = await ready();
    client.send({ message: 'EndOfStream', last_seq_no: 0 });
    client.sendBytes(new Uint8Array(320));
    expect(await until(client, 'Warning')).toMatchObject({ type: 'add_audio_after_eos' });
    client.close();
  });

  it('refuses another path, an unknown parameter, a wrong key and none', async () => {
    expect((await refused(`${sandbox.endpoints.zeta}/v1`, key)).status).toBe(404);
    expect((await refused(`${address}?language=en`, key)).status).toBe(400);
    expect((await refused(address)).status).toBe(401);
    expect((await refused(address, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await refused(address, { authorization: 'Token sandbox-key' })).status).toBe(401);
    expect((await refused(`${sandbox.proxies.zeta}/v2`, key)).status).toBe(400);
  });

  it('grants temporary keys to who has a key, which open sessions by the query; another is told on the socket', async () => {
    const ask = (body: unknown, headers: Record<string, string> = key, query = '?type=rt'): Promise<Response> =>
      fetch(`${sandbox.endpoints.zeta}/v1/api_keys${query}`, {
        ...{ method: 'POST', body: JSON.stringify(body) },
        headers: { 'content-type': 'application/json', ...headers },
      });
    const answer = await ask({ ttl: 60 });
    expect(answer.status).toBe(201);
    const { key_value: jwt } = (await answer.json()) as { key_value: string };
    expect(jwt.split('.')).toHaveLength(3);
    const client = await connect(`${address}?jwt=${jwt}`);
    await until(client, 'Info');
    client.close();
    // A key that lasts is none either, there.
    for (const wrong of ['expired', 'a.b.c', 'sandbox-key']) {
      const other = await connect(`${address}?jwt=${wrong}`);
      expect(await until(other, 'Error')).toMatchObject({ type: 'not_authorised', code: 4001 });
      expect((await other.closed).code).toBe(4001);
    }
    expect((await ask({ ttl: 60 }, { authorization: 'Bearer wrong' })).status).toBe(403);
    expect((await ask({ ttl: 5 })).status).toBe(422);
    expect((await ask({ ttl: 60 }, key, '')).status).toBe(422);
  });
});
