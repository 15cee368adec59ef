import type { Logger } from '../../core/logger.ts';
import { omicronLLM } from '../retiring.ts';
import { chatWire, type ChatConfig, type ChatProfile } from './chat-completions.ts';
import { ChatLLM } from './chat-llm.ts';

/** A model of {@link OmicronLLM}; others pass through. */
export type OmicronLLMModel =
  | 'gemini-3.8-flash'
  | 'gemini-3.5-flash-lite'
  | 'gemini-3.1-pro-preview'
  | 'gemini-flash-latest'
  | 'gemini-pro-latest'
  | (string & {});

/** Configuration of {@link OmicronLLM}. */
export interface OmicronLLMConfig extends ChatConfig {
  /** Default: `gemini-3.8-flash`. */
  readonly model?: OmicronLLMModel;
}

/** What the service accepts instead of its signature, on a call made by another model. */
const unsigned = { google: { thought_signature: 'skip_thought_signature_validator' } };

const profile: ChatProfile<OmicronLLMConfig> = {
  name: 'OmicronLLM',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
  defaultModel: 'gemini-3.8-flash',
  streamOptions: { include_usage: true },
  callExtras: ({ providerExtras }) => ({ extra_content: providerExtras?.['extra_content'] ?? unsigned }),
  // All 2.5 models except Pro can turn reasoning off; 3.7 and 3.8 reject `minimal`.
  lacks: ['serviceTier', 'cacheKey'],
  reasoningEffort: (model) => (/^gemini-2\.5-(?!pro)/.test(model) ? 'none' : 'low'),
  retiring: omicronLLM,
};

/**
 * Gemini through its chat completions layer, `https://generativelanguage.googleapis.com/v1beta/openai`,
 * https://ai.google.dev/gemini-api/docs/openai
 *
 * Its models are asked to reason as little as they can. Their signatures are sent back with the calls.
 */
export class OmicronLLM extends ChatLLM<OmicronLLMConfig> {
  constructor(config: OmicronLLMConfig, logger?: Logger) {
    super(chatWire(profile), config, logger);
  }
}
