export * from './browser-audio-output.ts';
export { ContextOutput, type ContextOutputConfig } from '../../playback/context-output.ts';
export * from './null-output.ts';
export * from './webrtc-output.ts';
