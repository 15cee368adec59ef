export * from './buffer-input.ts';
export * from './microphone-input.ts';
export { TrackInput, type TrackInputConfig } from './track-input.ts';
export * from './webrtc-input.ts';
