// Speechify's classes, under the library's names and under the vendor's: the very same.
export {
  RhoTTS,
  RhoTTS as SpeechifyTTS,
  type RhoTTSConfig,
  type RhoTTSConfig as SpeechifyTTSConfig,
  type RhoTTSEmotion,
  type RhoTTSFormat,
  type RhoTTSModel,
  type RhoTTSVoiceFilter,
} from '../providers/tts/rho-tts.ts';
