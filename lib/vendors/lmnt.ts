// LMNT's classes, under the library's names and under the vendor's: the very same.
export {
  TauTTS,
  TauTTS as LmntTTS,
  type TauTTSConfig,
  type TauTTSConfig as LmntTTSConfig,
  type TauTTSFormat,
  type TauTTSModel,
  type TauTTSVoiceFilter,
} from '../providers/tts/tau-tts.ts';
