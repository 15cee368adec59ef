export type * from './answer-reader.ts';
export * from './base-llm.ts';
export * from './compatible-llm.ts';
export * from './mu-llm.ts';
export * from './nu-llm.ts';
