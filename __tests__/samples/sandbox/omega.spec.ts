import { signRequest } from '../../../lib/transport/aws-signature.ts';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { readSamples } from '../../../samples/sandbox/pcm.ts';
import { aText } from './client.ts';

describe('omega /v1/speech', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const usual = { OutputFormat: 'pcm', Text: 'Hello there.', VoiceId: 'Joanna', Engine: 'neural' };
  async function post(body: object, secretAccessKey = 'sandbox-key', service = 'polly'): Promise<Response> {
    const url = new URL(`${sandbox.endpoints.omega}/v1/speech`);
    const text = JSON.stringify({ ...usual, ...body });
    const signing = { credentials: { accessKeyId: 'AK', secretAccessKey }, region: 'us-east-1', service };
    const request = { method: 'POST', url, headers: { 'content-type': 'application/json' }, body: text };
    const headers = await signRequest(request, { ...signing, now: Date.now() });
    return fetch(url, { method: 'POST', headers, body: text });
  }
  const bytesOf = async (answer: Promise<Response>) => new Uint8Array(await (await answer).arrayBuffer());

  it('speaks raw samples', async () => {
    for (const [OutputFormat, encoding, rate] of [
      ['pcm', 'linear16', 16000],
      ['mulaw', 'mulaw', 8000],
      ['alaw', 'alaw', 8000],
    ] as const) {
      const bytes = await bytesOf(post({ OutputFormat }));
      expect(decodeSamples(readSamples(bytes, encoding), rate).text).toBe('Hello there.');
    }
  });

  it('makes MP3 and Opus files, and counts characters', async () => {
    const answer = await post({ OutputFormat: 'mp3' });
    expect([answer.headers.get('content-type'), answer.headers.get('x-amzn-requestcharacters')]).toEqual([
      ...['audio/mpeg', '12'],
    ]);
    const ogg = await bytesOf(post({ OutputFormat: 'ogg_opus' }));
    expect(Buffer.from(ogg).toString('latin1', 0, 4)).toBe('OggS');
  });

  it('marks words by the bytes of the text', async () => {
    const answer = await post({ OutputFormat: 'json', SpeechMarkTypes: ['word'], Text: 'Grüß Gott!' });
    expect(answer.headers.get('content-type')).toBe('application/x-json-stream');
    expect(
      (await answer.text())
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      { time: 0, type: 'word', start: 0, end: 6, value: 'Grüß' },
      { time: 560, type: 'word', start: 7, end: 11, value: 'Gott' },
    ]);
  });

  for (const [name, body, status, type] of [
    ['an unknown field', { Pitch: 1 }, 400, 'ValidationException'],
    ['a rate that is a number', { SampleRate: 16000 }, 400, 'ValidationException'],
    ['a rate of another format', { SampleRate: '24000' }, 400, 'InvalidSampleRateException'],
    ['an engine that the voice lacks', { VoiceId: 'Nicole' }, 400, 'ValidationException'],
    [
      'an element that the engine lacks',
      { TextType: 'ssml', Text: '<speak><emphasis>Hi.</emphasis></speak>' },
      400,
      'InvalidSsmlException',
    ],
    ['marks of audio', { SpeechMarkTypes: ['word'] }, 400, 'MarksNotSupportedForFormatException'],
    ['3,001 characters', { Text: 'a'.repeat(3001) }, 400, 'TextLengthExceededException'],
    ['SSML that is none', { Text: '<speak>a & b</speak>', TextType: 'ssml' }, 400, 'InvalidSsmlException'],
    ['text as SSML', { Text: 'Hello.', TextType: 'ssml' }, 400, 'InvalidSsmlException'],
    ['a lexicon that is missing', { LexiconNames: ['missing'] }, 404, 'LexiconNotFoundException'],
  ] as const) {
    it(`refuses ${name}`, async () => {
      const answer = await post(body);
      expect([answer.status, answer.headers.get('x-amzn-errortype'), await answer.json()]).toEqual([
        ...[status, type, { message: aText }],
      ]);
    });
  }

  it('checks signatures', async () => {
    expect((await post({}, 'wrong')).headers.get('x-amzn-errortype')).toBe('InvalidSignatureException');
    expect((await post({}, 'sandbox-key', 'transcribe')).status).toBe(403);
    const unsigned = await fetch(`${sandbox.endpoints.omega}/v1/speech`, { method: 'POST', body: '{}' });
    expect(unsigned.headers.get('x-amzn-errortype')).toBe('MissingAuthenticationTokenException');
  });
});
