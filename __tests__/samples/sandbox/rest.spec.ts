import { encode } from '@msgpack/msgpack';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { readSamples, readWav } from '../../../samples/sandbox/pcm.ts';
import type { SampleEncoding } from '../../../samples/sandbox/pcm.ts';
import { speech } from './audio.ts';
import { aText, events } from './client.ts';

const bearer = { authorization: 'Bearer sandbox-key', 'content-type': 'application/json' };

async function bytesOf(answer: Response): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await answer.arrayBuffer());
}

function textOf(bytes: Uint8Array<ArrayBuffer>, sampleRate: number, encoding: SampleEncoding = 'linear16'): string {
  return decodeSamples(readSamples(bytes, encoding), sampleRate).text;
}

describe("the sandbox's REST services", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  describe('theta /audio/speech', () => {
    const post = (body: Record<string, unknown>, headers: Record<string, string> = bearer): Promise<Response> =>
      fetch(`${sandbox.endpoints.theta}/audio/speech`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: 'tts-1', voice: 'alloy', input: 'Hello there.', ...body }),
      });

    it('speaks pcm at 24 kHz and wav with unknown sizes', async () => {
      const pcm = await post({ response_format: 'pcm' });
      expect(pcm.headers.get('content-type')).toBe('audio/pcm');
      expect(textOf(await bytesOf(pcm), 24000)).toBe('Hello there.');
      const wav = await bytesOf(await post({ response_format: 'wav' }));
      expect([...wav.subarray(4, 8), ...wav.subarray(40, 44)]).toEqual(Array.from({ length: 8 }, () => 0xff));
      expect(textOf(wav.slice(44), 24000)).toBe('Hello there.');
    });

    for (const [format, type, magic] of [
      ['mp3', 'audio/mpeg', [0xff, 0xf3]],
      ['opus', 'audio/opus', [0x4f, 0x67, 0x67, 0x53]],
      ['aac', 'audio/aac', [0xff, 0xf1]],
      ['flac', 'audio/flac', [0x66, 0x4c, 0x61, 0x43]],
    ] as const) {
      it(`makes a ${format} file`, async () => {
        const answer = await post({ response_format: format });
        expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
        expect([...(await bytesOf(answer)).subarray(0, magic.length)]).toEqual([...magic]);
      });
    }

    it('streams events for the model that can', async () => {
      const answer = await post({ model: 'gpt-4o-mini-tts', response_format: 'pcm', stream_format: 'sse' });
      const all = events(await answer.text()) as { type: string; audio?: string }[];
      const audio = Buffer.concat(all.map((event) => Buffer.from(event.audio ?? '', 'base64')));
      expect(textOf(new Uint8Array(audio), 24000)).toBe('Hello there.');
      expect(all.at(-1)?.type).toBe('speech.audio.done');
    });

    for (const [name, body, status] of [
      ['an unknown field', { sample_rate: 8000 }, 400],
      ['an unknown voice', { voice: 'nobody' }, 400],
      ['speed 5', { speed: 5 }, 400],
      ['no text', { input: '' }, 400],
      ['4097 characters', { input: 'a'.repeat(4097) }, 400],
      ['a voice of another model', { voice: 'marin' }, 400],
      ['sse with tts-1', { stream_format: 'sse' }, 400],
      ['an unknown model', { model: 'tts-9' }, 404],
    ] as const) {
      it(`refuses ${name}`, async () => {
        const answer = await post(body);
        expect(answer.status).toBe(status);
        const { error } = (await answer.json()) as { error: Record<string, unknown> };
        expect(Object.keys(error)).toEqual(['message', 'type', 'param', 'code']);
      });
    }

    it('names the voices of the model, and has more for another', async () => {
      const { error } = (await (await post({ voice: 'verse' })).json()) as { error: { message: string } };
      expect(error.message).toMatch(/'type': 'enum'.*'sage' or 'coral'/);
      expect((await post({ model: 'gpt-4o-mini-tts', voice: 'verse' })).status).toBe(200);
    });

    it('ignores instructions to tts-1', async () => {
      expect((await post({ instructions: 'Sing.' })).status).toBe(200);
    });

    it('wants the key as Bearer', async () => {
      expect((await post({}, { ...bearer, authorization: 'Token sandbox-key' })).status).toBe(401);
      expect((await post({}, { 'content-type': 'application/json' })).status).toBe(401);
    });
  });

  describe('upsilon /waves/v1/tts', () => {
    const post = (
      body: Record<string, unknown>,
      headers: Record<string, string> = { ...bearer, accept: 'audio/wav' },
      path = '/v1/tts',
    ): Promise<Response> =>
      fetch(sandbox.endpoints.upsilon + path, {
        method: 'POST',
        headers,
        body: JSON.stringify({ text: 'Hello there.', voice_id: 'magnus', ...body }),
      });

    it('speaks each format', async () => {
      expect(textOf(await bytesOf(await post({})), 44100)).toBe('Hello there.');
      expect(textOf(await bytesOf(await post({ output_format: 'ulaw', sample_rate: 8000 })), 8000, 'mulaw')).toBe(
        'Hello there.',
      );
      expect(textOf(await bytesOf(await post({ output_format: 'alaw', sample_rate: 8000 })), 8000, 'alaw')).toBe(
        'Hello there.',
      );
      const wav = readWav(await bytesOf(await post({ output_format: 'wav', sample_rate: 24000 })));
      expect([wav?.sampleRate, wav && decodeSamples(wav.samples, 24000).text]).toEqual([24000, 'Hello there.']);
    });

    it('streams base64 in events whose last one has no name', async () => {
      const answer = await post({ output_format: 'pcm', sample_rate: 16000 }, bearer, '/v1/tts/live');
      const body = await answer.text();
      const all = events(body) as { audio?: string; done: boolean }[];
      expect(
        textOf(new Uint8Array(Buffer.concat(all.map(({ audio }) => Buffer.from(audio ?? '', 'base64')))), 16000),
      ).toBe('Hello there.');
      expect(all.at(-1)).toEqual({ status: '200', done: true });
      expect(body.match(/^event: audio$/gm)).toHaveLength(all.length - 1);
    });

    it('takes one request at a time', async () => {
      const paced = await startSandbox({ realtimeFactor: 2 });
      const send = (): Promise<Response> =>
        fetch(`${paced.endpoints.upsilon}/v1/tts`, {
          method: 'POST',
          headers: { ...bearer, accept: 'audio/wav' },
          body: JSON.stringify({ text: 'Hello.', voice_id: 'magnus' }),
        });
      const first = await send();
      const second = await send();
      expect([first.status, second.status]).toEqual([200, 429]);
      await first.arrayBuffer();
      expect((await send()).status).toBe(200);
      await paced.close();
    });

    it('says something else with a voice of the other pool', async () => {
      expect(textOf(await bytesOf(await post({ voice_id: 'meher', sample_rate: 8000 })), 8000)).not.toBe(
        'Hello there.',
      );
      expect(
        textOf(await bytesOf(await post({ voice_id: 'meher', model: 'lightning_v3.1_pro', sample_rate: 8000 })), 8000),
      ).toBe('Hello there.');
    });

    it('lists voices', async () => {
      for (const path of ['/v1/lightning-v3.1/get_voices', '/v1/voice/get-all-models']) {
        const { voices } = (await (await fetch(sandbox.endpoints.upsilon + path, { headers: bearer })).json()) as {
          voices: { voiceId: string }[];
        };
        expect(voices.map(({ voiceId }) => voiceId)).toContain('magnus');
      }
    });

    for (const [name, body] of [
      ['mulaw instead of ulaw', { output_format: 'mulaw' }],
      ['22050 Hz', { sample_rate: 22050 }],
      ['speed 3', { speed: 3 }],
      ['an unknown field', { voiceId: 'magnus' }],
      ['no text', { text: '' }],
      ['a language of the other model', { language: 'ja' }],
    ] as const) {
      it(`refuses ${name}`, async () => {
        const answer = await post(body);
        expect(answer.status).toBe(400);
        expect(await answer.json()).toEqual({ error: 'InvalidRequest', message: aText });
      });
    }

    it('wants Accept: audio/wav and the key', async () => {
      expect((await post({}, { ...bearer, accept: 'audio/mpeg' })).status).toBe(400);
      const answer = await post({}, { 'content-type': 'application/json', accept: 'audio/wav' });
      expect([answer.status, await answer.json()]).toEqual([
        401,
        { error: 'Unauthorized', message: 'Bearer token is missing or invalid.' },
      ]);
    });
  });

  describe('psi /v1/tts', () => {
    const headers = { authorization: 'Bearer sandbox-key', 'content-type': 'application/msgpack', model: 's2.1-pro' };
    const post = (body: unknown, path = '/v1/tts'): Promise<Response> =>
      fetch(sandbox.endpoints.psi + path, {
        method: 'POST',
        headers,
        body: encode(body, { ignoreUndefined: true }),
      });

    it('reads MessagePack, and references as bytes', async () => {
      const references = [{ audio: new Uint8Array([1, 2, 3]), text: 'sample' }];
      const answer = await post({ text: 'Hello there.', format: 'pcm', sample_rate: 16000, references });
      expect(textOf(await bytesOf(answer), 16000)).toBe('Hello there.');
      expect(sandbox.records('psi-tts').at(-1)?.headers['model']).toBe('s2.1-pro');
    });

    it('speaks wav at 44.1 kHz, mp3 and opus', async () => {
      expect(textOf((await bytesOf(await post({ text: 'Hi.', format: 'wav' }))).slice(44), 44100)).toBe('Hi.');
      expect((await bytesOf(await post({ text: 'Hi.' })))[0]).toBe(0xff);
      expect(Buffer.from(await bytesOf(await post({ text: 'Hi.', format: 'opus' }))).toString('latin1', 0, 4)).toBe(
        'OggS',
      );
    });

    it('aligns words', async () => {
      const [event] = events(
        await (
          await post({ text: 'Hello world', format: 'pcm', sample_rate: 8000 }, '/v1/tts/stream/with-timestamp')
        ).text(),
      );
      expect(event).toMatchObject({
        chunk_seq: 0,
        alignment: {
          segments: [
            { text: 'Hello', start: 0, end: 0.4 },
            { text: 'world', start: 0.48, end: 0.88 },
          ],
        },
      });
    });

    for (const [name, body] of [
      ['nil where it may not be', { text: 'a', format: null }],
      ['an unknown field', { text: 'a', voice: 'b' }],
      ['references that are not bytes', { text: 'a', references: [{ audio: 'AAAA', text: 'b' }] }],
      ['a rate that mp3 lacks', { text: 'a', sample_rate: 16000 }],
      ['speed 3', { text: 'a', prosody: { speed: 3 } }],
    ] as const) {
      it(`refuses ${name}`, async () => {
        const answer = await post(body);
        expect([answer.status, await answer.json()]).toEqual([400, { message: aText, status: 400, reason: null }]);
      });
    }

    it('rejects bytes after the map, in plain text', async () => {
      const body = new Uint8Array([...encode({ text: 'a' }), 0, 0]);
      const answer = await fetch(`${sandbox.endpoints.psi}/v1/tts`, { method: 'POST', headers, body });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'text/plain']);
    });

    it('knows an invalid token', async () => {
      const answer = await fetch(`${sandbox.endpoints.psi}/v1/tts`, {
        method: 'POST',
        headers: { ...headers, authorization: 'Bearer wrong' },
        body: encode({ text: 'a' }),
      });
      expect([answer.status, await answer.json()]).toEqual([
        401,
        { message: 'Invalid Token', status: 401, reason: null },
      ]);
    });
  });

  describe('iota /v1/speech:recognize', () => {
    const audio = (parts: readonly (string | number)[], encoding: SampleEncoding = 'linear16', rate = 16000): string =>
      Buffer.from(speech(parts, encoding, rate)).toString('base64');
    const post = (
      config: Record<string, unknown>,
      content: string,
      headers: Record<string, string> = { 'x-goog-api-key': 'sandbox-key' },
    ): Promise<Response> =>
      fetch(`${sandbox.endpoints.iota}/v1/speech:recognize`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ config: { languageCode: 'en-US', ...config }, audio: { content } }),
      });
    const linear = { encoding: 'LINEAR16', sampleRateHertz: 16000 };

    it('gives consecutive portions, words with durations, and language in lower case', async () => {
      const answer = await post(
        { ...linear, enableAutomaticPunctuation: true, enableWordTimeOffsets: true },
        audio(['Remind me', 1500, 'please.']),
      );
      expect(await answer.json()).toMatchObject({
        results: [
          {
            alternatives: [
              {
                transcript: 'Remind me',
                confidence: 0.99,
                words: [{ word: 'Remind', startTime: '0s', endTime: aText }, { word: 'me' }],
              },
            ],
            languageCode: 'en-us',
          },
          { alternatives: [{ transcript: ' please.' }] },
        ],
        totalBilledTime: '3s',
      });
    });

    it('leaves results out when nothing was said', async () => {
      expect(await (await post(linear, audio([700]))).json()).toEqual({
        totalBilledTime: '1s',
        requestId: aText,
      });
    });

    it('hears mu-law, and drops punctuation unless asked', async () => {
      const answer = await post({ encoding: 'MULAW', sampleRateHertz: 8000 }, audio(['Hi, You.'], 'mulaw', 8000));
      expect(await answer.json()).toMatchObject({ results: [{ alternatives: [{ transcript: 'hi you' }] }] });
    });

    for (const [name, config, content] of [
      ['no encoding for raw samples', {}, audio(['a'])],
      ['no rate', { encoding: 'LINEAR16' }, audio(['a'])],
      ['ALAW', { encoding: 'ALAW', sampleRateHertz: 8000 }, audio(['a'])],
      ['an unknown field', { ...linear, punctuation: true }, audio(['a'])],
      ['four alternative languages', { ...linear, alternativeLanguageCodes: ['a', 'b', 'c', 'd'] }, audio(['a'])],
      ['what is not base64', linear, 'AA!'],
      ['no audio', linear, ''],
      ['61 seconds', linear, audio([61_000])],
    ] as const) {
      it(`refuses ${name}`, async () => {
        const answer = await post(config, content);
        expect([answer.status, await answer.json()]).toMatchObject([
          400,
          { error: { code: 400, status: 'INVALID_ARGUMENT', message: aText } },
        ]);
      });
    }

    it('answers 400 to a wrong key and 401 to none', async () => {
      const wrong = await post(linear, audio(['a']), { 'x-goog-api-key': 'wrong' });
      expect([wrong.status, await wrong.json()]).toMatchObject([
        400,
        { error: { details: [{ reason: 'API_KEY_INVALID' }] } },
      ]);
      expect((await post(linear, audio(['a']), {})).status).toBe(401);
    });
  });
});
