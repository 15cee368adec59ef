// Smallest AI's classes, under the library's names and under the vendor's: the very same.
export {
  UpsilonTTS,
  UpsilonTTS as SmallestTTS,
  type UpsilonTTSConfig,
  type UpsilonTTSConfig as SmallestTTSConfig,
  type UpsilonTTSFormat,
  type UpsilonTTSModel,
} from '../providers/tts/upsilon-tts.ts';
