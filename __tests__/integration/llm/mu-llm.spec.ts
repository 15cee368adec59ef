/** Slow: faults of real servers wait out real time-outs. */
import { MuLLM } from '../../../lib/providers/llm/mu-llm.ts';
import { describeLLM } from '../../conformance/llm.ts';

describeLLM({
  ...{ name: 'MuLLM', vendor: 'mu', service: 'mu-llm', greetings: 2, isCounting: true },
  create: (config, logger) => new MuLLM(config, logger),
});
