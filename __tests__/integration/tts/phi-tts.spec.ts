/** Slow: faults of real servers wait out real time-outs, and the waits that services ask for. */
import { PhiTTS, type PhiTTSConfig } from '../../../lib/providers/tts/phi-tts.ts';
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { describeTTS } from '../../conformance/tts.ts';

const voice =
  (config: PhiTTSConfig) =>
  (address: TTSConfig): PhiTTS =>
    new PhiTTS({ ...config, ...address });

describeTTS({
  ...{ vendor: 'phi', service: 'phi-tts' },
  voices: {
    'PhiTTS pcm': voice({ speaker: 'astra', audioFormat: 'pcm', language: 'en' }),
    'PhiTTS wav': voice({ speaker: 'cove', model: 'mistv3', audioFormat: 'wav', language: 'eng' }),
    'PhiTTS mulaw': voice({ speaker: 'astra', audioFormat: 'mulaw' }),
    'PhiTTS pcm of mistv2': voice({ speaker: 'cove', model: 'mistv2', audioFormat: 'pcm', language: 'en' }),
  },
});
