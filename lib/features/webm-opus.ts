import { concat, concatMap, defer, EMPTY, from, ignoreElements, Observable, type OperatorFunction } from 'rxjs';
import { concatBytes } from '../audio/concat.ts';
import { frameBytes } from '../audio/formats.ts';
import { PcmCarry } from '../audio/pcm-carry.ts';
import { int16View } from '../audio/samples.ts';
import type { AudioMetadata } from '../audio/types.ts';
import { WavReader } from '../audio/wav-reader.ts';
import { VoiceError } from '../core/errors.ts';
import { feed } from '../stream/feed.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Options of {@link webmOpus}. */
export interface WebmOpusOptions {
  /** Bits per second, both channels together, 6,000 to 510,000. Default: 48,000. */
  readonly bitrate?: number;
}

/** How much audio a cluster of the file has, in milliseconds: what is written at once. */
const clusterMs = 1_000;
/** Samples at 48 kHz that an encoder puts before the first one, if it does not say. */
const usualPreSkip = 312;

/**
 * Encodes a WAV file, as it is recorded, as Opus in WebM: about a tenth of its size. For browsers: they encode it
 * themselves. The file comes in pieces of a second; like the WAV file that it is made of, it states no length.
 *
 * Errors with `configuration` where the browser has no Opus encoder (WebCodecs) for the file's rate, and with
 * `unsupported_format` for anything but a WAV file of 16-bit samples.
 *
 * @example
 * ```ts
 * import { record, webmOpus, type Pipeline } from 'rxvoice';
 *
 * declare const pipeline: Pipeline;
 *
 * const pieces: Uint8Array<ArrayBuffer>[] = [];
 * record(pipeline, { consent: true })
 *   .wav$.pipe(webmOpus())
 *   .subscribe({
 *     next: (bytes) => pieces.push(bytes),
 *     complete: () => console.log(new Blob(pieces, { type: 'audio/webm' })),
 *   });
 * await pipeline.start();
 * ```
 */
export function webmOpus({ bitrate = 48_000 }: WebmOpusOptions = {}): OperatorFunction<Bytes, Bytes> {
  return (wav$) =>
    new Observable((subscriber) => {
      const wav = new WavReader();
      let encoder: OpusEncoder | undefined;
      subscriber.add(() => encoder?.close());
      const open = async ({ metadata = notWav() }: WavReader): Promise<void> => {
        const file = new WebmFile(metadata.channels, (bytes) => subscriber.next(bytes));
        encoder = new OpusEncoder(metadata, file, (cause) => subscriber.error(failed(cause)));
        await encoder.open(bitrate);
      };
      function take(bytes: Bytes): Observable<never> {
        const samples = wav.push(bytes);
        if (wav.kind === 'raw' || wav.kind === 'unsupported') notWav();
        const opened$ = wav.kind === 'wav' && !encoder ? from(open(wav)) : EMPTY;
        const encoded$ = defer(() => {
          encoder?.push(samples);
          return EMPTY;
        });
        return concat(opened$.pipe(ignoreElements()), encoded$);
      }
      const ended$ = defer(() => (encoder ? from(encoder.end()) : EMPTY)).pipe(ignoreElements());
      feed(concat(wav$.pipe(concatMap(take)), ended$), subscriber, {
        next: () => undefined,
        complete: () => subscriber.complete(),
      });
    });
}

/** The browser's encoder. */
class OpusEncoder {
  readonly #format: AudioMetadata;
  readonly #carry: PcmCarry;
  readonly #encoder: AudioEncoder;
  readonly #file: WebmFile;
  #frames = 0;

  constructor(format: AudioMetadata, file: WebmFile, onError: (cause: unknown) => void) {
    if (format.encoding !== 'linear16') notWav();
    if (typeof AudioEncoder === 'undefined') throw failed('there is no AudioEncoder');
    this.#format = format;
    this.#file = file;
    this.#carry = new PcmCarry(frameBytes(format));
    this.#encoder = new AudioEncoder({
      output: (chunk, metadata) => {
        const packet = new Uint8Array(chunk.byteLength);
        chunk.copyTo(packet);
        const { description } = metadata?.decoderConfig ?? {};
        file.add(packet, chunk.timestamp / 1_000, description && bytesOf(description));
      },
      error: onError,
    });
  }

  async open(bitrate: number): Promise<void> {
    const { sampleRate, channels: numberOfChannels } = this.#format;
    const config = { codec: 'opus', sampleRate, numberOfChannels, bitrate };
    const { supported } = await AudioEncoder.isConfigSupported(config);
    if (!supported) throw failed(`${sampleRate} Hz, ${numberOfChannels} channels and ${bitrate} bit/s together`);
    if (this.#encoder.state === 'unconfigured') this.#encoder.configure(config);
  }

  push(bytes: Bytes): void {
    const data = this.#carry.push(bytes);
    const { sampleRate, channels } = this.#format;
    const numberOfFrames = data.length / frameBytes(this.#format);
    if (numberOfFrames === 0 || this.#encoder.state !== 'configured') return;
    const timestamp = Math.round((this.#frames * 1_000_000) / sampleRate);
    this.#frames += numberOfFrames;
    const layout = { format: 's16', sampleRate, numberOfChannels: channels, numberOfFrames, timestamp } as const;
    const audio = new AudioData({ ...layout, data: int16View(data) });
    this.#encoder.encode(audio);
    audio.close();
  }

  async end(): Promise<void> {
    if (this.#encoder.state === 'configured') await this.#encoder.flush();
    this.#file.end();
  }

  close(): void {
    if (this.#encoder.state !== 'closed') this.#encoder.close();
  }
}

/** A WebM file of one Opus track, written a cluster at a time. https://www.matroska.org/technical/elements.html */
class WebmFile {
  readonly #channels: number;
  readonly #write: (bytes: Bytes) => void;
  #delayMs: number | undefined;
  #clusterAt = 0;
  #blocks: Bytes[] = [];

  constructor(channels: number, write: (bytes: Bytes) => void) {
    this.#channels = channels;
    this.#write = write;
  }

  /** @param head - The `OpusHead` of the packets, with the first of them. */
  add(packet: Bytes, ms: number, head: Bytes = opusHead(this.#channels)): void {
    if (this.#delayMs === undefined) {
      const preSkip = new DataView(head.buffer, head.byteOffset).getUint16(10, true);
      this.#delayMs = preSkip / 48;
      this.#write(this.#header(head));
    }
    const at = Math.round(ms + this.#delayMs);
    if (at - this.#clusterAt >= clusterMs) {
      this.end();
      this.#clusterAt = at;
    }
    const offset = at - this.#clusterAt;
    // The track, the time within the cluster, and that it stands alone.
    this.#blocks.push(element(0xa3, Uint8Array.of(0x81, offset >> 8, offset & 0xff, 0x80), packet));
  }

  /** Writes what is not written yet. */
  end(): void {
    if (this.#blocks.length === 0) return;
    this.#write(element(0x1f43b675, element(0xe7, uint(this.#clusterAt)), ...this.#blocks));
    this.#blocks = [];
  }

  #header(head: Bytes): Bytes {
    const ebml = element(
      0x1a45dfa3,
      ...[element(0x4286, uint(1)), element(0x42f7, uint(1)), element(0x42f2, uint(4)), element(0x42f3, uint(8))],
      ...[element(0x4282, ascii('webm')), element(0x4287, uint(4)), element(0x4285, uint(2))],
    );
    const info = element(
      0x1549a966,
      // Times are in milliseconds.
      ...[element(0x2ad7b1, uint(1_000_000)), element(0x4d80, ascii('rxvoice')), element(0x5741, ascii('rxvoice'))],
    );
    const audio = element(0xe1, element(0xb5, double(48_000)), element(0x9f, uint(this.#channels)));
    const track = element(
      0xae,
      ...[element(0xd7, uint(1)), element(0x73c5, uint(1)), element(0x83, uint(2)), element(0x9c, uint(0))],
      ...[element(0x86, ascii('A_OPUS')), element(0x63a2, head), audio],
      // What a player drops at the beginning, and decodes before the place that it jumps to, in nanoseconds.
      ...[element(0x56aa, uint(Math.round((this.#delayMs ?? 0) * 1e6))), element(0x56bb, uint(80_000_000))],
    );
    // A segment whose length nobody knows yet.
    const segment = concatBytes(idOf(0x18538067), Uint8Array.of(0x01, ...Array<number>(7).fill(0xff)));
    return concatBytes(ebml, segment, info, element(0x1654ae6b, track));
  }
}

/** An element: its id, its length, and what is in it. */
function element(id: number, ...content: Bytes[]): Bytes {
  const length = content.reduce((sum, bytes) => sum + bytes.length, 0);
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, 0x1000_0000 + length);
  return concatBytes(idOf(id), size, ...content);
}

function idOf(id: number): Bytes {
  return uint(id);
}

/** A whole number in as few bytes as it takes. */
function uint(value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes.slice(Math.min(7, bytes.findIndex((byte) => byte > 0) >>> 0));
}

function double(value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value);
  return bytes;
}

function ascii(text: string): Bytes {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** RFC 7845, 5.1. */
function opusHead(channels: number): Bytes {
  const head = new Uint8Array(19);
  head.set(ascii('OpusHead'));
  head.set([1, channels], 8);
  const view = new DataView(head.buffer);
  view.setUint16(10, usualPreSkip, true);
  view.setUint32(12, 48_000, true);
  return head;
}

function bytesOf(source: AllowSharedBufferSource): Bytes {
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice()
    : new Uint8Array(source).slice();
}

function notWav(): never {
  throw new VoiceError('webmOpus: it takes a WAV file of 16-bit samples', { code: 'unsupported_format' });
}

function failed(cause: unknown): VoiceError {
  if (VoiceError.is(cause)) return cause;
  const why = typeof cause === 'string' ? cause : 'it failed';
  const message = `webmOpus: this browser does not encode Opus (${why}): keep the WAV file`;
  return new VoiceError(message, { code: 'configuration', ...(typeof cause === 'string' ? {} : { cause }) });
}
