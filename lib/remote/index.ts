/**
 * Controls a pipeline on your server from a page: the page contains no key and no service.
 *
 * @packageDocumentation
 */
export { RemotePipeline, type RemotePipelineOptions } from './remote-pipeline.ts';
export type { RemoteLink, RemoteSocket } from './remote-link.ts';
export type { RemoteSpeaker } from './speaker.ts';
