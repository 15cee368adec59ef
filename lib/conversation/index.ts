export { type Agent, type AgentPorts } from './agent-answer.ts';
export { agentConversation, type AgentConversationOptions } from './agent-conversation.ts';
export { bargeIn, type BargeInRules, type BargeInSign, type BargeInStage, type BargeInThresholds } from './barge-in.ts';
export { type SayOptions, type SendOptions, type SpeechHandle, type SpeechOutcome, type Command } from './commands.ts';
export * from './conversation-options.ts';
export * from './conversation-ports.ts';
export * from './event-streams.ts';
export * from './events.ts';
export { handoff, type HandoffOptions } from './handoff.ts';
export * from './history.ts';
export { afterGreeting, unlessToolsRun } from './listening.ts';
export * from './measurements.ts';
export { conversation } from './model-conversation.ts';
export {
  type EndOfTurn,
  type Endpointing,
  type EndpointingBounds,
  type HeardTurn,
  type Scorer,
  type TurnScore,
} from './endpointing.ts';
export {
  type ScoreSignal,
  type SttFacts,
  type TurnDecision,
  type TurnRulesOptions,
  type TurnTakingOptions,
  type UserSignal,
} from './turn-rules.ts';
export { turnTaking } from './turn-taking.ts';
