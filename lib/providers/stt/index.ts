export * from './alpha-flux.ts';
export * from './alpha-stt.ts';
export * from './batch-stt.ts';
export type { BetaSTTConfig } from './beta-stt-settings.ts';
export * from './beta-stt.ts';
export * from './epsilon-stt.ts';
export * from './iota-stt.ts';
export * from './streaming-stt.ts';
export type { ResultDetails, ResultKind } from './utterances.ts';
