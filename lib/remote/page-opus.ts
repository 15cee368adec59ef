import { int16View, toInt16 } from '../audio/samples.ts';
import { opusBitrate, opusPacketFrames, opusRate } from '../transport/page-wire.ts';

type Bytes = Uint8Array<ArrayBuffer>;
type Failed = (cause: unknown) => void;

/** One direction; takes frames of 20 ms or their packets, and calls back with the other, one for one, in order. */
export interface OpusStream {
  push(data: Bytes): void;
  /** Nothing comes out any more. */
  close(): void;
}

/** The browser's Opus codec, mono. */
export interface PageOpus {
  /** Frames are linear16 at the microphone's rate. After `failed`, nothing comes out. */
  encoder(next: (packet: Bytes) => void, failed: Failed): OpusStream;
  /** Samples are at 48 kHz. After `failed`, nothing comes out. */
  decoder(next: (samples: Int16Array<ArrayBuffer>) => void, failed: Failed): OpusStream;
}

/** WebCodecs, for a microphone's rate in Hz; `undefined` if the browser has no Opus there. */
export async function openOpus(rate: number): Promise<PageOpus | undefined> {
  const decoding = { codec: 'opus', sampleRate: opusRate, numberOfChannels: 1 };
  // `application` is not in TypeScript's types yet.
  const opus = { frameDuration: 20_000, application: 'voip' };
  const encoding = { ...decoding, sampleRate: rate, bitrate: opusBitrate, opus };
  try {
    const supports = await Promise.all([
      AudioEncoder.isConfigSupported(encoding),
      AudioDecoder.isConfigSupported(decoding),
    ]);
    if (!supports.every(({ supported }) => supported)) return undefined;
  } catch {
    // There is no WebCodecs.
    return undefined;
  }
  return {
    encoder(next, error) {
      const encoder = new AudioEncoder({
        output: (chunk) => {
          const packet = new Uint8Array(chunk.byteLength);
          chunk.copyTo(packet);
          next(packet);
        },
        error,
      });
      encoder.configure(encoding);
      let timestamp = 0;
      const layout = {
        format: 's16',
        sampleRate: rate,
        numberOfChannels: 1,
        numberOfFrames: opusPacketFrames(rate),
      } as const;
      return streamOf(encoder, (data) => {
        encoder.encode(new AudioData({ ...layout, timestamp, data: int16View(data) }));
        timestamp += 20_000;
      });
    },
    decoder(next, error) {
      const decoder = new AudioDecoder({
        output: (audio) => {
          const plane = new Float32Array(audio.numberOfFrames);
          audio.copyTo(plane, { planeIndex: 0, format: 'f32-planar' });
          audio.close();
          next(toInt16(plane));
        },
        error,
      });
      decoder.configure(decoding);
      return streamOf(decoder, (data) => decoder.decode(new EncodedAudioChunk({ type: 'key', timestamp: 0, data })));
    },
  };
}

function streamOf(codec: AudioEncoder | AudioDecoder, push: (data: Bytes) => void): OpusStream {
  return {
    push: (data) => {
      if (codec.state === 'configured') push(data);
    },
    close: () => {
      if (codec.state !== 'closed') codec.close();
    },
  };
}
