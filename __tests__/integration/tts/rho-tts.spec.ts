// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { from, lastValueFrom, toArray } from 'rxjs';
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { RhoTTS, type RhoTTSConfig } from '../../../lib/providers/tts/rho-tts.ts';
import { makesAac } from '../../../samples/sandbox/fixtures.ts';
import { startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { describeTTS, hear } from '../../conformance/tts.ts';

const voice =
  (config: Partial<RhoTTSConfig>) =>
  (address: TTSConfig): RhoTTS =>
    new RhoTTS({ voiceId: 'geffen_32', ...config, ...address });

describeTTS({
  ...{ vendor: 'rho', service: 'rho-tts', tellsWords: true },
  voices: {
    'RhoTTS pcm': voice({ audioFormat: 'pcm' }),
    'RhoTTS ulaw': voice({ audioFormat: 'ulaw' }),
    'RhoTTS wav': voice({ audioFormat: 'wav', sampleRate: 48_000 }),
    'RhoTTS pcm with an emotion': voice({ audioFormat: 'pcm', emotion: 'cheerful', pitch: -5, speed: 1.1 }),
  },
});
describeTTS({
  ...{ vendor: 'rho', service: 'rho-tts' },
  voices: { 'RhoTTS pcm without marks': voice({ audioFormat: 'pcm', sampleRate: 16_000, wordTimings: false }) },
});

describe('RhoTTS in the sandbox', () => {
  let sandbox: Sandbox;
  let tts: RhoTTS;
  beforeEach(async () => {
    sandbox = await startSandbox();
    tts = new RhoTTS({
      ...{ voiceId: 'geffen_32', audioFormat: 'pcm', apiKey: 'sandbox-key', endpoint: sandbox.endpoints.rho },
    });
    await tts.initialize();
  });
  afterEach(async () => {
    await tts.dispose();
    await sandbox.close();
  });
  const speak = async (...text: string[]): Promise<string> =>
    hear(await lastValueFrom(tts.speak(from(text)).pipe(toArray()))).text.trim();

  it('speaks letters, markup and scripts of any kind, and documents', async () => {
    for (const text of ['<a> < b & "c" > d', 'Grüße aus Köln, née Ö.', '你好，世界。', 'Привет мир']) {
      expect(await speak(text)).toBe(text);
    }
    expect(await speak('<speak>Hello <prosody rate="+25%">R&amp;D</prosody></speak>')).toBe('Hello R&D');
    tts.updateConfig({ emotion: 'calm' });
    expect(await speak("it's 1 < 2 & so on")).toBe("it's 1 < 2 & so on");
  });

  it('joins the marks of a word', async () => {
    const words: string[] = [];
    tts.words$.subscribe(({ text, startMs, endMs }) => words.push(`${text} ${startMs}-${endMs}`));
    await speak('Try text-to-speech now.');
    expect(words).toEqual(['Try 0-240', 'text-to-speech 320-1440', 'now. 1520-1840']);
  });

  it('fails with what the service says in the middle of a stream', async () => {
    sandbox.setFault('rho-tts', { kind: 'error', after: 1 });
    await expect(speak('Hello there.')).rejects.toMatchObject({ code: 'server', provider: 'RhoTTS' });
  });

  it('does not mistake a broken stream for a complete one', async () => {
    sandbox.setFault('rho-tts', { kind: 'dropAfter', messages: 2 });
    await expect(speak('Hello there.')).rejects.toMatchObject({ code: 'connection' });
  });

  it('lists its voices', async () => {
    expect(await tts.voices({ model: 'simba-3.0' })).toEqual([
      {
        id: 'george',
        name: 'George',
        languages: ['en-US'],
        gender: 'female',
        models: ['simba-3.0', 'simba-english', 'simba-multilingual'],
      },
      { id: 'lisa', name: 'Lisa', languages: ['en-US'], gender: 'female', models: ['simba-3.0'] },
    ]);
    expect((await tts.voices()).map(({ id }) => id)).toEqual(['geffen_32', 'george', 'lisa']);
  });

  for (const [audioFormat, magic] of [
    ['mp3', 'fff3'],
    ['ogg', '4f676753'],
    ['aac', 'fff1'],
    ['wav', '52494646'],
  ] as const) {
    const test = audioFormat === 'aac' && !makesAac ? it.skip : it;
    test(`gives an ${audioFormat} file`, async () => {
      tts.updateConfig({ audioFormat });
      const blob = await tts.synthesize('Hello there.');
      const bytes = Buffer.from(await blob.arrayBuffer());
      expect(bytes.toString('hex').slice(0, magic.length)).toBe(magic);
    });
  }
});
