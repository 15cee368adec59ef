/** Slow: faults of real servers wait out real time-outs, and the waits that services ask for. */
import { PsiTTS } from '../../../lib/providers/tts/psi-tts.ts';
import { describeTTS } from '../../conformance/tts.ts';

describeTTS({
  ...{ vendor: 'psi', service: 'psi-tts' },
  voices: {
    'PsiTTS pcm': (address) => new PsiTTS({ format: 'pcm', sampleRate: 16000, ...address }),
    'PsiTTS wav': (address) => new PsiTTS({ format: 'wav', sampleRate: 16000, ...address }),
  },
});
describeTTS({
  ...{ vendor: 'psi', service: 'psi-tts', tellsWords: true, answersWhole: true, rounds: 1 },
  voices: {
    'PsiTTS with its own words': (address) =>
      new PsiTTS({ format: 'pcm', sampleRate: 16000, wordTimings: true, ...address }),
  },
});
