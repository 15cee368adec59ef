export * from './fakes.ts';
export * from './record.ts';
export * from './replay.ts';
export * from './text-audio.ts';
export * from './voice-test.ts';
