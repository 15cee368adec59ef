// Murf's classes, under the library's names and under the vendor's: the very same.
export {
  SigmaTTS,
  SigmaTTS as MurfTTS,
  type SigmaTTSConfig,
  type SigmaTTSConfig as MurfTTSConfig,
  type SigmaTTSFormat,
  type SigmaTTSModel,
  type SigmaTTSRegion,
} from '../providers/tts/sigma-tts.ts';
