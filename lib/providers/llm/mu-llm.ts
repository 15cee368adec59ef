import type Anthropic from '@anthropic-ai/sdk';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { missingPackage } from '../../core/optional-peer.ts';
import { muLLM } from '../retiring.ts';
import { ChatLLM } from './chat-llm.ts';
import { emptyMessage, readMessage, type MessageAnswer } from './message-answer.ts';
import type { ModelWire } from './model-wire.ts';
import type * as MuRequest from './mu-request.ts';

export type { MuLLMConfig, MuLLMModel } from './mu-request.ts';

const wire: ModelWire<MuRequest.MuLLMConfig, MessageAnswer> = {
  name: 'MuLLM',
  baseUrl: 'https://api.anthropic.com',
  rules: { maxTokens: { min: 1, integer: true }, promptCache: { oneOf: ['5m', '1h'], orFalse: true } },
  retiring: muLLM,
  prepare: load,
  request: async (messages, options, context) => {
    const [Sdk, { requestOf }] = await load(context.name);
    return requestOf(Sdk, messages, options, context);
  },
  start: emptyMessage,
  read: readMessage,
};

/**
 * Anthropic Messages API (Claude), `https://api.anthropic.com`, https://platform.claude.com/docs
 *
 * Needs the optional package `@anthropic-ai/sdk`, which builds the request: its headers and its version of the API.
 * rxvoice sends it, so timeouts, retries, cancellation and limits are the same as for all providers.
 */
export class MuLLM extends ChatLLM<MuRequest.MuLLMConfig> {
  constructor(config: MuRequest.MuLLMConfig, logger?: Logger) {
    super(wire, config, logger);
  }
}

/** The SDK, and what builds requests with it. */
function load(name: string): Promise<[typeof Anthropic, typeof MuRequest]> {
  return Promise.all([loadSdk(name), new OnDemand(name, () => import('./mu-request.ts')).load()]);
}

async function loadSdk(name: string): Promise<typeof Anthropic> {
  try {
    return (await import('@anthropic-ai/sdk')).default;
  } catch (cause) {
    throw missingPackage(name, '@anthropic-ai/sdk', '>= 0.90.0', cause);
  }
}
