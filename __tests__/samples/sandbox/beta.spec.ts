import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { pieces, speech } from './audio.ts';
import { aNumber, aText, connect, refused } from './client.ts';
import type { Client } from './client.ts';

const key = { authorization: 'sandbox-key' };
const u3 = 'sample_rate=16000&encoding=pcm_s16le&speech_model=universal-3-5-pro';
const english = 'sample_rate=16000&encoding=pcm_s16le&speech_model=universal-streaming-english';

/** Messages as one line each. */
const told = ({ messages }: Client): string[] =>
  messages.map(({ type, transcript, end_of_turn: ends, turn_is_formatted: formatted }) =>
    type === 'Turn' ? `${formatted ? 'Formatted' : ends ? 'End' : 'Turn'}: ${String(transcript)}` : String(type),
  );

describe("the sandbox's AssemblyAI", () => {
  let sandbox: Sandbox;
  let address: string;
  beforeAll(async () => {
    sandbox = await startSandbox();
    address = `${sandbox.endpoints.beta}/v3/ws`;
  });
  afterAll(() => sandbox.close());

  const ready = async (query: string = u3): Promise<Client> => {
    const client = await connect(`${address}?${query}`, [], key);
    await client.untilType('Begin');
    return client;
  };
  const hear = async (query: string, audio: Uint8Array<ArrayBuffer>, size: number = 3_200): Promise<Client> => {
    const client = await ready(query);
    for (const piece of pieces(audio, size)) if (piece.length >= 1_600) client.sendBytes(piece);
    client.send({ type: 'Terminate' });
    await client.closed;
    return client;
  };

  it('tells speech, the turn as it grows, its end, and the end of the session', async () => {
    const client = await hear(u3, speech(['Hello there.', 500]));
    expect(told(client)).toEqual([
      ...['Begin', 'SpeechStarted', 'Turn: Hello—', 'Turn: Hello there.—', 'Formatted: Hello there.', 'Termination'],
    ]);
    expect(client.messages[0]).toEqual({ type: 'Begin', id: aText, expires_at: aNumber });
    expect(await client.closed).toEqual({ code: 1000, reason: '' });
  });

  it('keeps what may change out of the transcript of the older models, and formats on request', async () => {
    const plain = await hear(`${english}&end_of_turn_confidence_threshold=0.5`, speech(['Hello there.', 800]));
    expect(told(plain)).toEqual(['Begin', 'Turn: ', 'Turn: hello', 'End: hello there', 'Termination']);
    const formatted = await hear(`${english}&format_turns=true`, speech(['Hello there.', 800]));
    expect(told(formatted).slice(-3)).toEqual(['End: hello there', 'Formatted: Hello there.', 'Termination']);
  });

  it('labels speakers and the language where it is asked to', async () => {
    const client = await hear(`${u3}&speaker_labels=true&language_detection=true`, speech(['Hi', 500]));
    const end = client.messages.find(({ end_of_turn: ends }) => ends === true);
    expect(end).toMatchObject({ speaker_label: 'A', language_code: 'en', words: [{ text: 'Hi', speaker: 'A' }] });
  });

  it('ends the turn on request, and applies what a session can change', async () => {
    const client = await ready(`${u3}&min_turn_silence=5000`);
    client.send({ type: 'UpdateConfiguration', keyterms_prompt: ['Acme'], max_turn_silence: 9_000 });
    client.send({ type: 'KeepAlive' });
    for (const piece of pieces(speech(['Hello', 500]), 3_200)) if (piece.length >= 1_600) client.sendBytes(piece);
    client.send({ type: 'ForceEndpoint' });
    await client.until(({ end_of_turn: ends }) => ends === true);
    client.close();
  });

  it('hears mu-law', async () => {
    const query = u3.replace('16000', '8000').replace('pcm_s16le', 'pcm_mulaw');
    const client = await ready(query);
    for (const piece of pieces(speech(['Heard', 500], 'mulaw', 8_000), 800))
      if (piece.length >= 400) client.sendBytes(piece);
    await client.until(({ end_of_turn: ends }) => ends === true);
    expect(told(client)).toContain('Formatted: Heard');
    client.close();
  });

  const queries: readonly (readonly [what: string, query: string])[] = [
    ['no model', 'sample_rate=16000'],
    ['another model', 'speech_model=nova-3'],
    ['a list that is no JSON', `${u3}&keyterms_prompt=Acme`],
    ['too many terms', `${u3}&keyterms_prompt=${JSON.stringify(Array.from({ length: 101 }, () => 'a'))}`],
    ['a region in a language', `${u3}&language_codes=["en-US"]`],
    ['multi beside a language', `${u3}&language_codes=["multi","en"]`],
    ['a prompt for another model', `${english}&prompt=x`],
    ['a threshold beyond 1', `${u3}&vad_threshold=2`],
    ['more context than it keeps', `${u3}&agent_context=${'a'.repeat(1_751)}`],
    ['a voice focus for another model', `${english}&voice_focus=near-field`],
    ['a parameter of v2', `${u3}&word_boost=["a"]`],
    ['an encoding of v2', u3.replace('pcm_s16le', 'linear16')],
    ['an encoding that it cannot decode', u3.replace('pcm_s16le', 'opus')],
    ['a rate of nothing', u3.replace('16000', '0')],
    ...Object.entries({
      ...{ language_code: '', language_detection: 'yes', format_turns: '1', speaker_labels: 'on', max_speakers: '0' },
      ...{ end_of_turn_confidence_threshold: '1.1', min_turn_silence: '-1', max_turn_silence: '0.5' },
      ...{ inactivity_timeout: '4', filter_profanity: 'yes', previous_context_n_turns: '101', voice_focus: 'far' },
      ...{ voice_focus_threshold: '2', domain: 'medical', mode: 'fast', continuous_partials: '1' },
      ...{ interruption_delay: '1001', session_heartbeat: '1', acknowledge_silence: '1', token: '' },
    }).map(([name, value]) => [`${name} of "${value}"`, `${u3}&${name}=${value}`] as const),
  ];
  for (const [what, query] of queries) {
    it(`takes the upgrade, and ends with 3006 at ${what}`, async () => {
      const client = await connect(`${address}?${query}`, [], key);
      expect((await client.closed).code).toBe(3006);
      expect(client.messages).toEqual([{ type: 'Error', error_code: 3006, error: aText }]);
    });
  }

  const frames: readonly (readonly [what: string, frame: object | string | Uint8Array, code: number])[] = [
    ['audio of 8 ms', new Uint8Array(256), 3007],
    ['audio of more than a second', new Uint8Array(32_002), 3007],
    ['what is no JSON', 'hello', 3006],
    ['an unknown message', { type: 'Stop' }, 3006],
    ['a setting that is fixed', { type: 'UpdateConfiguration', speaker_labels: true }, 3006],
    ['more context than it keeps', { type: 'UpdateConfiguration', agent_context: 'a'.repeat(1_751) }, 3006],
    ['a list as text', { type: 'UpdateConfiguration', keyterms_prompt: '["a"]' }, 3006],
    ...Object.entries({
      ...{ language_codes: ['en-US'], min_turn_silence: '200', max_turn_silence: -1, vad_threshold: 2, prompt: 1 },
      ...{ end_of_turn_confidence_threshold: 2, format_turns: 'true', filter_profanity: 1, interruption_delay: 1001 },
      ...{ session_heartbeat: 'true', acknowledge_silence: 'true' },
    }).map(
      ([name, value]) =>
        [
          `an update of ${name} to ${JSON.stringify(value)}`,
          { type: 'UpdateConfiguration', [name]: value },
          3006,
        ] as const,
    ),
  ];
  for (const [what, frame, code] of frames) {
    it(`ends with ${code} at ${what}`, async () => {
      const client = await ready();
      if (frame instanceof Uint8Array) client.sendBytes(frame);
      else client.send(frame);
      expect((await client.closed).code).toBe(code);
      expect(client.messages.at(-1)).toEqual({ type: 'Error', error_code: code, error: aText });
    });
  }

  it('ends with 3007 at audio that is faster than real time', async () => {
    const own = await startSandbox({ limits: { betaAheadMs: 500 } });
    const client = await connect(`${own.endpoints.beta}/v3/ws?${u3}`, [], key);
    await client.untilType('Begin');
    for (let second = 0; second < 3; second++) client.sendBytes(new Uint8Array(32_000));
    expect((await client.closed).code).toBe(3007);
    await own.close();
  });

  it('grants tokens to who has a key, which open a session by the query', async () => {
    const ask = (query: string, headers: Record<string, string> = key): Promise<Response> =>
      fetch(`${sandbox.endpoints.beta}/v3/token?${query}`, { headers });
    const { token } = (await (await ask('expires_in_seconds=60')).json()) as { token: string };
    const client = await connect(`${address}?${u3}&token=${token}`);
    await client.untilType('Begin');
    client.close();
    expect((await ask('expires_in_seconds=601')).status).toBe(400);
    expect((await ask('expires_in_seconds=60', {})).status).toBe(401);
  });

  it('refuses another path, a scheme before the key, a wrong key and none, and a key behind the proxy', async () => {
    expect((await refused(`${sandbox.endpoints.beta}/v2/realtime/ws?${u3}`, key)).status).toBe(404);
    expect((await refused(`${address}?${u3}`, { authorization: 'Bearer sandbox-key' })).status).toBe(401);
    expect((await refused(`${address}?${u3}`, { authorization: 'wrong' })).status).toBe(401);
    expect((await refused(`${address}?${u3}&token=sandbox-key`)).status).toBe(401);
    expect((await refused(`${address}?${u3}`)).status).toBe(401);
    expect((await refused(`${sandbox.proxies.beta}/v3/ws?${u3}`, key)).status).toBe(400);
  });
});
