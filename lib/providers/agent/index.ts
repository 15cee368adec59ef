export * from './alpha-agent.ts';
export type {
  AlphaAgentConfig,
  AlphaAudioFormat,
  AlphaEndpoint,
  AlphaFunction,
  AlphaFunctionContext,
  AlphaListen,
  AlphaSpeak,
  AlphaSpeakType,
  AlphaThink,
  AlphaThinkType,
} from './alpha-agent-settings.ts';
export * from './base-agent.ts';
