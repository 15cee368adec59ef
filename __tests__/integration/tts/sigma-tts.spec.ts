// Slow: audio at the speed of sound, and faults that make it wait and try again.
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { SigmaTTS, type SigmaTTSConfig } from '../../../lib/providers/tts/sigma-tts.ts';
import { startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { describeTTS } from '../../conformance/tts.ts';

const voice =
  (config: Partial<SigmaTTSConfig>) =>
  (address: TTSConfig): SigmaTTS =>
    new SigmaTTS({ voiceId: 'en-US-natalie', ...config, ...address });

const subject = { vendor: 'sigma', service: 'sigma-tts', refusedStatus: 403 } as const;

describeTTS({
  ...{ ...subject, tellsWords: true, answersWhole: true },
  voices: {
    'SigmaTTS wav': voice({ format: 'wav' }),
    'SigmaTTS pcm 24 kHz': voice({ format: 'pcm', sampleRate: 24_000, style: 'Promo' }),
    'SigmaTTS ulaw': voice({ format: 'ulaw' }),
    'SigmaTTS alaw': voice({ format: 'alaw', rate: 10, pitch: -10, variation: 2 }),
  },
});
describeTTS({
  ...subject,
  voices: {
    'SigmaTTS FALCON pcm': voice({ model: 'FALCON', format: 'pcm' }),
    'SigmaTTS GEN2 wav, streamed': voice({ streaming: true, format: 'wav', sampleRate: 48_000 }),
  },
});

describe('SigmaTTS in the sandbox', () => {
  let sandbox: Sandbox;
  let tts: SigmaTTS;
  beforeEach(async () => {
    sandbox = await startSandbox();
    tts = new SigmaTTS({
      ...{ voiceId: 'en-US-natalie', format: 'pcm', apiKey: 'sandbox-key', endpoint: sandbox.endpoints.sigma },
    });
    await tts.initialize();
  });
  afterEach(async () => {
    await tts.dispose();
    await sandbox.close();
  });

  it('says that a voice or a style is unknown', async () => {
    tts.updateConfig({ voiceId: 'nobody' });
    await expect(tts.synthesize('Hi.')).rejects.toMatchObject({ code: 'configuration', status: 400 });
    tts.updateConfig({ voiceId: 'natalie', style: 'Whisper' });
    await expect(tts.synthesize('Hi.')).rejects.toMatchObject({ code: 'configuration', status: 400 });
  });

  it('lists its voices', async () => {
    expect(await tts.voices()).toEqual([
      {
        ...{ id: 'en-US-natalie', name: 'natalie (F)', languages: ['en-US'], gender: 'female' },
        ...{ description: 'Young Adult', styles: ['Promo', 'Conversational'] },
      },
      expect.objectContaining({ id: 'en-US-miles' }),
    ]);
    expect((await tts.voices({ model: 'FALCON' })).map(({ id }) => id)).toEqual(['en-US-natalie', 'en-US-matthew']);
  });

  for (const [format, magic] of [
    ['mp3', 'fffb'],
    ['flac', '664c6143'],
    ['wav', '52494646'],
  ] as const) {
    it(`gives an ${format} file`, async () => {
      tts.updateConfig({ format });
      const bytes = Buffer.from(await (await tts.synthesize('Hello there.')).arrayBuffer());
      expect(bytes.toString('hex').slice(0, magic.length)).toBe(magic);
    });
  }
});
