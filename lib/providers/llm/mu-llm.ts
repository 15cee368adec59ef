import type Anthropic from '@anthropic-ai/sdk';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { missingPackage } from '../../core/optional-peer.ts';
import { muLLM } from '../retiring.ts';
import { ChatLLM } from './chat-llm.ts';
import type { LateModelWire } from './model-wire.ts';
import type { MuLLMConfig } from './mu-dialect.ts';

export type { MuLLMConfig, MuLLMModel } from './mu-dialect.ts';

const wire: LateModelWire<MuLLMConfig> = {
  name: 'MuLLM',
  baseUrl: 'https://api.anthropic.com',
  rules: {
    ...{ thinking: {}, effort: {} },
    maxTokens: { min: 1, integer: true },
    promptCache: { oneOf: ['5m', '1h'], orFalse: true },
  },
  retiring: muLLM,
  load: async (name) => {
    const code = new OnDemand(name, () => import('./mu-dialect.ts'));
    const [Sdk, { muDialect }] = await Promise.all([loadSdk(name), code.load()]);
    return muDialect(Sdk);
  },
};

/**
 * Anthropic Messages API (Claude), `https://api.anthropic.com`, https://platform.claude.com/docs
 *
 * Needs the optional package `@anthropic-ai/sdk`, which builds the request: its headers and its version of the API.
 * rxvoice sends it, so timeouts, retries, cancellation and limits are the same as for all providers.
 */
export class MuLLM extends ChatLLM<MuLLMConfig> {
  constructor(config: MuLLMConfig, logger?: Logger) {
    super(wire, config, logger);
  }
}

async function loadSdk(name: string): Promise<typeof Anthropic> {
  try {
    return (await import('@anthropic-ai/sdk')).default;
  } catch (cause) {
    throw missingPackage(name, '@anthropic-ai/sdk', '>= 0.90.0', cause);
  }
}
