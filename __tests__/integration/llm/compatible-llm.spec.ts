/** Slow: faults of real servers wait out real time-outs. */
import { CompatibleLLM } from '../../../lib/providers/llm/compatible-llm.ts';
import { describeLLM } from '../../conformance/llm.ts';

describeLLM({
  ...{ name: 'CompatibleLLM', vendor: 'compatible', service: 'compatible-llm' },
  ...{ greetings: 1, isCounting: false, isOpen: true },
  create: (config, logger) => new CompatibleLLM({ model: 'local', ...config }, logger),
});
