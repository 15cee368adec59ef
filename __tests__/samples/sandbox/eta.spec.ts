import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { isObject } from '../../../samples/sandbox/validate.ts';
import { pieces, speech } from './audio.ts';
import { aNumber, aText, connect, refused } from './client.ts';
import type { Client, Message } from './client.ts';

const raw = (rate: number, format: string = 'S16LE', channels: number = 1): string =>
  `audio/x-raw;layout=interleaved;rate=${rate};format=${format};channels=${channels}`;

/** A query, on top of what every session needs. */
function query(more: Readonly<Record<string, string | undefined>> = {}): string {
  const usual = { access_token: 'sandbox-key', content_type: raw(16_000) };
  const given = Object.entries<string | undefined>({ ...usual, ...more });
  return String(new URLSearchParams(given.filter((each): each is [string, string] => each[1] !== undefined)));
}

const elements = ({ elements: given }: Message): Record<string, unknown>[] =>
  Array.isArray(given) ? given.filter(isObject) : [];

/** Messages as one line each, with bars between the elements. */
function told({ messages }: Client): string[] {
  return messages.map((message) => {
    const type = String(message['type']);
    return type === 'connected'
      ? type
      : `${type}: ${elements(message)
          .map(({ value }) => String(value))
          .join('|')}`;
  });
}

describe("the sandbox's Rev AI", () => {
  let sandbox: Sandbox;
  let address: string;
  const log: string[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox({ limits: { etaIdleMs: 300 }, log: (line) => log.push(line) });
    address = `${sandbox.endpoints.eta}/speechtotext/v1/stream`;
  });
  afterAll(() => sandbox.close());

  const ready = async (more: Readonly<Record<string, string | undefined>> = {}): Promise<Client> => {
    const client = await connect(`${address}?${query(more)}`);
    await client.untilType('connected');
    return client;
  };
  const hear = async (
    audio: Uint8Array<ArrayBuffer>,
    more: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Client> => {
    const client = await ready(more);
    for (const piece of pieces(audio, 8_000)) client.sendBytes(piece);
    client.send('EOS');
    await client.closed;
    return client;
  };

  it('greets, guesses in lower case, writes finals out, and answers the end with the last one', async () => {
    const client = await hear(speech([200, 'One, two three.', 800, 'Four', 100]));
    expect(told(client)).toEqual([
      ...['connected', 'partial: one', 'partial: one|two', 'partial: one|two|three'],
      ...['final: One|,| |two| |three|.|.', 'partial: four', 'final: Four|.'],
    ]);
    expect(client.messages[0]).toEqual({ type: 'connected', id: aText });
    expect(await client.closed).toEqual({ code: 1000, reason: 'End of input. Closing' });
  });

  it('gives words of finals their times, and those of partials only where they are asked for', async () => {
    const spoken = { type: 'text', value: aText, ts: aNumber, end_ts: aNumber, confidence: aNumber };
    const [partial, final] = (await hear(speech([200, 'Yes', 800]))).messages.slice(1);
    expect(partial).toEqual({ type: 'partial', ts: 0.2, end_ts: aNumber, elements: [{ type: 'text', value: 'yes' }] });
    expect(elements(final ?? {})).toEqual([
      { ...spoken, value: 'Yes', ts: 0.2 },
      { type: 'punct', value: '.' },
    ]);
    const detailed = await hear(speech([200, 'Yes', 800]), { detailed_partials: 'true' });
    expect(elements(detailed.messages[1] ?? {})).toEqual([{ ...spoken, value: 'yes' }]);
  });

  it('leaves the writing undone, and names the speaker, where it is asked to', async () => {
    const plain = await hear(speech(['One, two.', 800]), { skip_postprocessing: 'true' });
    expect(told(plain).at(-1)).toBe('final: one|two');
    const not = await hear(speech(['One', 800]), { skip_postprocessing: 'false', language: 'en' });
    expect(told(not).at(-1)).toBe('final: One|.');
    const labelled = await hear(speech(['One', 800]), { transcriber: 'machine_v2', enable_speaker_switch: 'true' });
    expect(labelled.messages.map(({ speaker_id }) => speaker_id)).toEqual([undefined, undefined, 0]);
  });

  it('finalizes a long segment while the speaker continues', async () => {
    const text = 'one segment of speech that is by far longer than five seconds without any pause at all in it';
    const finals = told(await hear(speech([text, 800]), { max_segment_duration_seconds: '5' })).filter((line) =>
      line.startsWith('final'),
    );
    expect(finals.length).toBeGreaterThan(1);
    expect(finals.flatMap((line) => line.slice(7).split(/[|. ]+/)).filter(Boolean)).toEqual(text.split(' '));
  });

  for (const [rate, format, encoding] of [
    [8_000, 'S16LE', 'linear16'],
    [48_000, 'F32LE', 'linear32'],
  ] as const) {
    it(`hears ${format} at ${rate} Hz`, async () => {
      const client = await hear(speech(['Heard', 800], encoding, rate), { content_type: raw(rate, format) });
      expect(told(client).at(-1)).toBe('final: Heard|.');
    });
  }

  const queries: readonly (readonly [
    what: string,
    more: Readonly<Record<string, string | undefined>>,
    names: string,
  ])[] = [
    ['no content type', { content_type: undefined }, 'sandbox'],
    ['another content type', { content_type: 'audio/mpeg' }, 'audio/mpeg'],
    ['raw audio without its layout', { content_type: 'audio/x-raw;rate=16000;format=S16LE;channels=1' }, 'layout'],
    ['a format in lower case', { content_type: raw(16_000, 's16le') }, 'format'],
    ['a rate that is too low', { content_type: raw(4_000) }, 'rate'],
    ['too many channels', { content_type: raw(16_000, 'S16LE', 11) }, 'channels'],
    ['an unknown parameter', { sample_rate: '16000' }, 'sample_rate'],
    ['a region in the language', { language: 'en-US' }, 'language'],
    ['a boolean that is none', { filter_profanity: '1' }, 'filter_profanity'],
    ['a filter for English only', { language: 'fr', remove_disfluencies: 'true' }, 'remove_disfluencies'],
    ['speakers without the transcriber that tells them', { enable_speaker_switch: 'true' }, 'machine_v2'],
    ['a priority without that transcriber', { priority: 'accuracy' }, 'machine_v2'],
    ['segments that are too short', { max_segment_duration_seconds: '4' }, 'max_segment_duration_seconds'],
    ['too long a wait', { max_connection_wait_seconds: '601' }, 'max_connection_wait_seconds'],
    ['too long a text', { metadata: 'x'.repeat(513) }, 'metadata'],
  ];
  for (const [what, more, names] of queries) {
    it(`closes with 4002 at ${what}, and says which`, async () => {
      const client = await connect(`${address}?${query(more)}`);
      const { code, reason } = await client.closed;
      expect([code, reason.includes(names), client.messages]).toEqual([4002, true, []]);
    });
  }

  it('takes the upgrade of a wrong token and of none, then closes with 4001', async () => {
    for (const access_token of ['wrong', undefined]) {
      const client = await connect(`${address}?${query({ access_token })}`);
      expect([(await client.closed).code, client.messages]).toEqual([4001, []]);
    }
    expect(log).toContain('[eta-stt] close 4001 Authentication failed: wrong access_token');
  });

  it('knows no credential but the one in the query', async () => {
    const headers = { authorization: 'Bearer sandbox-key' };
    expect((await refused(`${address}?${query()}`, headers)).status).toBe(400);
    expect((await refused(`${address}?${query()}`, { 'sec-websocket-protocol': 'token' })).status).toBe(400);
  });

  it('behind the proxy takes no token at all', async () => {
    const proxy = `${sandbox.proxies.eta}/speechtotext/v1/stream`;
    expect((await refused(`${proxy}?${query()}`)).status).toBe(400);
    const client = await connect(`${proxy}?${query({ access_token: undefined })}`);
    await client.untilType('connected');
    client.close();
  });

  it('refuses another path, and what is no upgrade', async () => {
    expect((await refused(`${sandbox.endpoints.eta}/speechtotext/v2/stream?${query()}`)).status).toBe(404);
    expect((await fetch(`${address.replace(/^ws/, 'http')}?${query()}`)).status).toBe(400);
  });

  for (const text of ['eos', '"EOS"', '{"type":"CloseStream"}', '']) {
    it(`closes with 1007 at the text ${JSON.stringify(text)}`, async () => {
      const client = await ready();
      client.send(text);
      expect(await client.closed).toEqual({ code: 1007, reason: 'Invalid payload' });
    });
  }

  it('hears nothing after the end', async () => {
    const client = await ready();
    client.sendBytes(speech(['One']));
    client.send('EOS');
    client.sendBytes(speech(['two', 800]));
    await client.closed;
    expect(told(client).filter((line) => line.startsWith('final'))).toEqual(['final: One|.']);
  });

  it('ends a session that hears nothing, with a close that looks normal', async () => {
    const client = await ready();
    expect(await client.closed).toEqual({
      code: 1000,
      reason: 'No data has been transferred, closing connection',
    });
  });
});
