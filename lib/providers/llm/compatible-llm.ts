import type { Logger } from '../../core/logger.ts';
import { chatWire, type ChatConfig, type ChatProfile } from './chat-completions.ts';
import { ChatLLM } from './chat-llm.ts';

/** Configuration of {@link CompatibleLLM}. */
export interface CompatibleLLMConfig extends ChatConfig {
  /** The model's id. Required. */
  readonly model: string;
}

/** What even the strictest compatible servers accept. */
export const compatibleProfile: ChatProfile = {
  name: 'CompatibleLLM',
  baseUrl: undefined,
  needsCredential: false,
  hasCallsInText: true,
  callExtras: ({ providerExtras }) => {
    const extra = providerExtras?.['extra_content'];
    return extra === undefined ? {} : { extra_content: extra };
  },
};

const wire = chatWire(compatibleProfile);

/**
 * CompatibleLLM: any service with OpenAI's chat completions (Ollama, llama.cpp, vLLM, LM Studio, OpenRouter, Together,
 * …), at your `endpoint`, including the version folder (`http://localhost:11434/v1`),
 * https://platform.openai.com/docs/api-reference/chat
 *
 * Local servers need no `apiKey`. Service-specific fields go into `extraBody`.
 */
export class CompatibleLLM extends ChatLLM<CompatibleLLMConfig> {
  constructor(config: CompatibleLLMConfig, logger?: Logger) {
    super(wire, config, logger);
  }
}
