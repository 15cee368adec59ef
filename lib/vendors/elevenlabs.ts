// ElevenLabs's classes, under the library's names and under the vendor's: the very same.
export type {
  GammaAgentConfig,
  GammaAgentConfig as ElevenLabsAgentConfig,
  GammaAgentFormat,
} from '../providers/agent/gamma-agent-session.ts';
export { GammaAgent, GammaAgent as ElevenLabsAgent, type GammaAgentState } from '../providers/agent/gamma-agent.ts';
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
