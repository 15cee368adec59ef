import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { readSamples, readWav } from '../../../samples/sandbox/pcm.ts';
import { events } from './client.ts';

interface Service {
  readonly vendor: 'rho' | 'sigma' | 'tau';
  readonly headers: Readonly<Record<string, string>>;
  /** A path, and a body that it takes. */
  readonly usual: readonly [path: string, body: object];
  readonly denied: number;
  /** What is refused: a path, changes to the body, a status. */
  readonly wrong: readonly (readonly [name: string, path: string, changes: object, status: number])[];
}

const services: readonly Service[] = [
  {
    vendor: 'rho',
    headers: { authorization: 'Bearer sandbox-key', 'speechify-version': '2026-09-13' },
    usual: [
      '/v1/audio/stream',
      { input: 'Hello there.', voice_id: 'geffen_32', model: 'simba-3.2', output_format: 'pcm_16000' },
    ],
    denied: 401,
    wrong: [
      ['no input', '/v1/audio/stream', { input: '' }, 400],
      ['no voice', '/v1/audio/stream', { voice_id: undefined }, 400],
      ['a voice that it does not have', '/v1/audio/stream', { voice_id: 'nobody' }, 404],
      ['a voice of another model', '/v1/audio/stream', { voice_id: 'george' }, 400],
      ['a language that the model does not speak', '/v1/audio/stream', { language: 'fr-FR' }, 400],
      ['a format that it does not have', '/v1/audio/stream', { output_format: 'pcm_11025' }, 400],
      ['WAV in a stream', '/v1/audio/stream', { output_format: 'wav_24000' }, 400],
      ['audio_format in a stream', '/v1/audio/stream', { audio_format: 'mp3' }, 400],
      ['no audio_format for a file', '/v1/audio/speech', {}, 400],
      ['too long a text for a file', '/v1/audio/speech', { audio_format: 'pcm', input: 'a'.repeat(2001) }, 400],
      ['SSML that is not well-formed', '/v1/audio/stream', { input: '<speak>Hi <b></speak>' }, 400],
      ['text that begins like SSML', '/v1/audio/stream', { input: '<b>Hi</b>' }, 400],
      ['an unknown field', '/v1/audio/stream', { emotion: 'sad' }, 400],
      ['an unknown path', '/v1/audio/streams', {}, 404],
    ],
  },
  {
    vendor: 'sigma',
    headers: { 'api-key': 'sandbox-key' },
    usual: [
      '/v1/speech/stream',
      { text: 'Hello there.', voiceId: 'en-US-natalie', model: 'FALCON', format: 'PCM', sampleRate: 16000 },
    ],
    denied: 403,
    wrong: [
      ['no text', '/v1/speech/stream', { text: '' }, 400],
      ['a voice of another model', '/v1/speech/stream', { voiceId: 'en-US-miles' }, 400],
      ['a style of another voice', '/v1/speech/stream', { style: 'Whisper' }, 400],
      ['a format in lower case', '/v1/speech/stream', { format: 'pcm' }, 400],
      ['G.711 at another rate', '/v1/speech/stream', { format: 'ULAW' }, 400],
      ['a rate of fractions', '/v1/speech/stream', { rate: 1.5 }, 400],
      ['a rate that is too high', '/v1/speech/stream', { rate: 51 }, 400],
      ['too long a text', '/v1/speech/stream', { text: 'a'.repeat(3001) }, 400],
      ['16 kHz in a file', '/v1/speech/generate', { model: undefined }, 400],
      ['the other name of the model', '/v1/speech/generate', { sampleRate: 8000 }, 400],
      ['an unknown pronunciation', '/v1/speech/stream', { pronunciationDictionary: { a: { type: 'X' } } }, 400],
    ],
  },
  {
    vendor: 'tau',
    headers: { 'x-api-key': 'sandbox-key', 'lmnt-version': '1.1' },
    usual: [
      '/v1/ai/speech/bytes',
      { text: 'Hello there.', voice: 'leah', model: 'blizzard', format: 'pcm_s16le', sample_rate: 16000 },
    ],
    denied: 401,
    wrong: [
      ['no text', '/v1/ai/speech/bytes', { text: '' }, 400],
      ['a voice that it does not have', '/v1/ai/speech/bytes', { voice: 'nobody' }, 404],
      ['a retired model', '/v1/ai/speech/bytes', { model: 'aurora' }, 400],
      ['an old name of a format', '/v1/ai/speech/bytes', { format: 'raw' }, 400],
      ['a rate that it does not have', '/v1/ai/speech/bytes', { sample_rate: 44100 }, 400],
      ['a temperature of nothing', '/v1/ai/speech/bytes', { temperature: 0 }, 400],
      ['times with the bytes', '/v1/ai/speech/bytes', { return_timestamps: true }, 400],
      ['a field that is gone', '/v1/ai/speech/bytes', { speed: 1 }, 400],
      ['too long a text', '/v1/ai/speech/bytes', { text: 'a'.repeat(5001) }, 400],
    ],
  },
];

describe('voices by requests in the sandbox', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  for (const { vendor, headers, usual, denied, wrong } of services) {
    const [path, body] = usual;
    const post = (
      to: string,
      changes: object = {},
      given: Readonly<Record<string, string>> = headers,
      base = sandbox.endpoints,
    ) =>
      fetch(base[vendor] + to, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json', ...given } },
        body: JSON.stringify({ ...body, ...changes }),
      });

    it(`${vendor} speaks`, async () => {
      const bytes = new Uint8Array(await (await post(path)).arrayBuffer());
      expect(decodeSamples(readSamples(bytes, 'linear16'), 16000).text).toBe('Hello there.');
    });

    /** The status of an answer whose body is read: one that is not keeps its socket. */
    const statusOf = async (answered: Promise<Response>): Promise<number> => {
      const answer = await answered;
      await answer.arrayBuffer();
      return answer.status;
    };

    it(`${vendor} refuses wrong credentials, and any behind a proxy`, async () => {
      const [credential = ''] = Object.keys(headers);
      const others = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== credential));
      expect(await statusOf(post(path, {}, others))).toBe(denied);
      expect(await statusOf(post(path, {}, { ...headers, [credential]: 'Bearer x' }))).toBe(denied);
      expect(await statusOf(post(path, {}, headers, sandbox.proxies))).toBe(400);
      expect(await statusOf(post(path, {}, others, sandbox.proxies))).toBe(200);
    });

    it(`${vendor} rejects invalid JSON and unsupported versions`, async () => {
      const plain = fetch(sandbox.endpoints[vendor] + path, { method: 'POST', headers, body: '{}' });
      expect(await statusOf(plain)).toBe(400);
      const version = Object.keys(headers).find((name) => name.endsWith('version'));
      if (version) expect(await statusOf(post(path, {}, { ...headers, [version]: 'x' }))).toBe(400);
    });

    for (const [name, to, changes, status] of wrong) {
      it(`${vendor} refuses ${name}`, async () => {
        expect(await statusOf(post(to, changes))).toBe(status);
      });
    }
  }

  it('rho marks words in events, and says when it is done', async () => {
    const [, body] = services[0]?.usual ?? [];
    const answer = await fetch(`${sandbox.endpoints.rho}/v1/audio/stream/with-timestamps`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json', ...services[0]?.headers } },
      body: JSON.stringify(body),
    });
    const messages = events(await answer.text()) as {
      type: string;
      speech_marks?: { value: string; start: number }[];
    }[];
    expect(messages.at(-1)).toMatchObject({ type: 'speech.done', audio_duration_ms: 960 });
    expect(messages.flatMap(({ speech_marks = [] }) => speech_marks)).toMatchObject([
      { value: 'Hello', start: 0, end: 5, start_time: 0, end_time: 400 },
      { value: 'there.', start: 6, end: 12, start_time: 480, end_time: 960 },
    ]);
  });

  it('sigma names a file where none is asked for in the answer', async () => {
    const answer = await fetch(`${sandbox.endpoints.sigma}/v1/speech/generate`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json', ...services[1]?.headers } },
      body: JSON.stringify({ text: 'Hello there.', voiceId: 'natalie' }),
    });
    const { audioFile, encodedAudio } = (await answer.json()) as { audioFile: string; encodedAudio?: string };
    expect([audioFile.startsWith('https://'), encodedAudio]).toEqual([true, undefined]);
  });

  it('tau wraps mu-law in a file of unknown length', async () => {
    const [, body] = services[2]?.usual ?? [];
    const answer = await fetch(`${sandbox.endpoints.tau}/v1/ai/speech/bytes`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json', ...services[2]?.headers } },
      body: JSON.stringify({ ...body, format: 'ulaw', sample_rate: 8000 }),
    });
    const file = new Uint8Array(await answer.arrayBuffer());
    expect(new DataView(file.buffer).getUint32(4, true)).toBe(0xffffffff);
    const wav = readWav(file);
    expect(wav && decodeSamples(wav.samples, wav.sampleRate).text).toBe('Hello there.');
  });
});
