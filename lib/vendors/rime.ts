// Rime's classes, under the library's names and under the vendor's: the very same.
export {
  PhiTTS,
  PhiTTS as RimeTTS,
  type PhiTTSConfig,
  type PhiTTSConfig as RimeTTSConfig,
  type PhiTTSFormat,
  type PhiTTSModel,
} from '../providers/tts/phi-tts.ts';
