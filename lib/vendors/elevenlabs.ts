// ElevenLabs's classes, under the library's names and under the vendor's: the very same.
export {
  GammaSTT,
  GammaSTT as ElevenLabsSTT,
  type GammaSTTConfig,
  type GammaSTTConfig as ElevenLabsSTTConfig,
  type GammaSTTOptions,
} from '../providers/stt/gamma-stt.ts';
export {
  GammaTTS,
  GammaTTS as ElevenLabsTTS,
  type GammaTTSConfig,
  type GammaTTSConfig as ElevenLabsTTSConfig,
  type GammaTTSDictionary,
  type GammaTTSFormat,
  type GammaTTSModel,
} from '../providers/tts/gamma-tts.ts';
