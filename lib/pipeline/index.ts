export * from './pipeline-events.ts';
export { type PipelineOptions } from './pipeline-options.ts';
export * from './pipeline.ts';
export { type AnyProvider } from './roles.ts';
