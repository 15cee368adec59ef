/** Slow: faults of real servers wait out real time-outs. */
import { NuLLM } from '../../../lib/providers/llm/nu-llm.ts';
import { describeLLM } from '../../conformance/llm.ts';

describeLLM({
  ...{ name: 'NuLLM', vendor: 'nu', service: 'nu-llm', greetings: 1, isCounting: true },
  create: (config, logger) => new NuLLM(config, logger),
});

describeLLM({
  ...{ name: 'NuLLM with a model that thinks', vendor: 'nu', service: 'nu-llm', greetings: 2, isCounting: true },
  create: (config, logger) => new NuLLM({ model: 'openai/gpt-oss-120b', ...config }, logger),
});
