import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples, durationMs } from '../../../samples/sandbox/modem.ts';
import { readSamples } from '../../../samples/sandbox/pcm.ts';
import { globalClock } from '../../transport/global-clock.ts';
import { until } from '../../transport/http-fixture.ts';
import { aText, connect, refused } from './client.ts';
import type { Client } from './client.ts';

const usual = 'model=aura-2-thalia-en&encoding=linear16&sample_rate=24000';
const speak = (text: string): unknown => ({ type: 'Speak', text });
const flush = { type: 'Flush' };

function heard(client: Client, rate = 24000): string {
  return decodeSamples(readSamples(client.audio(), 'linear16'), rate).text;
}

describe("the sandbox's /v1/speak", () => {
  let sandbox: Sandbox;
  let slow: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
    slow = await startSandbox({ realtimeFactor: 4, limits: { alphaTtsFlushesPerMinute: 2 } });
  });
  afterAll(async () => {
    await sandbox.close();
    await slow.close();
  });

  const talk = (query = usual, at = sandbox): Promise<Client> =>
    connect(`${at.endpoints.alpha}/v1/speak?${query}`, ['token', 'sandbox-key']);

  it('says what was flushed, in pieces of 200 ms, then Flushed', async () => {
    const client = await talk();
    client.send(speak('Hello, '));
    client.send(speak('how can I help you? '));
    client.send(flush);
    expect(await client.untilType('Flushed')).toEqual({ type: 'Flushed', sequence_id: 0 });
    expect(heard(client)).toBe('Hello, how can I help you? ');
    expect(client.audio().length).toBe((durationMs('Hello, how can I help you? ') / 1000) * 48000);
    expect(new Set(client.frames.slice(0, -1).map(({ length }) => length))).toEqual(new Set([9600]));
    client.send({ type: 'Close' });
    expect(await client.closed).toEqual({ code: 1000, reason: '' });
    expect(client.messages[0]).toMatchObject({ type: 'Metadata', model_name: 'aura-2-thalia-en' });
  });

  for (const [encoding, rate] of [
    ['mulaw', 8000],
    ['alaw', 16000],
    ['linear16', 48000],
  ] as const) {
    it(`speaks ${encoding} at ${rate} Hz`, async () => {
      const client = await talk(`model=aura-2-thalia-en&encoding=${encoding}&sample_rate=${rate}`);
      client.send(speak('Format.'));
      client.send(flush);
      await client.untilType('Flushed');
      expect(decodeSamples(readSamples(client.audio(), encoding), rate).text).toBe('Format.');
      client.close();
    });
  }

  it('begins without a flush once there is enough text, up to the end of a sentence', async () => {
    const text = 'This is a sentence of some length. '.repeat(6);
    const client = await talk();
    client.send(speak(`${text}And`));
    await new Promise<void>((resolve) => {
      const wait = (): void => (heard(client).length >= text.length ? resolve() : void setImmediate(wait));
      wait();
    });
    expect(heard(client)).toBe(text);
    client.close();
  });

  it('Clear drops text and audio; pending flushes are not answered; the next text is spoken', async () => {
    const client = await talk(usual, slow);
    client.send(speak('A very long sentence that nobody will hear to its end. '));
    client.send(flush);
    client.send(speak('Nor this. '));
    client.send({ type: 'Clear' });
    expect(await client.untilType('Cleared')).toEqual({ type: 'Cleared', sequence_id: 1 });
    const before = client.audio().length;
    client.send(speak('Sure.'));
    client.send(flush);
    await client.untilType('Flushed');
    expect(decodeSamples(readSamples(client.audio().slice(before), 'linear16'), 24000).text).toBe('Sure.');
    expect(client.messages.map(({ type }) => type)).toEqual(['Metadata', 'Cleared', 'Flushed']);
    client.close();
  });

  it('paces by the multiple of real time that it is given', async () => {
    const client = await talk(usual, slow);
    using clock = globalClock();
    client.send(speak('Ten chars.'));
    client.send(flush);
    // 800 ms, of which each piece has 200: four times as fast.
    for (const piece of [1, 2, 3, 4]) {
      await until(() => clock.isDueIn(50));
      await clock.advance(49);
      expect([clock.isDueIn(1), client.frames.length]).toEqual([true, piece - 1]);
      await clock.advance(1);
      await until(() => client.frames.length === piece);
    }
    await client.untilType('Flushed');
    expect(clock.now()).toBe(200);
    client.close();
  });

  it('warns of too many flushes and leaves them undone', async () => {
    const client = await talk(usual, slow);
    for (const text of ['a', 'b', 'c']) {
      client.send(speak(text));
      client.send(flush);
    }
    expect(await client.untilType('Warning')).toEqual({
      ...{ type: 'Warning', warn_code: 'EXCESSIVE_FLUSH', warn_msg: aText },
    });
    await client.until(({ sequence_id: number }) => number === 1);
    expect(heard(client)).toBe('ab');
    client.close();
  });

  const closings: readonly (readonly [name: string, text: string, code: number, reason: string])[] = [
    ['KeepAlive', '{"type":"KeepAlive"}', 1008, 'DATA-0000'],
    ['what is not JSON', 'Hello', 1008, 'DATA-0000'],
    ['an unknown field', '{"type":"Speak","text":"a","voice":"b"}', 1008, 'DATA-0000'],
    ['an empty text', '{"type":"Speak","text":""}', 1008, 'DATA-0000'],
    ['2001 characters', JSON.stringify(speak('a'.repeat(2001))), 1009, 'BIG-0001'],
  ];
  for (const [name, text, code, reason] of closings) {
    it(`closes on ${name}`, async () => {
      const client = await talk();
      client.send(text);
      expect(await client.closed).toEqual({ code, reason });
    });
  }

  it('closes on a binary frame, on 2401 characters in a minute, and when nothing comes', async () => {
    const binary = await talk();
    binary.sendBytes(new Uint8Array(4));
    expect(await binary.closed).toEqual({ code: 1003, reason: 'MESSAGE-0000' });
    const wordy = await talk();
    wordy.send(speak('a'.repeat(2000)));
    wordy.send(speak('a'.repeat(401)));
    expect(await wordy.closed).toEqual({ code: 1008, reason: 'DATA-0001' });
    const impatient = await startSandbox({ limits: { alphaTtsIdleMs: 40 } });
    expect(await (await talk(usual, impatient)).closed).toEqual({ code: 1011, reason: 'NET-0001' });
    await impatient.close();
  });

  const bad = [
    usual.replace('thalia', 'nobody'),
    usual.replace('aura-2-thalia-en', 'flux-kit-en'),
    usual.replace('24000', '22050'),
    usual.replace('24000', '44100'),
    usual.replace('linear16', 'mp3'),
    usual.replace('linear16', 'mulaw'),
    `${usual}&container=none`,
    `${usual}&speed=3`,
  ];
  for (const query of bad) {
    it(`refuses ?${query}`, async () => {
      const answer = await refused(`${sandbox.endpoints.alpha}/v1/speak?${query}`, {
        authorization: 'Token sandbox-key',
      });
      expect(answer.status).toBe(400);
      expect(answer.headers['dg-error']).toBe((JSON.parse(answer.body) as { err_msg: string }).err_msg);
    });
  }
});
