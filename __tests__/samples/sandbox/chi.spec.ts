import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { readSamples, readWav } from '../../../samples/sandbox/pcm.ts';
import { aText, events } from './client.ts';

describe('chi /v1/t2a_v2', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const post = (body: object, query = '', authorization = 'Bearer sandbox-key'): Promise<Response> =>
    fetch(`${sandbox.endpoints.chi}/v1/t2a_v2${query}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ model: 'speech-2.8-hd', text: 'Hello there.', voice_setting: { voice_id: 'v' } },
        ...body,
      }),
    });
  interface Answer {
    readonly data?: { readonly audio?: string; readonly status: number; readonly subtitle_file?: string };
    readonly extra_info?: object;
    readonly base_resp: { readonly status_code: number; readonly status_msg: string };
  }
  const json = async (answer: Promise<Response>): Promise<Answer> => (await (await answer).json()) as Answer;
  const bytes = (hex: string | undefined): Uint8Array => new Uint8Array(Buffer.from(hex ?? '', 'hex'));
  const pcm = { format: 'pcm', sample_rate: 16000 };

  it('answers in one piece, in hexadecimal', async () => {
    const { data, extra_info, base_resp } = await json(post({ audio_setting: { format: 'wav', sample_rate: 24000 } }));
    const wav = readWav(bytes(data?.audio));
    expect([wav?.sampleRate, wav && decodeSamples(wav.samples, 24000).text]).toEqual([24000, 'Hello there.']);
    expect([data?.status, base_resp.status_code]).toEqual([2, 0]);
    expect(extra_info).toMatchObject({ audio_length: 960, audio_sample_rate: 24000, audio_format: 'wav' });
    expect(bytes((await json(post({}))).data?.audio)[0]).toBe(0xff);
  });

  it('streams, and says it all again at the end unless asked not to', async () => {
    for (const excluded of [true, false]) {
      const stream_options = { exclude_aggregated_audio: excluded };
      const answer = await post({ stream: true, stream_options, audio_setting: pcm }, '?GroupId=1');
      const all = events(await answer.text()) as Answer[];
      const parts = all.filter(({ data }) => data?.status === 1).map(({ data }) => data?.audio ?? '');
      const heard = decodeSamples(readSamples(bytes(parts.join('')), 'linear16'), 16000).text;
      expect([heard, all.at(-1)?.data?.audio]).toEqual(['Hello there.', excluded ? '' : parts.join('')]);
    }
  });

  it('keeps a file of word times', async () => {
    const { data } = await json(post({ subtitle_enable: true, subtitle_type: 'word', text: 'Hi you.' }));
    expect(await (await fetch(data?.subtitle_file ?? '')).json()).toMatchObject([
      {
        timestamped_words: [
          { word: 'Hi', time_begin: 0, time_end: 160 },
          { word: ' ' },
          { word: 'you.', time_begin: 240, time_end: 560 },
        ],
      },
    ]);
  });

  for (const [name, body, query, code] of [
    ['an unknown field', { voiceId: 'v' }, '', 2013],
    ['an unknown model', { model: 'speech-9' }, '', 2013],
    ['WAV in a stream', { stream: true, audio_setting: { format: 'wav' } }, '', 2013],
    ['emotion auto', { voice_setting: { voice_id: 'v', emotion: 'auto' } }, '', 2013],
    ['a whisper of 2.8', { voice_setting: { voice_id: 'v', emotion: 'whisper' } }, '', 2013],
    ['10,000 characters', { text: 'a'.repeat(10_000) }, '', 2013],
    ['effects on raw samples', { voice_modify: { pitch: 1 }, audio_setting: pcm }, '', 2013],
    ['an unknown voice', { voice_setting: { voice_id: 'no-such-voice' } }, '', 20132],
    ['an unknown parameter', {}, '?groupId=1', 2013],
  ] as const) {
    it(`refuses ${name}, with status 200`, async () => {
      const answer = await post(body, query);
      expect([answer.status, ((await answer.json()) as Answer).base_resp]).toEqual([
        ...[200, { status_code: code, status_msg: aText }],
      ]);
    });
  }

  it('wants the key as Bearer', async () => {
    expect((await json(post({}, '', 'Bearer wrong'))).base_resp.status_code).toBe(2049);
    expect((await json(post({}, '', 'sandbox-key'))).base_resp.status_code).toBe(1004);
  });
});
