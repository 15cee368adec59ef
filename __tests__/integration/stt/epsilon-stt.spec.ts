import { EpsilonSTT } from '../../../lib/providers/stt/epsilon-stt.ts';
import { describeStreamingSTT, linear } from '../../conformance/streaming-stt.ts';

describeStreamingSTT({
  ...{ name: 'EpsilonSTT', vendor: 'epsilon', service: 'epsilon-stt', first: 'epsilon-init', greetings: 1 },
  formats: [8_000, 16_000, 48_000].map(linear),
  resumes: true,
  create: (config) => new EpsilonSTT({ endpointing: 0.3, ...config }),
});
