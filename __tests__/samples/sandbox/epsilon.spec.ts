import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { member } from '../../../samples/sandbox/validate.ts';
import { pieces, speech } from './audio.ts';
import { aText, connect } from './client.ts';
import type { Client, Message } from './client.ts';

const partials = {
  messages_config: {
    receive_partial_transcripts: true,
    receive_lifecycle_events: true,
    receive_post_processing_events: false,
  },
};

/** Messages as one line each, acknowledgements of audio left out. */
function told(client: Client): string[] {
  return client.messages.flatMap(({ type, data }) => {
    if (type === 'audio_chunk') return [];
    if (type !== 'transcript') return [String(type)];
    return [
      `${member(data, 'is_final') === true ? 'final' : 'partial'}:${String(member(member(data, 'utterance'), 'text'))}`,
    ];
  });
}

describe("the sandbox's /v2/live", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const init = (
    config: unknown,
    headers: Record<string, string> = { 'x-gladia-key': 'sandbox-key' },
    base = sandbox.endpoints.epsilon,
    query = '',
  ): Promise<Response> =>
    fetch(`${base}/v2/live${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(config),
    });
  const urlOf = async (answer: Response): Promise<string> => ((await answer.json()) as { url: string }).url;
  const stop = { type: 'stop_recording' };

  it('starts a session whose address is all that the socket needs', async () => {
    const answer = await init({});
    expect(answer.status).toBe(201);
    const { url } = (await answer.json()) as { url: string };
    expect(url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/epsilon\/v2\/live\?token=/);
    const client = await connect(url);
    client.close();
  });

  it('brings speech, partials, finals by silence, then stops step by step and closes with 1000', async () => {
    const client = await connect(await urlOf(await init({ ...partials, endpointing: 0.3 })));
    for (const piece of pieces(speech([300, 'Hello world.', 500, 'Bye.', 400]), 3200)) client.sendBytes(piece);
    client.send(stop);
    expect(await client.closed).toEqual({ code: 1000, reason: '' });
    expect(told(client)).toEqual([
      ...[
        'start_recording',
        'speech_start',
        'partial: Hello',
        'partial: Hello world.',
        'final: Hello world.',
        'speech_end',
      ],
      ...[
        'speech_start',
        'partial: Bye.',
        'final: Bye.',
        'speech_end',
        'stop_recording',
        'end_recording',
        'end_session',
      ],
    ]);
    const ids = client.messages.filter(({ type }) => type === 'transcript').map(({ data }) => member(data, 'id'));
    expect(ids).toEqual(['00_00000000', '00_00000000', '00_00000000', '00_00000001', '00_00000001']);
  });

  it('sends no partials unless asked, and the whole transcript at the end unless told not to', async () => {
    const client = await connect(await urlOf(await init({ endpointing: 0.2 })));
    client.sendBytes(speech(['One', 400, 'two.']));
    client.send(stop);
    await client.closed;
    expect(told(client)).toEqual([
      'speech_start',
      'final: One',
      'speech_end',
      'speech_start',
      'stop_recording',
      'final: two.',
      'post_transcript',
      'post_final_transcript',
    ]);
    const post = client.messages.find(({ type }) => type === 'post_transcript');
    expect(post?.['data']).toMatchObject({ full_transcript: 'One two.' });
  });

  it('cuts an utterance that is longer than the maximum', async () => {
    const client = await connect(
      await urlOf(await init({ ...partials, endpointing: 2, maximum_duration_without_endpointing: 5 })),
    );
    client.sendBytes(speech(['A sentence that goes on and on, for longer than five seconds, without a pause.']));
    client.send(stop);
    await client.closed;
    expect(told(client).filter((line) => line.startsWith('final')).length).toBe(2);
  });

  it('acknowledges every byte of the session, over reconnects, and loses no word of what is sent again', async () => {
    sandbox.setFault('epsilon-stt', { kind: 'dropAfter', messages: 6, of: 'received', times: 1 });
    const url = await urlOf(await init(partials));
    const audio = pieces(speech(['Resumed without loss.', 500]), 3200);
    const ackedTo = (messages: readonly Message[]): number =>
      Math.max(
        0,
        ...messages.flatMap(({ type, data }) =>
          type === 'audio_chunk' ? [Number((member(data, 'byte_range') as number[])[1])] : [],
        ),
      );
    const first = await connect(url);
    for (const piece of audio.slice(0, 6)) first.sendBytes(piece);
    expect((await first.closed).code).toBe(1006);
    expect(ackedTo(first.messages)).toBe(5 * 3200);
    const second = await connect(url);
    for (const piece of audio.slice(5)) second.sendBytes(piece);
    second.send(stop);
    await second.closed;
    expect(told(second)).toContain('final: Resumed without loss.');
    expect(ackedTo(second.messages)).toBe(audio.reduce((sum, { length }) => sum + length, 0));
  });

  it('takes base64 chunks too', async () => {
    const client = await connect(await urlOf(await init({})));
    client.send({ type: 'audio_chunk', data: { chunk: Buffer.from(speech(['Base64.', 300])).toString('base64') } });
    client.send({ type: 'audio_chunk', data: { chunk: '' } });
    await client.until(({ data }) => member(member(data, 'utterance'), 'text') === ' Base64.');
    client.close();
  });

  it('knows no session with another token, none that has ended, and no other message', async () => {
    const base = sandbox.endpoints.epsilon;
    expect((await (await connect(`${base}/v2/live?token=nobody`)).closed).code).toBe(4404);
    const url = await urlOf(await init({}));
    const client = await connect(url);
    client.send(stop);
    await client.closed;
    expect((await (await connect(url)).closed).code).toBe(4404);
    const other = await connect(await urlOf(await init({})));
    other.send({ event: 'terminate' });
    expect((await other.closed).code).toBe(4400);
  });

  for (const [name, config] of [
    ['24000 Hz', { sample_rate: 24000 }],
    ['a rate as text', { sample_rate: '16000' }],
    ['region in the body', { region: 'eu-west' }],
    ['null', { model: null }],
    ['another model', { model: 'solaria-3' }],
    ['endpointing in milliseconds', { endpointing: 300 }],
    ['16 bit mu-law', { encoding: 'wav/ulaw', bit_depth: 16 }],
  ] as const) {
    it(`refuses ${name}`, async () => {
      const answer = await init(config);
      expect([answer.status, await answer.json()]).toEqual([
        400,
        {
          message: aText,
          request_id: aText,
          validation_errors: [aText],
        },
      ]);
    });
  }

  it('takes the region in the query and the key in its own header only', async () => {
    expect(
      (await init({}, { 'x-gladia-key': 'sandbox-key' }, sandbox.endpoints.epsilon, '?region=us-west')).status,
    ).toBe(201);
    expect((await init({}, { 'x-gladia-key': 'sandbox-key' }, sandbox.endpoints.epsilon, '?region=mars')).status).toBe(
      400,
    );
    expect((await init({}, { authorization: 'Bearer sandbox-key' })).status).toBe(401);
    expect((await init({}, { 'x-gladia-key': 'wrong' })).status).toBe(401);
  });

  it('behind the proxy the init needs no key, and the socket is direct', async () => {
    expect((await init({}, { 'x-gladia-key': 'sandbox-key' }, sandbox.proxies.epsilon)).status).toBe(400);
    const url = await urlOf(await init({}, {}, sandbox.proxies.epsilon));
    expect(url).toContain('/epsilon/v2/live');
    expect(url).not.toContain('/proxy/');
    const client = await connect(url);
    client.close();
  });
});
