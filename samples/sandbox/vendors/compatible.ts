import { boolean, integer, number, shape } from '../validate.ts';
import type { Vendor } from '../vendor.ts';
import { chatVendor, responseFormat, openAiRefusal, stop, toolChoice, tools } from './chat-completions.ts';

/** A self-hosted server: no key, few fields, reasoning in `reasoning_content`, as llama.cpp and its like. */
export const compatible: Vendor = chatVendor({
  service: 'compatible-llm',
  tellsDetails: true,
  mount: 'compatible/v1',
  keyOptional: true,
  fields: {
    max_tokens: integer(1),
    temperature: number(0, 2),
    top_p: number(0, 1),
    stop,
    seed: integer(),
    tools,
    tool_choice: toolChoice,
    parallel_tool_calls: boolean,
    response_format: responseFormat,
    stream_options: shape({ include_usage: boolean }),
  },
  checkModel: (body) =>
    body['model'] === 'no-such-model'
      ? openAiRefusal(404, 'unknown model', {
          message: "model 'no-such-model' not found",
          type: 'not_found_error',
          code: null,
        })
      : undefined,
  refuse: openAiRefusal,
  reasoningField: 'reasoning_content',
  comment: 'PROCESSING',
});
