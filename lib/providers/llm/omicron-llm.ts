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

/** The least reasoning of models that take less than `low` (ai.google.dev, Thinking): 3.7 and 3.8 Flash do not. */
const efforts: readonly (readonly [models: RegExp, effort: string])[] = [
  [/^gemini-2\.5-(?!pro)/, 'none'],
  [/^gemini-3(\.[0-6])?-flash/, 'minimal'],
];

const profile: ChatProfile<OmicronLLMConfig> = {
  name: 'OmicronLLM',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
  defaultModel: 'gemini-3.8-flash',
  streamOptions: { include_usage: true },
  callExtras: ({ providerExtras }) => ({ extra_content: providerExtras?.['extra_content'] ?? unsigned }),
  lacks: ['serviceTier', 'cacheKey'],
  reasoningEffort: (model) => efforts.find(([models]) => models.test(model))?.[1] ?? 'low',
  retiring: omicronLLM,
};

const wire = chatWire(profile);

/**
 * Gemini through its chat completions layer, `https://generativelanguage.googleapis.com/v1beta/openai`,
 * https://ai.google.dev/gemini-api/docs/openai
 *
 * Its models are asked to reason as little as they can. Their signatures are sent back with the calls.
 */
export class OmicronLLM extends ChatLLM<OmicronLLMConfig> {
  constructor(config: OmicronLLMConfig, logger?: Logger) {
    super(wire, config, logger);
  }
}
