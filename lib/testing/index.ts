export * from './fakes.ts';
export * from './record-replay.ts';
export * from './text-audio.ts';
export * from './voice-test.ts';
