// Anthropic's classes, under the library's names and under the vendor's: the very same.
export { MuLLM, MuLLM as AnthropicLLM } from '../providers/llm/mu-llm.ts';
export type { MuLLMConfig, MuLLMConfig as AnthropicLLMConfig, MuLLMModel } from '../providers/llm/mu-dialect.ts';
