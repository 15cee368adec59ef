/** Slow: faults of real servers wait out real time-outs. */
import { XiLLM } from '../../../lib/providers/llm/xi-llm.ts';
import { describeLLM } from '../../conformance/llm.ts';

for (const model of ['mistral-small-latest', 'mistral-large-latest']) {
  describeLLM({
    ...{ name: `XiLLM with ${model}`, vendor: 'xi', service: 'xi-llm', greetings: 1, isCounting: true },
    create: (config, logger) => new XiLLM({ model, seed: 7, ...config }, logger),
  });
}
