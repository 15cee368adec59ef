/**
 * A pipeline that runs on your server, in a page: no key and no service is in the page.
 *
 * @packageDocumentation
 */
export { RemotePipeline, type RemotePipelineOptions } from './remote-pipeline.ts';
export type { RemoteLink, RemoteSocket } from './remote-link.ts';
export type { RemoteSpeaker } from './speaker.ts';
