/** Slow: faults of real servers wait out real time-outs, and the waits that services ask for. */
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { UpsilonTTS, type UpsilonTTSFormat } from '../../../lib/providers/tts/upsilon-tts.ts';
import { describeTTS } from '../../conformance/tts.ts';

const voice =
  (outputFormat: UpsilonTTSFormat) =>
  (address: TTSConfig): UpsilonTTS =>
    new UpsilonTTS({ voiceId: 'magnus', sampleRate: 24000, outputFormat, ...address });

describeTTS({
  ...{ vendor: 'upsilon', service: 'upsilon-tts' },
  voices: {
    'UpsilonTTS wav': voice('wav'),
    'UpsilonTTS pcm': voice('pcm'),
    'UpsilonTTS ulaw': voice('ulaw'),
    'UpsilonTTS alaw': voice('alaw'),
  },
});
