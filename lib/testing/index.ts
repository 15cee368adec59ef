export * from './fakes.ts';
export * from './text-audio.ts';
export * from './voice-test.ts';
