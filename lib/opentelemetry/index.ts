export { traceConversation, type TraceOptions, type TracedService } from './trace-conversation.ts';
