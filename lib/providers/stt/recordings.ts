import { endWith, from, ignoreElements, map, tap, type Observable, type ObservableInput } from 'rxjs';
import { containerOf } from '../../audio/accepted.ts';
import { bytesForMs, durationMs, isPcmLike } from '../../audio/formats.ts';
import { rmsLevel } from '../../audio/levels.ts';
import { decodeSamples } from '../../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { encodeWav, parseWavHeader } from '../../audio/wav-header.ts';
import { fromInput } from '../../stream/bridge.ts';
import { isBlob, LiveAudio, type Recording } from './live-audio.ts';

/** A part of a recording, which is a recording too. */
export interface RecordingPart extends Recording {
  /** Where it starts in the whole, in milliseconds. */
  readonly startMs: number;
}

/**
 * A file, or all audio of a stream, as one recording. A stream has the format of its first chunk that specifies one,
 * else `usual`; `check` is called with the growing number of bytes.
 */
export function recordingOf(
  audio$: Blob | ObservableInput<AudioChunk>,
  usual: AudioMetadata,
  check: (bytes: number) => void,
): Observable<Recording> {
  if (isBlob(audio$)) {
    check(audio$.size);
    return from(audio$.arrayBuffer()).pipe(map((buffer) => ({ data: new Uint8Array(buffer), metadata: undefined })));
  }
  const audio = new LiveAudio();
  let metadata: AudioMetadata | undefined;
  return fromInput(audio$).pipe(
    tap((chunk) => {
      metadata ??= chunk.metadata;
      audio.push(chunk.data);
      check(audio.length);
    }),
    ignoreElements(),
    endWith(undefined),
    map(() => ({ data: audio.take(), metadata: metadata ?? usual })),
  );
}

/** How long an uncompressed recording is, in milliseconds; `undefined` for others. */
export function lengthOf(recording: Recording): number | undefined {
  const pcm = pcmOf(recording);
  return pcm && durationMs(pcm.samples.length, pcm.metadata);
}

/**
 * A recording in parts of at most `maxBytes`, cut where it is quietest; `undefined` if it is larger, and cannot be cut
 * because it is compressed.
 */
export function partsOf(recording: Recording, maxBytes: number): readonly RecordingPart[] | undefined {
  if (recording.data.length <= maxBytes) return [{ ...recording, startMs: 0 }];
  const pcm = pcmOf(recording);
  if (!pcm) return undefined;
  const { samples, metadata, isFile } = pcm;
  const parts: RecordingPart[] = [];
  let at = 0;
  do {
    const data = firstPart(samples.subarray(at), metadata, maxBytes - headerBytes);
    const part = isFile ? { data: encodeWav(data, metadata), metadata: undefined } : { data, metadata };
    parts.push({ ...part, startMs: durationMs(at, metadata) });
    at += data.length;
  } while (at < samples.length);
  return parts;
}

/** Room for the header of a WAV file. */
const headerBytes = 64;

/** The pause to look for, and how closely, in milliseconds. */
const [pauseMs, stepMs] = [300, 100];

/** All of the samples if they are few enough, else those up to the quietest place in the second half of the most. */
function firstPart(
  samples: Uint8Array<ArrayBuffer>,
  metadata: AudioMetadata,
  maxBytes: number,
): Uint8Array<ArrayBuffer> {
  if (samples.length <= maxBytes) return samples;
  const bytesOf = (ms: number): number => bytesForMs(ms, metadata);
  const [pause, step] = [bytesOf(pauseMs), bytesOf(stepMs)];
  let quietest = { at: 0, level: Infinity };
  for (let at = bytesOf(durationMs(maxBytes / 2, metadata)); at + pause <= maxBytes; at += step) {
    const level = rmsLevel(decodeSamples(samples.subarray(at, at + pause), metadata.encoding));
    if (level < quietest.level) quietest = { at, level };
  }
  return samples.subarray(0, quietest.at + bytesOf(pauseMs / 2));
}

interface Pcm {
  readonly samples: Uint8Array<ArrayBuffer>;
  readonly metadata: AudioMetadata;
  /** Whether they come with a WAV file's header. */
  readonly isFile: boolean;
}

/** The samples of an uncompressed recording. */
function pcmOf({ data, metadata }: Recording): Pcm | undefined {
  const header = parseWavHeader(data);
  if (header?.kind === 'wav') {
    const { dataOffset, dataLength = data.length } = header;
    return { samples: data.subarray(dataOffset, dataOffset + dataLength), metadata: header.metadata, isFile: true };
  }
  const isRaw = metadata && isPcmLike(metadata.encoding) && containerOf(metadata) === 'raw';
  return isRaw ? { samples: data, metadata, isFile: false } : undefined;
}
