import { map, type SchedulerLike, type Subscription } from 'rxjs';
import { durationMs, isPcmLike } from '../audio/formats.ts';
import type { AudioChunk } from '../audio/types.ts';
import type { AgentProvider, InputProvider, ProviderContract, STTProvider } from '../core/roles.ts';
import { audioPath, type AudioEnds, type AudioPath } from './audio-path.ts';
import { MicrophoneGate } from './microphone-gate.ts';

/** What {@link CapturedAudio} needs to know. */
export interface CapturedAudioOptions {
  readonly input: InputProvider;
  /** Who hears it. */
  readonly ears: STTProvider | AgentProvider;
  /** Whether the ears hear nothing before the first {@link CapturedAudio.open}. */
  readonly isPushToTalk: boolean;
  readonly scheduler: SchedulerLike;
  readonly onPath: (path: AudioPath, ends: AudioEnds) => void;
  readonly onChunk: (chunk: AudioChunk) => void;
  readonly onError: (error: unknown, provider: ProviderContract) => void;
}

/** Captured audio on its way to who hears it, and its clock. */
export class CapturedAudio {
  readonly #options: CapturedAudioOptions;
  readonly #gate: MicrophoneGate;
  #capturedMs = 0;
  #capturedAt = 0;

  constructor(options: CapturedAudioOptions) {
    this.#options = options;
    this.#gate = new MicrophoneGate(options.input.getMetadata(), options.isPushToTalk);
  }

  /** @throws VoiceError `unsupported_format` when the ears cannot be given what is captured. */
  start(): Subscription {
    const { input, ears, scheduler, onPath, onChunk, onError } = this.#options;
    const metadata = input.getMetadata();
    const ends = { source: input.name, target: ears.name };
    const path = audioPath(metadata, ears.accepts, ends);
    onPath(path, ends);
    ears.configureAudio(path.to);
    let fails = false;
    return input.audio$
      .pipe(
        map((chunk) => {
          this.#capturedMs += isPcmLike(metadata.encoding) ? durationMs(chunk.data.byteLength, metadata) : 0;
          this.#capturedAt = scheduler.now();
          onChunk(chunk);
          return this.#gate.pass(chunk);
        }),
        (audio$) => path.convert(audio$),
      )
      .subscribe({
        next: (chunk) => {
          try {
            ears.sendAudio(chunk);
            fails = false;
          } catch (error) {
            // One error for all the chunks that they cannot take in a row.
            if (!fails) onError(error, ears);
            fails = true;
          }
        },
        error: (error: unknown) => {
          onError(error, input);
        },
      });
  }

  /** Lets the ears hear nothing but silence, or the user again. */
  mute(muted: boolean): void {
    this.#gate.mute(muted);
  }

  /** Push-to-talk: the ears hear the user, and what was captured just before. */
  open(): void {
    for (const chunk of this.#gate.open()) this.#options.ears.sendAudio(chunk);
  }

  /** Push-to-talk: the ears hear nothing more. */
  close(): void {
    this.#gate.close();
  }

  /** When the sample at a position of the captured audio was captured: audio is captured as it is spoken. */
  timeOf(positionMs: number): number | undefined {
    if (positionMs > this.#capturedMs) return undefined;
    return this.#capturedAt - (this.#capturedMs - positionMs);
  }
}
