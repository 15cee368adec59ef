// Gladia's classes, under the library's names and under the vendor's: the very same.
export {
  EpsilonSTT,
  EpsilonSTT as GladiaSTT,
  type EpsilonEncoding,
  type EpsilonSTTConfig,
  type EpsilonSTTConfig as GladiaSTTConfig,
  type EpsilonSTTOptions,
  type EpsilonVocabulary,
} from '../providers/stt/epsilon-stt.ts';
