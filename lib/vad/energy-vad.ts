import { sameFormat } from '../audio/described.ts';
import { durationMs, frameBytes, isPcmLike } from '../audio/formats.ts';
import { FrameSplitter } from '../audio/frame-splitter.ts';
import { decodeSamples, toFloat32 } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import type { VoiceActivity, VoiceDetector } from '../core/roles.ts';
import { incremental } from '../stream/incremental.ts';
import { EnergyDetector } from './energy-detector.ts';
import { VoiceTracker, type VoiceTrackerOptions } from './voice-tracker.ts';

/** Length of a frame, in milliseconds. */
const frameMs = 10;

/**
 * Detects voices by their energy above the noise, without a model, a download or a worker: a few microseconds per
 * second of audio. It hears when a voice starts and ends, within 20 ms, in a room, on a headset and on a phone; it
 * mistakes music for a voice, and hears other speakers too; a model such as Silero's does so less.
 *
 * Positions count from the first sample, across changes of format. A voice still going when the audio ends, ends with
 * it.
 *
 * ```text
 * audio         -_-_-v-v-v-v-v-_-_-_-|      _: noise, v: voice
 * energyVad()   ---------s---c-------e|     s: started, c: confirmed, e: ended
 * ```
 *
 * @example
 * ```ts
 * import { Pipeline, type AnyProvider } from 'rxvoice';
 * import { energyVad } from 'rxvoice/vad';
 *
 * declare const providers: AnyProvider[];
 *
 * const agent = new Pipeline({ providers, vad: energyVad() });
 * ```
 *
 * Errors: VoiceError `unsupported_format` when the first chunk has no metadata, or the audio is compressed.
 */
export function energyVad(options: VoiceTrackerOptions = {}): VoiceDetector {
  return incremental<AudioChunk, VoiceActivity>(() => {
    const tracker = new VoiceTracker(options);
    let hearing: Hearing | undefined;
    return {
      push: ({ data, metadata }) => {
        if (!hearing || (metadata && !sameFormat(metadata, hearing.metadata))) hearing = hearingOf(metadata);
        const { splitter, detector, ...format } = hearing;
        return splitter.push(data).flatMap((frame) => {
          const likelihood = detector.push(firstChannel(frame, format.metadata));
          return tracker.push(likelihood, format.frameMs) ?? [];
        });
      },
      flush: () => [tracker.end()].flatMap((end) => end ?? []),
    };
  });
}

interface Hearing {
  readonly metadata: AudioMetadata;
  readonly splitter: FrameSplitter;
  readonly detector: EnergyDetector;
  /** Of whole samples. */
  readonly frameMs: number;
}

function hearingOf(metadata: AudioMetadata | undefined): Hearing {
  if (!metadata || !isPcmLike(metadata.encoding)) {
    const reason = metadata ? `${metadata.encoding} is compressed` : 'the first audio chunk has no metadata';
    throw new VoiceError(`energyVad: ${reason}; it needs PCM or G.711`, { code: 'unsupported_format' });
  }
  const splitter = new FrameSplitter(metadata, frameMs);
  const detector = new EnergyDetector(metadata.sampleRate);
  return { metadata, splitter, detector, frameMs: durationMs(splitter.frameLength, metadata) };
}

/** The samples of the first channel, as floats. */
function firstChannel(frame: Uint8Array<ArrayBuffer>, { encoding, channels }: AudioMetadata): Float32Array {
  const samples = toFloat32(decodeSamples(frame, encoding));
  if (channels === 1) return samples;
  const length = frame.length / frameBytes({ encoding, channels });
  return Float32Array.from({ length }, (_, at) => samples[at * channels] ?? 0);
}
