// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- an optional package that is not installed is declared there
/// <reference path="./optional-packages.d.ts" />
import { opusSamples } from '../../audio/codec.ts';
import { joinBytes } from '../../audio/concat.ts';
import { missingPackage } from '../../core/optional-peer.ts';
import { VoiceError } from '../../core/errors.ts';
import { opusBitrate, opusDelayFrames, opusPacketFrames, opusRate, type MicAudio } from '../../transport/page-wire.ts';

/** One encoder and one decoder of an Opus package, mono, of one sample rate. */
interface OpusCodec {
  encode(samples: Uint8Array, frames: number): Uint8Array;
  decode(packet: Uint8Array): Uint8Array;
  /** Sets a property of the encoder. */
  set(property: number, value: number): void;
  close(): void;
}

/** Opens a codec for a rate in Hz. */
export type OpenOpus = (rate: number) => OpusCodec;

/** The parts of `@discordjs/opus` that are used. */
export interface NativeOpusPackage {
  readonly OpusEncoder: new (
    rate: number,
    channels: number,
  ) => {
    encode(samples: Uint8Array): Uint8Array;
    decode(packet: Uint8Array): Uint8Array;
    applyEncoderCTL(property: number, value: number): void;
  };
}

/** The parts of `opusscript` that are used; addresses and lengths are in bytes of its memory, which never grows. */
interface ScriptOpus {
  readonly inOpus: Uint8Array<ArrayBuffer>;
  readonly inPCMPointer: number;
  readonly inPCMLength: number;
  readonly outPCMPointer: number;
  readonly outPCMLength: number;
  inPCM: Uint16Array;
  outPCM: Uint16Array;
  encode(samples: Uint8Array, frames: number): Uint8Array;
  decode(packet: Uint8Array): Uint8Array;
  encoderCTL(property: number, value: number): void;
  delete(): void;
}

/** Properties of libopus's encoder. */
const [bitrateOf, complexityOf, resetState] = [4002, 4010, 4028];

/** Half of libopus's effort leaves speech as it is. */
const complexity = 5;

/** Longest packet with one frame (RFC 6716), in bytes. */
const maxPacketBytes = 1275;

/** All codecs of opusscript in a process share 16 MiB, enough for about a hundred. */
const maxScripts = 64;
const scripts = new Set<ScriptOpus>();

/**
 * Loads the installed Opus package: `@discordjs/opus`, else `opusscript`.
 *
 * @throws VoiceError `missing_package`.
 */
export async function loadOpus(): Promise<OpenOpus> {
  try {
    return nativeOpus((await import('@discordjs/opus')).default);
  } catch {
    // The other one will do.
  }
  try {
    return scriptOpus(
      (await import('opusscript')).default as unknown as new (rate: number, channels: number) => ScriptOpus,
    );
  } catch (cause) {
    throw missingPackage('PageSocket', 'opusscript', '>= 0.0.8', cause);
  }
}

function nativeOpus({ OpusEncoder }: NativeOpusPackage): OpenOpus {
  return (rate) => {
    const codec = new OpusEncoder(rate, 1);
    return {
      encode: (samples) => codec.encode(samples),
      decode: (packet) => codec.decode(packet),
      set: (property, value) => codec.applyEncoderCTL(property, value),
      close: () => undefined,
    };
  };
}

function scriptOpus(OpusScript: new (rate: number, channels: number) => ScriptOpus): OpenOpus {
  return (rate) => {
    if (scripts.size >= maxScripts) {
      throw new VoiceError(`opusscript has memory for ${maxScripts} codecs: install @discordjs/opus`, {
        code: 'overloaded',
      });
    }
    const codec = new OpusScript(rate, 1);
    // It takes these addresses for those of 16-bit numbers, twice as far, where other codecs have their memory.
    codec.inPCM = new Uint16Array(codec.inOpus.buffer, codec.inPCMPointer, codec.inPCMLength / 2);
    codec.outPCM = new Uint16Array(codec.inOpus.buffer, codec.outPCMPointer, codec.outPCMLength / 2);
    scripts.add(codec);
    return {
      encode: (samples, frames) => codec.encode(samples, frames),
      decode: (packet) => codec.decode(packet),
      set: (property, value) => codec.encoderCTL(property, value),
      close: () => scripts.delete(codec) && codec.delete(),
    };
  };
}

/** A packet, and the position of its first sample in frames; it is decoded {@link opusDelayFrames} later. */
export interface PlacedPacket {
  readonly at: number;
  readonly data: Uint8Array;
}

/** The two directions of a page that talks Opus, in packets of 20 ms. */
export class PageOpus {
  /** Sample rate of what the page plays, in Hz. */
  readonly rate: number = opusRate;
  /** What players of Opus decode before a position that they seek (RFC 7845), in milliseconds. */
  readonly warmUpMs = 80;
  /** Samples of a packet of the page's, at its microphone's rate. */
  readonly micFrames: number;
  readonly #voice: OpusCodec;
  readonly #ear: OpusCodec;
  readonly #micDelay: number;
  /** What does not fill a frame yet, and its position. */
  #held: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #at = 0;

  /** @throws What the package throws when it has no room. */
  constructor(open: OpenOpus, micRate: number) {
    this.#voice = open(opusRate);
    try {
      this.#ear = open(micRate);
      this.#voice.set(bitrateOf, opusBitrate);
      this.#voice.set(complexityOf, complexity);
    } catch (cause) {
      this.#voice.close();
      throw cause;
    }
    this.micFrames = opusPacketFrames(micRate);
    this.#micDelay = opusDelayFrames(micRate);
  }

  /** Begins a play, or continues one, at a position: with an encoder that knows nothing, as the page's decoder. */
  begin(at: number): void {
    this.#voice.set(resetState, 0);
    this.#held = new Uint8Array(0);
    this.#at = at;
  }

  /** Takes linear16 at 48 kHz that follows the audio before. */
  encode(data: Uint8Array<ArrayBuffer>): PlacedPacket[] {
    const all = joinBytes([this.#held, data]);
    const frames = opusPacketFrames(opusRate);
    const packets: PlacedPacket[] = [];
    let from = 0;
    for (; from + frames * 2 <= all.length; from += frames * 2) {
      const packet = this.#voice.encode(all.subarray(from, from + frames * 2), frames);
      packets.push({ at: this.#at, data: packet });
      this.#at += frames;
    }
    this.#held = all.slice(from);
    return packets;
  }

  /** What is left of a play: its last samples leave an encoder only behind others. */
  finish(): PlacedPacket[] {
    const frameBytes = opusPacketFrames(opusRate) * 2;
    const least = this.#held.length + opusDelayFrames(opusRate) * 2;
    return this.encode(new Uint8Array(Math.ceil(least / frameBytes) * frameBytes - this.#held.length));
  }

  /**
   * A packet of the page's as linear16 at its microphone's rate, and where that begins; `undefined` unless it is 20 ms of
   * Opus. Never throws.
   */
  decode({ at, data: packet }: MicAudio): MicAudio | undefined {
    if (packet.length > maxPacketBytes || opusSamples(packet) !== opusPacketFrames(opusRate)) return undefined;
    try {
      const samples = this.#ear.decode(packet);
      if (samples.length !== this.micFrames * 2) return undefined;
      const from = at - this.#micDelay;
      return { at: Math.max(0, from), data: new Uint8Array(samples).subarray(Math.max(0, -from) * 2) };
    } catch {
      return undefined;
    }
  }

  close(): void {
    this.#voice.close();
    this.#ear.close();
  }
}
