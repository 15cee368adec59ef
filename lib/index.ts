export * from './audio/index.ts';
export * from './core/index.ts';
export * from './pipeline/index.ts';
