import type { CompressedFrame, FrameStream } from '../audio/frame-reader.ts';
import { VoiceError } from '../core/errors.ts';
import type { OpenFile } from './decode-audio.ts';
import { decodeWith, type Codecs, type DecodedAudio, type DecoderSink, type FrameDecoder } from './file-decoder.ts';

/** The names of codecs in the registry of WebCodecs. AAC without a description is in ADTS frames. */
const names = { mp3: 'mp3', aac: 'mp4a.40.2', opus: 'opus' } as const;

/** Opens files to be decoded in a page. */
export function openInPage(context: () => BaseAudioContext | undefined): OpenFile {
  return decodeWith(webCodecs(context));
}

/**
 * A browser's decoders: AudioDecoder (WebCodecs) if it supports the format, else the audio context's, which takes whole
 * files.
 */
function webCodecs(context: () => BaseAudioContext | undefined): Codecs {
  return {
    advice: 'this browser has no decoder for it, or the file is damaged; configure the voice for linear16',
    async frames(stream, sink) {
      const config = configOf(stream);
      if (typeof AudioDecoder === 'undefined') return undefined;
      const { supported } = await AudioDecoder.isConfigSupported(config).catch(() => ({ supported: false }));
      return supported ? new WebDecoder(config, sink) : undefined;
    },
    async file(bytes) {
      const decoder = context();
      if (!decoder) throw new VoiceError('no audio context: call initialize() first', { code: 'not_ready' });
      // A copy: the browser detaches the buffer.
      return planesOf(await decoder.decodeAudioData(bytes.slice().buffer));
    },
  };
}

function configOf({ codec, sampleRate, channels }: FrameStream): AudioDecoderConfig {
  return { codec: names[codec], sampleRate, numberOfChannels: channels };
}

function planesOf(buffer: AudioBuffer): DecodedAudio {
  const { sampleRate, numberOfChannels } = buffer;
  const channels = Array.from({ length: numberOfChannels }, (_, channel) => buffer.getChannelData(channel));
  return { sampleRate, channels };
}

class WebDecoder implements FrameDecoder {
  readonly #decoder: AudioDecoder;
  readonly #sampleRate: number;
  /** Samples given to the decoder so far. */
  #position = 0;

  constructor(config: AudioDecoderConfig, { next, error }: DecoderSink) {
    this.#sampleRate = config.sampleRate;
    this.#decoder = new AudioDecoder({
      output: (data) => {
        const { sampleRate, numberOfFrames, numberOfChannels } = data;
        const channels = Array.from({ length: numberOfChannels }, (_, planeIndex) => {
          const plane = new Float32Array(numberOfFrames);
          data.copyTo(plane, { planeIndex, format: 'f32-planar' });
          return plane;
        });
        data.close();
        next({ sampleRate, channels });
      },
      error,
    });
    this.#decoder.configure(config);
  }

  decode(frames: readonly CompressedFrame[]): void {
    for (const { data, samples } of frames) {
      const timestamp = Math.round((this.#position * 1e6) / this.#sampleRate);
      this.#position += samples;
      this.#decoder.decode(new EncodedAudioChunk({ type: 'key', timestamp, data }));
    }
  }

  flush(): Promise<void> {
    return this.#decoder.flush();
  }

  close(): void {
    if (this.#decoder.state !== 'closed') this.#decoder.close();
  }
}
