export * from './agent-conversation.ts';
export * from './barge-in.ts';
export { type SayOptions, type SendOptions, type SpeechHandle, type SpeechOutcome, type Command } from './commands.ts';
export * from './conversation.ts';
export * from './events.ts';
export * from './history.ts';
export * from './pipeline.ts';
export { type AnyProvider } from './roles.ts';
export * from './turn-taking.ts';
