/** Speechify's own client against the sandbox, and RhoTTS's wire against its. */
import { createRequire } from 'node:module';
import type * as Sdk from '@speechify/api';
import { from, lastValueFrom, toArray } from 'rxjs';
import { RhoTTS, type RhoTTSConfig } from '../../lib/index.ts';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples } from '../../samples/sandbox/modem.ts';
import { concatBytes, readSamples, readWav } from '../../samples/sandbox/pcm.ts';
import { bothRecords, expectSameWire, type Stated } from './wire.ts';

const { SpeechifyClient } = createRequire(import.meta.url)('@speechify/api') as typeof Sdk;

const key = 'sandbox-key';
const text = 'Hello there.';
const fern = ['language', 'runtime', 'runtime-version', 'sdk-name', 'sdk-version'];

/** Where all of its requests differ from ours. */
const ofItsRequests: Stated = {
  'header user-agent': 'the name of the client',
  'header accept': 'it asks for anything; what it gets is in the body',
  'header accept-language': 'what its fetch adds to every request',
  'header sec-fetch-mode': 'the same',
  'header accept-encoding': 'compression would hold back what is streamed, and audio does not shrink',
  'header speechify-version': 'this client is older than the versions: ours names the newest that takes all models',
  ...Object.fromEntries(fern.map((name) => [`header x-fern-${name}`, 'telemetry of its generator'])),
};

describe('the official Speechify client', () => {
  let sandbox: Sandbox;
  let client: InstanceType<typeof SpeechifyClient>;
  let tts: RhoTTS | undefined;
  beforeAll(async () => {
    sandbox = await startSandbox();
    client = new SpeechifyClient({ token: key, environment: sandbox.endpoints.rho });
  });
  afterEach(async () => {
    await tts?.dispose();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  async function ready(config: Partial<RhoTTSConfig> = {}): Promise<RhoTTS> {
    tts = new RhoTTS({ apiKey: key, endpoint: sandbox.endpoints.rho, voiceId: 'george', ...config });
    await tts.initialize();
    return tts;
  }

  it('speaks, and RhoTTS sends the same', async () => {
    const answer = await client.tts.audio.speech({
      ...{ input: text, voiceId: 'george', model: 'simba-english', audioFormat: 'wav', language: 'en-US' },
      options: { loudnessNormalization: true, textNormalization: false },
    });
    const wav = readWav(Buffer.from(answer.audioData, 'base64'));
    expect(wav && decodeSamples(wav.samples, wav.sampleRate).text).toBe(text);
    expect(answer.speechMarks.chunks.map(({ value }) => value)).toEqual(['Hello', 'there.']);

    const ours = await ready({
      ...{ model: 'simba-english', audioFormat: 'wav', language: 'en-US' },
      ...{ loudnessNormalization: true, textNormalization: false },
    });
    const chunks = await lastValueFrom(ours.speak(from([text])).pipe(toArray()));
    const bytes = concatBytes(chunks.map(({ data }) => data));
    expect(decodeSamples(readSamples(bytes, 'linear16'), 24_000).text).toBe(text);
    const [theirWire, ourWire] = bothRecords(sandbox, 'rho-tts');
    expectSameWire(ourWire, theirWire, ofItsRequests);
  });

  it('lists voices, and RhoTTS finds the same', async () => {
    const voices = await client.tts.voices.list();
    expect((await (await ready()).voices()).map(({ id }) => id)).toEqual(voices.map(({ id }) => id));
    const [theirWire, ourWire] = bothRecords(sandbox, 'rho-tts');
    expectSameWire(ourWire, theirWire, {
      ...ofItsRequests,
      'query limit': 'ours asks for pages, as large as they get',
    });
  });
});
