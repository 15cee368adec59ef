// Mistral's classes, under the library's names and under the vendor's: the very same.
export {
  XiLLM,
  XiLLM as MistralLLM,
  type XiLLMConfig,
  type XiLLMConfig as MistralLLMConfig,
  type XiLLMModel,
} from '../providers/llm/xi-llm.ts';
