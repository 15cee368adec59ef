export type { DomSocketEvent, DomSocketLike, NodeSocketLike, PlatformSocket } from './attached-socket.ts';
export * from './phone-provider.ts';
export * from './phone-socket-b.ts';
export * from './phone-socket-b-signature.ts';
export * from './phone-stream-a.ts';
export * from './phone-stream-a-signature.ts';
export * from './platform-provider.ts';
