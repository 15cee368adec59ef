export type * from './answer-reader.ts';
export * from './base-llm.ts';
export * from './compatible-llm.ts';
export * from './mu-llm.ts';
export * from './nu-llm.ts';
export type { HttpErrorFacts, HttpErrorOf, HttpFailure } from '../../transport/http-error.ts';
export type { HttpHeaders } from '../../transport/http.ts';
export type { ServerSentEvent } from '../../transport/sse.ts';
