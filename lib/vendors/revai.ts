// Rev AI's classes, under the library's names and under the vendor's: the very same.
export {
  EtaSTT,
  EtaSTT as RevAISTT,
  type EtaSTTConfig,
  type EtaSTTConfig as RevAISTTConfig,
  type EtaSTTOptions,
} from '../providers/stt/eta-stt.ts';
