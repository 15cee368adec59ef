export * from './compatible-llm.ts';
export * from './nu-llm.ts';
export type { LLMConfig } from './base-llm.ts';
