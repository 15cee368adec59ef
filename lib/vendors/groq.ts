// Groq's classes, under the library's names and under the vendor's: the very same.
export {
  NuLLM,
  NuLLM as GroqLLM,
  type NuLLMConfig,
  type NuLLMConfig as GroqLLMConfig,
  type NuLLMModel,
} from '../providers/llm/nu-llm.ts';
