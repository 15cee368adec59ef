/** Slow: faults of real servers wait out real time-outs. */
import { ThetaLLM } from '../../../lib/providers/llm/theta-llm.ts';
import { describeLLM } from '../../conformance/llm.ts';

for (const model of ['gpt-4.1-mini', 'gpt-5', 'gpt-5.4-mini', 'gpt-6-luna']) {
  describeLLM({
    ...{ name: `ThetaLLM with ${model}`, vendor: 'theta', service: 'theta-llm', greetings: 1, isCounting: true },
    stops: !/^gpt-(5$|6)/.test(model),
    create: (config, logger) => new ThetaLLM({ model, temperature: 0.5, ...config }, logger),
  });
}
