import type { OperatorFunction } from 'rxjs';
import { BeepDetector, type Beep, type BeepOptions } from '../audio/beep-detector.ts';
import { channelOf } from '../audio/channels.ts';
import { describeFormat, sameFormat } from '../audio/described.ts';
import { frameBytes, isPcmLike } from '../audio/formats.ts';
import { PcmCarry } from '../audio/pcm-carry.ts';
import { decodeSamples } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import { incremental, type IncrementalStage } from '../stream/incremental.ts';

/**
 * Finds beeps in audio: a single steady tone of 400 to 2,000 Hz for 150 ms to 3 s, such as an answering machine's.
 * Emits each as soon as it is over. Voices, keys and noise are not beeps; of several channels, only the first is
 * analysed.
 *
 * ```text
 * source     -s-s-B-B-B-s-s-|    100 ms each; s: silence, B: a tone of 1000 Hz
 * beeps()    -----------b---|    b: from 200 to 500 ms, of 1000 Hz
 * ```
 *
 * Completes and errors with the source.
 *
 * @example
 * ```ts
 * import type { PhoneStreamA } from 'rxvoice';
 * import { beeps } from 'rxvoice/operators';
 *
 * declare const phone: PhoneStreamA;
 *
 * phone.audio$.pipe(beeps()).subscribe(({ frequency }) => console.log(`a beep of ${Math.round(frequency)} Hz`));
 * ```
 *
 * Errors: VoiceError `unsupported_format` when the first chunk has no metadata, or the audio is compressed.
 */
export function beeps(options: BeepOptions = {}): OperatorFunction<AudioChunk, Beep> {
  return incremental(() => new Listener(options));
}

class Listener implements IncrementalStage<AudioChunk, Beep> {
  readonly #options: BeepOptions;
  #format: AudioMetadata | undefined;
  #ear: { readonly carry: PcmCarry; readonly detector: BeepDetector } | undefined;

  constructor(options: BeepOptions) {
    this.#options = options;
  }

  push({ data, metadata = this.#format }: AudioChunk): Iterable<Beep> {
    if (!metadata) throw refused('the first audio chunk has no metadata to tell its format');
    if (!isPcmLike(metadata.encoding)) throw refused(`${describeFormat(metadata)} is compressed: decode it first`);
    if (!this.#format || !sameFormat(this.#format, metadata)) this.#ear = undefined;
    this.#format = metadata;
    this.#ear ??= {
      carry: new PcmCarry(frameBytes(metadata)),
      detector: new BeepDetector(metadata.sampleRate, this.#options),
    };
    const { carry, detector } = this.#ear;
    return detector.push(channelOf(decodeSamples(carry.push(data), metadata.encoding), metadata.channels, 0));
  }

  flush(): Iterable<Beep> {
    return [];
  }
}

function refused(problem: string): VoiceError {
  return new VoiceError(`beeps: ${problem}`, { code: 'unsupported_format' });
}
