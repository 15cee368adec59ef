import {
  anyOf,
  arrayOf,
  boolean,
  filled,
  integer,
  nothing,
  number,
  object,
  oneOf,
  shape,
  string,
  textMember,
} from '../validate.ts';
import type { Refusal, Vendor } from '../vendor.ts';
import { chatVendor, responseFormat, openAiRefusal, stop, toolChoice, tools } from './chat-completions.ts';
import { thetaAgent } from './theta-agent.ts';
import { thetaCall } from './theta-call.ts';
import { thetaRealtime } from './theta-realtime.ts';
import { thetaResponses } from './theta-responses.ts';
import { thetaTts } from './theta-tts.ts';

const known =
  /^(gpt-3\.5|gpt-4|gpt-4o|gpt-4\.1|gpt-5|gpt-5\.\d|gpt-6|gpt-6\.\d|o1|o3|o4-mini|chatgpt-4o)(-[a-z0-9.-]+)?$/;
/** `gpt-5-mini` of `ft:gpt-5-mini:org::id`. */
const baseOf = (model: string): string => /^ft:([^:]+):/.exec(model)?.[1] ?? model;
const chat = /^(gpt-3|gpt-4|chatgpt)|-chat-latest$/;
const sampling = [
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'logprobs',
  'top_logprobs',
  'logit_bias',
];
/** Values that a reasoning model takes although it does not sample. */
const defaults: Readonly<Record<string, unknown>> = {
  temperature: 1,
  top_p: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
};

/** The models of the sixth generation that can leave reasoning out; its others always reason. */
const lightSixth = /^gpt-6(-sol|-luna|\.1-terra)/;

/** Reasoning efforts that models refuse. */
const refusedEfforts: readonly (readonly [models: RegExp, efforts: RegExp])[] = [
  [/^(o\d|gpt-5(-|$)|gpt-6(?!-sol|-luna|\.1-terra))/, /^none$/],
  [/^(o\d|gpt-5(\.\d)?-codex|gpt-5\.\d|gpt-6)/, /^minimal$/],
  [/^gpt-5-pro/, /^(?!high$)/],
  [/^(gpt-5-search-api|o1-mini)/, /^/],
];

function unsupported(name: string, message: string, code = 'unsupported_parameter'): Refusal {
  return openAiRefusal(400, message, { message, param: name, code });
}

/** What the model families take (the wire's Part 2). */
function checkModel(body: Readonly<Record<string, unknown>>): Refusal | undefined {
  const model = baseOf(textMember(body, 'model'));
  if (!known.test(model)) {
    const message = `The model \`${model}\` does not exist or you do not have access to it.`;
    return openAiRefusal(404, `unknown model ${model}`, { message, code: 'model_not_found' });
  }
  const effort = body['reasoning_effort'];
  if (chat.test(model)) {
    return effort === undefined
      ? undefined
      : unsupported('reasoning_effort', 'Unrecognized request argument supplied: reasoning_effort');
  }
  if (body['max_tokens'] !== undefined) {
    return unsupported(
      'max_tokens',
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    );
  }
  const maySample = (/^gpt-5\.[1-6]/.test(model) || lightSixth.test(model)) && effort === 'none';
  const sampled = sampling.find((name) => body[name] !== undefined && body[name] !== defaults[name]);
  if (sampled !== undefined && !maySample) {
    const message = `Unsupported value: '${sampled}' does not support ${JSON.stringify(body[sampled])} with this model. Only the default value is supported.`;
    return unsupported(sampled, message, 'unsupported_value');
  }
  if (body['stop'] !== undefined && /^(o[34]|gpt-5(-|$)|gpt-6)/.test(model))
    return unsupported('stop', "Unsupported parameter: 'stop' is not supported with this model.");
  if (
    typeof effort === 'string' &&
    refusedEfforts.some(([models, efforts]) => models.test(model) && efforts.test(effort))
  ) {
    const message = `Unsupported value: 'reasoning_effort' does not support '${effort}' with this model.`;
    return unsupported('reasoning_effort', message, 'unsupported_value');
  }
  // 5.4 and 5.5 do not reason unless they are told to.
  const reasons = effort === undefined ? /^gpt-(5\.[6-9]|6)/.test(model) : effort !== 'none';
  if (/^gpt-(5\.[4-9]|6)/.test(model) && body['tools'] !== undefined && reasons) {
    const message = `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`;
    return openAiRefusal(400, message, { message, param: 'reasoning_effort' });
  }
  return undefined;
}

/** Models without chat completions. Source: `ResponsesModel` of the vendor's SDK, and what the service answers. */
const responsesOnly = /-(pro|codex|deep-research)(-|$)/;

/** What they take by chat completions. */
function checkChat(body: Readonly<Record<string, unknown>>): Refusal | undefined {
  if (responsesOnly.test(baseOf(textMember(body, 'model')))) {
    const message = 'This model is only supported in v1/responses and not in v1/chat/completions.';
    return openAiRefusal(404, message, { message, param: 'model' });
  }
  return checkModel(body);
}

/** OpenAI: `https://api.openai.com/v1`, `/chat/completions`, `/responses`, `/audio/speech` and `/realtime`. */
export const theta: Vendor = chatVendor(
  {
    service: 'theta-llm',
    tellsDetails: true,
    mount: 'theta/v1',
    roles: ['developer'],
    fields: {
      stream_options: shape({ include_usage: boolean, include_obfuscation: boolean }),
      max_completion_tokens: integer(1),
      max_tokens: integer(1),
      temperature: number(0, 2),
      top_p: number(0, 1),
      frequency_penalty: number(-2, 2),
      presence_penalty: number(-2, 2),
      stop: anyOf(nothing, stop),
      n: integer(1, 128),
      seed: integer(),
      tools,
      tool_choice: toolChoice,
      parallel_tool_calls: boolean,
      response_format: responseFormat,
      reasoning_effort: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh'),
      verbosity: oneOf('low', 'medium', 'high'),
      service_tier: string,
      metadata: object,
      store: boolean,
      prompt_cache_key: string,
      safety_identifier: string,
      user: string,
      logit_bias: object,
      logprobs: boolean,
      top_logprobs: integer(0, 20),
      modalities: arrayOf(filled),
    },
    checkModel: checkChat,
    refuse: openAiRefusal,
    everyChunk: (body) => {
      const options = body['stream_options'] as { include_obfuscation?: boolean } | undefined;
      const padding = options?.include_obfuscation === false ? {} : { obfuscation: 'r4N7vQ2m' };
      return { service_tier: 'default', system_fingerprint: 'fp_44709d6fcb', ...padding };
    },
    headers: () => ({ 'x-request-id': `req_${crypto.randomUUID().replaceAll('-', '')}` }),
  },
  [thetaResponses(checkModel), thetaTts, thetaAgent, thetaCall, ...thetaRealtime],
);
