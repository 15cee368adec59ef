import type { Logger } from '../../core/logger.ts';
import { nuLLM } from '../retiring.ts';
import { chatWire, type ChatConfig, type ChatProfile } from './chat-completions.ts';
import { ChatLLM } from './chat-llm.ts';

/** A model of {@link NuLLM}; others pass through. */
export type NuLLMModel =
  'llama-3.3-70b-versatile' | 'openai/gpt-oss-120b' | 'openai/gpt-oss-20b' | 'qwen/qwen3.8-27b' | (string & {});

/** Configuration of {@link NuLLM}. */
export interface NuLLMConfig extends ChatConfig {
  /** Default: `llama-3.3-70b-versatile`, which only enterprise accounts still have: set `openai/gpt-oss-120b`. */
  readonly model?: NuLLMModel;
}

const profile: ChatProfile<NuLLMConfig> = {
  name: 'NuLLM',
  baseUrl: 'https://api.groq.com/openai/v1',
  defaultModel: 'llama-3.3-70b-versatile',
  tokenLimitField: 'max_completion_tokens',
  lateSystemRole: 'system',
  startsWithUser: false,
  lacks: ['cacheKey'],
  reasoningEffort: (model) => (model.includes('gpt-oss') ? 'low' : model.startsWith('qwen/') ? 'none' : undefined),
  retiring: nuLLM,
};

const wire = chatWire(profile);

/**
 * Groq chat completions, `https://api.groq.com/openai/v1`, https://console.groq.com/docs/api-reference
 *
 * Reasoning models are asked to reason as little as they can.
 */
export class NuLLM extends ChatLLM<NuLLMConfig> {
  constructor(config: NuLLMConfig, logger?: Logger) {
    super(wire, config, logger);
  }
}
