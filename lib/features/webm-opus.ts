import {
  catchError,
  concat,
  concatAll,
  concatMap,
  defer,
  EMPTY,
  filter,
  from,
  fromEvent,
  ignoreElements,
  map,
  Observable,
  of,
  take,
  throwError,
  type OperatorFunction,
} from 'rxjs';
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
  /** Bits per second, all channels together, 6,000 to 510,000. Default: 48,000. */
  readonly bitrate?: number;
}

/** How much audio a cluster of the file has, in milliseconds: what is written at once. */
const clusterMs = 1_000;
/** The most that the encoder is given at once, in seconds, and how many such pieces may wait in it. */
const pieceSeconds = 1;
const mostQueued = 8;
/** The rate that counts in an Opus file, whatever was encoded, in Hz. */
const opusRate = 48_000;
/** How long a packet is where the encoder does not say, in microseconds. */
const usualPacketUs = 20_000;
/** Samples at 48 kHz that an encoder puts before the first one, if it does not say. */
const usualPreSkip = 312;
/** How much a player decodes before the place that it jumps to, in nanoseconds (RFC 7845, 4.6). */
const seekPreRollNs = 80_000_000;

/**
 * Encodes a WAV file, as it is recorded, as Opus in WebM: about a tenth of its size at 16 kHz. For browsers: they encode
 * it themselves (Chrome 106, Firefox 130, Safari 26 or newer). The file comes in pieces of a second; like the WAV file that
 * it is made of, it states no length. Where the WAV file fails, what came before is written first.
 *
 * Errors with `configuration` where the browser cannot encode Opus at the file's rate, and with `unsupported_format` for
 * anything but a WAV file of 16-bit samples.
 *
 * @throws VoiceError `configuration` when `bitrate` is out of range.
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
export function webmOpus({ bitrate = 48_000 }: WebmOpusOptions = {}): OperatorFunction<
  Uint8Array<ArrayBuffer>,
  Uint8Array<ArrayBuffer>
> {
  if (!(bitrate >= 6_000 && bitrate <= 510_000)) {
    const message = `webmOpus: bitrate must be from 6,000 to 510,000 bits per second, not ${bitrate}`;
    throw new VoiceError(message, { code: 'configuration' });
  }
  return (wav$) =>
    new Observable((subscriber) => {
      const wav = new WavReader();
      let isEmpty = true;
      let encoder: OpusEncoder | undefined;
      subscriber.add(() => encoder?.close());
      const open = (format: AudioMetadata): Promise<void> => {
        const file = new WebmFile(format.channels, (bytes) => subscriber.next(bytes));
        encoder = new OpusEncoder(format, file, (error) => subscriber.error(error));
        return encoder.open(bitrate);
      };
      function encode(bytes: Bytes): Observable<never> {
        isEmpty &&= bytes.length === 0;
        const samples = wav.push(bytes);
        const { kind, metadata } = wav;
        if (kind === 'raw' || kind === 'unsupported') throw notWav();
        const opened$ = metadata && !encoder ? from(open(metadata)).pipe(ignoreElements()) : EMPTY;
        return concat(
          opened$,
          defer(() => encoder?.push(samples) ?? EMPTY),
        );
      }
      const ended$ = defer(() => {
        if (encoder) return from(encoder.end()).pipe(ignoreElements());
        return isEmpty ? EMPTY : throwError(() => notWav());
      });
      // In turn: what came before the failure may still wait for the encoder.
      const broken$ = (error: unknown): Observable<never> =>
        concat(
          defer(() => (encoder ? ended$ : EMPTY)).pipe(catchError(() => EMPTY)),
          throwError(() => error as Error),
        );
      const steps$ = wav$.pipe(
        map((bytes) => defer(() => encode(bytes))),
        catchError((error: unknown) => of(broken$(error))),
      );
      feed(concat(steps$.pipe(concatAll()), ended$), subscriber, {
        next: () => undefined,
        complete: () => subscriber.complete(),
      });
    });
}

/** The browser's encoder, and the file that it fills. */
class OpusEncoder {
  readonly #format: AudioMetadata;
  readonly #carry: PcmCarry;
  readonly #encoder: AudioEncoder;
  readonly #file: WebmFile;
  /** Samples per channel given to it. */
  #given = 0;

  /** @param onError - Called when the encoder fails, at most once. What it has encoded is then written. */
  constructor(format: AudioMetadata, file: WebmFile, onError: (error: VoiceError) => void) {
    if (format.encoding !== 'linear16') throw notWav();
    if (typeof AudioEncoder === 'undefined') throw failed('there is no AudioEncoder');
    this.#format = format;
    this.#file = file;
    this.#carry = new PcmCarry(frameBytes(format));
    this.#encoder = new AudioEncoder({
      output: (chunk, metadata) => {
        const packet = new Uint8Array(chunk.byteLength);
        chunk.copyTo(packet);
        const { description } = metadata?.decoderConfig ?? {};
        const head = description ? corrected(bytesOf(description), format) : opusHead(format);
        file.add({ packet, startUs: chunk.timestamp, lastsUs: chunk.duration ?? usualPacketUs }, head);
      },
      error: (cause) => {
        file.end();
        onError(failed(cause));
      },
    });
  }

  async open(bitrate: number): Promise<void> {
    const { sampleRate, channels: numberOfChannels } = this.#format;
    const config = { codec: 'opus', sampleRate, numberOfChannels, bitrate };
    const { supported } = await AudioEncoder.isConfigSupported(config).catch((cause: unknown) => {
      throw failed(cause);
    });
    if (!supported) throw failed(`${sampleRate} Hz, ${numberOfChannels} channels and ${bitrate} bit/s together`);
    if (this.#encoder.state === 'unconfigured') this.#encoder.configure(config);
  }

  /** Encodes samples, as fast as the encoder takes them. */
  push(bytes: Bytes): Observable<never> {
    const samples = int16View(this.#carry.push(bytes));
    const length = pieceSeconds * this.#format.sampleRate * this.#format.channels;
    const pieces = Array.from({ length: Math.ceil(samples.length / length) }, (_, at) =>
      samples.subarray(at * length, (at + 1) * length),
    );
    return from(pieces).pipe(
      concatMap((piece) =>
        concat(
          this.#room(),
          defer(() => {
            this.#encode(piece);
            return EMPTY;
          }),
        ),
      ),
    );
  }

  /**
   * Writes the rest. The last samples come out of the encoder behind as much as it put before the first; the file says how
   * much of its last packet is beyond them.
   */
  async end(): Promise<void> {
    const { sampleRate, channels } = this.#format;
    const given = this.#given;
    if (this.#encoder.state === 'configured' && given > 0) {
      this.#encode(new Int16Array(Math.ceil((usualPreSkip * sampleRate) / opusRate) * channels));
      await this.#encoder.flush();
    }
    this.#file.end((given * 1_000_000) / sampleRate);
  }

  close(): void {
    if (this.#encoder.state !== 'closed') this.#encoder.close();
  }

  /** Completes once the encoder can take more. */
  #room(): Observable<never> {
    return defer(() => {
      const hasRoom = (): boolean => this.#encoder.encodeQueueSize < mostQueued;
      return hasRoom() ? EMPTY : fromEvent(this.#encoder, 'dequeue').pipe(filter(hasRoom), take(1), ignoreElements());
    });
  }

  #encode(data: Int16Array<ArrayBuffer>): void {
    // It has failed, which was told, or nobody listens.
    if (this.#encoder.state !== 'configured') return;
    const { sampleRate, channels: numberOfChannels } = this.#format;
    const numberOfFrames = data.length / numberOfChannels;
    const timestamp = Math.round((this.#given * 1_000_000) / sampleRate);
    this.#given += numberOfFrames;
    const audio = new AudioData({ format: 's16', sampleRate, numberOfChannels, numberOfFrames, timestamp, data });
    this.#encoder.encode(audio);
    audio.close();
  }
}

/** A packet of the encoder. */
interface Packet {
  readonly packet: Bytes;
  /** The encoder's time, in microseconds. */
  readonly startUs: number;
  /** How long it sounds, in microseconds. */
  readonly lastsUs: number;
}

/** A WebM file of one Opus track, written a cluster at a time. https://www.matroska.org/technical/elements.html */
class WebmFile {
  readonly #channels: number;
  readonly #write: (bytes: Bytes) => void;
  /** The encoder's time of the first packet, in microseconds. */
  #firstUs: number | undefined;
  #preSkipUs = 0;
  #clusterUs = 0;
  /** Packets of the cluster, in the file's time. */
  #packets: Packet[] = [];

  constructor(channels: number, write: (bytes: Bytes) => void) {
    this.#channels = channels;
    this.#write = write;
  }

  /** @param head - The `OpusHead` of the packets, of which that of the first counts. */
  add({ packet, startUs, lastsUs }: Packet, head: Bytes): void {
    if (this.#firstUs === undefined) {
      this.#firstUs = startUs;
      this.#preSkipUs = (headView(head).getUint16(preSkipAt, true) * 1_000_000) / opusRate;
      this.#write(this.#header(head));
    }
    // The file's time begins with what players drop: `CodecDelay` is subtracted from it.
    const atUs = startUs - this.#firstUs;
    if (atUs - this.#clusterUs >= clusterMs * 1_000) {
      this.end();
      this.#clusterUs = atUs;
    }
    this.#packets.push({ packet, startUs: atUs, lastsUs });
  }

  /**
   * Writes what is not written yet.
   *
   * @param lengthUs - At the end of the file: how long it shall sound, in microseconds.
   */
  end(lengthUs: number = Infinity): void {
    const endUs = lengthUs + this.#preSkipUs;
    const blocks = this.#packets.filter(({ startUs }) => startUs < endUs).map((packet) => this.#block(packet, endUs));
    this.#packets = [];
    if (blocks.length > 0) this.#write(element(0x1f43b675, element(0xe7, uint(msOf(this.#clusterUs))), ...blocks));
  }

  #block({ packet, startUs, lastsUs }: Packet, endUs: number): Bytes {
    const offset = msOf(startUs) - msOf(this.#clusterUs);
    const beyondUs = startUs + lastsUs - endUs;
    // The track, the time within the cluster, and for a SimpleBlock, that it can be decoded by itself.
    const head = (flags: number): Bytes => Uint8Array.of(0x81, offset >> 8, offset & 0xff, flags);
    if (!(beyondUs > 0)) return element(0xa3, head(0x80), packet);
    // Only a group can say what players drop, as nanoseconds.
    return element(0xa0, element(0xa1, head(0), packet), element(0x75a2, int32(Math.round(beyondUs * 1_000))));
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
    const audio = element(0xe1, element(0xb5, double(opusRate)), element(0x9f, uint(this.#channels)));
    const track = element(
      0xae,
      ...[element(0xd7, uint(1)), element(0x73c5, uint(1)), element(0x83, uint(2)), element(0x9c, uint(0))],
      // Without a language, it would be English.
      ...[element(0x22b59c, ascii('und')), element(0x86, ascii('A_OPUS')), element(0x63a2, head), audio],
      // What a player drops at the beginning, and decodes before the place that it jumps to, both in nanoseconds.
      ...[element(0x56aa, uint(Math.round(this.#preSkipUs * 1_000))), element(0x56bb, uint(seekPreRollNs))],
    );
    // A segment whose length nobody knows yet.
    const segment = concatBytes(uint(0x18538067), Uint8Array.of(0x01, ...Array<number>(7).fill(0xff)));
    return concatBytes(ebml, segment, info, element(0x1654ae6b, track));
  }
}

/** An element: its id, its length, and what is in it. */
function element(id: number, ...content: Bytes[]): Bytes {
  const length = content.reduce((sum, bytes) => sum + bytes.length, 0);
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, 0x1000_0000 + length);
  return concatBytes(uint(id), size, ...content);
}

/** A whole number in as few bytes as it takes. */
function uint(value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes.slice(Math.min(7, bytes.findIndex((byte) => byte > 0) >>> 0));
}

function int32(value: number): Bytes {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, value);
  return bytes;
}

function double(value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value);
  return bytes;
}

function ascii(text: string): Bytes {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function msOf(us: number): number {
  return Math.round(us / 1_000);
}

/** Where `OpusHead` has the samples to drop, and the rate of what was encoded (RFC 7845, 5.1). */
const preSkipAt = 10;
const rateAt = 12;

function headView(head: Bytes): DataView {
  return new DataView(head.buffer, head.byteOffset);
}

function opusHead({ channels, sampleRate }: AudioMetadata): Bytes {
  const head = new Uint8Array(19);
  head.set(ascii('OpusHead'));
  head.set([1, channels], 8);
  headView(head).setUint16(preSkipAt, usualPreSkip, true);
  headView(head).setUint32(rateAt, sampleRate, true);
  return head;
}

/** Chromium counts the samples to drop at the rate of what it encodes, but they are samples at 48 kHz. */
function corrected(head: Bytes, { sampleRate }: AudioMetadata): Bytes {
  const isOfItsRate = headView(head).getUint16(preSkipAt, true) * opusRate === usualPreSkip * sampleRate;
  if (isOfItsRate) headView(head).setUint16(preSkipAt, usualPreSkip, true);
  return head;
}

function bytesOf(source: AllowSharedBufferSource): Bytes {
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice()
    : new Uint8Array(source).slice();
}

function notWav(): VoiceError {
  return new VoiceError('webmOpus: it takes a WAV file of 16-bit samples', { code: 'unsupported_format' });
}

/** @param cause - A reason to name, or the browser's error. */
function failed(cause: unknown): VoiceError {
  const why = typeof cause === 'string' ? cause : 'it failed';
  const message = `webmOpus: this browser does not encode Opus (${why}): keep the WAV file`;
  return new VoiceError(message, { code: 'configuration', ...(typeof cause === 'string' ? {} : { cause }) });
}
