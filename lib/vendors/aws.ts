// Amazon Web Services's classes, under the library's names and under the vendor's: the very same.
export {
  LambdaSTT,
  LambdaSTT as AmazonTranscribeSTT,
  type LambdaMediaEncoding,
  type LambdaSTTConfig,
  type LambdaSTTConfig as AmazonTranscribeSTTConfig,
  type LambdaSTTOptions,
} from '../providers/stt/lambda-stt.ts';
export {
  OmegaTTS,
  OmegaTTS as AmazonPollyTTS,
  type OmegaTTSConfig,
  type OmegaTTSConfig as AmazonPollyTTSConfig,
  type OmegaTTSEngine,
  type OmegaTTSFormat,
} from '../providers/tts/omega-tts.ts';
