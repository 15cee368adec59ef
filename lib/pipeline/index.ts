export * from './pipeline-controls.ts';
export * from './pipeline-events.ts';
export { type PipelineOptions, type PipelineUpdate } from './pipeline-options.ts';
export * from './pipeline.ts';
export { type AnyProvider } from './roles.ts';
