import type * as Mp3Package from 'mpg123-decoder';
import type * as OpusPackage from 'opus-decoder';
import type { CompressedFrame } from '../audio/frame-reader.ts';
import { missingPackage } from '../core/optional-peer.ts';
import type { OpenFile } from './decode-audio.ts';
import { decodeWith, type Codecs, type DecodedAudio, type DecoderSink, type FrameDecoder } from './file-decoder.ts';

/** The common interface of the packages' decoders. */
interface WasmDecoder {
  readonly ready: Promise<void>;
  decodeFrames(frames: Uint8Array[]): { readonly sampleRate: number; readonly channelData: Float32Array[] };
  free(): void;
}

/** Opens a voice's files to be decoded without a browser. */
export function openOnServer(voice: string): OpenFile {
  return decodeWith(wasmCodecs(voice));
}

/**
 * Decoders outside browsers: the optional packages mpg123-decoder (MP3) and opus-decoder (Opus in Ogg), in WebAssembly.
 *
 * @param voice - Whose audio it is, for the error where a package is missing.
 */
function wasmCodecs(voice: string): Codecs {
  return {
    advice: 'the file is damaged, or not of this format; configure the voice for linear16',
    async frames({ codec, channels }, sink) {
      if (codec === 'mp3') {
        const { MPEGDecoder } = await loadMp3(voice);
        // Samples that must not be heard are trimmed here.
        return started(new MPEGDecoder({ enableGapless: false }), sink);
      }
      if (codec !== 'opus') return undefined;
      const { OpusDecoder } = await loadOpus(voice);
      const mapping = {
        streamCount: 1,
        coupledStreamCount: channels - 1,
        channelMappingTable: [0, 1].slice(0, channels),
      };
      return started(new OpusDecoder({ channels, preSkip: 0, ...mapping }), sink);
    },
  };
}

/** Loads the package for a codec. @throws VoiceError `missing_package`, with the install command. */
export async function loadCodec(voice: string, codec: 'mp3' | 'opus'): Promise<void> {
  await (codec === 'mp3' ? loadMp3(voice) : loadOpus(voice));
}

async function loadMp3(voice: string): Promise<typeof Mp3Package> {
  try {
    return await import('mpg123-decoder');
  } catch (cause) {
    throw missingPackage(voice, 'mpg123-decoder', '>= 1.0.0', cause);
  }
}

async function loadOpus(voice: string): Promise<typeof OpusPackage> {
  try {
    return await import('opus-decoder');
  } catch (cause) {
    throw missingPackage(voice, 'opus-decoder', '>= 0.7.0', cause);
  }
}

async function started(decoder: WasmDecoder, { next }: DecoderSink): Promise<FrameDecoder> {
  await decoder.ready;
  return {
    decode: (frames: readonly CompressedFrame[]) => {
      const { sampleRate, channelData } = decoder.decodeFrames(frames.map(({ data }) => data));
      next({ sampleRate, channels: channelData } satisfies DecodedAudio);
    },
    flush: () => Promise.resolve(),
    close: () => decoder.free(),
  };
}
