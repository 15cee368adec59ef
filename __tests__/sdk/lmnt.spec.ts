/** LMNT's own client against the sandbox, and TauTTS's wire against its. */
import Lmnt from 'lmnt-node';
import { from, lastValueFrom, toArray } from 'rxjs';
import { TauTTS, type TauTTSConfig } from '../../lib/index.ts';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples } from '../../samples/sandbox/modem.ts';
import { concatBytes, readSamples } from '../../samples/sandbox/pcm.ts';
import { bothRecords, expectSameWire, type Stated } from './wire.ts';

const key = 'sandbox-key';
const text = 'Hello there.';
const stainless = ['arch', 'lang', 'os', 'package-version', 'retry-count', 'runtime', 'runtime-version', 'timeout'];

/** Where all of its requests differ from ours. */
const ofItsRequests: Stated = {
  'header user-agent': 'the name of the client',
  'header accept-encoding': 'compression would hold back what is streamed, and audio does not shrink',
  ...Object.fromEntries(stainless.map((name) => [`header x-stainless-${name}`, 'telemetry of its generator'])),
};
const ofItsBodies: Stated = { ...ofItsRequests, 'header content-length': 'it sends JSON with line breaks' };

describe('the official LMNT client', () => {
  let sandbox: Sandbox;
  let client: Lmnt;
  let tts: TauTTS | undefined;
  beforeAll(async () => {
    sandbox = await startSandbox();
    client = new Lmnt({ apiKey: key, baseURL: sandbox.endpoints.tau, maxRetries: 0 });
  });
  afterEach(async () => {
    await tts?.dispose();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  const hear = (bytes: Uint8Array): string => decodeSamples(readSamples(bytes, 'linear16'), 16_000).text;
  async function ready(config: Partial<TauTTSConfig> = {}): Promise<TauTTS> {
    tts = new TauTTS({
      ...{ apiKey: key, endpoint: sandbox.endpoints.tau, voice: 'leah', format: 'pcm_s16le', sampleRate: 16_000 },
      ...config,
    });
    await tts.initialize();
    return tts;
  }
  const said = async (voice: TauTTS): Promise<string> =>
    hear(concatBytes((await lastValueFrom(voice.speak(from([text])).pipe(toArray()))).map(({ data }) => data)));
  const usual = { text, voice: 'leah', model: 'blizzard', format: 'pcm_s16le', sample_rate: 16_000 } as const;

  it('speaks, and TauTTS sends the same', async () => {
    const answer = await client.speech.generate({ ...usual, language: 'en', temperature: 0.7, top_p: 0.8 });
    expect(hear(new Uint8Array(await answer.arrayBuffer()))).toBe(text);
    expect(await said(await ready({ language: 'en', temperature: 0.7, topP: 0.8 }))).toBe(text);
    const [theirs, ours] = bothRecords(sandbox, 'tau-tts');
    expectSameWire(ours, theirs, ofItsBodies);
  });

  it('is told when each word sounds, and TauTTS sends the same', async () => {
    const { audio, timestamps = [] } = await client.speech.generateDetailed({ ...usual, return_timestamps: true });
    expect([hear(Buffer.from(audio, 'base64')), timestamps.map((each) => each.text)]).toEqual([
      text,
      ['Hello', ' ', 'there', '.'],
    ]);
    expect(await said(await ready({ wordTimings: true }))).toBe(text);
    const [theirs, ours] = bothRecords(sandbox, 'tau-tts');
    expectSameWire(ours, theirs, ofItsBodies);
  });

  it('lists voices, and TauTTS asks the same', async () => {
    const voices = await client.voices.list({ owner: 'system' });
    expect((await (await ready()).voices({ owner: 'system' })).map(({ id }) => id)).toEqual(voices.map(({ id }) => id));
    const [theirs, ours] = bothRecords(sandbox, 'tau-tts');
    expectSameWire(ours, theirs, { ...ofItsRequests, 'header accept': 'JSON is all that there is' });
  });
});
