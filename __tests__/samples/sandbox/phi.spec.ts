import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { readSamples, readWav } from '../../../samples/sandbox/pcm.ts';

describe('phi /v1/rime-tts', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const post = (body: object, accept = 'audio/L16', authorization = 'Bearer sandbox-key'): Promise<Response> =>
    fetch(`${sandbox.endpoints.phi}/v1/rime-tts`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', accept },
      body: JSON.stringify({ text: 'Hello there.', speaker: 'astra', modelId: 'coda', ...body }),
    });
  const bytesOf = async (answer: Promise<Response>) => new Uint8Array(await (await answer).arrayBuffer());
  const hear = (bytes: Uint8Array, rate: number, encoding: 'linear16' | 'mulaw' = 'linear16'): string =>
    decodeSamples(readSamples(bytes, encoding), rate).text;

  it('speaks raw samples at the rates of the models', async () => {
    expect(hear(await bytesOf(post({})), 24000)).toBe('Hello there.');
    const old = { modelId: 'mistv2', speaker: 'cove' };
    expect(hear(await bytesOf(post(old)), 16000)).toBe('Hello there.');
    expect(hear(await bytesOf(post(old, 'audio/PCMU')), 8000, 'mulaw')).toBe('Hello there.');
  });

  it('makes WAV, MP3, Ogg and WebM files', async () => {
    const wav = readWav(await bytesOf(post({}, 'audio/wav')));
    expect(wav && decodeSamples(wav.samples, wav.sampleRate).text).toBe('Hello there.');
    for (const [accept, magic] of [
      ['audio/mpeg', [0xff, 0xf3]],
      ['audio/ogg;codecs=opus', [0x4f, 0x67, 0x67, 0x53]],
      ['audio/webm;codecs=opus', [0x1a, 0x45, 0xdf, 0xa3]],
    ] as const) {
      const answer = await post({}, accept);
      expect(answer.headers.get('content-type')).toBe(accept);
      expect([...(await bytesOf(Promise.resolve(answer))).subarray(0, magic.length)]).toEqual([...magic]);
    }
    expect([...(await bytesOf(post({ samplingRate: 8000 }, 'audio/mpeg'))).subarray(0, 2)]).toEqual([0xff, 0xe3]);
  });

  it('lets somebody else speak for a speaker of another model, and JSON where no format is asked for', async () => {
    expect(hear(await bytesOf(post({ speaker: 'cove' })), 24000)).toBe('the voice of somebody else');
    expect((await post({}, '*/*')).headers.get('content-type')).toBe('application/json');
    expect((await post({ modelId: 'mistv2', speaker: 'cove' }, 'audio/wav')).headers.get('content-type')).toBe(
      'application/json',
    );
  });

  for (const [name, body, message] of [
    ['no text', { text: '' }, 'text must not be empty'],
    ['1,001 characters', { text: 'a'.repeat(1001) }, 'text is too long'],
    ['no speaker', { speaker: '' }, 'speaker is required'],
    ['a language of no model', { lang: 'tlh' }, 'Language tlh is not supported for model coda'],
    ['a code of three letters to mistv3', { modelId: 'mistv3', lang: 'eng' }, 'Language eng is not supported'],
    ['a field of another model', { noTextNormalization: true }, 'noTextNormalization is not a known field'],
    ['a rate of another model', { samplingRate: 4000 }, 'samplingRate 4000 is not for coda'],
  ] as const) {
    it(`refuses ${name}, in plain text`, async () => {
      const answer = await post(body);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'text/plain']);
      expect(await answer.text()).toContain(message);
    });
  }

  it('wants the key as Bearer', async () => {
    const answer = await post({}, 'audio/L16', 'Bearer wrong');
    expect([answer.status, await answer.text()]).toEqual([401, 'invalid api key']);
    expect((await post({}, 'audio/L16', 'sandbox-key')).status).toBe(401);
  });

  it('lists voices, to everybody', async () => {
    const answer = await fetch(`${sandbox.endpoints.phi}/data/voices/all-v2.json`);
    expect(await answer.json()).toMatchObject({ coda: { eng: ['astra', 'albion'] } });
  });
});
