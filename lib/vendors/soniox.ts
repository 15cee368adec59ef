// Soniox's classes, under the library's names and under the vendor's: the very same.
export {
  DeltaSTT,
  DeltaSTT as SonioxSTT,
  type DeltaContext,
  type DeltaSTTConfig,
  type DeltaSTTConfig as SonioxSTTConfig,
  type DeltaSTTOptions,
  type DeltaTranslation,
} from '../providers/stt/delta-stt.ts';
