/** Slow: faults of real servers wait out real time-outs. */
import { OmicronLLM } from '../../../lib/providers/llm/omicron-llm.ts';
import { describeLLM } from '../../conformance/llm.ts';

for (const model of ['gemini-3.8-flash', 'gemini-2.5-flash-lite']) {
  describeLLM({
    ...{ name: `OmicronLLM with ${model}`, vendor: 'omicron', service: 'omicron-llm', greetings: 1 },
    ...{ isCounting: true, refusedStatus: 400 },
    create: (config, logger) => new OmicronLLM({ model, ...config }, logger),
  });
}
