// Slow: audio at the speed of sound, and faults that make it wait and try again.
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { TauTTS, type TauTTSConfig } from '../../../lib/providers/tts/tau-tts.ts';
import { makesAac } from '../../../samples/sandbox/fixtures.ts';
import { startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { describeTTS } from '../../conformance/tts.ts';

const voice =
  (config: Partial<TauTTSConfig>) =>
  (address: TTSConfig): TauTTS =>
    new TauTTS({ voice: 'leah', ...config, ...address });

describeTTS({
  ...{ vendor: 'tau', service: 'tau-tts' },
  voices: {
    'TauTTS pcm_s16le': voice({ format: 'pcm_s16le' }),
    'TauTTS pcm_f32le': voice({ format: 'pcm_f32le', sampleRate: 16_000, language: 'en' }),
    'TauTTS ulaw': voice({ format: 'ulaw', temperature: 0.7 }),
    'TauTTS wav': voice({ format: 'wav', topP: 0.5 }),
  },
});
describeTTS({
  ...{ vendor: 'tau', service: 'tau-tts', tellsWords: true, answersWhole: true },
  voices: { 'TauTTS with word times': voice({ format: 'pcm_s16le', wordTimings: true }) },
});

describe('TauTTS in the sandbox', () => {
  let sandbox: Sandbox;
  let tts: TauTTS;
  beforeEach(async () => {
    sandbox = await startSandbox();
    tts = new TauTTS({
      ...{ voice: 'leah', format: 'pcm_s16le', apiKey: 'sandbox-key', endpoint: sandbox.endpoints.tau },
    });
    await tts.initialize();
  });
  afterEach(async () => {
    await tts.dispose();
    await sandbox.close();
  });

  it('says that a voice is unknown', async () => {
    tts.updateConfig({ voice: 'nobody' });
    await expect(tts.synthesize('Hi.')).rejects.toMatchObject({ code: 'not_found', status: 404 });
  });

  it('lists its voices, save those that are not ready', async () => {
    expect(await tts.voices()).toEqual(
      ['leah', 'brandon', 'lily'].map((id) => ({
        ...{ id, name: id.charAt(0).toUpperCase() + id.slice(1), languages: [], gender: 'female' },
        previewUrl: `https://example.com/${id}.mp3`,
      })),
    );
    expect(await tts.voices({ owner: 'me' })).toEqual([]);
  });

  for (const [format, magic] of [
    ['mp3', 'fff3'],
    ['aac', 'fff1'],
    ['webm', '1a45dfa3'],
    ['ulaw', '52494646'],
  ] as const) {
    const test = format === 'aac' && !makesAac ? it.skip : it;
    test(`gives an ${format} file`, async () => {
      tts.updateConfig({ format });
      const bytes = Buffer.from(await (await tts.synthesize('Hello there.')).arrayBuffer());
      expect(bytes.toString('hex').slice(0, magic.length)).toBe(magic);
    });
  }
});
