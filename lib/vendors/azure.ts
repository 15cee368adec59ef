// Microsoft Azure's classes, under the library's names and under the vendor's: the very same.
export {
  KappaSTT,
  KappaSTT as AzureSTT,
  type KappaSTTConfig,
  type KappaSTTConfig as AzureSTTConfig,
  type KappaSTTOptions,
} from '../providers/stt/kappa-stt.ts';
export {
  KappaTTS,
  KappaTTS as AzureTTS,
  type KappaTTSConfig,
  type KappaTTSConfig as AzureTTSConfig,
  type KappaTTSFormat,
  type KappaTTSRole,
} from '../providers/tts/kappa-tts.ts';
export {
  MeetingCallF,
  MeetingCallF as TeamsMeetingCall,
  type MeetingCallFConfig,
  type MeetingCallFConfig as TeamsMeetingCallConfig,
  type MeetingCallState,
  type MeetingCallStateChange,
} from '../providers/platform/meeting-call-f.ts';
export type { MeetingCallLike } from '../providers/platform/meeting-call-packages.ts';
export type { MeetingPlace } from '../providers/platform/meeting-call-session.ts';
