import { concatMap, defer, EMPTY, endWith, from, map, of, type Observable, type OperatorFunction } from 'rxjs';
import { joinBytes } from '../audio/concat.ts';
import { describeFormat, sameFormat } from '../audio/formats.ts';
import { isConvertible } from '../audio/negotiate.ts';
import { float32Bytes } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import { merge } from '../stream/merge.ts';

/** Marks a point in a stream of audio before which everything is complete. */
export interface AudioMark {
  /** Called when the mark is reached. */
  readonly onMark: () => void;
}

/** Most compressed audio to hold until its end, in bytes. */
const maxBytes = 32 * 1024 * 1024;

/** Most channels to keep. */
const maxChannels = 2;

/**
 * Decodes compressed audio with the browser; samples pass through at once. A compressed stream is decoded when
 * complete: at a mark, at the end, or where another utterance or format begins.
 *
 * Errors: VoiceError `unsupported_format` for what the browser cannot decode, `overflow` beyond 32 MiB.
 */
export function decodeAudio(
  context: () => BaseAudioContext | undefined,
): OperatorFunction<AudioChunk | AudioMark, AudioChunk | AudioMark> {
  return (source$) =>
    defer(() => {
      const waiting = new CompressedAudio();
      const end = { onMark: () => undefined };
      return source$.pipe(
        endWith(end),
        concatMap((item) => {
          if (isMark(item)) return merge(waiting.decode(context()), item === end ? EMPTY : of(item));
          if (waiting.takes(item)) return EMPTY;
          const before$ = waiting.decode(context());
          if (waiting.begins(item)) return before$;
          return before$ === EMPTY ? of(item) : before$.pipe(endWith(item));
        }),
      );
    });
}

function isMark(item: AudioChunk | AudioMark): item is AudioMark {
  return 'onMark' in item;
}

/** A compressed stream, as received so far. */
class CompressedAudio {
  #metadata: AudioMetadata | undefined;
  #utteranceId: string | undefined;
  #pieces: Uint8Array<ArrayBuffer>[] = [];
  #length = 0;

  /** Adds a chunk if it continues the stream. */
  takes({ data, metadata, utteranceId }: AudioChunk): boolean {
    const isNext =
      this.#metadata !== undefined &&
      (metadata === undefined || sameFormat(metadata, this.#metadata)) &&
      (utteranceId === undefined || utteranceId === this.#utteranceId);
    if (isNext) this.#add(data);
    return isNext;
  }

  /** Starts a stream if the chunk is compressed. */
  begins({ data, metadata, utteranceId }: AudioChunk): boolean {
    if (!metadata || isConvertible(metadata)) return false;
    this.#metadata = metadata;
    this.#utteranceId = utteranceId;
    this.#add(data);
    return true;
  }

  /** Decodes the stream. */
  decode(context: BaseAudioContext | undefined): Observable<AudioChunk> {
    const metadata = this.#metadata;
    const utteranceId = this.#utteranceId;
    const bytes = joinBytes(this.#pieces);
    this.#metadata = undefined;
    this.#pieces = [];
    this.#length = 0;
    if (!metadata || bytes.length === 0) return EMPTY;
    if (!context) throw new VoiceError('no audio context: call initialize() first', { code: 'not_ready' });
    // A copy: the browser detaches the buffer.
    return from(context.decodeAudioData(bytes.slice().buffer).catch((cause: unknown) => refuse(metadata, cause))).pipe(
      map((decoded) => ({ ...samplesOf(decoded), ...(utteranceId !== undefined && { utteranceId }) })),
    );
  }

  #add(data: Uint8Array<ArrayBuffer>): void {
    this.#pieces.push(data);
    this.#length += data.length;
    if (this.#length <= maxBytes) return;
    throw new VoiceError(`more than ${maxBytes / 1024 ** 2} MiB of compressed audio arrived without an end`, {
      code: 'overflow',
    });
  }
}

function samplesOf(decoded: AudioBuffer): AudioChunk {
  const { sampleRate, length } = decoded;
  const channels = Math.min(decoded.numberOfChannels, maxChannels);
  const samples = new Float32Array(length * channels);
  for (let channel = 0; channel < channels; channel++) {
    decoded.getChannelData(channel).forEach((sample, at) => {
      samples[at * channels + channel] = sample;
    });
  }
  return { data: float32Bytes(samples), metadata: { encoding: 'linear32', sampleRate, channels, bitDepth: 32 } };
}

function refuse(metadata: AudioMetadata, cause: unknown): never {
  const message = `this browser cannot decode ${describeFormat(metadata)}: configure the voice for linear16`;
  throw new VoiceError(message, { code: 'unsupported_format', cause });
}
