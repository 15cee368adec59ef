import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { noise } from '../../../samples/sandbox/modem.ts';
import { writeSamples } from '../../../samples/sandbox/pcm.ts';
import { pieces, speech } from './audio.ts';
import { connect, refused } from './client.ts';
import type { Client, Message } from './client.ts';

const usual = 'model=flux-general-en&encoding=linear16&sample_rate=16000';
const eager = `${usual}&eager_eot_threshold=0.4`;

/** The turn's events without the `Update`s, as one line each. */
function told(messages: readonly Message[]): string[] {
  return messages.flatMap(({ type, event, transcript, trigger, code }) => {
    if (type !== 'TurnInfo') return [typeof code === 'string' ? `${String(type)} ${code}` : String(type)];
    if (event === 'Update') return [];
    return [[event, ...(typeof trigger === 'string' ? [trigger] : [])].join(' ') + `: ${String(transcript)}`];
  });
}

describe("the sandbox's /v2/listen", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const url = (query: string): string => `${sandbox.endpoints.alpha}/v2/listen?${query}`;
  const listen = (query: string): Promise<Client> => connect(url(query), ['token', 'sandbox-key']);
  const hear = async (query: string, audio: Uint8Array<ArrayBuffer>, size = 2560): Promise<Client> => {
    const client = await listen(query);
    for (const piece of pieces(audio, size)) client.sendBytes(piece);
    client.send({ type: 'CloseStream' });
    await client.closed;
    return client;
  };

  it('opens a turn with its first word and ends it by silence; the close has no code', async () => {
    const client = await hear(usual, speech([300, 'Hi, I need help.', 1000]));
    expect(told(client.messages)).toEqual(['Connected', 'StartOfTurn: Hi,', 'EndOfTurn model: Hi, I need help.']);
    expect(await client.closed).toEqual({ code: 1005, reason: '' });
  });

  it('numbers every message, and updates four times a second of audio', async () => {
    const client = await hear(usual, speech([300, 'Hi, I need help.', 1000]));
    expect(client.messages.map(({ sequence_id }) => sequence_id)).toEqual(client.messages.map((_, index) => index));
    const updates = client.messages.filter(({ event }) => event === 'Update');
    expect(updates.map(({ audio_window_end }) => audio_window_end)).toEqual([
      0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5,
    ]);
    expect(updates[0]).toMatchObject({ transcript: '', words: [] });
    expect(updates[5]).toMatchObject({ turn_index: 0, transcript: 'Hi, I need' });
    expect(updates.at(-1)).toMatchObject({ turn_index: 1, transcript: '' });
  });

  it('announces the end eagerly, takes it back when the voice returns, and ends the turn with the whole text', async () => {
    const client = await hear(eager, speech(['I need help', 500, 'with billing.', 1000]));
    expect(told(client.messages)).toEqual([
      'Connected',
      'StartOfTurn: I',
      'EagerEndOfTurn: I need help',
      'TurnResumed: I need help',
      'EagerEndOfTurn: I need help with billing.',
      'EndOfTurn model: I need help with billing.',
    ]);
  });

  it('ends with the eager text when nothing came between', async () => {
    const client = await hear(eager, speech(['Cancel it.', 1000]));
    const [first, last] = client.messages.filter(({ event }) => event === 'EagerEndOfTurn' || event === 'EndOfTurn');
    expect(first?.['transcript']).toBe(last?.['transcript']);
    expect(first?.['words']).toEqual(last?.['words']);
  });

  it('noise opens no turn and resumes none', async () => {
    const cough = writeSamples(noise(200, 16000), 'linear16');
    const bytes = new Uint8Array([...cough, ...speech([400, 'Well.', 450]), ...cough, ...speech([1000])]);
    expect(told((await hear(eager, bytes)).messages)).toEqual([
      'Connected',
      'StartOfTurn: Well.',
      'EagerEndOfTurn: Well.',
      'EndOfTurn model: Well.',
    ]);
  });

  it('says the same whatever the size of the messages', async () => {
    const audio = speech([100, 'Whatever', 450, 'the size.', 900]);
    const runs = await Promise.all(
      [999, 2560, audio.length].map(async (size) => told((await hear(eager, audio, size)).messages)),
    );
    for (const run of runs) expect(run).toEqual(runs[0]);
  });

  it('waits for the thresholds, and for the time-out when the model may not decide', async () => {
    const patient = await hear(`${usual}&eot_threshold=0.9`, speech(['One', 800, 'two.', 950]));
    expect(told(patient.messages).at(-1)).toBe('EndOfTurn model: One two.');
    const never = await hear(`${usual}&eot_threshold=1.0&eot_timeout_ms=1500`, speech(['One', 1400, 'two.', 1600]));
    expect(told(never.messages)).toEqual(['Connected', 'StartOfTurn: One', 'EndOfTurn timeout: One two.']);
  });

  it('Configure changes what it names, from there on', async () => {
    const client = await listen(eager);
    client.send({ type: 'Configure', thresholds: { eot_threshold: 0.9 }, keyterms: ['invoice'] });
    expect(await client.untilType('ConfigureSuccess')).toMatchObject({
      ...{ thresholds: { eager_eot_threshold: 0.4, eot_threshold: 0.9, eot_timeout_ms: 5000 }, keyterms: ['invoice'] },
    });
    client.send({ type: 'Configure', thresholds: { eager_eot_threshold: 0.9, eot_threshold: 0.5 } });
    client.send({ type: 'Configure', treshold: 1 });
    client.send({ type: 'Configure', language_hints: ['de'] });
    client.send({ type: 'CloseStream' });
    await client.closed;
    expect(told(client.messages)).toEqual([
      'Connected',
      'ConfigureSuccess',
      'ConfigureFailure INVALID_THRESHOLD',
      'ConfigureFailure INVALID_CONFIGURATION',
      'ConfigureFailure INVALID_LANGUAGE_HINTS',
    ]);
  });

  it('ForceEndTurn ends an open turn at once, even in a word, and warns when none is open', async () => {
    const client = await listen(eager);
    client.send({ type: 'ForceEndTurn' });
    client.sendBytes(speech(['Now', 450]));
    client.send({ type: 'ForceEndTurn' });
    client.sendBytes(speech(['an']));
    client.send({ type: 'ForceEndTurn' });
    client.send({ type: 'CloseStream' });
    await client.closed;
    expect(told(client.messages)).toEqual([
      ...[
        'Connected',
        'Warning FORCE_END_TURN_NO_ACTIVE_TURN',
        'StartOfTurn: Now',
        'EagerEndOfTurn: Now',
        'EndOfTurn manual: Now',
      ],
      ...['StartOfTurn: an', 'EndOfTurn manual: an'],
    ]);
  });

  it('gives up a client of which nothing comes', async () => {
    const impatient = await startSandbox({ limits: { alphaFluxIdleMs: 60 } });
    const client = await connect(`${impatient.endpoints.alpha}/v2/listen?${usual}`, ['token', 'sandbox-key']);
    expect((await client.closed).code).toBe(1011);
    expect(told(client.messages)).toEqual(['Connected', 'Error INACTIVE_CLIENT']);
    await impatient.close();
  });

  it('keeps a client of which nothing but pings comes', async () => {
    const impatient = await startSandbox({ limits: { alphaFluxIdleMs: 60 } });
    const client = await connect(`${impatient.endpoints.alpha}/v2/listen?${usual}`, ['token', 'sandbox-key']);
    await client.untilType('Connected');
    const began = performance.now();
    while (performance.now() - began < 200) await client.ping();
    expect(told(client.messages)).toEqual(['Connected']);
    client.close();
    await impatient.close();
  });

  it('CloseStream leaves an open turn without an end', async () => {
    const client = await hear(usual, speech(['Unfinished busi']));
    expect(told(client.messages)).toEqual(['Connected', 'StartOfTurn: Unfinished']);
    expect(client.messages.at(-1)).toMatchObject({ event: 'Update', transcript: 'Unfinished busi' });
  });

  for (const text of ['{"type":"KeepAlive"}', '{"type":"Finalize"}', 'x', '{}']) {
    it(`ends the session on ${text}`, async () => {
      const client = await listen(usual);
      client.send(text);
      await client.closed;
      expect(told(client.messages)).toEqual(['Connected', 'Error UNPARSABLE_CLIENT_MESSAGE']);
    });
  }

  const bad = [
    'encoding=linear16&sample_rate=16000',
    usual.replace('flux-general-en', 'flux'),
    usual.replace('flux-general-en', 'nova-3'),
    usual.replace('16000', '22050'),
    `${usual}&language=en`,
    `${usual}&channels=1`,
    `${usual}&interim_results=true`,
    `${usual}&eager_eot_threshold=0.8`,
    `${usual}&eager_eot_threshold=0.95&eot_threshold=1`,
    `${usual}&eot_timeout_ms=100`,
    `${usual}&language_hint=en`,
    `${usual}&${Array.from({ length: 101 }, (_, n) => `keyterm=k${n}`).join('&')}`,
  ];
  for (const query of bad) {
    it(`refuses ?${query.slice(0, 90)}`, async () => {
      expect((await refused(url(query), { authorization: 'Token sandbox-key' })).status).toBe(400);
    });
  }

  it('takes all that it documents', async () => {
    const all = `${eager}&eot_threshold=0.8&eot_timeout_ms=60000&keyterm=a&keyterm=b%20c&profanity_filter=true&numerals=false&redact=numbers&mip_opt_out=true&tag=x&tag=y`;
    const client = await listen(all);
    await client.untilType('Connected');
    client.close();
    expect(sandbox.records('alpha-flux').at(-1)?.query).toContainEqual(['keyterm', 'b c']);
  });
});
