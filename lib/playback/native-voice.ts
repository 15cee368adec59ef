import { BehaviorSubject } from 'rxjs';
import type { AudioMetadata } from '../audio/types.ts';

/** Whether the browser's own voice is speaking, so that a recognizer without echo cancellation can stop listening. */
export const nativeVoiceSpeaks$: BehaviorSubject<boolean> = new BehaviorSubject<boolean>(false);

/** The format of the silent chunks that stand for what the browser's own voice says. */
export const nativeFormat: AudioMetadata = { encoding: 'linear16', sampleRate: 8_000, channels: 1, bitDepth: 16 };

/** Whether the page runs on Android, whose browsers implement the Web Speech API less reliably. */
export function isAndroid(): boolean {
  return 'navigator' in globalThis && /Android/i.test(navigator.userAgent);
}

/**
 * Whether pausing breaks the browser's voice: on Android it ends the utterance; on Linux (Speech Dispatcher) it
 * silences the voice until the system restarts it. Remote voices do not support pausing.
 */
export function breaksWhenPaused(voice: SpeechSynthesisVoice | undefined): boolean {
  return voice?.localService === false || ('navigator' in globalThis && /Android|Linux/i.test(navigator.userAgent));
}
