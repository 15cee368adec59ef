import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { readWav } from '../../../samples/sandbox/pcm.ts';
import { aText } from './client.ts';

describe('iota /v1/text:synthesize', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const post = (body: object, key = 'sandbox-key'): Promise<Response> =>
    fetch(`${sandbox.endpoints.iota}/v1/text:synthesize`, {
      method: 'POST',
      headers: { 'x-goog-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ input: { text: 'Hello there.' }, voice: { languageCode: 'en-US' } },
        ...{ audioConfig: { audioEncoding: 'LINEAR16' }, ...body },
      }),
    });
  const fileOf = async (answer: Promise<Response>): Promise<Uint8Array> => {
    const { audioContent = '' } = (await (await answer).json()) as { audioContent?: string };
    return new Uint8Array(Buffer.from(audioContent, 'base64'));
  };
  const hear = (file: Uint8Array): readonly [string, number] | undefined => {
    const wav = readWav(file);
    return wav && [decodeSamples(wav.samples, wav.sampleRate).text, wav.sampleRate];
  };

  it('puts a WAV header before all samples, a longer one before G.711', async () => {
    expect(hear(await fileOf(post({})))).toEqual(['Hello there.', 24000]);
    for (const audioEncoding of ['MULAW', 'ALAW']) {
      const file = await fileOf(post({ audioConfig: { audioEncoding, sampleRateHertz: 8000 } }));
      expect(hear(file)).toEqual(['Hello there.', 8000]);
      expect(Buffer.from(file).toString('latin1', 50, 54)).toBe('data');
    }
  });

  it('makes MP3 and Opus files', async () => {
    expect((await fileOf(post({ audioConfig: { audioEncoding: 'MP3' } })))[0]).toBe(0xff);
    const ogg = await fileOf(post({ audioConfig: { audioEncoding: 'OGG_OPUS' } }));
    expect(Buffer.from(ogg).toString('latin1', 0, 4)).toBe('OggS');
  });

  it('says the text of SSML, and leaves out empty audio', async () => {
    const ssml = '<speak>Tom &amp; <emphasis level="strong">Jerry</emphasis> <break time="1s"/> &#x21;</speak>';
    expect(hear(await fileOf(post({ input: { ssml } })))?.[0]).toBe('Tom & Jerry !');
    expect(await (await post({ input: { text: '' } })).json()).toEqual({});
  });

  for (const [name, body] of [
    ['no text', { input: {} }],
    ['text and SSML', { input: { text: 'a', ssml: '<speak>a</speak>' } }],
    ['SSML that is not well-formed', { input: { ssml: '<speak>Tom & Jerry</speak>' } }],
    ['SSML that is not closed', { input: { ssml: '<speak><p>a</speak>' } }],
    ['more than 5,000 bytes', { input: { text: '語'.repeat(1667) } }],
    ['no language', { voice: {} }],
    ['an unknown voice', { voice: { languageCode: 'en-US', name: 'en-US-Nope' } }],
    ['a voice of another language', { voice: { languageCode: 'en-GB', name: 'en-US-Neural2-F' } }],
    ['speakingRate 3', { audioConfig: { audioEncoding: 'MP3', speakingRate: 3 } }],
    [
      'a pitch for a Chirp3-HD voice',
      {
        voice: { languageCode: 'en-US', name: 'en-US-Chirp3-HD-Charon' },
        audioConfig: { audioEncoding: 'MP3', pitch: 1 },
      },
    ],
    ['an unknown field', { audioConfig: { audioEncoding: 'MP3', sampleRate: 8000 } }],
  ] as const) {
    it(`refuses ${name}`, async () => {
      const answer = await post(body);
      expect([answer.status, await answer.json()]).toMatchObject([
        ...[400, { error: { code: 400, status: 'INVALID_ARGUMENT', message: aText } }],
      ]);
    });
  }

  it('answers 400 to a wrong key', async () => {
    const answer = await post({}, 'wrong');
    expect([answer.status, await answer.json()]).toMatchObject([
      ...[400, { error: { details: [{ reason: 'API_KEY_INVALID' }] } }],
    ]);
  });

  it('lists voices', async () => {
    const answer = await fetch(`${sandbox.endpoints.iota}/v1/voices?languageCode=en-US`, {
      headers: { 'x-goog-api-key': 'sandbox-key' },
    });
    expect(await answer.json()).toMatchObject({ voices: [{ name: 'en-US-Neural2-F' }, {}, {}] });
  });
});
