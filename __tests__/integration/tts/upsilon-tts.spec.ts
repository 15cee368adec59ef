import type { TTSConfig } from '../../../lib/providers/tts/base-tts.ts';
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
