// Speechmatics's classes, under the library's names and under the vendor's: the very same.
export {
  ZetaSTT,
  ZetaSTT as SpeechmaticsSTT,
  type ZetaSTTConfig,
  type ZetaSTTConfig as SpeechmaticsSTTConfig,
  type ZetaSTTOptions,
  type ZetaTranslation,
  type ZetaVocabulary,
} from '../providers/stt/zeta-stt.ts';
