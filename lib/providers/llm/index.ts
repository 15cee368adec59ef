export type {
  BrowserEngine,
  BrowserEngineRequest,
  LoadProgress,
  WebLLM,
  WebLLMEngineConfig,
} from './browser-engine.ts';
export * from './browser-llm.ts';
export type { ChatAnswer } from './chat-answer.ts';
export { chatWire, type ChatConfig, type ChatForm, type ChatProfile } from './chat-completions.ts';
export * from './chat-llm.ts';
export * from './compatible-llm.ts';
export type { MessageAnswer } from './message-answer.ts';
export type * from './model-wire.ts';
export * from './mu-llm.ts';
export * from './nu-llm.ts';
export * from './omicron-llm.ts';
export * from './text-model.ts';
export * from './theta-llm.ts';
export * from './xi-llm.ts';
export type { HttpErrorFacts, HttpErrorOf, HttpFailure } from '../../transport/http-error.ts';
export type { HttpHeaders } from '../../transport/http.ts';
export type { ServerSentEvent } from '../../transport/sse.ts';
