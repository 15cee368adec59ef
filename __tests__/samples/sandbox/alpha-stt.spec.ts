import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { isObject, member } from '../../../samples/sandbox/validate.ts';
import { pieces, speech } from './audio.ts';
import { aNumber, aText, connect, refused } from './client.ts';
import type { Client, Message } from './client.ts';

const raw = 'encoding=linear16&sample_rate=16000';
const usual = `model=nova-3&${raw}&interim_results=true&smart_format=true&endpointing=300&utterance_end_ms=1000&vad_events=true`;
const closeStream = { type: 'CloseStream' };

function transcript(message: Message): unknown {
  const alternatives = member(message['channel'], 'alternatives');
  return Array.isArray(alternatives) ? member(alternatives[0], 'transcript') : undefined;
}

function words(message: Message): Record<string, unknown>[] {
  const alternatives = member(message['channel'], 'alternatives');
  const list = Array.isArray(alternatives) ? member(alternatives[0], 'words') : [];
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** Messages as one line each. */
function told(client: Client): string[] {
  return client.messages.map((message) => {
    if (message['type'] !== 'Results') return String(message['type']);
    const flags = [
      ...(message['is_final'] ? ['final'] : []),
      ...(message['speech_final'] ? ['speech'] : []),
      ...(message['from_finalize'] ? ['finalize'] : []),
    ];
    return `${flags.join('+') || 'interim'}: ${String(transcript(message))}`;
  });
}

describe("the sandbox's /v1/listen", () => {
  let sandbox: Sandbox;
  const log: string[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox({ log: (line) => log.push(line) });
  });
  afterAll(() => sandbox.close());

  const url = (query: string): string => `${sandbox.endpoints.alpha}/v1/listen?${query}`;
  const listen = (query: string): Promise<Client> => connect(url(query), ['token', 'sandbox-key']);
  const hear = async (query: string, audio: Uint8Array<ArrayBuffer>, size = 3200): Promise<Client> => {
    const client = await listen(query);
    for (const piece of pieces(audio, size)) client.sendBytes(piece);
    client.send(closeStream);
    await client.closed;
    return client;
  };

  it('tells speech, each word, the end of speech and the end of the utterance, then closes with 1000', async () => {
    const client = await hear(usual, speech([500, 'What is the weather?', 1500]));
    expect(told(client)).toEqual([
      'SpeechStarted',
      'interim: What',
      'interim: What is',
      'interim: What is the',
      'interim: What is the weather?',
      'final+speech: What is the weather?',
      'UtteranceEnd',
      'final: ',
      'Metadata',
    ]);
    expect(client.protocol).toBe('token');
    expect(await client.closed).toEqual({ code: 1000, reason: '' });
  });

  it('places words by the time of the audio, and formats them as asked', async () => {
    const client = await hear(usual, speech([500, 'Hi, you.', 1500]));
    const final = client.messages.find((message) => message['speech_final'] === true) ?? {};
    expect(words(final).map(({ word, punctuated_word }) => [word, punctuated_word])).toEqual([
      ['hi', 'Hi,'],
      ['you', 'you.'],
    ]);
    expect(
      words(final).map(({ start, end }) => [Math.round(Number(start) * 100), Math.round(Number(end) * 100)]),
    ).toEqual([
      [50, 73],
      [82, 113],
    ]);
    const plain = await hear(`model=nova-3&${raw}`, speech(['Hi, you.', 500]));
    expect(told(plain)[0]).toBe('final+speech: hi you');
    expect(words(plain.messages[0] ?? {})[0]).toEqual({
      word: 'hi',
      start: 0,
      end: aNumber,
      confidence: 0.99,
    });
  });

  it('says the same whatever the size of the messages', async () => {
    const audio = speech([120, 'Any size will do.', 1200]);
    const lines = await Promise.all(
      [1001, 3200, 640, audio.length].map(async (size) => told(await hear(usual, audio, size))),
    );
    for (const each of lines) expect(each).toEqual(lines[0]);
  });

  it('hears mu-law and A-law at 8000 Hz', async () => {
    for (const encoding of ['mulaw', 'alaw'] as const) {
      const client = await hear(
        `model=nova-2&encoding=${encoding}&sample_rate=8000&punctuate=true`,
        speech(['Telephone.', 300], encoding, 8000),
      );
      expect(told(client)[0]).toBe('final+speech: Telephone.');
    }
  });

  it('finalizes a long segment while the speaker continues', async () => {
    const text = 'One segment of speech that is by far longer than five seconds, without any pause at all.';
    const client = await hear(usual, speech([text, 500]));
    const finals = told(client).filter((line) => line.startsWith('final'));
    expect(finals[0]).toMatch(/^final: One segment/);
    expect(finals[1]).toMatch(/^final\+speech: /);
    expect(
      finals
        .map((line) => line.replace(/^[^ ]* /, ''))
        .join(' ')
        .trim(),
    ).toBe(text);
  });

  it('without endpointing, only UtteranceEnd tells the end', async () => {
    const client = await hear(usual.replace('endpointing=300', 'endpointing=false'), speech(['Hello there.', 1400]));
    expect(told(client)).toEqual([
      'SpeechStarted',
      'interim: Hello',
      'interim: Hello there.',
      'UtteranceEnd',
      'final: Hello there.',
      'Metadata',
    ]);
  });

  it('Finalize brings what there is at once; KeepAlive and later audio go on', async () => {
    const client = await listen(usual);
    client.sendBytes(speech(['Half a wor']));
    client.send({ type: 'KeepAlive' });
    client.send({ type: 'Finalize' });
    await client.until((message) => message['from_finalize'] === true);
    client.send({ type: 'Finalize' });
    client.sendBytes(speech([100, 'More.', 400]));
    await client.until((message) => transcript(message) === 'More.' && message['speech_final'] === true);
    const lines = told(client);
    expect(lines).toContain('final+speech+finalize: Half a wor');
    expect(lines).toContain('final+speech+finalize: ');
    client.close();
  });

  it('shows a lost frame as a wrong word of low confidence', async () => {
    const audio = speech(['Undamaged.', 400]);
    const client = await hear(usual, new Uint8Array([...audio.subarray(0, 3200), ...audio.subarray(3840)]));
    const final = client.messages.find((message) => message['speech_final'] === true) ?? {};
    expect(transcript(final)).not.toBe('Undamaged.');
    expect(words(final)[0]?.['confidence']).toBe(0.35);
  });

  it('an empty frame closes like CloseStream', async () => {
    const client = await listen(usual);
    client.sendBytes(new Uint8Array(0));
    expect((await client.closed).code).toBe(1000);
    expect(told(client)).toEqual(['final: ', 'Metadata']);
  });

  it('takes a WAV file without encoding, and nothing else', async () => {
    const client = await listen('model=nova-3');
    client.sendBytes(new Uint8Array(1000));
    expect(await client.closed).toEqual({ code: 1008, reason: 'DATA-0000' });
  });

  for (const text of ['{"type":"KeepAliv"}', 'not JSON', '[]']) {
    it(`closes on the message ${text}`, async () => {
      const client = await listen(usual);
      client.send(text);
      expect((await client.closed).code).toBe(1008);
      expect(log.at(-1)).toMatch(/not a message of this API/);
    });
  }

  it('Configure changes key terms and formats from there on, and is answered once', async () => {
    const client = await listen(`${usual}&keyterm=apple`);
    for (const piece of pieces(speech([100, 'two', 1500]), 3200)) client.sendBytes(piece);
    await client.untilType('UtteranceEnd');
    client.send({ type: 'Configure', keyterms: ['grape', 'sour plum'], features: { numerals: true } });
    expect(await client.untilType('ConfigureSuccess')).toEqual({
      ...{ type: 'ConfigureSuccess', request_id: aText, keyterms: ['grape', 'sour plum'] },
    });
    for (const piece of pieces(speech([100, 'two', 1500]), 3200)) client.sendBytes(piece);
    client.send({ type: 'Configure', features: { numerals: false } });
    client.send(closeStream);
    await client.closed;
    expect(told(client).filter((line) => /speech|Configure/.test(line))).toEqual([
      ...['final+speech: two', 'ConfigureSuccess', 'final+speech: 2', 'ConfigureSuccess'],
    ]);
  });

  it('Configure is refused with a word of its own, and the stream goes on', async () => {
    const client = await listen(`model=nova-2&${raw}`);
    client.send({ type: 'Configure', keyterms: ['a'] });
    client.send({ type: 'Configure', keyterm: ['a'] });
    client.send({ type: 'Configure', features: { numerals: true } });
    client.send(closeStream);
    await client.closed;
    expect(client.messages.map(({ type, code }) => [type, code]).slice(0, 3)).toEqual([
      ['ConfigureFailure', 'KeytermsNotSupported'],
      ['ConfigureFailure', 'SchemaError'],
      ['ConfigureSuccess', undefined],
    ]);
  });

  it('Configure with more key terms than it takes leaves the stream mute, where an address is refused', async () => {
    const client = await listen(usual);
    client.send({ type: 'Configure', keyterms: Array.from({ length: 501 }, () => 'term') });
    for (const piece of pieces(speech([100, 'two', 1500]), 3200)) client.sendBytes(piece);
    client.send({ type: 'Finalize' });
    client.send('not JSON');
    await client.closed;
    expect(client.messages).toEqual([]);
    const asked = await refused(url(usual + '&keyterm=term'.repeat(501)), { authorization: 'Token sandbox-key' });
    expect(asked.status).toBe(400);
  });

  it.each([
    ['nova-3-medical', 'multi'],
    ['nova-3-medical', 'en-GB'],
    ['nova-3-pharma', 'en-IN'],
  ])('%s hears %s', async (model, language) => {
    const client = await listen(`model=${model}&${raw}&language=${language}`);
    client.send(closeStream);
    expect((await client.closed).code).toBe(1000);
  });

  it('closes with NET-0001 when nothing comes', async () => {
    const impatient = await startSandbox({ limits: { alphaIdleMs: 60 } });
    const client = await connect(`${impatient.endpoints.alpha}/v1/listen?${usual}`, ['token', 'sandbox-key']);
    const { code, reason } = await client.closed;
    expect([code, /net0001$/i.test(reason)]).toEqual([1011, true]);
    await impatient.close();
  });

  const bad: readonly (readonly [query: string, status: number, code: string])[] = [
    ['model=nova-3&encodng=linear16', 400, 'INVALID_QUERY_PARAMETER'],
    [`model=nova-9&${raw}`, 400, 'Bad Request'],
    ['model=nova-3&encoding=linear16', 400, 'INVALID_QUERY_PARAMETER'],
    [`model=nova-3&${raw}&interim_results=yes`, 400, 'INVALID_QUERY_PARAMETER'],
    [`model=nova-3&${raw}&punctuation=true`, 400, 'INVALID_QUERY_PARAMETER'],
    [`model=nova-3&${raw}&utterance_end_ms=1000`, 400, 'INVALID_QUERY_PARAMETER'],
    [`model=nova-3&${raw}&interim_results=true&utterance_end_ms=500`, 400, 'INVALID_QUERY_PARAMETER'],
    [`model=nova-3&${raw}&diarize=true&diarize_model=latest`, 400, 'INVALID_QUERY_PARAMETER'],
    [`model=nova-2&${raw}&keyterm=a`, 400, 'INVALID_QUERY_PARAMETER'],
    [`model=nova-3-medical&${raw}&language=de`, 400, 'Bad Request'],
    [`model=nova-3-pharma&${raw}&language=multi`, 400, 'Bad Request'],
    [`model=nova-3&${raw}&topics=true`, 403, 'INSUFFICIENT_PERMISSIONS'],
    [`model=nova-3&${raw}&model=nova-3`, 400, 'INVALID_QUERY_PARAMETER'],
  ];
  for (const [query, status, code] of bad) {
    it(`refuses ?${query}`, async () => {
      const answer = await refused(url(query), { authorization: 'Token sandbox-key' });
      expect(answer.status).toBe(status);
      const body: unknown = JSON.parse(answer.body);
      expect(body).toEqual({
        err_code: code,
        err_msg: answer.headers['dg-error'],
        request_id: answer.headers['dg-request-id'],
      });
      expect(sandbox.records('alpha-stt').at(-1)).toMatchObject({ status, refusal: aText });
    });
  }

  const credentials: readonly (readonly [name: string, headers: Record<string, string>, status: number])[] = [
    ['no credential', {}, 401],
    ['a wrong key', { authorization: 'Token wrong' }, 401],
    ['a key as Bearer', { authorization: 'Bearer sandbox-key' }, 401],
    ['a wrong key in the subprotocols', { 'sec-websocket-protocol': 'token, wrong' }, 401],
    ['the key in the header', { authorization: 'Token sandbox-key' }, 101],
    ['the key in the subprotocols, after a space', { 'sec-websocket-protocol': 'token, sandbox-key' }, 101],
    ['the key in the subprotocols, without a space', { 'sec-websocket-protocol': 'token,sandbox-key' }, 101],
  ];
  for (const [name, headers, status] of credentials) {
    it(`answers ${status} to ${name}`, async () => {
      expect((await refused(url(usual), headers)).status).toBe(status);
    });
  }

  it('grants short-lived tokens, which go with bearer', async () => {
    const grant = await fetch(`${sandbox.endpoints.alpha}/v1/auth/grant`, {
      ...{ method: 'POST', headers: { authorization: 'Token sandbox-key' }, body: '{"ttl_seconds":30}' },
    });
    const { access_token: token, expires_in: seconds } = (await grant.json()) as {
      access_token: string;
      expires_in: number;
    };
    expect(seconds).toBe(30);
    const client = await connect(url(usual), ['bearer', token]);
    expect(client.protocol).toBe('bearer');
    client.close();
    expect((await refused(url(usual), { authorization: `Token ${token}` })).status).toBe(401);
  });

  it('needs no credential behind the proxy, and refuses one', async () => {
    const proxied = `${sandbox.proxies.alpha}/v1/listen?${usual}`;
    const client = await connect(proxied);
    client.send(closeStream);
    expect((await client.closed).code).toBe(1000);
    expect((await refused(proxied, { authorization: 'Token sandbox-key' })).status).toBe(400);
    expect((await refused(proxied, { 'sec-websocket-protocol': 'token, sandbox-key' })).status).toBe(400);
    expect(sandbox.records('alpha-stt').at(-1)).toMatchObject({ proxied: true, protocols: ['token', 'sandbox-key'] });
  });

  it('refuses a wrong path and a plain request', async () => {
    expect((await refused(`${sandbox.endpoints.alpha}/v3/listen`, { authorization: 'Token sandbox-key' })).status).toBe(
      404,
    );
    expect((await fetch(url(usual), { headers: { authorization: 'Token sandbox-key' } })).status).toBe(405);
    expect((await fetch(`${sandbox.url}/nobody/at/all`)).status).toBe(404);
  });
});
