export * from './alpha-tts.ts';
export * from './base-tts.ts';
export * from './psi-tts.ts';
export * from './rest-tts.ts';
export * from './socket-tts.ts';
export * from './theta-tts.ts';
export * from './upsilon-tts.ts';
export type { WordTiming } from './spread-words.ts';
export type { SynthesisEvent } from './utterance.ts';
