/** Slow: the vendors' clients take seconds to load. */
/** Google's own client, in its form that speaks REST, against the sandbox, and IotaTTS's wire against its. */
import { createRequire } from 'node:module';
import type * as Sdk from '@google-cloud/text-to-speech';
import { lastValueFrom, of, toArray } from 'rxjs';
import { IotaTTS, VoiceError, type IotaTTSConfig } from '../../lib/index.ts';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples } from '../../samples/sandbox/modem.ts';
import { concatBytes, readSamples, readWav } from '../../samples/sandbox/pcm.ts';
import { bothRecords, expectSameWire, type Stated } from './wire.ts';

const { TextToSpeechClient } = createRequire(import.meta.url)('@google-cloud/text-to-speech') as typeof Sdk;

const key = 'sandbox-key';
const text = 'Hello there.';

/** Where its requests differ from ours. */
const ofItsRequests: Stated = {
  'header user-agent': 'the name of the client',
  'header x-goog-api-client': 'the same, with the versions of its parts',
  'header accept': 'it asks for anything; what it gets is JSON',
  'header accept-encoding': 'compression gains nothing on audio',
  'header content-length': 'enumerations as numbers are shorter',
  'query $alt': 'it asks for enumerations as numbers, and for JSON, which is what there is',
  'body audioConfig': 'the name of an encoding for its number: the service takes both',
};

describe('the official client of Google Cloud Text-to-Speech', () => {
  let sandbox: Sandbox;
  let tts: IotaTTS | undefined;
  const clients: Sdk.TextToSpeechClient[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await tts?.dispose();
    await Promise.all(clients.splice(0).map((client) => client.close()));
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  function clientWith(apiKey: string): Sdk.TextToSpeechClient {
    const { hostname, port, pathname } = new URL(sandbox.endpoints.iota);
    const address = { apiEndpoint: hostname, protocol: 'http' };
    const client = new TextToSpeechClient({ ...address, fallback: true, apiKey });
    // It knows no address with a path: what it writes for the port takes it along.
    Reflect.set(Reflect.get(client, '_opts') as object, 'port', { toString: () => port + pathname });
    clients.push(client);
    return client;
  }
  async function ready(config: IotaTTSConfig = {}): Promise<IotaTTS> {
    tts = new IotaTTS({ apiKey: key, endpoint: sandbox.endpoints.iota, ...config });
    await tts.initialize();
    return tts;
  }
  async function said(voice: IotaTTS, spoken: string, rate: number): Promise<string> {
    const chunks = await lastValueFrom(voice.speak(of(spoken)).pipe(toArray()));
    return decodeSamples(readSamples(concatBytes(chunks.map(({ data }) => data)), 'linear16'), rate).text;
  }
  const heard = (audio: unknown): string => {
    const wav = audio instanceof Uint8Array ? readWav(audio) : undefined;
    return wav ? decodeSamples(wav.samples, wav.sampleRate).text : '';
  };

  it('speaks, and IotaTTS sends the same', async () => {
    const [{ audioContent }] = await clientWith(key).synthesizeSpeech({
      input: { text },
      voice: { languageCode: 'en-US', name: 'en-US-Neural2-F' },
      audioConfig: {
        ...{ audioEncoding: 'LINEAR16', speakingRate: 1.25, pitch: -2, volumeGainDb: 3, sampleRateHertz: 16_000 },
        effectsProfileId: ['telephony-class-application'],
      },
    });
    expect(heard(audioContent)).toBe(text);
    const ours = await ready({
      ...{ voiceName: 'en-US-Neural2-F', audioEncoding: 'LINEAR16', speakingRate: 1.25, pitch: -2, volumeGainDb: 3 },
      ...{ sampleRate: 16_000, effectsProfileId: ['telephony-class-application'] },
    });
    expect(await said(ours, text, 16_000)).toBe(text);
    const [theirWire, ourWire] = bothRecords(sandbox, 'iota-tts');
    expectSameWire(ourWire, theirWire, ofItsRequests);
  });

  it('speaks SSML, and IotaTTS sends the same', async () => {
    const ssml = '<speak>Tom &amp; <emphasis>Jerry</emphasis></speak>';
    const [{ audioContent }] = await clientWith(key).synthesizeSpeech({
      ...{ input: { ssml }, voice: { languageCode: 'de-DE' }, audioConfig: { audioEncoding: 'LINEAR16' } },
    });
    expect(heard(audioContent)).toBe('Tom & Jerry');
    expect(await said(await ready({ languageCode: 'de-DE', audioEncoding: 'LINEAR16' }), ssml, 24_000)).toBe(
      'Tom & Jerry',
    );
    const [theirWire, ourWire] = bothRecords(sandbox, 'iota-tts');
    expectSameWire(ourWire, theirWire, ofItsRequests);
  });

  it('understands the refusal of a wrong key, as IotaTTS does', async () => {
    const request = {
      input: { text },
      voice: { languageCode: 'en-US' },
      audioConfig: { audioEncoding: 'MP3' },
    } as const;
    // gRPC's number for INVALID_ARGUMENT.
    await expect(clientWith('wrong').synthesizeSpeech(request)).rejects.toMatchObject({
      code: 3,
      reason: 'API_KEY_INVALID',
    });
    const error = await (
      await ready({ apiKey: 'wrong' })
    )
      .synthesize(text)
      .catch((cause: unknown) => VoiceError.from(cause));
    expect(error).toMatchObject({ code: 'unauthorized', status: 400 });
  });
});
