// OpenAI's classes, under the library's names and under the vendor's: the very same.
export {
  ThetaLLM,
  ThetaLLM as OpenAILLM,
  type ThetaLLMConfig,
  type ThetaLLMConfig as OpenAILLMConfig,
} from '../providers/llm/theta-llm.ts';
export {
  ThetaTTS,
  ThetaTTS as OpenAITTS,
  type ThetaTTSConfig,
  type ThetaTTSConfig as OpenAITTSConfig,
  type ThetaTTSFormat,
  type ThetaTTSModel,
  type ThetaTTSVoice,
} from '../providers/tts/theta-tts.ts';
export {
  ThetaRealtimeSTT,
  ThetaRealtimeSTT as OpenAIRealtimeSTT,
  type ThetaRealtimeSTTConfig,
  type ThetaRealtimeSTTConfig as OpenAIRealtimeSTTConfig,
  type ThetaRealtimeSTTModel,
  type ThetaRealtimeSTTOptions,
} from '../providers/stt/theta-realtime-stt.ts';
export type {
  ThetaAgentConfig,
  ThetaAgentConfig as OpenAIAgentConfig,
  ThetaAgentModel,
  ThetaAgentTranscription,
  ThetaAgentTurnDetection,
  ThetaAgentVoice,
} from '../providers/agent/theta-agent-session.ts';
export { ThetaAgent, ThetaAgent as OpenAIAgent, type ThetaAgentState } from '../providers/agent/theta-agent.ts';
export type { ThetaAccount, ThetaTurnDetection } from '../providers/theta-realtime.ts';
