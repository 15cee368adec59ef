/** Fish Audio's own client against the sandbox, and PsiTTS's wire against its. */
import { createRequire } from 'node:module';
import type * as Sdk from 'fish-audio';
import { lastValueFrom, of, toArray } from 'rxjs';
import { PsiTTS, VoiceError, type PsiTTSConfig } from '../../lib/index.ts';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples } from '../../samples/sandbox/modem.ts';
import { concatBytes, readSamples } from '../../samples/sandbox/pcm.ts';
import { bothRecords, expectSameWire, type Stated } from './wire.ts';

const { FishAudioClient } = createRequire(import.meta.url)('fish-audio') as typeof Sdk;

const key = 'sandbox-key';
const text = 'Hello there.';

/** Where its requests differ from ours. */
const ofItsRequests: Stated = {
  'header user-agent': 'the name of the client',
  'header accept': 'it asks for anything',
  'header accept-language': 'what its fetch adds to every request',
  'header sec-fetch-mode': 'the same',
  'header accept-encoding': 'compression would hold back what is streamed, and audio does not shrink',
};

describe('the official Fish Audio client', () => {
  let sandbox: Sandbox;
  let client: InstanceType<typeof FishAudioClient>;
  let tts: PsiTTS | undefined;
  beforeAll(async () => {
    sandbox = await startSandbox();
    client = new FishAudioClient({ apiKey: key, baseUrl: sandbox.endpoints.psi });
  });
  afterEach(async () => {
    await tts?.dispose();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  const hear = (bytes: Uint8Array): string => decodeSamples(readSamples(bytes, 'linear16'), 16_000).text;
  async function theirs(...request: Parameters<typeof client.textToSpeech.convert>): Promise<string> {
    return hear(new Uint8Array(await new Response(await client.textToSpeech.convert(...request)).arrayBuffer()));
  }
  async function ours(config: PsiTTSConfig): Promise<string> {
    tts = new PsiTTS({ apiKey: key, endpoint: sandbox.endpoints.psi, format: 'pcm', sampleRate: 16_000, ...config });
    await tts.initialize();
    const chunks = await lastValueFrom(tts.speak(of(text)).pipe(toArray()));
    return hear(concatBytes(chunks.map(({ data }) => data)));
  }
  const usual = { text, format: 'pcm', sample_rate: 16_000 } as const;

  it('speaks, and PsiTTS sends the same', async () => {
    const manner = { latency: 'balanced', reference_id: 'voice-1', prosody: { speed: 1.1, volume: -3 } } as const;
    const rest = { normalize: false, chunk_length: 200, temperature: 0.6, top_p: 0.5 };
    expect(await theirs({ ...usual, ...manner, ...rest }, 's1')).toBe(text);
    const config = { model: 's1', latency: 'balanced', referenceId: 'voice-1', speed: 1.1, volume: -3 } as const;
    expect(await ours({ ...config, normalize: false, chunkLength: 200, temperature: 0.6, topP: 0.5 })).toBe(text);
    const [theirWire, ourWire] = bothRecords(sandbox, 'psi-tts');
    expectSameWire(ourWire, theirWire, ofItsRequests);
  });

  it('clones a voice from a recording, and PsiTTS sends the same', async () => {
    const recording = new Uint8Array(400).map((_, index) => index);
    const audio = new File([recording], 'voice.wav');
    expect(await theirs({ ...usual, latency: 'normal', references: [{ audio, text: 'As I speak.' }] }, 's1')).toBe(
      text,
    );
    expect(await ours({ model: 's1', references: [{ audio: recording, text: 'As I speak.' }] })).toBe(text);
    const [theirWire, ourWire] = bothRecords(sandbox, 'psi-tts');
    expectSameWire(ourWire, theirWire, ofItsRequests);
  });

  it('is refused with a wrong key, as PsiTTS is', async () => {
    const stranger = new FishAudioClient({ apiKey: 'wrong', baseUrl: sandbox.endpoints.psi });
    await expect(stranger.textToSpeech.convert({ ...usual }, 's1')).rejects.toMatchObject({
      ...{ statusCode: 401, body: { message: 'Invalid Token', status: 401 } },
    });
    const error = await ours({ apiKey: 'wrong' }).catch((cause: unknown) => VoiceError.from(cause));
    expect(error).toMatchObject({ code: 'unauthorized', status: 401 });
  });
});
