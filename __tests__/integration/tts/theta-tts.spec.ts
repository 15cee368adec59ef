/** Slow: faults of real servers wait out real time-outs, and the waits that services ask for. */
import { ThetaTTS } from '../../../lib/providers/tts/theta-tts.ts';
import { describeTTS } from '../../conformance/tts.ts';

describeTTS({
  ...{ vendor: 'theta', service: 'theta-tts' },
  voices: {
    'ThetaTTS pcm': (address) => new ThetaTTS({ responseFormat: 'pcm', ...address }),
    'ThetaTTS wav': (address) => new ThetaTTS({ responseFormat: 'wav', ...address }),
  },
});
