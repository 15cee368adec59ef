import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { pieces, speech } from './audio.ts';
import { aNumber, aText, connect, refused } from './client.ts';
import type { Client } from './client.ts';

const key = { 'xi-api-key': 'sandbox-key' };
const usual = 'model_id=scribe_v2_realtime&commit_strategy=vad&vad_silence_threshold_secs=0.3';
const chunk = (audio: Uint8Array, more: object = {}): object => ({
  ...{ message_type: 'input_audio_chunk', commit: false, sample_rate: 16_000, ...more },
  audio_base_64: Buffer.from(audio).toString('base64'),
});
const none = new Uint8Array(0);

/** Messages as one line each. */
const told = ({ messages }: Client): string[] =>
  messages.map(({ message_type: type, text }) =>
    typeof text === 'string' ? `${String(type)}: ${text}` : String(type),
  );

describe("the sandbox's Scribe", () => {
  let sandbox: Sandbox;
  let address: string;
  beforeAll(async () => {
    sandbox = await startSandbox();
    address = `${sandbox.endpoints.gamma}/v1/speech-to-text/realtime`;
  });
  afterAll(() => sandbox.close());

  const ready = async (query: string = usual, at: string = address): Promise<Client> => {
    const client = await connect(`${at}?${query}`, [], key);
    await client.until(({ message_type: type }) => type === 'session_started');
    return client;
  };
  const until = (client: Client, type: string): Promise<unknown> =>
    client.until(({ message_type: each }) => each === type);

  it('guesses, settles and commits by silence', async () => {
    const client = await ready();
    for (const piece of pieces(speech(['Turn on the', 500]), 3_200)) client.send(chunk(piece));
    await until(client, 'committed_transcript');
    expect(told(client)).toEqual([
      'session_started',
      ...['partial_transcript: Turn', 'partial_transcript: Turn on', 'partial_transcript: Turn on the'],
      ...['final_transcript: Turn on the', 'committed_transcript: Turn on the'],
    ]);
    client.close();
  });

  it('tells a commit a second time, with times and the language where they are asked for', async () => {
    const client = await ready(`${usual}&include_timestamps=true&include_language_detection=true`);
    client.send(chunk(speech(['Hi you', 500])));
    const word = (text: string): object => ({ text, start: aNumber, end: aNumber, type: 'word', logprob: aNumber });
    expect(await client.until(({ message_type: type }) => type === 'committed_transcript_with_timestamps')).toEqual({
      ...{ message_type: 'committed_transcript_with_timestamps', text: 'Hi you', language_code: 'en' },
      words: [word('Hi'), { ...word(' '), type: 'spacing' }, word('you')],
    });
    client.close();
  });

  it('dates the words after each utterance that silence ends 100 ms later, and no others', async () => {
    const starts = async (query: string, commit: boolean): Promise<number[]> => {
      const client = await ready(`${query}&include_timestamps=true`);
      const dated: number[] = [];
      for (const said of ['One', 'Two', 'Six']) {
        client.send(chunk(speech([said, 500]), { commit }));
        const { words } = await client.until(({ text, words }) => text === said && Array.isArray(words));
        dated.push((words as readonly { readonly start: number }[])[0]?.start ?? 0);
      }
      client.close();
      return dated;
    };
    const [first = 0, second = 0, third = 0] = await starts('model_id=scribe_v2_realtime', true);
    const drifted = await starts(usual, false);
    expect(drifted.map((start) => start.toFixed(2))).toEqual(
      [first, second + 0.1, third + 0.2].map((start) => start.toFixed(2)),
    );
  });

  it('commits when it is told to, also silence, but not less than 0.3 s', async () => {
    const client = await ready('model_id=scribe_v2_realtime');
    client.send(chunk(speech(['One', 2_000])));
    client.send(chunk(none, { commit: true }));
    client.send(chunk(none, { commit: true }));
    await until(client, 'commit_throttled');
    client.send(chunk(speech([400]), { commit: true }));
    await client.until(({ message_type: type, text }) => type === 'committed_transcript' && text === '');
    expect(told(client).slice(-3)).toEqual(['committed_transcript: One', 'commit_throttled', 'committed_transcript: ']);
    client.close();
  });

  it('refuses a commit under vad where it may', async () => {
    await using strict = await startSandbox({ limits: { gammaSttVadCommits: 0 } });
    const client = await ready(usual, address.replace(sandbox.endpoints.gamma, strict.endpoints.gamma));
    client.send(chunk(speech(['One', 300]), { commit: true }));
    expect(await until(client, 'input_error')).toMatchObject({ error: 'commit is for commit_strategy manual' });
  });

  it('hears mu-law', async () => {
    const client = await ready(`${usual}&audio_format=ulaw_8000`);
    client.send(chunk(speech(['Heard', 500], 'mulaw', 8_000), { sample_rate: 8_000 }));
    await until(client, 'committed_transcript');
    expect(told(client)).toContain('committed_transcript: Heard');
    client.close();
  });

  const queries: readonly (readonly [what: string, query: string])[] = [
    ['no model', 'commit_strategy=vad'],
    ['another model', 'model_id=scribe_v1'],
    ['another name of mu-law', `${usual}&audio_format=mulaw_8000`],
    ['a BCP 47 tag', `${usual}&language_code=en-US`],
    ['too short a silence', 'model_id=scribe_v2_realtime&commit_strategy=vad&vad_silence_threshold_secs=0.2'],
    ['a threshold without VAD', 'model_id=scribe_v2_realtime&vad_threshold=0.5'],
    ['too long a term', `${usual}&keyterms=${'a'.repeat(21)}`],
    ['what cannot be combined', `${usual}&include_timestamps=true&filter_background_audio=true`],
    ['an unknown parameter', `${usual}&sample_rate=16000`],
  ];
  for (const [what, query] of queries) {
    it(`takes the upgrade and then refuses ${what}`, async () => {
      const client = await connect(`${address}?${query}`, [], key);
      await client.closed;
      expect(client.messages).toEqual([{ message_type: 'invalid_request', error: aText }]);
    });
  }

  const frames: readonly (readonly [what: string, frames: readonly (object | string | Uint8Array)[]])[] = [
    ['a binary frame', [new Uint8Array(320)]],
    ['what is no JSON', ['hello']],
    ['another type', [{ message_type: 'commit' }]],
    ['another spelling', [{ message_type: 'input_audio_chunk', audio_base64: '' }]],
    ['another rate', [chunk(none, { sample_rate: 8_000 })]],
    ['context after the first chunk', [chunk(none), chunk(none, { previous_text: 'Hi' })]],
  ];
  for (const [what, sent] of frames) {
    it(`refuses ${what}`, async () => {
      const client = await ready();
      for (const frame of sent) {
        if (frame instanceof Uint8Array) client.sendBytes(frame);
        else client.send(frame);
      }
      await client.closed;
      expect(client.messages.at(-1)).toEqual({ message_type: 'input_error', error: aText });
    });
  }

  it('grants tokens to who has a key, of which each opens one session', async () => {
    const ask = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${sandbox.endpoints.gamma}/v1/single-use-token/realtime_scribe`, { method: 'POST', headers });
    const { token } = (await (await ask(key)).json()) as { token: string };
    const first = await connect(`${address}?${usual}&token=${token}`);
    await until(first, 'session_started');
    first.close();
    const second = await connect(`${address}?${usual}&token=${token}`);
    await second.closed;
    expect(second.messages).toEqual([{ message_type: 'auth_error', error: aText }]);
    expect((await ask({})).status).toBe(401);
  });

  it('refuses another path, a wrong key and none, and a key behind the proxy', async () => {
    expect((await refused(`${sandbox.endpoints.gamma}/v1/speech-to-text/live?${usual}`, key)).status).toBe(404);
    expect((await refused(`${address}?${usual}`)).status).toBe(401);
    expect((await refused(`${address}?${usual}`, { 'xi-api-key': 'wrong' })).status).toBe(401);
    expect((await refused(`${address}?${usual}`, { authorization: 'Bearer sandbox-key' })).status).toBe(401);
    expect((await refused(`${sandbox.proxies.gamma}/v1/speech-to-text/realtime?${usual}`, key)).status).toBe(400);
  });
});
