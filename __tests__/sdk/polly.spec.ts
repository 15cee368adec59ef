/** The official client of Amazon Polly against the sandbox, and OmegaTTS's wire against its. */
import { PollyClient, SynthesizeSpeechCommand, type SynthesizeSpeechCommandInput } from '@aws-sdk/client-polly';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { asyncScheduler, lastValueFrom, of, toArray } from 'rxjs';
import { OmegaTTS, VoiceError, type OmegaTTSConfig } from '../../lib/index.ts';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples } from '../../samples/sandbox/modem.ts';
import { concatBytes, readSamples } from '../../samples/sandbox/pcm.ts';
import { bothRecords, expectSameWire, type Stated } from './wire.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'sandbox-key', sessionToken: 'session' };

/** Where its requests differ from ours. */
const ofItsRequests: Stated = {
  'header user-agent': 'the name of the client',
  'header x-amz-user-agent': 'the same, once more',
  'header amz-sdk-invocation-id': 'telemetry',
  'header amz-sdk-request': 'telemetry',
  'header x-amz-content-sha256': 'the hash of the body, which is signed anyway',
  'header x-amz-date': 'the moment of the signature: our clock is five seconds fast here, so that it always differs',
  'header authorization': 'it signs its telemetry too',
};

describe('the official client of Amazon Polly', () => {
  let sandbox: Sandbox;
  let client: PollyClient;
  let tts: OmegaTTS | undefined;
  beforeAll(async () => {
    sandbox = await startSandbox();
    client = clientWith(credentials);
  });
  afterEach(async () => {
    await tts?.dispose();
    tts = undefined;
    sandbox.clearRecords();
  });
  afterAll(async () => {
    client.destroy();
    await sandbox.close();
  });

  const clientWith = (signedBy: typeof credentials): PollyClient =>
    new PollyClient({
      ...{ endpoint: sandbox.endpoints.omega, region: 'eu-west-1', credentials: signedBy, maxAttempts: 1 },
      // Its own choice is HTTP/2, for an operation that is not ours.
      requestHandler: new NodeHttpHandler(),
    });
  const hear = (bytes: Uint8Array, rate: number): string => decodeSamples(readSamples(bytes, 'linear16'), rate).text;
  const ask = async (input: SynthesizeSpeechCommandInput): Promise<Uint8Array> => {
    const { AudioStream } = await client.send(new SynthesizeSpeechCommand(input));
    return (await AudioStream?.transformToByteArray()) ?? new Uint8Array(0);
  };
  async function speak(config: Partial<OmegaTTSConfig>, text: string): Promise<Uint8Array> {
    const address = { endpoint: sandbox.endpoints.omega, region: 'eu-west-1', credentials };
    const scheduler = { now: () => Date.now() + 5_000, schedule: asyncScheduler.schedule.bind(asyncScheduler) };
    tts = new OmegaTTS({ ...address, scheduler, voiceId: 'Joanna', ...config });
    await tts.initialize();
    return concatBytes((await lastValueFrom(tts.speak(of(text)).pipe(toArray()))).map(({ data }) => data));
  }

  it('speaks, and OmegaTTS sends the same', async () => {
    const Text = `Tom & Jerry's "fox", 日本語 😀.`;
    const theirs = await ask({
      ...{ Text, VoiceId: 'Joanna', Engine: 'neural', OutputFormat: 'pcm', SampleRate: '8000', TextType: 'text' },
      LexiconNames: ['acronyms'],
    });
    const ours = await speak({ outputFormat: 'pcm', sampleRate: 8000, lexiconNames: ['acronyms'] }, Text);
    expect([hear(theirs, 8000), hear(ours, 8000)]).toEqual([Text, Text]);
    const [theirWire, ourWire] = bothRecords(sandbox, 'omega-tts');
    expectSameWire(ourWire, theirWire, ofItsRequests);
  });

  it('speaks SSML, and OmegaTTS sends the same', async () => {
    const Text = '<speak>Tom &amp; <break time="300ms"/>Jerry</speak>';
    const theirs = await ask({
      ...{ Text, VoiceId: 'Matthew', Engine: 'generative', OutputFormat: 'pcm', TextType: 'ssml' },
    });
    const ours = await speak({ voiceId: 'Matthew', engine: 'generative', outputFormat: 'pcm' }, Text);
    expect([hear(theirs, 16000), hear(ours, 16000)]).toEqual(['Tom & Jerry', 'Tom & Jerry']);
    const [theirWire, ourWire] = bothRecords(sandbox, 'omega-tts');
    expectSameWire(ourWire, theirWire, ofItsRequests);
  });

  it('is told marks of words by the sandbox', async () => {
    const lines = await ask({
      ...{ Text: 'Hi you.', VoiceId: 'Joanna', Engine: 'neural', OutputFormat: 'json', SpeechMarkTypes: ['word'] },
    });
    expect(new TextDecoder().decode(lines)).toBe(
      '{"time":0,"type":"word","start":0,"end":2,"value":"Hi"}\n{"time":240,"type":"word","start":3,"end":6,"value":"you"}\n',
    );
  });

  const refusals: readonly (readonly [name: string, input: object, config: Partial<OmegaTTSConfig>])[] = [
    ['ValidationException', { VoiceId: 'Nicole' }, { voiceId: 'Nicole' }],
    ['LexiconNotFoundException', { LexiconNames: ['missing'] }, { lexiconNames: ['missing'] }],
    ['InvalidSsmlException', { Text: '<speak>a & b</speak>', TextType: 'ssml' }, { textType: 'ssml' }],
  ];
  for (const [name, input, config] of refusals) {
    it(`understands the sandbox’s ${name}, as OmegaTTS does`, async () => {
      const usual = { Text: 'Hi.', VoiceId: 'Joanna', Engine: 'neural', OutputFormat: 'pcm' } as const;
      await expect(ask({ ...usual, ...input })).rejects.toMatchObject({ name });
      const text = name.includes('Ssml') ? '<speak>a & b</speak>' : 'Hi.';
      const error: unknown = await speak({ outputFormat: 'pcm', ...config }, text).catch((each: unknown) => each);
      expect(VoiceError.is(error) && error.message).toContain(name);
    });
  }

  it('is refused with a wrong secret, as OmegaTTS is', async () => {
    const wrong = { ...credentials, secretAccessKey: 'wrong' };
    const other = clientWith(wrong);
    const command = new SynthesizeSpeechCommand({ Text: 'Hi.', VoiceId: 'Joanna', OutputFormat: 'pcm' });
    await expect(other.send(command)).rejects.toMatchObject({ name: 'InvalidSignatureException' });
    other.destroy();
    const error: unknown = await speak({ credentials: wrong, outputFormat: 'pcm' }, 'Hi.').catch(
      (each: unknown) => each,
    );
    expect(error).toMatchObject({ code: 'unauthorized', status: 403 });
  });
});
