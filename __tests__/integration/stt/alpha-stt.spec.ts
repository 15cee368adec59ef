/** Slow: faults of real servers wait out real time-outs. */
import { AlphaSTT } from '../../../lib/providers/stt/alpha-stt.ts';
import { describeStreamingSTT, linear, mulaw } from '../../conformance/streaming-stt.ts';

describeStreamingSTT({
  ...{ name: 'AlphaSTT', vendor: 'alpha', service: 'alpha-stt', first: 'alpha-stt', greetings: 0 },
  formats: [...[8_000, 16_000, 24_000, 48_000].map(linear), mulaw],
  create: (config) => new AlphaSTT(config),
});
