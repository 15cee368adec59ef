export { type Agent, type AgentPorts } from './agent-answer.ts';
export { agentConversation, type AgentConversationOptions } from './agent-conversation.ts';
export { bargeIn, type BargeInRules, type BargeInSign, type BargeInStage, type BargeInThresholds } from './barge-in.ts';
export { type SayOptions, type SendOptions, type SpeechHandle, type SpeechOutcome, type Command } from './commands.ts';
export * from './conversation-options.ts';
export * from './events.ts';
export * from './history.ts';
export { conversation } from './model-conversation.ts';
export { turnTaking, type TurnDecision, type TurnTakingOptions, type UserSignal } from './turn-taking.ts';
