// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { filter, firstValueFrom } from 'rxjs';
import { EpsilonSTT, type EpsilonSTTConfig, type TranscriptionResult, type VoiceError } from '../../../lib/index.ts';
import { bodyJson, startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { describeChannels } from '../../conformance/channels.ts';
import { describeStreamingSTT, frames, linear, mulaw } from '../../conformance/streaming-stt.ts';

describeStreamingSTT({
  ...{ name: 'EpsilonSTT', vendor: 'epsilon', service: 'epsilon-stt', first: 'epsilon-init', greetings: 1 },
  formats: [8_000, 16_000, 32_000, 44_100, 48_000].map(linear),
  resumes: true,
  create: (config) => new EpsilonSTT({ endpointing: 0.3, ...config }),
});

describeChannels({
  ...{ name: 'EpsilonSTT', vendor: 'epsilon', service: 'epsilon-stt' },
  create: (config) => new EpsilonSTT({ ...config, channels: 2 }),
  // Another session hears what was not final.
  drop: { kind: 'close', code: 4_404, after: 61, of: 'received', times: 3 },
});

describe('EpsilonSTT: what is peculiar to it', () => {
  let sandbox: Sandbox;
  let stt: EpsilonSTT;
  beforeEach(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await stt.dispose();
    await sandbox.close();
  });

  async function hearing(config: EpsilonSTTConfig, text: string, metadata = linear(16_000)) {
    const { epsilon: endpoint } = sandbox.endpoints;
    stt = new EpsilonSTT({ apiKey: 'sandbox-key', endpoint, endpointing: 0.3, ...config });
    const errors: VoiceError[] = [];
    stt.errors$.subscribe((error) => errors.push(error));
    await stt.initialize();
    const heard = firstValueFrom(stt.transcripts$.pipe(filter(({ utteranceComplete }) => utteranceComplete)));
    for (const chunk of frames([text], metadata)) stt.sendAudio(chunk);
    await stt.connect();
    return { heard: await heard, errors };
  }
  const refusals = (): string[] => sandbox.records().flatMap(({ refusal = [] }) => refusal);

  for (const encoding of ['mulaw', 'alaw'] as const) {
    it(`hears a phone’s own ${encoding}, where it is asked to`, async () => {
      const config: EpsilonSTTConfig = { encoding: encoding === 'mulaw' ? 'wav/ulaw' : 'wav/alaw' };
      const { heard, errors } = await hearing(config, 'hello there', { ...mulaw, encoding });
      expect([heard.text, errors, refusals()]).toEqual(['hello there', [], []]);
    });
  }

  it('every key is taken by the service, and changed for another session', async () => {
    const { heard, errors } = await hearing(
      {
        ...{ model: 'solaria-1', sampleRate: 16_000, channels: 1, languages: ['en', 'fr'], codeSwitching: true },
        ...{ maximumDurationWithoutEndpointing: 15, region: 'eu-west' },
        customVocabulary: ['Westeros', { value: 'Stark', intensity: 0.4, pronunciations: ['Starck'], language: 'en' }],
      },
      'hello there',
    );
    expect([heard.text, errors, refusals()]).toEqual(['hello there', [], []]);
    const again: Promise<TranscriptionResult> = firstValueFrom(
      stt.transcripts$.pipe(filter((each) => each.utteranceComplete && each.text === 'salut')),
    );
    stt.updateConfig({ languages: ['fr'] });
    for (const chunk of frames(['salut'])) stt.sendAudio(chunk);
    await again;
    expect(sandbox.records('epsilon-init').map(bodyJson)).toMatchObject([
      { language_config: { languages: ['en', 'fr'] } },
      { language_config: { languages: ['fr'] } },
    ]);
    expect(refusals()).toEqual([]);
  });
});
