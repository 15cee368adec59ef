// AssemblyAI's classes, under the library's names and under the vendor's: the very same.
export {
  BetaSTT,
  BetaSTT as AssemblyAISTT,
  type BetaSTTConfig,
  type BetaSTTConfig as AssemblyAISTTConfig,
  type BetaSTTOptions,
} from '../providers/stt/beta-stt.ts';
