/** Slow: faults of real servers wait out real time-outs. */
import { AlphaFlux } from '../../../lib/providers/stt/alpha-flux.ts';
import { describeStreamingSTT, linear, mulaw } from '../../conformance/streaming-stt.ts';

describeStreamingSTT({
  ...{ name: 'AlphaFlux', vendor: 'alpha', service: 'alpha-flux', first: 'alpha-flux', greetings: 1 },
  formats: [...[8_000, 16_000, 24_000, 48_000].map(linear), mulaw],
  create: (config) => new AlphaFlux(config),
});
