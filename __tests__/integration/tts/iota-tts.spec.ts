// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { lastValueFrom, of, toArray } from 'rxjs';
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { IotaTTS, type IotaTTSConfig } from '../../../lib/providers/tts/iota-tts.ts';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import { describeTTS, hear } from '../../conformance/tts.ts';

const voice =
  (config: IotaTTSConfig) =>
  (address: TTSConfig): IotaTTS =>
    new IotaTTS({ ...config, ...address });

describeTTS({
  // A wrong key is an invalid argument.
  ...{ vendor: 'iota', service: 'iota-tts', answersWhole: true, refusedStatus: 400 },
  voices: {
    'IotaTTS LINEAR16': voice({ audioEncoding: 'LINEAR16', voiceName: 'en-US-Neural2-F' }),
    'IotaTTS MULAW': voice({ audioEncoding: 'MULAW', sampleRate: 8000 }),
    'IotaTTS ALAW': voice({ audioEncoding: 'ALAW', sampleRate: 8000 }),
  },
});

describe('IotaTTS in the sandbox', () => {
  it('speaks SSML of any length', async () => {
    await using sandbox = await startSandbox();
    const tts = voice({ audioEncoding: 'LINEAR16', sampleRate: 8000 })({ proxyUrl: sandbox.proxies.iota });
    await tts.initialize();
    const sentences = Array.from({ length: 110 }, (_, index) => `Tom & Jerry, "scene ${index}", it's <over>.`);
    const escaped = sentences.map((text) => `<s>${text.replace('&', '&amp;').replace('<', '&lt;')}</s>`);
    const chunks = await lastValueFrom(tts.speak(of(`<speak>${escaped.join('')}</speak>`)).pipe(toArray()));
    expect(hear(chunks).text).toBe(sentences.join(''));
    expect(sandbox.records('iota-tts').map(({ status }) => status)).toEqual([200, 200]);
    await tts.dispose();
  });

  it('speaks with a Chirp3-HD voice although a pitch is set, which such a voice refuses', async () => {
    await using sandbox = await startSandbox();
    const voiceName = 'en-US-Chirp3-HD-Charon';
    const tts = voice({ audioEncoding: 'LINEAR16', voiceName, pitch: 2 })({ proxyUrl: sandbox.proxies.iota });
    await tts.initialize();
    const chunks = await lastValueFrom(tts.speak(of('Hello.')).pipe(toArray()));
    expect(hear(chunks).text).toBe('Hello.');
    await tts.dispose();
  });
});
