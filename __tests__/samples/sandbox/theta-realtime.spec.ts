import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import type { SampleEncoding } from '../../../samples/sandbox/pcm.ts';
import { pieces, speech } from './audio.ts';
import { aNumber, aText, connect, refused } from './client.ts';
import type { Client, Message } from './client.ts';

const key = { authorization: 'Bearer sandbox-key' };
const pcm = { type: 'audio/pcm', rate: 24_000 };
const update = (input: object = {}, more: object = {}): Message => ({
  ...{ type: 'session.update', event_id: 'mine' },
  session: {
    type: 'transcription',
    audio: { input: { format: pcm, transcription: { model: 'gpt-4o-mini-transcribe' }, ...input } },
    ...more,
  },
});
const vad = { turn_detection: { type: 'server_vad', silence_duration_ms: 300 } };
const commit = { type: 'input_audio_buffer.commit' };

function say(client: Client, parts: readonly (string | number)[], encoding: SampleEncoding = 'linear16'): void {
  const bytes = speech(parts, encoding, encoding === 'linear16' ? 24_000 : 8_000);
  for (const piece of pieces(bytes, 4_800)) {
    client.send({ type: 'input_audio_buffer.append', audio: Buffer.from(piece).toString('base64') });
  }
}
const short = (type: unknown): string =>
  String(type).replace('conversation.item.input_audio_transcription.', '').replace('input_audio_buffer.', '');
const told = ({ messages }: Client): string[] =>
  messages.map(({ type, delta, transcript = delta }) =>
    typeof transcript === 'string' ? `${short(type)}:${transcript}` : short(type),
  );

describe("the sandbox's Realtime transcription", () => {
  let sandbox: Sandbox;
  let address: string;
  beforeAll(async () => {
    sandbox = await startSandbox();
    address = `${sandbox.endpoints.theta}/realtime?intent=transcription`;
  });
  afterAll(() => sandbox.close());

  const ready = async (input: object = vad, more: object = {}): Promise<Client> => {
    const client = await connect(address, [], key);
    client.send(update(input, more));
    await client.untilType('session.updated');
    return client;
  };
  const completed = (client: Client): Promise<Message> =>
    client.untilType('conversation.item.input_audio_transcription.completed');
  const errorOf = async (client: Client): Promise<unknown> => (await client.untilType('error'))['error'];

  it('tells a voice and its end, and then the words', async () => {
    const client = await ready();
    say(client, [200, 'Hello world.', 500]);
    expect(await completed(client)).toMatchObject({ item_id: 'item_1', transcript: 'Hello world.', event_id: aText });
    expect(told(client)).toEqual([
      ...['session.created', 'session.updated', 'speech_started', 'speech_stopped', 'committed'],
      ...['conversation.item.added', 'delta:Hello', 'delta: world.', 'completed:Hello world.'],
    ]);
    expect(client.messages[2]).toMatchObject({ item_id: 'item_1', audio_start_ms: aNumber });
    say(client, ['Bye.', 500]);
    const next = await client.until(({ previous_item_id: previous }) => previous === 'item_1');
    expect(next).toMatchObject({ type: 'input_audio_buffer.committed', item_id: 'item_2' });
    client.close();
  });

  for (const model of ['gpt-realtime-whisper', 'gpt-live-transcribe', 'gpt-live-transcribe-2026-10-15']) {
    it(`leaves the end to the client if configured to, and hears ${model} while one speaks`, async () => {
      const client = await ready({ transcription: { model, delay: 'low' }, turn_detection: null });
      say(client, ['One two', 400]);
      await client.until(({ delta }) => delta === ' two');
      client.send(commit);
      await completed(client);
      expect(told(client).slice(2)).toEqual([
        ...['delta:One', 'delta: two', 'committed', 'conversation.item.added', 'completed:One two'],
      ]);
      client.close();
    });
  }

  it('gives probabilities where they are asked for', async () => {
    const client = await ready(vad, { include: ['item.input_audio_transcription.logprobs'] });
    say(client, ['Sure.', 500]);
    expect(await completed(client)).toMatchObject({ logprobs: [{ token: 'Sure.', logprob: aNumber, bytes: [] }] });
    client.close();
  });

  for (const [type, encoding] of [['audio/pcmu', 'mulaw'] as const, ['audio/pcma', 'alaw'] as const]) {
    it(`hears ${type}`, async () => {
      const client = await ready({ ...vad, format: { type } });
      say(client, ['Phone.', 500], encoding);
      expect((await completed(client))['transcript']).toBe('Phone.');
      client.close();
    });
  }

  it('calls a commit of less than 100 ms empty, and a cleared buffer too', async () => {
    const client = await ready({ turn_detection: null });
    say(client, [500]);
    client.send({ type: 'input_audio_buffer.clear' });
    await client.untilType('input_audio_buffer.cleared');
    client.send({ ...commit, event_id: 'late' });
    expect(await errorOf(client)).toEqual({
      ...{ type: 'invalid_request_error', code: 'input_audio_buffer_commit_empty', message: aText, param: null },
      event_id: 'late',
    });
    client.close();
  });

  const complaints: readonly (readonly [string, readonly (Message | Uint8Array)[], string])[] = [
    ['audio before the settings', [{ type: 'input_audio_buffer.append', audio: '' }], 'invalid_value'],
    ['a binary frame', [update(), new Uint8Array(4)], 'invalid_event'],
    ['an unknown message', [update(), { type: 'response.create' }], 'invalid_event'],
    ['a message of the beta', [{ type: 'transcription_session.update', session: {} }], 'invalid_event'],
    ['no type of session', [{ type: 'session.update', session: {} }], 'invalid_parameter'],
    ['a key of the beta', [update({}, { input_audio_format: 'pcm16' })], 'invalid_parameter'],
    ['16 kHz', [update({ format: { type: 'audio/pcm', rate: 16_000 } })], 'invalid_parameter'],
    ['an unknown model', [update({ transcription: { model: 'nova-3' } })], 'invalid_parameter'],
    ['a snapshot of no model', [update({ transcription: { model: 'nova-3-2026-10-15' } })], 'invalid_parameter'],
    [
      'create_response',
      [update({ turn_detection: { type: 'server_vad', create_response: true } })],
      'invalid_parameter',
    ],
    [
      'eagerness by silence',
      [update({ turn_detection: { type: 'server_vad', eagerness: 'low' } })],
      'invalid_parameter',
    ],
    [
      'a voice detection of a live model',
      [update({ ...vad, transcription: { model: 'gpt-live-transcribe' } })],
      'invalid_parameter',
    ],
    [
      'a prompt for a live model',
      [update({ transcription: { model: 'gpt-realtime-whisper', prompt: 'x' } })],
      'invalid_parameter',
    ],
    [
      'a delay for another model',
      [update({ transcription: { model: 'whisper-1', delay: 'low' } })],
      'invalid_parameter',
    ],
    [
      'keywords for another model',
      [update({ transcription: { model: 'whisper-1', keywords: ['x'] } })],
      'invalid_parameter',
    ],
    ['audio that is no base64', [update(), { type: 'input_audio_buffer.append', audio: '%%%' }], 'invalid_value'],
    ['half a sample', [update(), { type: 'input_audio_buffer.append', audio: 'AAAA' }], 'invalid_value'],
  ];
  for (const [what, messages, code] of complaints) {
    it(`complains of ${what}, and stays open`, async () => {
      const client = await connect(address, [], key);
      for (const message of messages) {
        if (message instanceof Uint8Array) client.sendBytes(message);
        else client.send(message);
      }
      expect(await errorOf(client)).toMatchObject({ type: 'invalid_request_error', code, message: aText });
      client.send(update());
      await client.untilType('session.updated');
      client.close();
    });
  }

  it('opens no transcription with a model in the address, nor in the shape of the beta', async () => {
    const client = await connect(`${address}&model=gpt-4o-transcribe`, [], key);
    client.send(update());
    expect(await errorOf(client)).toMatchObject({ code: 'invalid_model' });
    expect(await client.closed).toEqual({ code: 4000, reason: 'invalid_request_error.invalid_model' });
    const beta = { code: 4000, reason: 'invalid_request_error.beta_api_shape_disabled' };
    expect(await (await connect(address, [], { ...key, 'openai-beta': 'realtime=v1' })).closed).toEqual(beta);
    const offered = ['realtime', 'openai-insecure-api-key.sandbox-key', 'openai-beta.realtime-v1'];
    expect(await (await connect(address, offered)).closed).toEqual(beta);
  });

  it('refuses another path, another intent, an unknown parameter, a wrong key and none', async () => {
    const { theta } = sandbox.endpoints;
    const status = async (url: string, headers: Record<string, string> = key): Promise<number> =>
      (await refused(url, headers)).status;
    expect(await status(`${theta}/realtime/transcription?intent=transcription`)).toBe(404);
    expect(await status(`${theta}/realtime`)).toBe(400);
    expect(await status(`${theta}/realtime?intent=conversation`)).toBe(400);
    expect(await status(`${address}&language=en`)).toBe(400);
    expect(await status(address, {})).toBe(401);
    expect(await status(address, { authorization: 'Bearer wrong' })).toBe(401);
    expect(await status(address, { authorization: 'Token sandbox-key' })).toBe(401);
    expect(await status(address, { 'sec-websocket-protocol': 'openai-insecure-api-key.sandbox-key' })).toBe(401);
    const proxied = `${sandbox.proxies.theta}/realtime?intent=transcription`;
    expect(await status(proxied)).toBe(400);
    (await connect(proxied)).close();
  });

  it('grants secrets to who has a key, which open sessions by the subprotocols', async () => {
    const ask = (headers: Record<string, string>, seconds = 600): Promise<Response> =>
      fetch(`${sandbox.endpoints.theta}/realtime/client_secrets`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
        body: JSON.stringify({ expires_after: { anchor: 'created_at', seconds }, session: { type: 'transcription' } }),
      });
    const answer = await ask(key);
    expect(answer.status).toBe(200);
    const { value } = (await answer.json()) as { value: string };
    const client = await connect(address, ['realtime', `openai-insecure-api-key.${value}`]);
    expect(client.protocol).toBe('realtime');
    await client.untilType('session.created');
    client.close();
    expect((await ask({ authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await ask(key, 5)).status).toBe(400);
  });
});
