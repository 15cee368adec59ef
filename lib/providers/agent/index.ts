export type * from './agent-wire.ts';
export * from './alpha-agent.ts';
export type {
  AlphaAgentConfig,
  AlphaAudioFormat,
  AlphaEndpoint,
  AlphaFunction,
  AlphaListen,
  AlphaSpeak,
  AlphaSpeakType,
  AlphaState,
  AlphaThink,
  AlphaThinkType,
} from './alpha-agent-settings.ts';
export type { AgentFunctionContext, AgentFunctionHandler } from './function-calls.ts';
export * from './streaming-agent.ts';
