// Cartesia's classes, under the library's names and under the vendor's: the very same.
export {
  PiTTS,
  PiTTS as CartesiaTTS,
  type PiTTSConfig,
  type PiTTSConfig as CartesiaTTSConfig,
  type PiTTSEncoding,
  type PiTTSModel,
} from '../providers/tts/pi-tts.ts';
