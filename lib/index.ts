export * from './audio/index.ts';
export * from './core/index.ts';
export * from './pipeline/index.ts';
export * from './providers/input/index.ts';
export * from './providers/llm/index.ts';
export * from './providers/output/index.ts';
export * from './providers/stt/index.ts';
export * from './providers/tts/index.ts';
