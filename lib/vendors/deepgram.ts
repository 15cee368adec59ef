// Deepgram's classes, under the library's names and under the vendor's: the very same.
export {
  AlphaSTT,
  AlphaSTT as DeepgramSTT,
  type AlphaSTTConfig,
  type AlphaSTTConfig as DeepgramSTTConfig,
  type AlphaSTTExtras,
  type AlphaSTTOptions,
} from '../providers/stt/alpha-stt.ts';
export {
  AlphaFlux,
  AlphaFlux as DeepgramFlux,
  type AlphaFluxConfig,
  type AlphaFluxConfig as DeepgramFluxConfig,
  type AlphaFluxExtras,
  type AlphaFluxOptions,
} from '../providers/stt/alpha-flux.ts';
export {
  AlphaTTS,
  AlphaTTS as DeepgramTTS,
  type AlphaTTSConfig,
  type AlphaTTSConfig as DeepgramTTSConfig,
  type AlphaTTSFormat,
  type AlphaTTSVoice,
} from '../providers/tts/alpha-tts.ts';
export type {
  AlphaAgentConfig,
  AlphaAgentConfig as DeepgramAgentConfig,
  AlphaAudioFormat,
  AlphaEndpoint,
  AlphaFunction,
  AlphaListen,
  AlphaSpeak,
  AlphaSpeakType,
  AlphaState,
  AlphaThink,
  AlphaThinkType,
} from '../providers/agent/alpha-agent-settings.ts';
export { AlphaAgent, AlphaAgent as DeepgramAgent } from '../providers/agent/alpha-agent.ts';
