// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { lastValueFrom, of, toArray } from 'rxjs';
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { ChiTTS, type ChiTTSConfig } from '../../../lib/providers/tts/chi-tts.ts';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import { describeTTS, hear } from '../../conformance/tts.ts';

const common = { voiceId: 'English_expressive_narrator', groupId: '1900000000000000000' } as const;
const voice =
  (config: Partial<ChiTTSConfig>) =>
  (address: TTSConfig): ChiTTS =>
    new ChiTTS({ ...common, ...config, ...address });
// The service refuses a credential with status 200.
const subject = { vendor: 'chi', service: 'chi-tts', refusedStatus: 200 } as const;

describeTTS({
  ...subject,
  voices: {
    'ChiTTS pcm': voice({ audioFormat: 'pcm', sampleRate: 24000 }),
    'ChiTTS wav': voice({ audioFormat: 'wav', sampleRate: 16000 }),
  },
});
describeTTS({
  ...{ ...subject, tellsWords: true, rounds: 1 },
  voices: { 'ChiTTS with its own words': voice({ audioFormat: 'pcm', sampleRate: 16000, wordTimings: true }) },
});

describe('ChiTTS in the sandbox', () => {
  it('continues without word times when they are unavailable', async () => {
    await using sandbox = await startSandbox();
    sandbox.setFault('chi-subtitles', { kind: 'status', status: 404 });
    const tts = voice({ audioFormat: 'pcm', wordTimings: true })({ proxyUrl: sandbox.proxies.chi });
    await tts.initialize();
    const estimated: unknown[] = [];
    tts.words$.subscribe((word) => estimated.push(word.estimated));
    const chunks = await lastValueFrom(tts.speak(of('Hello there.')).pipe(toArray()));
    expect([hear(chunks).text, estimated]).toEqual(['Hello there.', [true, true]]);
    await tts.dispose();
  });

  it('fails when the service does in the middle of the audio, and does not speak it twice', async () => {
    await using sandbox = await startSandbox();
    sandbox.setFault('chi-tts', { kind: 'error', after: 2 });
    const tts = voice({ audioFormat: 'pcm' })({ proxyUrl: sandbox.proxies.chi });
    await tts.initialize();
    await expect(lastValueFrom(tts.speak(of('Hello there.')))).rejects.toMatchObject({ code: 'server' });
    expect(sandbox.records('chi-tts')).toHaveLength(1);
    await tts.dispose();
  });
});
