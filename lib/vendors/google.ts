// Google's classes, under the library's names and under the vendor's: the very same.
export {
  IotaSTT,
  IotaSTT as GoogleSTT,
  type IotaSTTConfig,
  type IotaSTTConfig as GoogleSTTConfig,
  type IotaSTTEncoding,
  type IotaSTTModel,
} from '../providers/stt/iota-stt.ts';
export {
  IotaTTS,
  IotaTTS as GoogleTTS,
  type IotaTTSConfig,
  type IotaTTSConfig as GoogleTTSConfig,
  type IotaTTSEffectsProfile,
  type IotaTTSEncoding,
} from '../providers/tts/iota-tts.ts';
export {
  OmicronLLM,
  OmicronLLM as GeminiLLM,
  type OmicronLLMConfig,
  type OmicronLLMConfig as GeminiLLMConfig,
  type OmicronLLMModel,
} from '../providers/llm/omicron-llm.ts';
export {
  MeetingInputE,
  MeetingInputE as GoogleMeetInput,
  type MeetingInputEConfig,
  type MeetingInputEConfig as GoogleMeetInputConfig,
} from '../providers/platform/meeting-input-e.ts';
export type { MeetingSessionStatus } from '../providers/platform/meeting-people-e.ts';
export type {
  OmicronAgentCompression,
  OmicronAgentConfig,
  OmicronAgentConfig as GeminiLiveAgentConfig,
  OmicronAgentModel,
  OmicronAgentTranscription,
  OmicronAgentTurnDetection,
  OmicronAgentVoice,
} from '../providers/agent/omicron-agent-session.ts';
export { OmicronAgent, OmicronAgent as GeminiLiveAgent } from '../providers/agent/omicron-agent.ts';
export type { OmicronAgentState } from '../providers/agent/omicron-agent-turns.ts';
