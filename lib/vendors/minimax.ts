// MiniMax's classes, under the library's names and under the vendor's: the very same.
export {
  ChiTTS,
  ChiTTS as MiniMaxTTS,
  type ChiTTSConfig,
  type ChiTTSConfig as MiniMaxTTSConfig,
  type ChiTTSEmotion,
  type ChiTTSFormat,
  type ChiTTSModel,
  type ChiTTSVoiceModify,
} from '../providers/tts/chi-tts.ts';
