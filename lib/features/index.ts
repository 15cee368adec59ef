export * from './captions.ts';
export { type CueWord } from './cues.ts';
export * from './subtitles.ts';
