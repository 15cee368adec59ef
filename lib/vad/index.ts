export { EnergyDetector } from './energy-detector.ts';
export { energyVad } from './energy-vad.ts';
export { VoiceTracker, type VoiceTrackerOptions } from './voice-tracker.ts';
